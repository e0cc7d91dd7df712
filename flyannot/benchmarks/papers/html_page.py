"""The page as one HTML file: styles and figures are inside it."""

import base64
from html import escape

from flyannot.benchmarks.papers.sections import summary, tables_of

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 2rem auto;
       max-width: 68rem; padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 2.6rem; border-top: 1px solid #ccc; padding-top: 1rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
table { border-collapse: collapse; font-size: 13px; } th, td { border: 1px solid #d5d5d5; padding: .2rem .5rem; text-align: left; vertical-align: top; }
th { background: #f3f3f3; } td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.wide { overflow-x: auto; } img { max-width: 100%; } dt { font-weight: 600; float: left; clear: left; width: 6rem; } dd { margin: 0 0 .2rem 6.5rem; }
.status { border-radius: .3rem; padding: .1rem .5rem; font-size: .85rem; white-space: nowrap; }
.reproduced { background: #d9ead3; } .differs { background: #fff2cc; } .not-runnable, .not-measured { background: #e6e6e6; } .failed { background: #f4cccc; }
.source { font-size: 12px; color: #555; margin: .2rem 0 .8rem; }
summary { cursor: pointer; font-weight: 600; margin-top: 1.2rem; }
"""  # noqa: E501
_ALL = "All that was measured"
_MOST_OPEN = 40  # rows of a table that is not folded


def as_html(title, introduction, sections):
    """The whole page; `sections` are of flyannot.benchmarks.papers.sections."""
    rows = [
        f'<tr><td><a href="#{s.name}">{s.name}</a></td><td>{escape(s.cited)}</td><td>{_badge(s.status)}</td>'
        f"<td>{escape(s.reason)}</td></tr>"
        for s in sections
    ]
    heads = "".join(f"<th>{escape(head)}</th>" for head in summary(sections).heads)
    body = [f"<h1>{escape(title)}</h1>", *(f"<p>{escape(line)}</p>" for line in introduction)]
    body.append(f'<div class="wide"><table><tr>{heads}</tr>{"".join(rows)}</table></div>')
    body += [_section(section, tables_of(section)) for section in sections]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _section(section, tables):
    lines = "".join(f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in section.lines)
    parts = [
        f'<h2 id="{section.name}">{section.name}: {escape(section.title)} {_badge(section.status)}</h2>',
        f"<p>{escape(section.cited)}</p><p><b>{escape(section.reason)}</b></p><dl>{lines}</dl>",
    ]
    source = f'<p class="source">{escape(section.source)}</p>'
    if section.figure:
        picture = base64.b64encode(section.figure.read_bytes()).decode()
        parts.append(f'<p><img alt="{escape(section.title)}" src="data:image/svg+xml;base64,{picture}"></p>')
        parts.append(source)
    for caption, table in tables:
        shown = f'<div class="wide">{_table(table)}</div>{source}'
        if caption == _ALL or len(table.rows) > _MOST_OPEN:
            parts.append(f"<details><summary>{escape(caption)}</summary>{shown}</details>")
        else:
            parts.append(f"<h3>{escape(caption)}</h3>{shown}")
    return "\n".join(parts)


def _table(table):
    heads = "".join(f"<th>{escape(head)}</th>" for head in table.heads)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    return f"<table><tr>{heads}</tr>{rows}</table>"


def _cell(text):
    is_number = text.lstrip("-")[:1].isdigit() and len(text) < 14
    return f'<td class="n">{escape(text)}</td>' if is_number else f"<td>{escape(text)}</td>"


def _badge(status):
    return f'<span class="status {status.replace(" ", "-")}">{escape(status)}</span>'

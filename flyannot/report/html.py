"""Pieces of HTML that several sections use, and the files that they are cut from."""

from html import escape
from importlib.resources import files
from string import Template

ASSETS = ("page.html", "page.css", "page.js", "groups.html", "scores.html", "curves.html")


def asset(name):
    """The text of one file of ASSETS."""
    return (files("flyannot.report") / "assets" / name).read_text(encoding="utf-8")


def filled(name, **values):
    """An asset with its $names replaced by HTML."""
    return Template(asset(name)).substitute(values)


def items(texts):
    """A list of sentences, escaped."""
    return "".join(f"<li>{escape(text)}</li>" for text in texts)


def region(html, label):
    """A part that scrolls sideways by itself on a narrow screen, also by keyboard."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">{html}</div>'


def table(heads, rows, *, label, numbers=()):
    """A table within a `region`.

    Parameters
    ----------
    heads : texts; none for a table without a head
    rows : lists of HTML; the first of each is the head of its row
    label : what the table is, for a screen reader
    numbers : which columns hold numbers
    """
    kinds = [' class="number"' if i in numbers else "" for i in range(max(len(heads), 9))]
    head = "".join(f'<th scope="col"{kind}>{escape(text)}</th>' for text, kind in zip(heads, kinds))
    body = []
    for first, *cells in rows:
        rest = "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(cells, kinds[1:]))
        body.append(f'<tr><th scope="row">{first}</th>{rest}</tr>')
    top = f"<thead><tr>{head}</tr></thead>" if heads else ""
    return region(f"<table>{top}<tbody>{''.join(body)}</tbody></table>", label)


def code(text):
    """Text in the letters of code."""
    return f"<code>{escape(text)}</code>"

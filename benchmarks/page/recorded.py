"""The pages of docs/ that are made from records: `python -m benchmarks.page.recorded data/results docs`.

papers.md says what the papers' methods are worth, with papers/ITEM.md behind it; measured.md has our own
records.  Figures are drawn where matplotlib is installed.  A record of an item that is gone stays on
measured.md: retired.toml says why it went.  earlier.md has what was measured before there were records.
"""

import re
import sys
import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from benchmarks.claims import in_words, merged
from benchmarks.items import ITEMS, OURS, Item
from benchmarks.page import rendered, section_of
from benchmarks.page.figures import draw
from benchmarks.page.summary import summary_of
from benchmarks.records import record_of
from benchmarks.tables import MEASUREMENTS
from flyannot.base.errors import DataError
from flyannot.files.atomic_file import write_text

PAPERS, MEASURED = "papers.md", "measured.md"
_PICTURES = ("modl-fig-5", "scc-fig-5")  # where people look first
_REMARK = re.compile(r" \([^)]*\)")
_NUMBER = re.compile(r"\{([^}|]+)\|?([^}]*)\}")  # {statement} or {statement|part of the name of a case}


def papers_page(folder):
    """Return the Markdown of the page on the papers' methods, from the records of a folder."""
    recorded = [(item, _record(folder, item)) for item in ITEMS.values() if item.paper != OURS]
    sections = [section_of(item, record) for item, record in recorded]
    summary, seconds = summary_of(sections), sum(s["seconds"] or 0 for s in sections)
    claims = merged(claim for s in sections if s["finding"] for claim in s["finding"].claims)
    links = {s["paper"]: [] for s in sections}
    for s in sections:
        links[s["paper"]].append(_link(s["name"]))
    return rendered(
        PAPERS,
        summary=summary,
        advice=dict(advice_on(_methods(), claims)),
        contradicted=_by_item(summary.contradicted),
        outside=_by_item(_examples(summary)),
        reopened=_by_reason(summary.reopened),
        minutes=f"{seconds / 60:.0f}",
        figures=_PICTURES,
        pictures=[s for s in sections if s["name"] in _PICTURES and s["finding"]],
        links=[(f"{p.split(',')[0]} et al. {p.split()[-1]}", ", ".join(found)) for p, found in links.items()],
    )


def _page_of(name):
    return f"papers/{name}.md"


def _by_item(failures):
    """(link, what was found) of every item, without remarks in brackets."""
    found = {}
    for failure in failures:
        case = failure.case.name.partition(", ")[0]
        said = f"{_REMARK.sub('', failure.claim.text)}: **{failure.here}**" + f" ({case})" * bool(case)
        found.setdefault(_link(failure.item), []).append(said)
    return [(item, "; ".join(said)) for item, said in found.items()]


def _examples(summary):
    """Return a failure outside the regime of every paper that has none within."""
    first = {f.item.partition("-")[0]: f for f in reversed(summary.outside)}
    inside = {f.item.partition("-")[0] for f in summary.contradicted}
    return [failure for paper, failure in first.items() if paper not in inside]


def _by_reason(failures):
    """(why it decides nothing, the statements) of what was reopened."""
    found = {}
    for f in failures:
        said = f"{_REMARK.sub('', f.claim.text)} ({_link(f.item)})"
        found.setdefault(f.claim.why_reopened(f.case), []).append(said)
    return [(why, "; ".join(said)) for why, said in found.items()]


def _link(name):
    return f"[{name}]({_page_of(name)})"


def _methods():
    return tomllib.loads((files("benchmarks.page") / "methods.toml").read_text(encoding="utf-8"))


def advice_on(methods, claims):
    """Yield each name of methods.toml, and what is said of it with the numbers of the claims that it names.

    Raises
    ------
    DataError
        If a claim that advice rests on has another finding.
    """
    claims = {claim.key: claim for claim in claims}

    def number(match):
        claim, part = claims[match[1]], match[2]
        return in_words(next(case.value for case in claim.cases if part in case.name), claim.unit)

    for name, entry in methods.items():
        for named, asked in entry["rests-on"].items():
            key, _, part = named.partition("|")
            claim = claims[key]
            found = claim.finding
            if part:
                found = next(claim.finding_of(case) for case in claim.cases if part in case.name)
            if found != asked:
                why = f"methods.toml: advice on {name} rests on {named} {asked}; it is {found}"
                raise DataError(why, fix="say what the records say")
        yield name, _NUMBER.sub(number, entry["says"])


def item_pages(folder):
    """Name -> the Markdown of a paper's item."""
    pages = {}
    for item in (item for item in ITEMS.values() if item.paper != OURS):
        record = _record(folder, item)
        section = _section(item, record)
        section["tables"] = [t for t in section["tables"] if t["table"].caption != MEASUREMENTS]
        section["figure"] = f"{item.name}.svg" if record and record.finding.panels else None
        pages[item.name] = rendered("item.md", s=section)
    return pages


def measured_page(folder):
    """Return the Markdown of our own records."""
    recorded = list(own_records(folder))
    sections = [
        _section(item, record) | {"figure": picture_of(item.name) if record.finding.panels else None}
        for item, record in recorded
    ]
    earlier = (Path(folder) / "earlier.md").read_text(encoding="utf-8")
    machines = list(dict.fromkeys(record.machine for _, record in recorded))
    return rendered(MEASURED, sections=sections, machines=machines, earlier=earlier)


def own_records(folder):
    """(item, record) of every item of ours that was recorded, those that are gone last."""
    retired = tomllib.loads((Path(folder) / "retired.toml").read_text(encoding="utf-8"))
    gone = [Item(name, entry["title"], lambda setup: None) for name, entry in retired["items"].items()]
    for item in [*(item for item in ITEMS.values() if item.paper == OURS), *gone]:
        record = _record(folder, item)
        if record is not None:
            if item in gone:
                entry = retired | retired["items"][item.name]
                why = f"{entry['decided']} The code is in commit {entry['commit']}."
                finding = replace(record.finding, notes=[*record.finding.notes, why])
                record = replace(record, finding=finding)
            yield item, record


def picture_of(name):
    """Return the path of an item's figure, relative to the page."""
    return f"pictures/measured-{name}.svg"


def write_recorded_pages(folder, docs):
    """Write all pages and their figures."""
    docs = Path(docs)
    write_text(docs / PAPERS, papers_page(folder))
    (docs / "papers").mkdir(exist_ok=True)
    for name, page in item_pages(folder).items():
        write_text(docs / _page_of(name), page)
        record = _record(folder, ITEMS[name])
        if record:
            draw(record.finding, ITEMS[name].title, (docs / _page_of(name)).with_suffix(".svg"))
    for item, record in own_records(folder):
        draw(record.finding, item.title, docs / picture_of(item.name))
    write_text(docs / MEASURED, measured_page(folder))


def _record(folder, item):
    return record_of(Path(folder) / f"{item.name}.json")


def _section(item, record):
    section = section_of(item, record)
    if record is None:
        return section | {"scale": ""}
    source = f"All of it: data/results/{item.name}.json. Again: `{record.command}`"
    return section | {"scale": record.settings["scale"], "source": source}


if __name__ == "__main__":
    write_recorded_pages(*sys.argv[1:])

"""The writer of the HTML report page, from rendered sections and the groups of images.

The page has an index of all groups, and the details of the groups in chunks of HTML. A small page embeds the
chunks and all images. For a large page, chunks are scripts and images are files, in a folder beside the
page.

A page is never half-written. The folder is written first, under a name that depends on the content, and the
page after it. The folder of the previous page is removed last.
"""

import json
import os
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from glob import escape
from itertools import chain
from urllib.parse import urlencode

from markupsafe import Markup

from flyannot import __version__
from flyannot.base.dates import DATE_PATTERNS
from flyannot.base.stage_ranges import RANGE_WORDS, STAGE_RANGES
from flyannot.base.text import GREEK, read_word_lines
from flyannot.curation.corrections import COLUMNS
from flyannot.dataset.table_warnings import bdgp_terms, bdgp_vocabulary
from flyannot.files.atomic_file import explain_write_errors, write_text
from flyannot.files.digest import json_digest
from flyannot.images.geometry import STANDARD_PX
from flyannot.images.quality import DORSAL_DOWN, EITHER_WAY, PORTRAIT, POSTERIOR_LEFT
from flyannot.jobs.executor import map_ordered
from flyannot.jobs.progress_events import report_item
from flyannot.jobs.shared_value import SharedValue
from flyannot.pipeline.engine.task import Execution
from flyannot.pipeline.models.stage_model import LOOKS_LIKE
from flyannot.report.drawing import to_data_url, trace_outline
from flyannot.report.groups import ABSENT
from flyannot.report.nearest import draw_map, draw_thumbnail
from flyannot.report.templates import read_template, render
from flyannot.report.term_ids import NO_IDS, TermIds, gene_link
from flyannot.terms.answers import EVIDENCE, YES
from flyannot.terms.explain import CELL_PX
from flyannot.terms.metrics import NOT_ANATOMY
from flyannot.terms.unlikeness import UNLIKE_WORDS

_SCRIPTS = """
    elements spellings tables scores maps groups nearest verdicts review together keys enlarged turns beside
    patterns patterns_use gallery address
"""  # in the order in which they run
PATTERNS = "patterns"  # the section that is left out if no group has a place on a map
# Kinds of warnings about a picture that may lie wrong.
_LIES_WRONG = (POSTERIOR_LEFT, EITHER_WAY, DORSAL_DOWN, PORTRAIT, UNLIKE_WORDS)
PER_CHUNK = 4
_GROUPS_PER_TASK = 8 * PER_CHUNK  # a task writes whole chunks
PARTLY = 2  # in the index, for a group of which curators have given some terms only
PAGE_BYTES = 20_000_000
_SOURCE = re.compile(r'src="((?:image|map)-[\d-]+\.jpg)"')  # in text from a table, quotes are escaped


@dataclass(frozen=True)
class ReviewSettings:
    """Data that the script of the page needs to take the verdicts of curators.

    model_digest : str, digest of the model whose probabilities the page shows, "" for none
    vocabulary : dict from each term that a curator may add to a list of indices of its stage ranges; the
        list is empty if the stage ranges are unknown
    """

    model_digest: str = ""
    vocabulary: Mapping[str, list] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """The title and the rendered sections of the report page, without the groups.

    facts : HTML line with the numbers of genes and images, and the mean AUC
    sections : list of (id, heading, HTML); sections with empty HTML are omitted, and so is the section with
        the id PATTERNS if there is no map
    banners : list of sentences shown at the top
    made_from : str, digest of everything that the page depends on
    ids : TermIds
    review : ReviewSettings
    """

    title: str
    facts: str = ""
    sections: list = field(default_factory=list)
    banners: list = field(default_factory=list)
    made_from: str = ""
    ids: TermIds = NO_IDS
    review: ReviewSettings = ReviewSettings()


def write_page(path, page, groups, *, execution=None, reads=(), page_bytes=PAGE_BYTES):
    """Write the report page, and a folder with its images if the page would be too large to embed them.

    Parameters
    ----------
    path : Path
    page : Page
    groups : sequence of GroupEntry, such as RunGroups
    execution : Execution, whose workers write the groups; None for this process alone
    reads : Paths that the workers must see
    page_bytes : int, largest size in bytes of a page that embeds its images

    Returns
    -------
    Path or None
        The folder beside the page; None if the page embeds everything.

    Raises
    ------
    WriteError
        If the page cannot be written.
    """
    staged = path.with_name(f".{path.name}.{os.getpid()}.new")
    prefix = f"{path.name}-files-"
    folder = None
    embedded = []
    try:
        with explain_write_errors(path):
            staged.mkdir(parents=True)
            shared = groups, page.ids
            written = _write_all_groups(staged, shared, execution or Execution(), reads)
            sheets = _draw_maps(staged, written)
            index = _build_index([summary for summary, *_ in written], sheets, page)
            n_bytes = sum(len(html) for *_, html in page.sections) + _embedded_bytes(staged)
            if n_bytes <= page_bytes:
                n_chunks = len(written[::PER_CHUNK]) + len(sheets)
                embedded = [_embed_chunk(staged, number) for number in range(n_chunks)]
            else:
                folder = path.with_name(prefix + json_digest([page.made_from, index])[:12])
                shutil.rmtree(folder, ignore_errors=True)
                os.rename(staged, folder)
        if not sheets:
            page = replace(page, sections=[part for part in page.sections if part[0] != PATTERNS])
        write_text(path, _render_page(page, embedded, index | {"folder": folder.name if folder else ""}))
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    for beside in path.parent.glob(escape(prefix) + "[0-9a-f]" * 12):
        if beside != folder:  # the folder of the older page
            shutil.rmtree(beside, ignore_errors=True)
    return folder


def _write_chunk(folder, number, html, images):
    """Write a piece of HTML that the page loads at once: its images, and a script that passes it to the page.

    Parameters
    ----------
    folder : Path
    number : int, the index of the chunk
    html : str, with links to the files of the images
    images : dict from the name of each file to its JPEG bytes
    """
    for name, jpeg in images.items():
        (folder / name).write_bytes(jpeg)
    text = f"flyannotChunk({number}, {json.dumps(html, ensure_ascii=False)});\n"
    _chunk_path(folder, number).write_text(text, "utf-8", newline="")


def _embed_chunk(folder, number):
    """Return the HTML of a chunk in a folder; links to its images are replaced by data URLs."""
    call = _chunk_path(folder, number).read_text("utf-8")
    html = json.loads(call.partition(", ")[2].removesuffix(");\n"))
    return Markup(_SOURCE.sub(lambda link: f'src="{to_data_url((folder / link[1]).read_bytes())}"', html))


def _chunk_path(folder, number):
    """Return the path of the script of a chunk."""
    return folder / f"chunk-{number}.js"


def _embedded_bytes(folder):
    """Return how many bytes the chunks of a folder take in a page, in which images are embedded in base64."""
    return sum(path.stat().st_size * (4 if path.suffix == ".jpg" else 3) // 3 for path in folder.iterdir())


def _write_groups(folder, shared, numbers):
    """Write the chunks of consecutive groups, in a worker.

    Parameters
    ----------
    folder : Path
    shared : SharedValue of the groups and the TermIds
    numbers : range of the indices of the groups; it begins with the first group of a chunk

    Returns
    -------
    list of (summary, place, thumbnail) of each group, as `_summarise`, GroupEntry and `_draw_images` have
    them
    """
    groups, ids = shared.value
    entries = map(groups.__getitem__, numbers)
    written = []
    for number, (entry, outlines, thumbnail) in zip(numbers, map_ordered(_draw_images, entries)):
        if number % PER_CHUNK == 0:
            html, images = [], {}
        names = [f"image-{number:06d}-{i}.jpg" if one.shown else "" for i, one in enumerate(entry.images)]
        images |= {name: one.shown.jpeg for name, one in zip(names, entry.images) if name}
        html.append(_render_group(entry, list(zip(entry.images, names, outlines)), ids))
        if len(html) == PER_CHUNK or number == numbers[-1]:
            _write_chunk(folder, number // PER_CHUNK, "".join(html), images)
        written.append((_summarise(entry), entry.place, thumbnail))
        report_item()
    return written


def _draw_images(entry):
    """Draw what the page has of the images of a group besides their JPEGs, in a thread.

    Returns
    -------
    entry : GroupEntry
    outlines : list with the outline of each embryo as a CSS polygon; "" without a picture or without maps
    thumbnail : uint8 array, as `draw_thumbnail` returns, of the typical image or of the first one; None if
        the group has no place on a map
    """
    pictures = [image.shown for image in entry.images]
    has_maps = any(one.map for one in entry.terms)
    outlines = [trace_outline(shown.outline) if has_maps and shown else "" for shown in pictures]
    typical = [image.shown for image in entry.images if image.name == entry.typical]
    first = next((shown for shown in typical + pictures if shown), None)
    return entry, outlines, None if entry.place is None else draw_thumbnail(first)


def _render_group(entry, images, ids):
    """Render the details of a GroupEntry as HTML.

    `images` is a list of (ImageEntry, name of its file or "", outline), and `ids` the TermIds.
    """
    n_minor = sum(term.is_minor for term in entry.terms)
    looks = [{w.detail for w in one.quality_warnings if w.kind == LOOKS_LIKE} for one in entry.images]
    return render(
        "group.html",
        entry=entry,
        images=images,
        ids={term.term: ids.link(entry.stage_range, term.term) for term in entry.terms},
        evidence={one.term: _render_evidence(*map(vars(one.answer).get, EVIDENCE)) for one in entry.terms},
        link=f"#{urlencode({'open': f'{entry.stage_range}.{entry.name}'})}",
        flybase=gene_link(entry.fbgn),
        # The terms of a stage range that no picture looks like are folded, unless curators gave some.
        folded="" if entry.annotated or not all(looks) else ", ".join(sorted(set.union(set(), *looks))),
        n_hidden=n_minor if n_minor < len(entry.terms) else 0,
    )


@lru_cache(maxsize=4096)  # the same for all groups of a stage range
def _render_evidence(*values):
    """Render how far to trust a term as HTML, from the values of EVIDENCE."""
    return render("evidence.html", term=dict(zip(EVIDENCE, values)))


def build_review(run):
    """Build the ReviewSettings of a `Run`. Its vocabulary is all terms of BDGP and of the run."""
    used = {(s, term) for term, stage_ranges in bdgp_vocabulary().items() for s in stage_ranges} | run.terms
    vocabulary = {term: [] for term in sorted({*bdgp_terms(), *(term for _, term in used)})}
    for s, term in sorted(used, key=lambda one: STAGE_RANGES.index(one[0])):
        vocabulary[term].append(STAGE_RANGES.index(s))
    predictions = run.files.get("predictions")
    digests = predictions.inputs.get("model", []) if predictions else []
    return ReviewSettings("".join(digests[:1]), vocabulary)


def _render_page(page, embedded, index):
    """Render the page as HTML; `embedded` is a list of chunks as HTML, empty if they are in the folder.

    `index` is a dict, which becomes JSON that can safely be put inside a script element.
    """
    return render(
        "page.html",
        page=page,
        sections=[(name, heading, Markup(html)) for name, heading, html in page.sections if html],
        version=__version__,
        css=read_template("page.css"),
        js=Markup("\n").join(read_template(f"{name}.js") for name in _SCRIPTS.split()),
        odds=Markup(to_script_json(index.pop("odds"))),
        index=Markup(to_script_json(index)),
        chunks=embedded,
    )


def _write_all_groups(folder, shared, execution, reads):
    """Write all groups to a folder by the workers of an Execution.

    `shared` has the parts of the SharedValue of `_write_groups`, and `reads` the Paths that the workers must
    see. Returns the list of what `_write_groups` returns, of all groups.
    """
    path = folder / f"groups-{time.time_ns()}"
    value = SharedValue(shared, path)
    if execution.workers.jobs > 1 or execution.workers.scheduler:
        value.write()
    numbers = range(len(shared[0]))
    total = len(numbers)
    written = execution.workers.run_all(
        partial(_write_groups, folder, value),
        [numbers[i : i + _GROUPS_PER_TASK] for i in numbers[::_GROUPS_PER_TASK]],
        on_items=lambda n_ended: execution.progress(min(n_ended, total), total, "group"),
        name=lambda task: f"the groups {task[0] + 1} to {task[-1] + 1}",
        folder=folder,
        reads=lambda _: reads,
        n_items=len,
    )
    path.unlink(missing_ok=True)
    return list(chain.from_iterable(written))


def _draw_maps(folder, written):
    """Draw the map of patterns of each stage range as a chunk in a folder, after the chunks of groups.

    `written` is as `_write_all_groups` returns. Returns a dict from stage range to the index of the chunk.
    """
    placed: dict = {}
    for number, (summary, place, thumbnail) in enumerate(written):
        if place is not None:
            placed.setdefault(STAGE_RANGES[summary["stage"]], []).append((number, place, thumbnail))
    sheets = {}
    for number, (stage_range, entries) in enumerate(placed.items(), len(written[::PER_CHUNK])):
        name = f"map-{stage_range}.jpg"
        sheet, places = draw_map(*zip(*entries))
        html = render("patterns_sheet.html", source=name, places=places)
        _write_chunk(folder, number, html, {name: sheet})
        sheets[stage_range] = number
    return sheets


def _build_index(groups, sheets, page):
    """Return the index of all groups on the page as a dict for JSON, without the folder.

    groups : list of the dicts that `_summarise` returns; terms and look-alikes are replaced by numbers
    sheets : dict, as `_draw_maps` returns; page : Page
    """
    terms: dict = {}
    numbers = {f"{STAGE_RANGES[group['stage']]}.{group['name']}": g for g, group in enumerate(groups)}
    of_stage: list = [{} for _ in STAGE_RANGES]
    for group in groups:
        of_stage[group["stage"]] |= group["odds"]
    for group in groups:
        group["alike"] = [numbers[key] for key in group["alike"] if key in numbers]
        for one in group["terms"] + group["no"]:
            one["term"] = terms.setdefault(one["term"], len(terms))
    return {
        "stages": STAGE_RANGES,
        "learned": [[terms.setdefault(term, len(terms)) for term in names] for names in of_stage],
        "terms": list(terms),
        "perChunk": PER_CHUNK,
        "folder": "",
        "maps": sheets,
        "notAnatomy": NOT_ANATOMY,
        "cells": [STANDARD_PX[0] // CELL_PX, STANDARD_PX[1] // CELL_PX],
        "ids": {key: link[0] for key, link in page.ids.terms.items()},
        "stageIds": page.ids.stages,
        "review": asdict(page.review) | {"columns": COLUMNS},
        "spellings": _list_spellings(),
        "looksLike": LOOKS_LIKE,
        "groups": groups,
        "odds": [list(map(group.pop("odds").get, of_stage[group["stage"]])) for group in groups],
    }


def _list_spellings():
    """Return the words and patterns by which the page reads names, stage ranges and dates, as a dict."""
    dates = [p.replace("(?P<", "(?<").replace(r"[^\W\d]", r"[\p{L}\p{M}_]") for p in DATE_PATTERNS]
    months, unknown = map(read_word_lines, ("months.txt", "unknown.txt"))
    return {"dates": dates, "months": months, "unknown": unknown, "greek": GREEK, "ranges": RANGE_WORDS}


def _summarise(entry):
    """Return a dict with what the list of genes shows of a GroupEntry.

    `terms` has its terms that are not absent. `no` has absent terms that are in a review list or have a
    changed answer. `odds` has the probabilities of all terms, in thousandths. `pictures` is a digest of its
    pictures, by which the browser keeps its verdicts.
    """
    shown = [one for one in entry.terms if one.status != ABSENT]
    asked = [one for one in entry.terms if one.status == ABSENT and (one.review.queue or one.answer.change)]
    return {
        "stage": STAGE_RANGES.index(entry.stage_range),
        "gene": entry.gene,
        "fbgn": entry.fbgn,
        "name": entry.name,
        "images": len(entry.images),
        "shown": [i for i, image in enumerate(entry.images) if image.shown],
        "pictures": json_digest(sorted(one.digest or one.name for one in entry.images))[:16],
        "annotated": PARTLY if entry.is_partly else int(entry.annotated),
        "warned": list(dict.fromkeys(str(w) for image in entry.images for w in image.quality_warnings)),
        "lies": sum(any(w.kind in _LIES_WRONG for w in image.quality_warnings) for image in entry.images),
        "unusual": None if entry.unusual is None else round(entry.unusual, 4),
        "terms": [_summarise_term(one) for one in shown],
        "no": [_summarise_term(one) for one in asked],
        "odds": {
            one.term: round(1000 * p) for one in entry.terms if (p := one.answer.probability) is not None
        },
        "unlike": None if entry.unlike is None else round(entry.unlike, 4),
        "alike": entry.alike,
    }


def _summarise_term(one):
    """Return a dict with the name of a term, and the fields of a DisplayedAnswer."""
    answer = one.answer
    summary = {"term": one.term, "status": one.status}
    if answer.answer:
        summary |= {"p": round(answer.probability, 4), "margin": round(one.margin, 4)}
    marks = {"curated": answer.curated == YES, "changed": answer.change, "guess": answer.caution}
    summary |= {name: 1 for name, is_so in marks.items() if is_so}
    if one.review.queue:
        summary |= {"queue": one.review.queue, "worth": round(one.review.worth, 7)}
    return summary


def to_script_json(value):
    """Convert a value to JSON that is safe inside a script element: <, > and & are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text

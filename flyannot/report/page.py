"""The HTML page, from sections that are ready and the groups.

The groups are an index of all, and details as HTML in chunks.  These lie as scripts, and the images as files,
in a folder beside the page; of a small page they move into it.  A page that exists is whole: the folder has a
name of its own, the page is written after it, and the folder of the page before is removed last.
"""

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from glob import escape
from urllib.parse import urlencode

from markupsafe import Markup

from flyannot import __version__
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.dataset.table_warnings import bdgp_terms, bdgp_vocabulary
from flyannot.files.atomic_file import explained_write_error, write_text
from flyannot.files.digest import digest_of_json
from flyannot.files.text_files import first_bytes
from flyannot.images.geometry import STANDARD_PX
from flyannot.report.drawing import CELL_PX, picture_as_data_url
from flyannot.report.groups import ABSENT
from flyannot.report.nearest import N_SHOWN, PatternMaps
from flyannot.report.templates import raw, render
from flyannot.report.term_ids import NO_IDS, TermIds, gene_link
from flyannot.terms.answers import YES
from flyannot.terms.metrics import NOT_ANATOMY

_SCRIPTS = """
    elements tables scores maps groups nearest verdicts review keys enlarged beside patterns
    patterns_use address
"""  # in the order that they run in
PATTERNS = "patterns"  # the section that is left out where no group has a place on a map
PER_CHUNK = 10
PARTLY = 2  # in the index, of a group of which curators have said something but not all
PAGE_BYTES = 20_000_000
_MADE_FROM = re.compile(r'<meta name="flyannot-made-from" content="([0-9a-f]*)">')
_SOURCE = re.compile(r'src="(image-\d{6}\.jpg)"')  # in text from a table a quote is escaped
_HEAD_BYTES = 1000  # of a page: what it was made from stands there


@dataclass(frozen=True)
class Review:
    """What the verdicts of curators are kept with, so that another page on the same data finds them.

    data_set : the name that the browser keeps verdicts under, for every page on that data set
    model_digest : of the model whose probabilities the page shows
    vocabulary : the terms that a curator may add -> numbers of the stage ranges that have them, none where
    that is not known
    """

    data_set: str = ""
    model_digest: str = ""
    vocabulary: Mapping[str, list] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """What the page shows besides the groups.

    facts : what was run, in a line; sections : list of (id, heading, HTML), left out where empty, the
    one with the id "groups" without its list, that with the id PATTERNS where there is no map; banners :
    sentences that stand on top; ids : the ids of terms; review : what verdicts of curators are kept with
    """

    title: str
    facts: str = ""
    sections: list = field(default_factory=list)
    banners: list = field(default_factory=list)
    made_from: str = ""
    ids: TermIds = NO_IDS
    review: Review = Review()


def write_page(path, page, entries, *, jpeg_of, page_bytes=PAGE_BYTES):
    """Write the page, and if it would pass `page_bytes` a folder NAME-files-... beside it, which is returned.

    `entries` is an iterable of GroupEntry, `jpeg_of` a function from the path of an
    image to the bytes of a JPEG, or None where it cannot be read.  WriteError if the page cannot be written.
    """
    staged, prefix = path.with_name(f".{path.name}.{os.getpid()}.new"), f"{path.name}-files-"
    try:
        with explained_write_error(path):
            staged.mkdir(parents=True)
            chunks = _Chunks(staged, jpeg_of, page.ids)
            for entry in entries:
                chunks.add(entry)
            chunks.flush()
            chunks.add_maps()
            n_bytes = sum(len(html) for *_, html in page.sections)
            if n_bytes + chunks.n_bytes <= page_bytes:
                folder, within = None, list(chunks.moved_in())
            else:
                name = digest_of_json([page.made_from, chunks.index])[:12]
                folder, within = path.with_name(prefix + name), []
                shutil.rmtree(folder, ignore_errors=True)
                os.rename(staged, folder)
        if not chunks.maps:
            page = replace(page, sections=[part for part in page.sections if part[0] != PATTERNS])
        write_text(path, _html(page, within, chunks, folder.name if folder else ""))
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    for beside in path.parent.glob(escape(prefix) + "[0-9a-f]" * 12):
        if beside != folder:  # that of the page before
            shutil.rmtree(beside, ignore_errors=True)
    return folder


def digest_in_page(path):
    """What a page says that it was made from; None if there is no page, "" if it is none of ours."""
    if not path.is_file():
        return "" if path.exists() else None
    match = _MADE_FROM.search(first_bytes(path, _HEAD_BYTES).decode("utf-8", "replace"))
    return match[1] if match else ""


def review_of(run):
    """The Review of a `Run`."""
    used = {(s, term) for term, stage_ranges in bdgp_vocabulary().items() for s in stage_ranges} | run.terms
    vocabulary = {term: [] for term in sorted({*bdgp_terms(), *(term for _, term in used)})}
    for s, term in sorted(used):
        vocabulary[term].append(STAGE_RANGES.index(s))
    predictions = run.files.get("predictions")
    digests = predictions.inputs.get("model", []) if predictions else []
    return Review(run.data_set_name, "".join(digests[:1]), {t: sorted(n) for t, n in vocabulary.items()})


def _html(page, within, chunks, folder_name):
    return render(
        "page.html",
        page=page,
        sections=[(name, heading, Markup(html)) for name, heading, html in page.sections if html],
        version=__version__,
        css=raw("page.css"),
        js=Markup("\n").join(raw(f"{name}.js") for name in _SCRIPTS.split()),
        index=chunks.index_json(folder_name, page.review),
        chunks=within,
    )


class _Chunks:
    """Writes groups to a folder, empty at first, as they come; `jpeg_of` as in `write_page`."""

    def __init__(self, folder, jpeg_of, ids):
        self._folder, self._jpeg_of, self._ids = folder, jpeg_of, ids
        self.index, self.n_bytes = [], 0  # of all groups; of the details, if they lay in the page
        self.maps, self._patterns = {}, PatternMaps()  # of a stage range the number of a chunk
        self._terms, self._open, self._n_chunks, self._n_images = {}, [], 0, 0
        self._numbers = {}  # of a group by its key

    def add(self, entry):
        """Take one GroupEntry."""
        jpegs = [self._jpeg_of(image.path) if image.path else None for image in entry.images]
        sources = [self._source(jpeg_bytes) if jpeg_bytes else "" for jpeg_bytes in jpegs]
        typical = [j for image, j in zip(entry.images, jpegs) if image.name == entry.typical]
        self._patterns.add(len(self.index), entry, next(filter(None, typical + jpegs), None))
        self._numbers[f"{entry.stage_range}.{entry.name}"] = len(self.index)
        self.index.append(self._summary(entry))
        n_minor = sum(term.is_minor for term in entry.terms)
        self._open.append(
            render(
                "group.html",
                entry=entry,
                n_shown=N_SHOWN,
                images=list(zip(entry.images, sources)),
                ids={term.term: self._ids.link(entry.stage_range, term.term) for term in entry.terms},
                link=f"#{urlencode({'open': f'{entry.stage_range}.{entry.name}'})}",
                flybase=gene_link(entry.fbgn),
                n_hidden=n_minor if n_minor < len(entry.terms) else 0,
            )
        )
        if len(self._open) == PER_CHUNK:
            self.flush()

    def flush(self):
        """No group follows, or the chunk is full."""
        if self._open:
            self._write_chunk("".join(self._open))
            self._open = []

    def add_maps(self):
        """The maps of patterns, a chunk each, after all groups."""
        for stage_range, sheet, places in self._patterns.maps():
            self.maps[stage_range] = self._n_chunks
            self._write_chunk(render("patterns_sheet.html", source=self._source(sheet), places=places))

    def _write_chunk(self, html):
        text = json.dumps(html, ensure_ascii=False)
        self.n_bytes += len(text.encode())
        place = self._folder / f"chunk-{self._n_chunks}.js"
        place.write_bytes(f"flyannotChunk({self._n_chunks}, {text});\n".encode())
        self._n_chunks += 1

    def moved_in(self):
        """The chunks as HTML with their images within."""
        for n in range(self._n_chunks):
            text = (self._folder / f"chunk-{n}.js").read_text(encoding="utf-8")
            html = json.loads(text.partition(", ")[2].removesuffix(");\n"))
            yield Markup(_SOURCE.sub(self._within, html))

    def index_json(self, folder_name, review):
        """The index as text that may stand inside a script element."""
        number = self._numbers
        index = {
            "stages": STAGE_RANGES,
            "terms": list(self._terms),
            "perChunk": PER_CHUNK,
            "folder": folder_name,
            "maps": self.maps,
            "notAnatomy": NOT_ANATOMY,
            "cells": [STANDARD_PX[0] // CELL_PX, STANDARD_PX[1] // CELL_PX],
            "ids": {key: link[0] for key, link in self._ids.terms.items()},
            "stageIds": self._ids.stages,
            "review": asdict(review),
            "groups": [
                group | {"alike": [number[key] for key in group["alike"] if key in number]}
                for group in self.index
            ],
        }
        return Markup(report_json(index))

    def _summary(self, entry):
        """Return what the list shows, finds and orders by; `no` has terms answered no that are on a list."""
        shown = [one for one in entry.terms if one.status != ABSENT]
        asked = [one for one in entry.terms if one.status == ABSENT and (one.queue or one.change)]
        return {
            "stage": STAGE_RANGES.index(entry.stage_range),
            "gene": entry.gene,
            "fbgn": entry.fbgn,
            "name": entry.name,
            "images": len(entry.images),
            "annotated": PARTLY if entry.is_partly else int(entry.annotated),
            "check": sum(bool(image.quality_warnings) for image in entry.images),
            "terms": [self._term(one) for one in shown],
            "no": [self._term(one) for one in asked],
            "unlike": None if entry.unlike is None else round(entry.unlike, 4),
            "alike": [near.key for near in entry.nearest],
        }

    def _term(self, one):
        """Return the number of the term, and what is known of a ShownAnswer; what is not known, not
        curated, unchanged, no guess, or on no list is left out."""
        number = self._terms.setdefault(one.term, len(self._terms))
        summary = {"term": number, "status": one.status}
        if one.answer:
            summary |= {"p": round(one.probability, 4), "margin": round(one.margin, 4)}
        marks = {"curated": one.curated == YES, "changed": one.change, "guess": one.caution}
        summary |= {name: 1 for name, is_so in marks.items() if is_so}
        if one.queue:
            summary |= {"queue": one.queue, "worth": round(one.worth, 7)}
        return summary

    def _source(self, jpeg_bytes):
        """The name of the file of an image, written."""
        name = f"image-{self._n_images:06d}.jpg"
        (self._folder / name).write_bytes(jpeg_bytes)
        self._n_images += 1
        self.n_bytes += len(jpeg_bytes) * 4 // 3
        return name

    def _within(self, source):
        return f'src="{picture_as_data_url((self._folder / source[1]).read_bytes())}"'


def report_json(value):
    """JSON that may stand inside a script element: no text in it can end the element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text

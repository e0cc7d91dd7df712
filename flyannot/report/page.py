"""The HTML page, from sections that are ready and from the groups.

The page has an index of all groups, and their details as HTML in chunks. A small page contains the chunks and
all images. For a large page the chunks are scripts, and the images files, in a folder beside the page.

A page that exists is whole. Its folder has a name of its own, the page is written after the folder, and the
folder of the older page is removed last.
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
from flyannot.files.atomic_file import explain_write_errors, write_text
from flyannot.files.digest import json_digest
from flyannot.files.text_files import read_first_bytes
from flyannot.images.geometry import STANDARD_PX
from flyannot.report.drawing import CELL_PX, to_data_url
from flyannot.report.groups import ABSENT
from flyannot.report.nearest import N_SHOWN, PatternMaps
from flyannot.report.templates import read_template, render
from flyannot.report.term_ids import NO_IDS, TermIds, gene_link
from flyannot.terms.answers import YES
from flyannot.terms.metrics import NOT_ANATOMY

_SCRIPTS = """
    elements tables scores maps groups nearest verdicts review keys enlarged beside patterns
    patterns_use address
"""  # in the order in which they run
PATTERNS = "patterns"  # the section that is left out if no group has a place on a map
PER_CHUNK = 10
PARTLY = 2  # in the index, for a group of which curators have given some terms only
PAGE_BYTES = 20_000_000
_MADE_FROM = re.compile(r'<meta name="flyannot-made-from" content="([0-9a-f]*)">')
_SOURCE = re.compile(r'src="(image-\d{6}\.jpg)"')  # in text from a table, quotes are escaped
_HEAD_BYTES = 1000  # the digest of a page stands within its first bytes


@dataclass(frozen=True)
class Review:
    """What the browser keeps with the verdicts of curators.

    data_set : the name under which the browser keeps verdicts, for every page on that data set
    model_digest : digest of the model whose probabilities the page shows
    vocabulary : terms that a curator may add -> numbers of the stage ranges that have them, empty if unknown
    """

    data_set: str = ""
    model_digest: str = ""
    vocabulary: Mapping[str, list] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """The parts of the page besides the groups.

    facts : a line on what was run
    sections : list of (id, heading, HTML); sections without HTML are left out, and so is the section with the
        id PATTERNS if there is no map
    banners : sentences at the top
    made_from : digest of all that the page depends on
    ids : TermIds
    review : Review
    """

    title: str
    facts: str = ""
    sections: list = field(default_factory=list)
    banners: list = field(default_factory=list)
    made_from: str = ""
    ids: TermIds = NO_IDS
    review: Review = Review()


def write_page(path, page, entries, *, jpeg_of, page_bytes=PAGE_BYTES):
    """Write the page; if it would be larger than `page_bytes`, its pictures go to a folder beside it.

    Parameters
    ----------
    path : Path
    page : Page
    entries : iterable of GroupEntry
    jpeg_of : function from the path of an image to the bytes of a JPEG, or None if it cannot be read
    page_bytes : int

    Returns
    -------
    Path or None
        The folder, which is named after the page; None if the page holds everything.

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
            chunks = _ChunkWriter(staged, jpeg_of, page.ids)
            for entry in entries:
                chunks.add(entry)
            chunks.flush()
            chunks.add_maps()
            n_bytes = sum(len(html) for *_, html in page.sections)
            if n_bytes + chunks.n_bytes <= page_bytes:
                embedded = list(chunks.embedded())
            else:
                folder = path.with_name(prefix + json_digest([page.made_from, chunks.index])[:12])
                shutil.rmtree(folder, ignore_errors=True)
                os.rename(staged, folder)
        if not chunks.maps:
            page = replace(page, sections=[part for part in page.sections if part[0] != PATTERNS])
        write_text(path, _render_page(page, embedded, chunks, folder.name if folder else ""))
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    for beside in path.parent.glob(escape(prefix) + "[0-9a-f]" * 12):
        if beside != folder:  # the folder of the older page
            shutil.rmtree(beside, ignore_errors=True)
    return folder


def read_page_digest(path):
    """Return the digest that a page was made from; None if there is no file, "" if it is no such page."""
    if not path.is_file():
        return "" if path.exists() else None
    match = _MADE_FROM.search(read_first_bytes(path, _HEAD_BYTES).decode("utf-8", "replace"))
    return match[1] if match else ""


def build_review(run):
    """Build the Review of a `Run`."""
    used = {(s, term) for term, stage_ranges in bdgp_vocabulary().items() for s in stage_ranges} | run.terms
    vocabulary = {term: [] for term in sorted({*bdgp_terms(), *(term for _, term in used)})}
    for s, term in sorted(used, key=lambda one: STAGE_RANGES.index(one[0])):
        vocabulary[term].append(STAGE_RANGES.index(s))
    predictions = run.files.get("predictions")
    digests = predictions.inputs.get("model", []) if predictions else []
    return Review(run.data_set_name, "".join(digests[:1]), vocabulary)


def _render_page(page, embedded, chunks, folder_name):
    return render(
        "page.html",
        page=page,
        sections=[(name, heading, Markup(html)) for name, heading, html in page.sections if html],
        version=__version__,
        css=read_template("page.css"),
        js=Markup("\n").join(read_template(f"{name}.js") for name in _SCRIPTS.split()),
        index=chunks.index_json(folder_name, page.review),
        chunks=embedded,
    )


class _ChunkWriter:
    """Writes groups and their images to an empty folder, one after the other.

    index : list of what the page needs to list each group
    maps : dict from stage range to the number of the chunk of its map
    n_bytes : size of the details, if the page contained them
    """

    def __init__(self, folder, jpeg_of, ids):
        self._folder = folder
        self._jpeg_of = jpeg_of
        self._ids = ids
        self.index = []
        self.maps = {}
        self.n_bytes = 0
        self._patterns = PatternMaps()
        self._group_numbers = {}  # by the key of a group
        self._term_numbers = {}
        self._open = []  # groups of the chunk that is not yet full
        self._n_chunks = 0
        self._n_images = 0

    def add(self, entry):
        """Add one GroupEntry."""
        jpegs = [self._jpeg_of(image.path) if image.path else None for image in entry.images]
        sources = [self._write_image(jpeg_bytes) if jpeg_bytes else "" for jpeg_bytes in jpegs]
        typical = [j for image, j in zip(entry.images, jpegs) if image.name == entry.typical]
        self._patterns.add(len(self.index), entry, next(filter(None, typical + jpegs), None))
        key = f"{entry.stage_range}.{entry.name}"
        self._group_numbers[key] = len(self.index)
        self.index.append(self._summarise(entry))
        n_minor = sum(term.is_minor for term in entry.terms)
        self._open.append(
            render(
                "group.html",
                entry=entry,
                n_shown=N_SHOWN,
                images=list(zip(entry.images, sources)),
                ids={term.term: self._ids.link(entry.stage_range, term.term) for term in entry.terms},
                link=f"#{urlencode({'open': key})}",
                flybase=gene_link(entry.fbgn),
                n_hidden=n_minor if n_minor < len(entry.terms) else 0,
            )
        )
        if len(self._open) == PER_CHUNK:
            self.flush()

    def flush(self):
        """Write the groups that were added since the last chunk."""
        if self._open:
            self._write_chunk("".join(self._open))
            self._open = []

    def add_maps(self):
        """Write the maps of patterns, a chunk each; call it after the last group."""
        for stage_range, sheet, places in self._patterns.maps():
            self.maps[stage_range] = self._n_chunks
            self._write_chunk(render("patterns_sheet.html", source=self._write_image(sheet), places=places))

    def _write_chunk(self, html):
        text = json.dumps(html, ensure_ascii=False)
        self.n_bytes += len(text.encode())
        place = self._folder / f"chunk-{self._n_chunks}.js"
        place.write_bytes(f"flyannotChunk({self._n_chunks}, {text});\n".encode())
        self._n_chunks += 1

    def embedded(self):
        """Yield the chunks as HTML that contains their images."""
        for n in range(self._n_chunks):
            text = (self._folder / f"chunk-{n}.js").read_text(encoding="utf-8")
            html = json.loads(text.partition(", ")[2].removesuffix(");\n"))
            yield Markup(_SOURCE.sub(self._embed_image, html))

    def index_json(self, folder_name, review):
        """Return the index as JSON that may stand inside a script element."""
        number = self._group_numbers
        index = {
            "stages": STAGE_RANGES,
            "terms": list(self._term_numbers),
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
        return Markup(to_script_json(index))

    def _summarise(self, entry):
        """Return what the list shows of a group; `no` has the absent terms that are in a queue or changed."""
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
            "terms": [self._summarise_term(one) for one in shown],
            "no": [self._summarise_term(one) for one in asked],
            "unlike": None if entry.unlike is None else round(entry.unlike, 4),
            "alike": [near.key for near in entry.nearest],
        }

    def _summarise_term(self, one):
        """Return the number of the term and what is known of a ShownAnswer, without empty values."""
        number = self._term_numbers.setdefault(one.term, len(self._term_numbers))
        summary = {"term": number, "status": one.status}
        if one.answer:
            summary |= {"p": round(one.probability, 4), "margin": round(one.margin, 4)}
        marks = {"curated": one.curated == YES, "changed": one.change, "guess": one.caution}
        summary |= {name: 1 for name, is_so in marks.items() if is_so}
        if one.queue:
            summary |= {"queue": one.queue, "worth": round(one.worth, 7)}
        return summary

    def _write_image(self, jpeg_bytes):
        """Write an image; return the name of its file."""
        name = f"image-{self._n_images:06d}.jpg"
        (self._folder / name).write_bytes(jpeg_bytes)
        self._n_images += 1
        self.n_bytes += len(jpeg_bytes) * 4 // 3  # in base64
        return name

    def _embed_image(self, source):
        return f'src="{to_data_url((self._folder / source[1]).read_bytes())}"'


def to_script_json(value):
    """Return JSON that may stand inside a script element: no text in it can end or begin an element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text

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
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
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
from flyannot.images.picture import EITHER_WAY
from flyannot.images.quality import PORTRAIT, POSTERIOR_LEFT
from flyannot.jobs.executor import map_ordered
from flyannot.report.drawing import to_data_url, trace_outline
from flyannot.report.groups import ABSENT
from flyannot.report.nearest import N_SHOWN, PatternMapBuilder, draw_thumbnail
from flyannot.report.templates import read_template, render
from flyannot.report.term_ids import NO_IDS, TermIds, gene_link
from flyannot.terms.answers import YES
from flyannot.terms.explain import CELL_PX
from flyannot.terms.metrics import NOT_ANATOMY
from flyannot.terms.unlikeness import UNLIKE_WORDS

_SCRIPTS = """
    elements tables scores maps groups nearest verdicts review keys enlarged turns beside patterns
    patterns_use address
"""  # in the order in which they run
PATTERNS = "patterns"  # the section that is left out if no group has a place on a map
# Warnings about a picture that may lie wrong.
_LIES_WRONG = (POSTERIOR_LEFT, EITHER_WAY, PORTRAIT, UNLIKE_WORDS)
PER_CHUNK = 4
PARTLY = 2  # in the index, for a group of which curators have given some terms only
PAGE_BYTES = 20_000_000
_MADE_FROM = re.compile(r'<meta name="flyannot-made-from" content="([0-9a-f]*)">')
_SOURCE = re.compile(r'src="(image-\d{6}\.jpg)"')  # in text from a table, quotes are escaped
_HEAD_BYTES = 1000  # the digest of a page stands within its first bytes


@dataclass(frozen=True)
class ReviewSettings:
    """Data that the script of the page needs to store the verdicts of curators in the browser.

    data_set : str, the name under which the browser stores verdicts, common to all pages on that data set
    model_digest : str, digest of the model whose probabilities the page shows, "" for none
    vocabulary : dict from each term that a curator may add to a list of indices of its stage ranges; the
        list is empty if the stage ranges are unknown
    """

    data_set: str = ""
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
    review : Review
    """

    title: str
    facts: str = ""
    sections: list = field(default_factory=list)
    banners: list = field(default_factory=list)
    made_from: str = ""
    ids: TermIds = NO_IDS
    review: ReviewSettings = ReviewSettings()


def write_page(path, page, entries, *, jpeg_of, page_bytes=PAGE_BYTES):
    """Write the report page, and a folder with its images if the page would be too large to embed them.

    Parameters
    ----------
    path : Path
    page : Page
    entries : iterable of GroupEntry
    jpeg_of : function
        Takes the Path of a picture and returns the bytes of a JPEG, or None if the picture is unreadable.
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
            chunks = _ChunkWriter(staged, page.ids)
            for drawn in map_ordered(partial(_draw_images, jpeg_of), entries):
                chunks.add(*drawn)
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


def _draw_images(jpeg_of, entry):
    """Draw the images of a group, in a thread.

    Parameters
    ----------
    jpeg_of : function, as in `write_page`
    entry : GroupEntry

    Returns
    -------
    entry : GroupEntry
    jpegs : list with the bytes of the JPEG of each image; None if its picture is missing or unreadable
    outlines : list with the outline of each embryo as a CSS polygon; "" without a JPEG or without maps
    thumbnail : uint8 array, as `draw_thumbnail` returns, of the typical image or of the first readable one;
        None if the group has no place on a map
    """
    jpegs = [jpeg_of(image.path) if image.path else None for image in entry.images]
    has_maps = any(one.map for one in entry.terms)
    outlines = [trace_outline(jpeg_bytes) if has_maps and jpeg_bytes else "" for jpeg_bytes in jpegs]
    typical = [j for image, j in zip(entry.images, jpegs) if image.name == entry.typical]
    shown = next(filter(None, typical + jpegs), None)
    return entry, jpegs, outlines, None if entry.place is None else draw_thumbnail(shown)


def read_page_digest(path):
    """Read the digest of the data that the report page at `path` was made from.

    Returns None if nothing exists at `path`, and "" if it is not a report page.
    """
    if not path.is_file():
        return "" if path.exists() else None
    match = _MADE_FROM.search(read_first_bytes(path, _HEAD_BYTES).decode("utf-8", "replace"))
    return match[1] if match else ""


def build_review(run):
    """Build the Review of a `Run`: data set name, model digest, and the terms that a curator may add."""
    used = {(s, term) for term, stage_ranges in bdgp_vocabulary().items() for s in stage_ranges} | run.terms
    vocabulary = {term: [] for term in sorted({*bdgp_terms(), *(term for _, term in used)})}
    for s, term in sorted(used, key=lambda one: STAGE_RANGES.index(one[0])):
        vocabulary[term].append(STAGE_RANGES.index(s))
    predictions = run.files.get("predictions")
    digests = predictions.inputs.get("model", []) if predictions else []
    return ReviewSettings(run.data_set_name, "".join(digests[:1]), vocabulary)


def _render_page(page, embedded, chunks, folder_name):
    """Render the page as HTML; `embedded` is a list of chunks as HTML, empty if they are in the folder."""
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
    """The writer of the groups of a page and their images to an empty folder, in chunks of PER_CHUNK groups.

    index : list of the dicts by which the page lists each group
    maps : dict from stage range to the index of the chunk that has its map of patterns
    n_bytes : int, size in bytes that chunks and images would have if embedded in the page
    """

    def __init__(self, folder, ids):
        self._folder = folder
        self._ids = ids
        self.index = []
        self.maps = {}
        self.n_bytes = 0
        self._patterns = PatternMapBuilder()
        self._group_numbers = {}  # by the key of a group
        self._term_numbers = {}
        self._open = []  # groups of the chunk that is not yet full
        self._n_chunks = 0
        self._n_images = 0

    def add(self, entry, jpegs, outlines, thumbnail):
        """Write the images of a GroupEntry, add it to the index, and render it. A full chunk is written.

        The parameters are what `_draw_images` returns.
        """
        sources = [self._write_image(jpeg_bytes) if jpeg_bytes else "" for jpeg_bytes in jpegs]
        self._patterns.add(len(self.index), entry, thumbnail)
        key = f"{entry.stage_range}.{entry.name}"
        self._group_numbers[key] = len(self.index)
        self.index.append(self._summarise(entry))
        n_minor = sum(term.is_minor for term in entry.terms)
        self._open.append(
            render(
                "group.html",
                entry=entry,
                n_shown=N_SHOWN,
                images=list(zip(entry.images, sources, outlines)),
                ids={term.term: self._ids.link(entry.stage_range, term.term) for term in entry.terms},
                link=f"#{urlencode({'open': key})}",
                flybase=gene_link(entry.fbgn),
                n_hidden=n_minor if n_minor < len(entry.terms) else 0,
            )
        )
        if len(self._open) == PER_CHUNK:
            self.flush()

    def flush(self):
        """Write the groups that are rendered and not yet in a chunk as one chunk."""
        if self._open:
            self._write_chunk("".join(self._open))
            self._open = []

    def add_maps(self):
        """Write the map of patterns of each stage range as one chunk; call this after the last group."""
        for stage_range, sheet, places in self._patterns.maps():
            self.maps[stage_range] = self._n_chunks
            self._write_chunk(render("patterns_sheet.html", source=self._write_image(sheet), places=places))

    def _write_chunk(self, html):
        """Write HTML as the next chunk: a script that passes its index and the HTML to `flyannotChunk`."""
        text = json.dumps(html, ensure_ascii=False)
        self.n_bytes += len(text.encode())
        place = self._folder / f"chunk-{self._n_chunks}.js"
        place.write_bytes(f"flyannotChunk({self._n_chunks}, {text});\n".encode())
        self._n_chunks += 1

    def embedded(self):
        """Yield the HTML of every chunk, in which links to image files are replaced by data URLs."""
        for n in range(self._n_chunks):
            text = (self._folder / f"chunk-{n}.js").read_text(encoding="utf-8")
            html = json.loads(text.partition(", ")[2].removesuffix(");\n"))
            yield Markup(_SOURCE.sub(self._embed_image, html))

    def index_json(self, folder_name, review):
        """Return the index of all groups as JSON that can safely be put inside a script element.

        `folder_name` is the folder with chunks and images, "" if they are embedded. `review` is the Review.
        """
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
        """Return a dict with what the list of genes shows of a GroupEntry.

        `terms` has its terms that are not absent. `no` has absent terms that are in a review list or have a
        changed answer.
        """
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
            "lies": sum(
                any(said in image.quality_warnings for said in _LIES_WRONG) for image in entry.images
            ),
            "unusual": None if entry.unusual is None else round(entry.unusual, 4),
            "terms": [self._summarise_term(one) for one in shown],
            "no": [self._summarise_term(one) for one in asked],
            "unlike": None if entry.unlike is None else round(entry.unlike, 4),
            "alike": [near.key for near in entry.nearest],
        }

    def _summarise_term(self, one):
        """Return a dict with the index of a term on the page, and the fields of a DisplayedAnswer."""
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
        """Write JPEG bytes to a new file in the folder, and return the name of the file."""
        name = f"image-{self._n_images:06d}.jpg"
        (self._folder / name).write_bytes(jpeg_bytes)
        self._n_images += 1
        self.n_bytes += len(jpeg_bytes) * 4 // 3  # in base64
        return name

    def _embed_image(self, source):
        """Return a `src` attribute with the image file of a regular-expression match as a data URL."""
        return f'src="{to_data_url((self._folder / source[1]).read_bytes())}"'


def to_script_json(value):
    """Convert a value to JSON that is safe inside a script element: <, > and & are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text

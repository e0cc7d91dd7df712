"""The groups as the page's script takes them: an index of all, and the details in chunks.

Up to PAGE_BYTES the chunks lie in the page.  Beyond, they lie as scripts, and the images as files, in a
folder beside it.
"""

import json
from dataclasses import dataclass, field

from flyannot.descriptors.standard_image import SIZE_PX
from flyannot.report.groups import ABSENT, AGREED, MISSED, NEW, OPEN, PREDICTED, UNLEARNED
from flyannot.report.pictures import CELL_PX, as_url
from flyannot.stage_ranges import STAGE_RANGES

PAGE_BYTES = 20_000_000
PER_CHUNK = 10
_STATUSES = (AGREED, MISSED, NEW, PREDICTED, UNLEARNED, ABSENT, OPEN)  # numbered so in the page's script


@dataclass
class Chunks:
    """Collects groups; `folder` is the path that images and chunks go to once they are too many.

    jpeg_of : callable from a path to the bytes of a JPEG, or None where the image cannot be read
    room : bytes that the chunks may take within the page
    make_folder : callable that makes an empty folder and returns its path
    """

    jpeg_of: object
    room: int
    make_folder: object
    index: list = field(default_factory=list)
    inside: list = field(default_factory=list)  # texts of the chunks, while they lie in the page
    folder: object = None
    _terms: dict = field(default_factory=dict)
    _open: list = field(default_factory=list)  # (details, JPEGs) of the groups of the chunk that is not full
    _waiting: list = field(default_factory=list)  # what `inside` was made from
    _bytes: int = 0
    _n_chunks: int = 0
    _n_images: int = 0

    def add(self, entry):
        """Take one GroupEntry."""
        self.index.append(self._summary(entry))
        jpegs = [self.jpeg_of(image.path) if image.path else None for image in entry.images]
        self._open.append((entry, [self._packed(one) for one in entry.terms], jpegs))
        if len(self._open) == PER_CHUNK:
            self.close()

    def close(self):
        """No group follows, or the chunk is full."""
        if not self._open:
            return
        if self.folder is None:
            text = as_json([_details(entry, terms, map(_url, jpegs)) for entry, terms, jpegs in self._open])
            self.inside.append(text)
            self._waiting.append(self._open)
            self._bytes += len(text.encode())
            if self._bytes > self.room:
                self._move_out()
        else:
            self._write(self._open)
        self._open = []

    def index_json(self, folder_name, ids):
        """The index as text, with the ids of the terms that have one."""
        return as_json(
            {
                "stages": STAGE_RANGES,
                "terms": list(self._terms),
                "ids": [ids.packed(term) for term in self._terms],
                "perChunk": PER_CHUNK,
                "folder": folder_name,
                "cells": [SIZE_PX[0] // CELL_PX, SIZE_PX[1] // CELL_PX],
                "groups": self.index,
            }
        )

    def _summary(self, entry):
        counts = [len(entry.with_status(status)) for status in (AGREED, MISSED, NEW, PREDICTED)]
        yes = entry.with_status(AGREED, NEW, PREDICTED)
        curated = entry.with_status(AGREED, MISSED, UNLEARNED)
        return [
            STAGE_RANGES.index(entry.stage_range), entry.gene, entry.fbgn, entry.name, len(entry.images),
            int(entry.annotated), int(entry.in_training), *counts,
            [self._number(t) for t in yes], [self._number(t) for t in curated],
        ]  # fmt: skip

    def _number(self, term):
        return self._terms.setdefault(term, len(self._terms))

    def _packed(self, one):
        numbers = (one.probability, one.final)
        return [
            self._number(one.term), _STATUSES.index(one.status), _rounded(numbers[0], 4), int(one.held_out),
            _rounded(numbers[1], 4), one.map and _packed_map(one.map),
            None if one.second is None else int(one.second),
        ]  # fmt: skip

    def _move_out(self):
        self.folder = self.make_folder()
        for groups in self._waiting:
            self._write(groups)
        self.inside, self._waiting = [], []

    def _write(self, groups):
        """One chunk as a script, its images as files."""
        details = []
        for entry, terms, jpegs in groups:
            sources = []
            for one in jpegs:
                sources.append(one and f"image-{self._n_images:06d}.jpg")
                if one:
                    (self.folder / sources[-1]).write_bytes(one)
                self._n_images += 1
            details.append(_details(entry, terms, sources))
        text = f"flyannotChunk({self._n_chunks}, {as_json(details)});\n"
        (self.folder / f"chunk-{self._n_chunks}.js").write_bytes(text.encode())
        self._n_chunks += 1


def _url(jpeg):
    return as_url(jpeg) if jpeg else None


def _details(entry, terms, sources):
    images = [[image.name, image.view, source] for image, source in zip(entry.images, sources)]
    return {"images": images, "terms": terms}


def _packed_map(found):
    sums = [_rounded(v, 6) for v in (found.value, found.plus, found.minus, found.rest, found.full)]
    return [*sums, found.cells]


def _rounded(value, digits):
    return None if value is None else round(value, digits)


def as_json(value):
    """JSON that may stand inside a script element: no text in it can end the element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text

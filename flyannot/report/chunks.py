"""The groups as the page's script takes them: an index of all, and the details as HTML, in chunks.

The details lie as scripts, and the images as files, in a folder beside the page; of a small page they move
into it.
"""

import json
import re

from markupsafe import Markup

from flyannot.descriptors.standard_image import SIZE_PX
from flyannot.report.groups import ABSENT, AGREED, MISSED, NEW, PREDICTED, UNLEARNED
from flyannot.report.pictures import CELL_PX, as_url
from flyannot.report.templates import render
from flyannot.report.term_ids import NO_IDS
from flyannot.stage_ranges import STAGE_RANGES

PER_CHUNK = 10
_SOURCE = re.compile(r'src="(image-\d{6}\.jpg)"')  # in text from a table a quote is escaped


class Chunks:
    """Writes groups to a folder as they come.

    folder : Path of an empty folder; jpeg_of : callable from a path to the bytes of a JPEG, or None where
    the image cannot be read; ids : flyannot.report.term_ids.TermIds
    """

    def __init__(self, folder, jpeg_of, ids=NO_IDS):
        self._folder, self._jpeg_of, self._ids = folder, jpeg_of, ids
        self.index, self.n_bytes = [], 0  # of all groups; of the details, if they lay in the page
        self._terms, self._open, self._n_chunks, self._n_images = {}, [], 0, 0

    def add(self, entry):
        """Take one GroupEntry."""
        self.index.append(self._summary(entry))
        sources = [self._source(image) for image in entry.images]
        absent, ids = entry.with_status(ABSENT), {one.term: self._ids.packed(one.term) for one in entry.terms}
        self._open.append(
            render(
                "group.html",
                entry=entry,
                images=list(zip(entry.images, sources)),
                ids=ids,
                n_hidden=len(absent) if len(absent) < len(entry.terms) else 0,
            )  # fmt: skip
        )
        if len(self._open) == PER_CHUNK:
            self.flush()

    def flush(self):
        """No group follows, or the chunk is full."""
        if self._open:
            text = json.dumps("".join(self._open), ensure_ascii=False)
            self.n_bytes += len(text.encode())
            place = self._folder / f"chunk-{self._n_chunks}.js"
            place.write_bytes(f"flyannotChunk({self._n_chunks}, {text});\n".encode())
            self._n_chunks, self._open = self._n_chunks + 1, []

    def moved_in(self):
        """The chunks as HTML with their images within."""
        for n in range(self._n_chunks):
            text = (self._folder / f"chunk-{n}.js").read_text(encoding="utf-8")
            html = json.loads(text.partition(", ")[2].removesuffix(");\n"))
            yield Markup(_SOURCE.sub(self._within, html))

    def index_json(self, folder_name):
        """The index as text that may stand inside a script element."""
        return Markup(
            as_json(
                {
                    "stages": STAGE_RANGES,
                    "terms": list(self._terms),
                    "perChunk": PER_CHUNK,
                    "folder": folder_name,
                    "cells": [SIZE_PX[0] // CELL_PX, SIZE_PX[1] // CELL_PX],
                    "groups": self.index,
                }
            )
        )

    def _summary(self, entry):
        counts = [len(entry.with_status(status)) for status in (AGREED, MISSED, NEW, PREDICTED)]
        yes = entry.with_status(AGREED, NEW, PREDICTED)
        curated = entry.with_status(AGREED, MISSED, UNLEARNED)
        return [
            STAGE_RANGES.index(entry.stage_range), entry.gene, entry.fbgn, entry.name, len(entry.images),
            int(entry.annotated), *counts, [self._number(t) for t in yes], [self._number(t) for t in curated],
        ]  # fmt: skip

    def _number(self, term):
        return self._terms.setdefault(term, len(self._terms))

    def _source(self, image):
        """The name of the file of an image, written; "" if it cannot be read."""
        jpeg = self._jpeg_of(image.path) if image.path else None
        if not jpeg:
            return ""
        name = f"image-{self._n_images:06d}.jpg"
        (self._folder / name).write_bytes(jpeg)
        self._n_images += 1
        self.n_bytes += len(jpeg) * 4 // 3
        return name

    def _within(self, source):
        return f'src="{as_url((self._folder / source[1]).read_bytes())}"'


def as_json(value):
    """JSON that may stand inside a script element: no text in it can end the element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text

"""The reading side: a file is looked over before any of its data are believed.

Its layout comes first (`layout`), then its schema.  Whenever a file is opened, all that is
small in it is compared with the digest in its header; what is bulky is compared with its own, image by image,
when it is read.
"""

import os
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from flyannot.base.errors import DataError, InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.files.hdf5.header import content_digest, digest_of_image, read_header
from flyannot.files.hdf5.layout import (
    OpenFile,
    datasets_of,
    is_hdf5,
    objects_in,
    open_hdf5,
    require_as_written,
)
from flyannot.files.hdf5.schema import (
    BULK,
    IMAGE_COLUMNS,
    MADE_BY,
    MAY_BE_NAN,
    SCHEMAS,
    contradiction_in_file,
    shape_violation,
)

_BLOCK_BYTES = 1 << 22  # read and checked at a time
_HDF5_COMPLAINTS = (OSError, RuntimeError, KeyError, ValueError)


class StoredFile:
    """An open file: its header, and its datasets by stage range.  Threads may read it side by side.

    datasets : name, such as `4-6/image`, -> `Dataset`, where they are known
    """

    def __init__(self, h5, path, header, datasets=None):
        datasets = datasets_of(objects_in(h5)) if datasets is None else datasets
        self._open, self.path = OpenFile.of(h5), path
        self.kind, self.digest, self.version = header.kind, header.digest, header.version
        self.options, self.inputs, self.failures = header.options, header.inputs, header.failures
        self.seed = header.seed
        self.stage_ranges = tuple(s for s in STAGE_RANGES if s in h5)
        self._groups = {
            s: {n.partition("/")[2]: d for n, d in datasets.items() if n.startswith(f"{s}/")}
            for s in self.stage_ranges
        }

    def __repr__(self):
        return f"<{self.kind} file {str(self.path)!r}: {', '.join(self.stage_ranges) or 'no stage range'}>"

    def group(self, stage_range):
        """Name -> `Dataset` of one stage range; DataError if the file has none."""
        if stage_range not in self.stage_ranges:
            present = ", ".join(self.stage_ranges) or "none"
            raise DataError(
                f"{self.path} holds no stage range {stage_range}, only {present}",
                fix=f"make it with: {MADE_BY[self.kind]} --stage-range {stage_range}",
            )
        return self._groups[stage_range]

    def array(self, stage_range, name, start=0, stop=None, *, columns=None, as_bytes=False):
        """The rows `start` to `stop` of one dataset, or some of their columns; text comes back as a list of
        str, or `as_bytes` as it is stored."""
        try:
            if columns is None:
                dataset = self.group(stage_range)[name]
                values = self._open.rows(f"{stage_range}/{name}", dataset, start, stop)
            else:
                values = self._open.h5[f"{stage_range}/{name}"][start:stop, columns]
        except _HDF5_COMPLAINTS as error:
            what = f"{stage_range}/{name} cannot be read ({_first_line(error)})"
            raise damaged_file(self.path, what, self.kind) from error
        if values.dtype.kind == "S":
            return values if as_bytes else [text.decode("utf-8", "replace") for text in values.tolist()]
        if values.dtype.kind == "f":
            may_be_nan = name.rpartition("/")[2] in MAY_BE_NAN
            if not (np.isfinite(values) | (np.isnan(values) & may_be_nan)).all():
                what = f"{stage_range}/{name} holds values that are not finite"
                raise damaged_file(self.path, what, self.kind)
        return values

    def arrays(self, stage_range, place, datasets, sizes):
        """All arrays of a group within a stage range by name, but for those that may be absent; DataError if
        another is missing, or one is not as it should be.

        `datasets` and `sizes` are as `flyannot.files.hdf5.schema.shape_violation` takes them.
        """
        group = {name: self.group(stage_range).get(f"{place}/{name}") for name in datasets}
        wrong = shape_violation(datasets, group, f"{stage_range}/{place}", sizes)
        if wrong:
            raise damaged_file(self.path, wrong, self.kind)
        return {
            name: self.array(stage_range, f"{place}/{name}") for name in datasets if group[name] is not None
        }

    def names_below(self, stage_range, place):
        """The names of the datasets of a group within a stage range, in order."""
        names = (name.partition("/") for name in self.group(stage_range))
        return [name for first, _, name in names if first == place and name]

    def images(self, stage_range, start, stop):
        """The rows of the images `start` to `stop` in the kind's BULK datasets; DataError if they are not
        those that were written."""
        first = self._first(stage_range, start, stop)
        arrays = tuple(self.array(stage_range, name, first[0], first[-1]) for name in BULK[self.kind])
        expected = self.array(stage_range, "content", start, stop)
        for i, (a, b) in enumerate(pairwise(first - first[0])):
            if not np.array_equal(digest_of_image(*(array[a:b] for array in arrays)), expected[i]):
                name = self.array(stage_range, "image", start + i, start + i + 1)[0]
                what = f"{stage_range}: what it holds of the image {name} is not what was written"
                raise damaged_file(self.path, what, self.kind)
        return arrays

    def blocks_of_images(self, stage_range):
        """`images`, all in order, some megabytes at a time."""
        for some in self.cuts_of_blocks(stage_range, 0, len(self.group(stage_range)["image"])):
            yield self.images(stage_range, some.start, some.stop)

    def cuts_of_blocks(self, stage_range, start, stop):
        """The numbers of the images `start` to `stop` as ranges, each of some megabytes."""
        group, ends = self.group(stage_range), np.asarray(self._first(stage_range, start, stop))
        row_bytes = sum(group[name].row_bytes for name in BULK[self.kind])
        n_rows, done = _BLOCK_BYTES // max(1, row_bytes), 0
        while start + done < stop:
            end = int(np.searchsorted(ends[1:], ends[done] + n_rows, side="right"))
            yield range(start + done, start + (end := max(end, done + 1)))
            done = end

    def blocks_of_rows(self, stage_range, name, columns):
        """Some columns of a dataset, some megabytes of its rows at a time; compared with no digest."""
        dataset = self.group(stage_range)[name]
        n_rows = max(1, _BLOCK_BYTES // max(1, dataset.row_bytes))
        for start in range(0, len(dataset), n_rows):
            yield self.array(stage_range, name, start, start + n_rows, columns=columns)

    def _first(self, stage_range, start, stop):
        """Where the rows of the images begin in the bulky datasets, and where the last one's end."""
        if "first" in SCHEMAS[self.kind]:
            return self.array(stage_range, "first", start, stop + 1)
        return np.arange(start, stop + 1)


@contextmanager
def open_stored(path, kind=None, *, digest=None):
    """Open a file for reading, after looking it over.  `kind` None accepts any.

    `digest` is that of the file which this one must still be, where it was open before.  InputError if it is
    not there.  DataError if it is damaged, not one of ours, of another kind or of a later format, or was
    replaced.
    """
    path = Path(path)
    _require_hdf5(path, kind)
    try:
        file = open_hdf5(path)
    except OSError as error:
        raise damaged_file(path, f"not a readable HDF5 file ({_first_line(error)})", kind) from error
    with file:
        stored = _validated(file, path, kind)
        if digest is not None and stored.digest != digest:
            raise DataError(
                f"{path} was replaced while this ran: it was {digest[:12]} and is {stored.digest[:12]}",
                fix="run the same command again",
            )
        yield stored


def verify_stored(path, progress=lambda done, total, unit: None, *, each=map):
    """Read everything in a file and compare it with its digests.

    Calls progress(done, total, "image") on the way.  `each` is `map`, or maps by several threads, in order.

    Raises
    ------
    InputError, DataError
        As `open_stored`, or if anything differs or cannot be read.
    """
    with open_stored(path) as stored:
        stage_ranges = stored.stage_ranges if stored.kind in BULK else ()
        n_images = [len(stored.group(s)["image"]) for s in stage_ranges]
        progress(n_read := 0, sum(n_images), "image")
        cuts = ((s, some) for s, n in zip(stage_ranges, n_images) for some in stored.cuts_of_blocks(s, 0, n))
        for n in each(partial(_verify_images, stored), cuts):
            progress(n_read := n_read + n, sum(n_images), "image")
        return stored.kind


def _verify_images(stored, cut):
    stage_range, some = cut
    stored.images(stage_range, some.start, some.stop)
    return len(some)


def read_image_columns(stored, stage_range, start=0, stop=None):
    """The dict that `write_image_columns` took, or what it has of the images `start` to `stop`."""
    return {name: stored.array(stage_range, name, start, stop) for name in IMAGE_COLUMNS}


def damaged_file(path, what, kind=None):
    """The DataError of a file that cannot be trusted."""
    made_by = MADE_BY[kind] if kind else "the command that wrote it"
    return DataError(f"{path} is damaged or foreign: {what}", fix=f"make it again with: {made_by} --force")


def _require_hdf5(path, kind):
    fix = f"name a file made by: {MADE_BY[kind]}" if kind else "name an HDF5 file made by flyannot"
    try:
        is_ours = is_hdf5(path)
    except FileNotFoundError:
        raise InputError(f"{path} is not there", fix=fix) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", fix=fix) from error
    if not is_ours:
        raise DataError(f"{path} is not an HDF5 file", fix=fix)


def _first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0].strip("'\"")


def _validated(h5, path, kind):
    """HDF5 answers a hostile file with almost any exception."""
    try:
        header, objects, wrong = read_header(h5.attrs, path, kind), objects_in(h5), ""
        datasets = datasets_of(objects)
        require_as_written(objects, datasets, os.path.getsize(path))
        stored, schema = StoredFile(h5, path, header, datasets), SCHEMAS[header.kind]
        for s in stored.stage_ranges:
            wrong = wrong or shape_violation(schema, stored.group(s), s, {})
            wrong = wrong or contradiction_in_file(stored, s)
        digest = "" if wrong else content_digest(h5, header.kind, objects)
    except (*_HDF5_COMPLAINTS, TypeError, AttributeError) as error:
        raise damaged_file(path, _first_line(error), kind) from error
    if wrong:
        raise damaged_file(path, wrong, stored.kind)
    if digest != header.digest:
        what = f"its contents have digest {digest[:12]}, its header says {header.digest[:12] or 'nothing'}"
        raise damaged_file(path, what, stored.kind)
    return stored


def kind_claimed(path):
    """The kind that a file's header names, for messages: nothing is checked; "" if there is none."""
    try:
        if not is_hdf5(path):
            return ""
        with open_hdf5(path) as file:
            kind = str(file.attrs.get("format", b""), "utf-8", "replace").removeprefix("flyannot-")
    except (*_HDF5_COMPLAINTS, TypeError):
        return ""
    return kind if kind in SCHEMAS else ""


def kind_of_file(path):
    """What kind of file this is, such as "features"; DataError if it is none of ours."""
    with open_stored(path) as stored:
        return stored.kind

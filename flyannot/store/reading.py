"""The reading side: a file is looked over before any of its data are believed.

HDF5 itself is not made for hostile files.  Before a dataset is read we know that it is reached by
hard links only, lies in this file, has a type of the short list, is stored in full (a 1 MB file
cannot claim 4 GiB) and fits the schema.  Whenever a file is opened, all that is small in it is compared with
the digest in its header; what is bulky is compared with its own, image by image, when it is read.
"""

import math
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np

from flyannot.errors import DataError, InputError
from flyannot.runtime.text_files import first_bytes, open_regular
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.store.header import content_digest, digest_of_image, read_header
from flyannot.store.schema import (
    BULK,
    DTYPES,
    IMAGE_COLUMNS,
    MADE_BY,
    MAY_BE_NAN,
    SCHEMAS,
    contradiction_in_file,
    shape_violation,
)

_BLOCK_BYTES = 1 << 22  # read and checked at a time
_SIGNATURE = b"\x89HDF\r\n\x1a\n"  # how every HDF5 file begins
_PLAIN_FILTERS = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_LZF}
_HDF5_COMPLAINTS = (OSError, RuntimeError, KeyError, ValueError)


class Stored:
    """An open file: its header, and its datasets by stage range."""

    def __init__(self, file, path, header):
        self._file, self.path = file, path
        self.kind, self.digest, self.version = header.kind, header.digest, header.version
        self.options, self.inputs, self.failures = header.options, header.inputs, header.failures
        self.seed = header.seed
        self.stage_ranges = tuple(s for s in STAGE_RANGES if s in file)

    def __repr__(self):
        return f"<{self.kind} file {str(self.path)!r}: {', '.join(self.stage_ranges) or 'no stage range'}>"

    def group(self, stage_range):
        """The h5py group of one stage range; DataError if the file has none."""
        if stage_range not in self.stage_ranges:
            present = ", ".join(self.stage_ranges) or "none"
            raise DataError(
                f"{self.path} holds no stage range {stage_range}, only {present}",
                fix=f"make it with: {MADE_BY[self.kind]} --stage-range {stage_range}",
            )
        return self._file[stage_range]

    def array(self, stage_range, name, start=0, stop=None, *, columns=None, as_bytes=False):
        """The rows `start` to `stop` of one dataset, or some of their columns; text comes back as a list of
        str, or `as_bytes` as it is stored."""
        chosen = slice(start, stop) if columns is None else (slice(start, stop), columns)
        with self.reading(stage_range, name):
            values = self.group(stage_range)[name][chosen]  # a dataset that stays open keeps chunks in memory
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

        `datasets` and `sizes` are as `flyannot.store.schema.shape_violation` takes them.
        """
        group = self.group(stage_range).get(place, {})
        wrong = shape_violation(datasets, group, f"{stage_range}/{place}", sizes)
        if wrong:
            raise damaged_file(self.path, wrong, self.kind)
        return {name: self.array(stage_range, f"{place}/{name}") for name in datasets if name in group}

    def images(self, stage_range, start, stop):
        """The rows of the images `start` to `stop` in the kind's BULK datasets; DataError if they are not
        those that were written."""
        first = self._first(stage_range, start, stop)
        arrays = self._rows(stage_range, first)
        expected = self.array(stage_range, "content", start, stop)
        for i, (a, b) in enumerate(pairwise(first - first[0])):
            if not np.array_equal(digest_of_image(*(array[a:b] for array in arrays)), expected[i]):
                name = self.array(stage_range, "image", start + i, start + i + 1)[0]
                what = f"{stage_range}: what it holds of the image {name} is not what was written"
                raise damaged_file(self.path, what, self.kind)
        return arrays

    def _rows(self, stage_range, first):
        return tuple(self.array(stage_range, name, first[0], first[-1]) for name in BULK[self.kind])

    def blocks_of_images(self, stage_range, *, verified=True):
        """`images`, all in order, some megabytes at a time; compared with no digest unless `verified`."""
        for some in self.cuts_of_blocks(stage_range, 0, len(self.group(stage_range)["image"])):
            if verified:
                yield self.images(stage_range, some.start, some.stop)
            else:
                yield self._rows(stage_range, self._first(stage_range, some.start, some.stop))

    def cuts_of_blocks(self, stage_range, start, stop):
        """The numbers of the images `start` to `stop` as ranges, each of some megabytes."""
        group, ends = self.group(stage_range), np.asarray(self._first(stage_range, start, stop))
        row_bytes = sum(group[n].dtype.itemsize * math.prod(group[n].shape[1:]) for n in BULK[self.kind])
        n_rows, done = _BLOCK_BYTES // max(1, row_bytes), 0
        while start + done < stop:
            end = int(np.searchsorted(ends[1:], ends[done] + n_rows, side="right"))
            yield range(start + done, start + (end := max(end, done + 1)))
            done = end

    def blocks_of_rows(self, stage_range, name, columns):
        """Some columns of a dataset, some megabytes of its rows at a time; compared with no digest."""
        dataset = self.group(stage_range)[name]
        n_rows = max(1, _BLOCK_BYTES // max(1, dataset.dtype.itemsize * dataset.shape[1]))
        for start in range(0, len(dataset), n_rows):
            yield self.array(stage_range, name, start, start + n_rows, columns=columns)

    def _first(self, stage_range, start, stop):
        """Where the rows of the images begin in the bulky datasets, and where the last one's end."""
        if "first" in SCHEMAS[self.kind]:
            return self.array(stage_range, "first", start, stop + 1)
        return np.arange(start, stop + 1)

    @contextmanager
    def reading(self, stage_range, name):
        """Within it HDF5's complaints of a dataset are a DataError."""
        try:
            yield
        except _HDF5_COMPLAINTS as error:
            what = f"{stage_range}/{name} cannot be read ({_first_line(error)})"
            raise damaged_file(self.path, what, self.kind) from error


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
        stored = _looked_over(file, path, kind)
        if digest is not None and stored.digest != digest:
            raise DataError(
                f"{path} was replaced while this ran: it was {digest[:12]} and is {stored.digest[:12]}",
                fix="run the same command again",
            )
        yield stored


def open_hdf5(path, **how):
    """A file as h5py opens it, of which nothing is known yet; `how` as of h5py.  OSError if it cannot be."""
    open_regular(path).close()
    # Not locked: files are replaced as a whole, and not all systems have locks.
    return h5py.File(path, "r", locking=False, **how)


def verify_stored(path, progress=lambda done, total, unit: None):
    """Read everything in a file and compare it with its digests; progress(done, total, "row") on the way.

    Raises
    ------
    InputError, DataError
        As `open_stored`, or if anything differs or cannot be read.
    """
    with open_stored(path) as stored:
        stage_ranges = stored.stage_ranges if stored.kind in BULK else ()
        n_rows = sum(len(stored.group(s)[BULK[stored.kind][0]]) for s in stage_ranges)
        progress(n_read := 0, n_rows, "row")
        for stage_range in stage_ranges:
            for rows, *_ in stored.blocks_of_images(stage_range):
                progress(n_read := n_read + len(rows), n_rows, "row")
        return stored.kind


def is_hdf5(path):
    """Whether a file begins as HDF5 files do."""
    return first_bytes(path, len(_SIGNATURE)) == _SIGNATURE


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


def _looked_over(file, path, kind):
    """HDF5 answers a hostile file with almost any exception."""
    try:
        header, items, wrong = read_header(file.attrs, path, kind), {}, ""
        _collect(file, path, items)
        stored, schema = Stored(file, path, header), SCHEMAS[header.kind]
        for s in stored.stage_ranges:
            datasets = {name: items.get(f"{s}/{name}") for name in schema}
            wrong = wrong or shape_violation(schema, datasets, s, {}) or contradiction_in_file(stored, s)
        digest = "" if wrong else content_digest(file, header.kind, items)
    except (*_HDF5_COMPLAINTS, TypeError, AttributeError) as error:
        raise damaged_file(path, f"it cannot be looked over ({_first_line(error)})", kind) from error
    if wrong:
        raise damaged_file(path, wrong, stored.kind)
    if digest != header.digest:
        what = f"its contents have digest {digest[:12]}, its header says {header.digest[:12] or 'nothing'}"
        raise damaged_file(path, what, stored.kind)
    return stored


def _collect(group, path, items):
    """Add all that a group holds to `items`, by name, checked."""
    for name in group:
        if not _is_hard_link(group, name):
            raise damaged_file(path, f"{group.name}/{name} is a link out of the file")
        items[f"{group.name}/{name}".strip("/")] = item = group[name]
        if isinstance(item, h5py.Group):
            _collect(item, path, items)
        else:
            _check_dataset(item, path)


def checked_item(group, name, most_bytes):
    """A dataset or group in a group of a file of another program, looked at before it is read.  ValueError if
    it is not there, lies elsewhere, claims more than is stored or `most_bytes`, or is packed unusually."""
    if "/" in name or not group.id.links.exists(name.encode()):
        raise ValueError(f"there is no {name} in {group.name}")
    if not _is_hard_link(group, name):
        raise ValueError(f"{name} in {group.name} is a link out of the file")
    item = group[name]
    if not isinstance(item, h5py.Group):
        if not _lies_in_file(item) or not _PLAIN_FILTERS.issuperset(_filters_of(item)):
            raise ValueError(f"{name} does not lie in the file, or not as programs write it")
        if item.nbytes > most_bytes or not _is_stored_whole(item):
            raise ValueError(f"{name} claims {item.nbytes:,} bytes, more than it can have")
    return item


def _is_hard_link(group, name):
    return group.id.links.get_info(name.encode()).type == h5py.h5l.TYPE_HARD


def _lies_in_file(item):
    return isinstance(item, h5py.Dataset) and not item.is_virtual and not item.external


def _filters_of(item):
    how = item.id.get_create_plist()  # filters: those that its blocks go through, none without blocks
    return [how.get_filter(i)[0] for i in range(how.get_nfilters())]


def _is_stored_whole(item):
    if item.chunks is None:
        return item.id.get_storage_size() >= item.nbytes
    n_chunks = math.prod(-(-size // chunk) for size, chunk in zip(item.shape, item.chunks))
    return item.id.get_num_chunks() == n_chunks


def _check_dataset(item, path):
    if not _lies_in_file(item):
        raise damaged_file(path, f"{item.name} does not lie in the file")
    if item.dtype.kind != "S" and item.dtype.str.lstrip("<|") not in DTYPES:  # kernels take no other order
        raise damaged_file(path, f"{item.name} holds {item.dtype}, which no flyannot file does")
    if _filters_of(item) != [h5py.h5z.FILTER_FLETCHER32]:
        raise damaged_file(path, f"{item.name} is not stored in checksummed blocks")
    if item.id.get_storage_size() < item.nbytes or not _is_stored_whole(item):
        raise damaged_file(path, f"{item.name} claims more data than it stores")


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

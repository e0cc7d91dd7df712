"""The common reader of all HDF5 files, which checks a file before its data are used.

When a file is opened, its layout and schema are checked, and its small datasets are compared with the digest
in the header. The large datasets (LARGE_DATASETS) are compared with their digests image by image, when they
are read.
"""

import os
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import local

import numpy as np
from h5py import h5o

from flyannot.base.errors import DataError, InputError
from flyannot.base.quality_warnings import parse_warnings
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.files.hdf5.header import content_digest, image_digest, read_header, read_kind
from flyannot.files.hdf5.layout import examine_layout, is_hdf5, open_hdf5, read_rows
from flyannot.files.hdf5.schema import (
    CHECKS,
    COMMAND_BY_KIND,
    IMAGE_COLUMNS,
    LARGE_DATASETS,
    MAY_BE_NAN,
    SCHEMAS,
    find_shape_error,
)
from flyannot.files.text_files import open_regular_file, recognise_file

_BLOCK_BYTES = 1 << 22  # bytes that are read and checked at once
_MOST_CHECKED = 256  # files whose checks are remembered
_checked: dict = {}  # Path -> the StoredFile of the last check
HDF5_ERRORS = (OSError, RuntimeError, KeyError, ValueError)


class StoredFile:
    """An HDF5 file of flyannot that was checked: its header and its datasets. Several threads may read it.

    Functions call it `stored`; `open_stored_file` makes it. `kind`, `digest`, `version`, `options`, `inputs`,
    `failures` and `seed` are the fields of its `Header`. `stage_ranges` is the tuple of the stage ranges in
    the file. The file is opened anew whenever it is read, or once for all reads in a block of `keep_open`. If
    it was replaced since it was checked, reading raises DataError, unless the new file has the same digest.

    Parameters
    ----------
    path : Path of the file
    header : Header of the file
    datasets : dict, path in the file such as "4-6/image" -> `DatasetLayout`
    identity : the `_file_identity` of the file before it was checked
    h5 : open h5py file that is being written, whose values are read from it; otherwise None
    """

    def __init__(self, path, header, datasets, *, identity=None, h5=None):
        self._h5 = h5
        self._identity = identity
        self._kept = local()  # its `file` is the open file in a block of `keep_open`
        self._read: dict = {}  # (stage range, name of a dataset) -> all rows, by `read_once`
        self.path = path
        self.kind = header.kind
        self.digest = header.digest
        self.version = header.version
        self.options = header.options
        self.inputs = header.inputs
        self.failures = header.failures
        self.seed = header.seed
        groups: dict = {s: {} for s in STAGE_RANGES}
        for name, dataset in datasets.items():
            stage_range, _, inner = name.partition("/")
            groups.get(stage_range, {})[inner] = dataset
        self._groups = {s: group for s, group in groups.items() if group}
        self.stage_ranges = tuple(self._groups)

    def __reduce__(self):
        return open_stored_file, (self.path, self.kind, self.digest)  # another process checks it by itself

    def datasets(self, stage_range):
        """Return a dict, name -> `DatasetLayout`, of the datasets of one stage range.

        The values are not read. Raises DataError if the file lacks the stage range.
        """
        if stage_range not in self.stage_ranges:
            present = ", ".join(self.stage_ranges) or "none"
            fix = f"make it with: {COMMAND_BY_KIND[self.kind]} --stage-range {stage_range}"
            raise DataError(f"{self.path} has no stage range {stage_range}, only {present}", fix=fix)
        return self._groups[stage_range]

    def read_array(self, stage_range, name, start=0, stop=None, *, as_bytes=False):
        """Read some rows of a dataset of a stage range.

        Parameters
        ----------
        stage_range : str
        name : str, the dataset, such as "features"
        start, stop : int, the rows, as in a slice; by default all rows
        as_bytes : bool, whether text is returned as an array of bytes; otherwise it is a list of str

        Returns
        -------
        array, or list of str

        Raises
        ------
        DataError
            If the dataset cannot be read or a value is not finite. Some datasets (MAY_BE_NAN) may have NaN.
        """
        try:
            values = self._read_rows(stage_range, name, start, stop)
        except HDF5_ERRORS as error:
            what = f"{stage_range}/{name} cannot be read ({_first_line(error)})"
            raise damaged_file_error(self.path, what, self.kind) from error
        if values.dtype.kind == "S":
            return values if as_bytes else [text.decode("utf-8", "replace") for text in values.tolist()]
        if values.dtype.kind == "f":
            may_be_nan = name.rpartition("/")[2] in MAY_BE_NAN
            if not (np.isfinite(values).all() or (may_be_nan and not np.isinf(values).any())):
                what = f"{stage_range}/{name} has values that are not finite"
                raise damaged_file_error(self.path, what, self.kind)
        return values

    def _read_rows(self, stage_range, name, start, stop):
        """Read some rows of a dataset, as `read_rows`, from the file that was checked."""
        dataset = self.datasets(stage_range)[name]
        if self._h5 is not None:
            return read_rows(self._h5[f"{stage_range}/{name}"].id, dataset, start, stop)
        with self.keep_open():
            return read_rows(self._kept.file, dataset, start, stop)

    @contextmanager
    def keep_open(self):
        """Keep the file open for the reads of this thread in a `with` block."""
        if self._h5 is not None or getattr(self._kept, "file", None):
            yield
            return
        if _file_identity(self.path) != self._identity:  # then it must have the same digest
            same = open_stored_file(self.path, self.kind, digest=self.digest)
            self._identity = same._identity
        with open_regular_file(self.path) as self._kept.file:
            try:
                yield
            finally:
                self._kept.file = None

    def read_arrays(self, stage_range, place, datasets, sizes):
        """Read several datasets of a subgroup of a stage range, and return them as a dict, name -> array.

        Parameters
        ----------
        stage_range : str
        place : str, the name of the subgroup, such as "model"
        datasets : dict, name -> (kinds of dtype, dimensions), the datasets to read, as in SCHEMAS
        sizes : dict, name of a dimension -> size that it must have; sizes of other dimensions are added

        Raises
        ------
        DataError
            If a required dataset is missing, or one has the wrong type or shape.
        """
        group = {name: self.datasets(stage_range).get(f"{place}/{name}") for name in datasets}
        wrong = find_shape_error(datasets, group, f"{stage_range}/{place}", sizes)
        if wrong:
            raise damaged_file_error(self.path, wrong, self.kind)
        held = [name for name in datasets if group[name] is not None]
        return {name: self.read_array(stage_range, f"{place}/{name}") for name in held}

    def dataset_names(self, stage_range, place):
        """Return the names (list of str) of the datasets in a subgroup of a stage range.

        `place` is the name of the subgroup, such as "state". The list is empty if there is no such subgroup.
        """
        names = (name.partition("/") for name in self.datasets(stage_range))
        return [name for first, _, name in names if first == place and name]

    def read_image_rows(self, stage_range, start, stop):
        """Read the rows of the images `start` to `stop` in the large datasets, and verify their digests.

        Returns
        -------
        tuple of arrays
            One for each dataset in LARGE_DATASETS: descriptors, centres and sides of patches; or features
            and winning patches.

        Raises
        ------
        DataError
            If the rows of an image do not have the digest that was written.
        """
        with self.keep_open():
            first = self._row_offsets(stage_range, start, stop)
            names = LARGE_DATASETS[self.kind]
            arrays = tuple(self.read_array(stage_range, name, first[0], first[-1]) for name in names)
            expected = self.read_once(stage_range, "content")[start:stop]
        for i, (a, b) in enumerate(pairwise((first - first[0]).tolist())):
            if image_digest(*(array[a:b] for array in arrays)).tobytes() != expected[i].tobytes():
                what = f"block {start + i}"
                if "image" in SCHEMAS[self.kind]:
                    what = f"image {self.read_array(stage_range, 'image', start + i, start + i + 1)[0]}"
                what = f"{stage_range}: the data of the {what} are not what was written"
                raise damaged_file_error(self.path, what, self.kind)
        return arrays

    def iterate_image_rows(self, stage_range):
        """Yield the rows of all images of a stage range in the large datasets, about 4 MiB at a time.

        Each item is the tuple of arrays that `images` returns for some consecutive images.
        """
        n_images = len(self.datasets(stage_range)["content"])
        for block in self.split_images_into_blocks(stage_range, 0, n_images):
            yield self.read_image_rows(stage_range, block.start, block.stop)

    def split_images_into_blocks(self, stage_range, start, stop):
        """Split the images `start` to `stop` of a stage range into blocks that are read at once.

        Yields a `range` of image numbers for each block. A block has about 4 MiB of rows, and at least one
        image.
        """
        group = self.datasets(stage_range)
        ends = np.asarray(self._row_offsets(stage_range, start, stop))
        row_bytes = sum(group[name].row_bytes for name in LARGE_DATASETS[self.kind])
        n_rows = _BLOCK_BYTES // max(1, row_bytes)
        done = 0
        while start + done < stop:
            end = int(np.searchsorted(ends[1:], ends[done] + n_rows, side="right"))
            end = max(end, done + 1)
            yield range(start + done, start + end)
            done = end

    def iterate_columns(self, stage_range, name, columns):
        """Yield some columns of a dataset, in arrays of consecutive rows, without comparing digests.

        Parameters
        ----------
        stage_range : str
        name : str, the dataset, such as "features"
        columns : slice or list of int, the columns to yield
        """
        dataset = self.datasets(stage_range)[name]
        n_rows = max(1, _BLOCK_BYTES // max(1, dataset.row_bytes))
        for start in range(0, len(dataset), n_rows):
            yield self.read_array(stage_range, name, start, start + n_rows)[:, columns]

    def _row_offsets(self, stage_range, start, stop):
        """Return the row in the large datasets at which each of the images `start` to `stop` begins.

        The array has `stop - start + 1` ints; the last is the end of the last image.
        """
        if "first" in SCHEMAS[self.kind]:
            return self.read_once(stage_range, "first")[start : stop + 1]
        return np.arange(start, stop + 1)

    def read_once(self, stage_range, name):
        """Return all rows of a small dataset of a complete file, which are kept in memory."""
        key = stage_range, name
        if key not in self._read:
            self._read[key] = self.read_array(stage_range, name)
        return self._read[key]


@contextmanager
def keep_files_open(files):
    """Keep several StoredFiles open for the reads of this thread in a `with` block."""
    with ExitStack() as held:
        for stored in files:
            held.enter_context(stored.keep_open())
        yield


def open_stored_file(path, kind=None, digest=None):
    """Check an HDF5 file of flyannot, and return it as a `StoredFile`.

    A process checks a file once, and again when it was changed: the check takes longer the more images it
    has. The file does not stay open.

    Parameters
    ----------
    path : Path or str
    kind : str, the kind that the file must have, such as "features"; None for any
    digest : str, the digest that the file had when it was opened before; None if it was not

    Raises
    ------
    InputError
        If the file does not exist or cannot be read.
    DataError
        If the file is damaged, has another digest, kind or format version, or was not made by flyannot.
    """
    path = Path(path)
    identity = _file_identity(path)
    stored = _checked.get(path)
    if stored is None or stored._identity != identity or kind not in (None, stored.kind):
        stored = _check_file(path, kind, identity)
        if len(_checked) >= _MOST_CHECKED:
            _checked.clear()
        _checked[path] = stored
    if digest is not None and stored.digest != digest:
        what = f"{path} was replaced while this ran: its digest is {stored.digest[:12]}, not {digest[:12]}"
        raise DataError(what, fix="run the same command again")
    return stored


def _check_file(path, kind, identity):
    """Open and check a file, and return its `StoredFile`; the parameters are as in `_validate`."""
    _require_hdf5(path, kind)
    try:
        file = open_hdf5(path)
    except OSError as error:
        raise damaged_file_error(path, f"not a readable HDF5 file ({_first_line(error)})", kind) from error
    with file:
        return _validate(file, path, kind, identity)


def verify_stored_file(path, progress=lambda done, total, unit: None, *, each=map):
    """Read a whole file, compare it with its digests, and return the kind (str) of the file.

    Parameters
    ----------
    path : Path
    progress : function called with (number of images done, number of all images, "image") after each block
    each : `map`, or a function like it that uses several threads and keeps the order

    Raises
    ------
    InputError, DataError
        As `open_stored_file`. Also DataError if a digest differs or a dataset cannot be read.
    """
    stored = open_stored_file(path)
    stage_ranges = stored.stage_ranges if stored.kind in LARGE_DATASETS else ()
    n_images = [len(stored.datasets(s)["content"]) for s in stage_ranges]
    progress(n_read := 0, sum(n_images), "image")
    split = stored.split_images_into_blocks
    blocks = ((s, block) for s, n in zip(stage_ranges, n_images) for block in split(s, 0, n))
    for n in each(partial(_verify_images, stored), blocks):
        progress(n_read := n_read + n, sum(n_images), "image")
    return stored.kind


def _verify_images(stored, stage_range_and_block):
    """Read some images, compare them with their digests, and return their number.

    Parameters
    ----------
    stored : StoredFile
    stage_range_and_block : tuple (stage range, range of image numbers)
    """
    stage_range, block = stage_range_and_block
    stored.read_image_rows(stage_range, block.start, block.stop)
    return len(block)


def read_image_metadata(stored, stage_range, start=0, stop=None):
    """Read the columns that describe the images `start` to `stop` of a stage range, such as gene and view.

    Returns a dict, name in IMAGE_COLUMNS -> list of str with one entry for each image. The entries of
    quality_warnings are tuples of QualityWarning.
    """
    with stored.keep_open():
        columns = {name: stored.read_array(stage_range, name, start, stop) for name in IMAGE_COLUMNS}
    return columns | {"quality_warnings": list(map(parse_warnings, columns["quality_warnings"]))}


def _file_identity(path):
    """Return device, inode, size and times of a file as a tuple; None if the file does not exist.

    The tuple differs after the file was replaced or changed.
    """
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def damaged_file_error(path, what, kind=None):
    """Make the DataError for a file that is damaged, or that flyannot did not make.

    Parameters
    ----------
    path : Path of the file
    what : str, what is wrong with it
    kind : str, the kind that the file should have; the remedy names the command that makes this kind
    """
    made_by = COMMAND_BY_KIND[kind] if kind else "the command that wrote it"
    what = f"{path} is damaged, or not made by flyannot: {what}"
    return DataError(what, fix=f"copy or download it again, or make it again with: {made_by} --force")


def _require_hdf5(path, kind):
    """Raise InputError if a file cannot be read, or DataError if it is not HDF5.

    `kind` is the kind that the file should have, or None; the remedy names the command that makes this kind.
    """
    fix = f"give a file made by: {COMMAND_BY_KIND[kind]}" if kind else "give an HDF5 file made by flyannot"
    try:
        is_ours = is_hdf5(path)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist", fix=fix) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", fix=fix) from error
    if not is_ours:
        found = recognise_file(path)
        raise DataError(f"{path} is not an HDF5 file{found.it_is}", fix=found.fix or fix)


def _first_line(error):
    """Return the first line of an exception's message without quotes, or its class name if it has none."""
    return (str(error).splitlines() or [type(error).__name__])[0].strip("'\"")


def _validate(h5, path, kind, identity):
    """Check the header, layout, schema and digest of an open h5py file, and return its `StoredFile`.

    For a malicious file the HDF5 library may raise almost any exception; each becomes a DataError.

    Parameters
    ----------
    h5 : open h5py file
    path : Path of the file, for messages
    kind : str, the kind that the file must have; None for any
    identity : the `_file_identity` of the file before it was opened
    """
    try:
        header = read_header(h5, path, kind)
        objects, datasets = examine_layout(h5, path)
        stored = StoredFile(path, header, datasets, identity=identity)
        schema = SCHEMAS[header.kind]
        wrong = ""
        for s in stored.stage_ranges:
            wrong = wrong or find_shape_error(schema, stored.datasets(s), s, {})
            wrong = wrong or CHECKS.get(header.kind, lambda *_: "")(stored, s)
        digest = "" if wrong else content_digest(h5, header.kind, objects, datasets)
    except (*HDF5_ERRORS, TypeError, AttributeError) as error:
        raise damaged_file_error(path, _first_line(error), kind) from error
    if wrong:
        raise damaged_file_error(path, wrong, stored.kind)
    if digest != header.digest:
        what = f"its contents have digest {digest[:12]}, and its header says {header.digest[:12] or 'none'}"
        raise damaged_file_error(path, what, stored.kind)
    return stored


def read_unverified_kind(path):
    """Return the kind in the header of a file, such as "features", without checking the file.

    Error messages use it. Returns "" if the file cannot be read or is not made by flyannot.
    """
    try:
        if not is_hdf5(path):
            return ""
        with open_hdf5(path) as file:
            return read_kind(h5o.open(file.id, b"/"))
    except (*HDF5_ERRORS, TypeError):
        return ""


def read_file_kind(path):
    """Check an HDF5 file and return its kind, such as "features".

    Raises InputError or DataError as `open_stored_file`.
    """
    return open_stored_file(path).kind

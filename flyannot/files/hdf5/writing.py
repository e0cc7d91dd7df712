"""The common writer of all HDF5 files: each file is complete, verified, and reproducible byte for byte.

The HDF5 library can crash after a failed write, when the file is closed or Python ends. So it writes through
an `OutputFile`, which stores the first error and then ignores all further writes. The error is raised once
the library has closed the file.
"""

from contextlib import contextmanager
from functools import partial

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from flyannot import __version__
from flyannot.base.errors import DataError, InputError
from flyannot.base.quality_warnings import format_warnings
from flyannot.files.atomic_file import atomic_write
from flyannot.files.digest import canonical_json
from flyannot.files.hdf5.header import content_digest
from flyannot.files.hdf5.reading import HDF5_ERRORS, open_stored_file, verify_stored_file
from flyannot.files.hdf5.schema import FORMAT_VERSION, IMAGE_COLUMNS


@contextmanager
def create_stored_file(path, header, *, verified=True, fill=None, each=map):
    """Yield a new h5py file to fill; at the end of the `with` block verify it and rename it to `path`.

    The header is written before and the digest after the caller's datasets. If anything fails, the file at
    `path` is unchanged.

    Parameters
    ----------
    path : Path of the file
    header : Header; its fields `digest` and `version` are ignored, since the writer sets both
    verified : bool, whether the whole file is read again and compared with its digests. It may be false for a
        part of a larger file, which is verified when it is complete
    fill : function called with the path of the closed temporary file before it is verified; it writes the
        values of datasets made by `reserve_array`
    each : `map`, or a function like it that uses several threads; with it the images are verified

    Raises
    ------
    WriteError
        If the disk is full or the folder cannot be written.
    """

    def check(beside):
        """Call `fill` with the temporary path and verify the file, if these are asked for."""
        if fill is not None:
            fill(beside)
        if verified:
            verify_stored_file(beside, each=each)

    with atomic_write(path, check=check) as beside, create_hdf5(beside) as (file, output):
        _write_text_attribute(file, "format", f"flyannot-{header.kind}")
        file.attrs["format_version"] = FORMAT_VERSION
        _write_text_attribute(file, "flyannot_version", __version__)
        for name in ("options", "inputs", "failures"):
            _write_text_attribute(file, name, canonical_json(getattr(header, name)))
        if header.seed is not None:
            file.attrs["seed"] = header.seed
        yield file
        if output.error is None:
            _write_text_attribute(file, "digest", content_digest(file, header.kind))


@contextmanager
def create_hdf5(path):
    """Yield a new h5py file and the `OutputFile` to which it writes; both are closed at the end of the block.

    Raises
    ------
    OSError
        If the operating system could not write the file. It is raised when the file is closed.
    """
    output = OutputFile(path)
    try:
        with h5py.File(output, "w", libver=("v110", "v110")) as file:
            yield file, output
    except HDF5_ERRORS:
        if output.error is None:
            raise  # otherwise HDF5 raised it after an error of the system
    finally:
        output.close()


def _write_text_attribute(file, name, text):
    """Add an attribute with a text of fixed length to an open h5py file.

    HDF5 stores such a text in the object header, whose checksum then covers it.

    Parameters
    ----------
    file : open h5py file
    name : str, the name of the attribute
    text : str
    """
    encoded = text.encode()
    file.attrs.create(name, encoded, dtype=h5py.string_dtype("utf-8", len(encoded)))


def write_array(group, name, values, *, dtype=None):
    """Add a dataset with values to an HDF5 group, stored in one piece.

    Parameters
    ----------
    group : h5py group
    name : str, the name of the dataset; "state/A" makes the subgroup "state"
    values : array, or list of numbers or str. Text is stored as UTF-8 of fixed length
    dtype : NumPy dtype to convert numbers to; by default the dtype of `values`
    """
    if dtype is None and _is_text(values):
        encoded = [str(text).encode() for text in values]
        values = np.array(encoded, f"S{max(1, *map(len, encoded))}" if encoded else "S1")
    values = np.ascontiguousarray(values, dtype)
    dataset = _create_dataset(group, name, values.shape, values.dtype, h5p.create(h5p.DATASET_CREATE))
    if values.size:
        dataset.write(h5s.ALL, h5s.ALL, values)


def write_image_columns(group, columns):
    """Add the datasets that describe each image, such as its gene and view, to the group of a stage range.

    `columns` is a dict, as `read_image_metadata` returns.
    """
    texts = columns | {"quality_warnings": list(map(format_warnings, columns["quality_warnings"]))}
    for name in IMAGE_COLUMNS:
        write_array(group, name, texts[name])


def reserve_array(group, name, shape, dtype):
    """Add a dataset whose values are written later, and return its position in the file.

    The space in the file is allocated at once. The values are written after HDF5 has closed the file.

    Parameters
    ----------
    group : h5py group
    name : str
    shape : tuple of int
    dtype : NumPy dtype

    Returns
    -------
    int
        The position of the first byte of the dataset.
    """
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5d.FILL_TIME_NEVER)
    return _create_dataset(group, name, shape, dtype, properties).get_offset() or 0


def _create_dataset(group, name, shape, dtype, properties):
    """Create a dataset without values, and return its low-level h5py object.

    The high-level interface of h5py takes ten times as long.

    Parameters
    ----------
    group : h5py group
    name : str; "state/A" makes the subgroup "state"
    shape : tuple of int
    dtype : NumPy dtype
    properties : h5py.h5p.PropDCID, the creation properties of the dataset, which are changed
    """
    folder, _, name = name.rpartition("/")
    group = group.require_group(folder) if folder else group
    properties.set_obj_track_times(False)
    kind = h5t.py_create(np.dtype(dtype), logical=True)
    return h5d.create(group.id, name.encode(), kind, h5s.create_simple(shape), properties)


def _is_text(values):
    """Return whether an array or a sequence contains text; an empty sequence counts as text."""
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "UO"
    return len(values) == 0 or isinstance(values[0], str)


def header_mismatch(path, header, differ=None, *, is_verified=True, each=map):
    """Describe in words why an existing file must be made again; return "" if it can be reused.

    A file can be reused if it is not damaged and its kind, options, inputs and seed are those of `header`.

    Parameters
    ----------
    path : Path of the file
    header : Header that the file should have, or a function without arguments that returns it
    differ : dict, role of an input such as "images" -> function that is called with the open `StoredFile` if
        the digests of this input differ, and returns the difference in words
    is_verified : bool, whether the whole file is read and compared with its digests; otherwise the large
        datasets are not read
    each : as in `verify_stored_file`
    """
    if not path.exists():
        return "it does not exist yet"
    header = header() if callable(header) else header
    try:
        if is_verified:
            verify_stored_file(path, each=each)
        stored = open_stored_file(path, header.kind)
        changed = describe_changes(stored.options, header.options)
        inputs = sorted({*stored.inputs, *header.inputs})
        others = [key for key in inputs if stored.inputs.get(key) != header.inputs.get(key)]
        changed += [differ[key](stored) for key in others if key in (differ or {})]
        if unexplained := " and ".join(key for key in others if key not in (differ or {})):
            changed.append(f"it was made from other {unexplained}")
    except (DataError, InputError) as error:
        return error.message
    if stored.seed != header.seed:
        changed.append(f"seed was {stored.seed} and is now {header.seed}")
    return ", ".join(changed)


def describe_changes(old, new, prefix="", *, inputs=()):
    """Return a list of str, one for each option that differs between two dicts of options.

    Parameters
    ----------
    old, new : dict, option -> JSON value; a value may be a dict of options itself
    prefix : str, written before the name of every option
    inputs : dict, option that has digests of inputs -> word for these inputs
    """
    changes = []
    for key in sorted({*old, *new}):
        before, now = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(now, dict):
            changes += describe_changes(before, now, f"{prefix}{key}.")
        elif canonical_json(before) != canonical_json(now) and key in inputs:
            changes.append(f"it was made from other {inputs[key]}")
        elif canonical_json(before) != canonical_json(now):
            was, is_now = ("not given" if v is None else canonical_json(v) for v in (before, now))
            changes.append(f"{prefix}{key} was {was} and is now {is_now}")
    return changes


class OutputFile:
    """A file object for h5py to write to, which hides write errors from the HDF5 library.

    The library can crash after a failed write. After the first OSError all writes do nothing, and `close`
    raises that error. Use: `h5py.File(OutputFile(path), "w")`.

    Attributes
    ----------
    error : OSError, the first error; None if there was none
    """

    def __init__(self, path):
        """Create the file at `path`, or empty it if it exists."""
        self._file = open(path, "wb+")  # noqa: SIM115 - closed by `close`
        self.error = None

    def __getattr__(self, name):
        """Return the method of the underlying file with this name, changed to do nothing after an error."""
        return partial(self._call_unless_failed, getattr(self._file, name))

    def readinto(self, buffer):
        """Read from the file into a buffer, and return the length of the buffer.

        Bytes that cannot be read, as after an error, are set to zero, so that HDF5 continues.
        """
        n_read = self._call_unless_failed(self._file.readinto, buffer)
        view = memoryview(buffer).cast("B")
        view[n_read:] = bytes(len(view) - n_read)
        return len(view)

    def close(self):
        """Close the file; then raise the first error that reading or writing met, if there was one."""
        self._call_unless_failed(self._file.close)
        if self.error is not None:
            raise self.error

    def _call_unless_failed(self, operation, *arguments):
        """Call a method of the underlying file with some arguments, and return its result.

        An OSError is not raised but kept in `error`, and 0 is returned.  After an error, further calls do
        nothing and return 0, except a call of `close`.  HDF5 takes 0 as a position or a number of bytes.
        """
        if self.error is not None and operation != self._file.close:
            return 0
        try:
            return operation(*arguments)
        except OSError as error:
            # A traceback would keep objects of HDF5, which crashes if Python ends before they do.
            self.error = self.error or error.with_traceback(None)
            return 0

"""Writing: a file is complete, checked, and reproducible byte for byte.

HDF5 crashes after a failed write, when the file is closed or Python ends. So HDF5 writes through an
`OutputFile`, which remembers the first error and then ignores all further writes. The error is raised once
HDF5 has closed the file.
"""

from contextlib import contextmanager
from functools import partial

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from flyannot import __version__
from flyannot.base.errors import DataError, InputError
from flyannot.files.atomic_file import atomic_write
from flyannot.files.digest import canonical_json
from flyannot.files.hdf5.header import content_digest
from flyannot.files.hdf5.reading import open_stored, verify_stored
from flyannot.files.hdf5.schema import FORMAT_VERSION, IMAGE_COLUMNS


@contextmanager
def create_stored(path, header, *, verified=True, fill=None, each=map):
    """Yield an h5py file to fill; on leaving, verify it and move it to `path`.

    If anything fails, `path` is unchanged.

    Parameters
    ----------
    path : Path
    header : Header; its digest and version are set here
    verified : whether the file is verified, which a part of another file need not be
    fill : function called with the path of the closed file; it writes the rows of reserved arrays
    each : as `verify_stored` takes it

    Raises
    ------
    WriteError
        If the disk is full or the folder cannot be written.
    """

    def check(beside):
        """Fill and verify the closed file."""
        if fill is not None:
            fill(beside)
        if verified:
            verify_stored(beside, each=each)

    with atomic_write(path, check=check) as beside, create_hdf5(beside) as (file, output):
        _write_text(file, "format", f"flyannot-{header.kind}")
        file.attrs["format_version"] = FORMAT_VERSION
        _write_text(file, "flyannot_version", __version__)
        for name in ("options", "inputs", "failures"):
            _write_text(file, name, canonical_json(getattr(header, name)))
        if header.seed is not None:
            file.attrs["seed"] = header.seed
        yield file
        if output.error is None:
            _write_text(file, "digest", content_digest(file, header.kind))


@contextmanager
def create_hdf5(path):
    """Yield a new h5py file and the `OutputFile` beneath it; OSError if the system cannot write it."""
    output = OutputFile(path)
    try:
        with h5py.File(output, "w", libver=("v110", "v110")) as file:
            yield file, output
    except (OSError, RuntimeError, KeyError, ValueError):
        if output.error is None:
            raise  # otherwise HDF5 raised it after an error of the system
    finally:
        output.close()


def _write_text(file, name, text):
    """Add a text attribute of fixed length, which lies in the object header and so under its checksum."""
    encoded = text.encode()
    file.attrs.create(name, encoded, dtype=h5py.string_dtype("utf-8", len(encoded)))


def write_array(group, name, values, *, dtype=None):
    """Write a dataset with contiguous layout; text becomes UTF-8 of fixed length."""
    if dtype is None and _is_text(values):
        encoded = [str(text).encode() for text in values]
        values = np.array(encoded, f"S{max(1, *map(len, encoded))}" if encoded else "S1")
    values = np.ascontiguousarray(values, dtype)
    made = _create(group, name, values.shape, values.dtype, h5p.create(h5p.DATASET_CREATE))
    if values.size:
        made.write(h5s.ALL, h5s.ALL, values)


def write_image_columns(group, columns):
    """Add the columns that describe each image: a dict of lists of str with one entry per image."""
    for name in IMAGE_COLUMNS:
        write_array(group, name, columns[name])


def reserve_array(group, name, shape, dtype):
    """Add a dataset without values, and return the offset of its place in the file."""
    how = h5p.create(h5p.DATASET_CREATE)
    how.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    how.set_fill_time(h5d.FILL_TIME_NEVER)
    return _create(group, name, shape, dtype, how).get_offset() or 0


def _create(group, name, shape, dtype, how):
    """Return the low-level h5py id of a new dataset; the high-level interface takes ten times as long."""
    folder, _, name = name.rpartition("/")
    group = group.require_group(folder) if folder else group
    how.set_obj_track_times(False)
    kind = h5t.py_create(np.dtype(dtype), logical=True)
    return h5d.create(group.id, name.encode(), kind, h5s.create_simple(shape), how)


def _is_text(values):
    """Return whether values are text."""
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "UO"
    return len(values) == 0 or isinstance(values[0], str)


def header_mismatch(path, header, differ=None, *, is_verified=True, each=map):
    """Return in words why a file is not what `header` would make; "" if it is.

    Parameters
    ----------
    path : Path
    header : Header, or a function that returns it
    differ : dict, role of an input -> function of the open file that returns in words what differs
    is_verified : whether the whole file is read and verified; otherwise only its header is compared
    each : as `verify_stored` takes it
    """
    if not path.exists():
        return "it does not exist yet"
    header = header() if callable(header) else header
    try:
        if is_verified:
            verify_stored(path, each=each)
        with open_stored(path, header.kind) as stored:
            changed = describe_changes(stored.options, header.options)
            changed += [
                differ[key](stored) if key in (differ or {}) else f"it was made from other {key}"
                for key in sorted({*stored.inputs, *header.inputs})
                if stored.inputs.get(key) != header.inputs.get(key)
            ]
    except (DataError, InputError) as error:
        return error.message
    if stored.seed != header.seed:
        changed.append(f"seed was {stored.seed} and is now {header.seed}")
    return ", ".join(changed)


def describe_changes(old, new, prefix=""):
    """Return the differences between two dicts of options, one text for each option."""
    changes = []
    for key in sorted({*old, *new}):
        before, now = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(now, dict):
            changes += describe_changes(before, now, f"{prefix}{key}.")
        elif canonical_json(before) != canonical_json(now):
            changes.append(f"{prefix}{key} was {canonical_json(before)} and is now {canonical_json(now)}")
    return changes


class OutputFile:
    """A file to write by `h5py.File(OutputFile(path), "w")`; `error` is the first error of the system."""

    def __init__(self, path):
        self._file = open(path, "wb+")  # noqa: SIM115 - closed by `close`
        self.error = None

    def __getattr__(self, name):
        """Return a method of the file that does nothing after an error."""
        return partial(self._attempt, getattr(self._file, name))

    def readinto(self, buffer):
        """Read into a buffer; after an error fill it with zeros, so that HDF5 continues."""
        n_read = self._attempt(self._file.readinto, buffer) or 0
        view = memoryview(buffer).cast("B")
        view[n_read:] = bytes(len(view) - n_read)
        return len(view)

    def close(self):
        """Close the file; raise the first error, if there was one."""
        self._attempt(self._file.close)
        if self.error is not None:
            raise self.error

    def _attempt(self, operation, *arguments):
        """Return the result of an operation; None after an error."""
        if self.error is not None and operation != self._file.close:
            return None
        try:
            return operation(*arguments)
        except OSError as error:
            self.error = self.error or error
            return None

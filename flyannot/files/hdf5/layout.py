"""The layout of an HDF5 file, which is checked before any of its values is read.

HDF5 does not defend itself against hostile files. So we check that every dataset is reached by hard links
only, lies in this file, and is stored in full. A file of 1 MB then cannot claim 4 GiB. The low-level
interface of h5py answers this ten times faster than the high-level one. A dataset in one piece is then read
without HDF5, also by several threads at once.
"""

import math
import os
from dataclasses import dataclass
from typing import NamedTuple

import h5py
import numpy as np
from h5py import h5d, h5g, h5l, h5o, h5s, h5z

from flyannot.files.hdf5.schema import DTYPES
from flyannot.files.text_files import open_regular, read_first_bytes

_SIGNATURE = b"\x89HDF\r\n\x1a\n"  # the first bytes of every HDF5 file
_BLOCK_FILTERS = [h5z.FILTER_FLETCHER32]  # before 1.0 flyannot wrote datasets in blocks with checksums
_READS_PAST_HDF5 = hasattr(os, "preadv")


@dataclass(frozen=True, slots=True)
class Dataset:
    """The shape, type and place of a dataset.

    offset : int, its place in the file; None if it is in several pieces
    """

    shape: tuple
    dtype: np.dtype
    offset: int | None

    def __len__(self):
        return self.shape[0] if self.shape else 0

    @property
    def row_bytes(self):
        return self.dtype.itemsize * math.prod(self.shape[1:])

    @property
    def n_bytes(self):
        return self.dtype.itemsize * math.prod(self.shape)


class OpenFile(NamedTuple):
    """An open h5py file, and its file descriptor or None."""

    h5: h5py.File
    descriptor: int | None

    @classmethod
    def of(cls, h5):
        """Build it with the file descriptor if HDF5 itself reads by one."""
        return cls(h5, h5.id.get_vfd_handle() if _READS_PAST_HDF5 and h5.driver == "sec2" else None)

    def rows(self, name, dataset, start=0, stop=None):
        """Read the rows `start` to `stop` of a `Dataset` by its name; OSError if the file ends early."""
        start, stop, _ = slice(start, stop).indices(len(dataset))
        rows = np.empty((max(0, stop - start), *dataset.shape[1:]), dataset.dtype)
        if dataset.offset is not None and self.descriptor is not None:
            left = rows.reshape(-1).view(np.uint8).data
            at = dataset.offset + start * dataset.row_bytes
            while left:
                n_read = os.preadv(self.descriptor, [left], at)
                if not n_read:
                    raise OSError("the file ends early")
                left = left[n_read:]
                at += n_read
        elif rows.size:
            space = h5s.create_simple(dataset.shape)
            space.select_hyperslab((start, *(0,) * (rows.ndim - 1)), rows.shape)
            h5d.open(self.h5.id, name.encode()).read(h5s.create_simple(rows.shape), space, rows)
        return rows


def open_hdf5(path, **how):
    """Open a file by h5py without checking it; `how` goes to h5py. Raise OSError if it cannot be opened."""
    open_regular(path).close()
    # No lock is needed, since files are replaced as a whole; some systems have no locks.
    return h5py.File(path, "r", locking=False, **how)


def is_hdf5(path):
    """Return whether a file begins as HDF5 files do."""
    return read_first_bytes(path, len(_SIGNATURE)) == _SIGNATURE


def objects_in(h5):
    """Return the low-level h5py ids of all groups and datasets of an open file by name; the root is "/".

    ValueError if an object is reached by a link out of the file.
    """
    root = h5o.open(h5.id, b"/")
    objects = {"/": root}
    _collect(root, "", objects)
    return objects


def _collect(group, place, objects):
    """Add the objects of a group to `objects`."""
    for name in group:
        full = place + name.decode()
        if group.links.get_info(name).type != h5l.TYPE_HARD:
            raise ValueError(f"{full} is a link out of the file")
        objects[full] = item = h5o.open(group, name)
        if isinstance(item, h5g.GroupID):
            _collect(item, f"{full}/", objects)


def datasets_of(objects):
    """Return the `Dataset` of every object that is a dataset, by name."""
    return {
        name: Dataset(item.shape or (), item.dtype, item.get_offset())
        for name, item in objects.items()
        if isinstance(item, h5d.DatasetID)
    }


def require_as_written(objects, datasets, n_bytes):
    """Raise ValueError unless every dataset is stored in full, as flyannot writes it.

    Parameters
    ----------
    objects, datasets : dicts, as `objects_in` and `datasets_of` return them
    n_bytes : int, the size of the file
    """
    for name, item in objects.items():
        if not isinstance(item, h5g.GroupID) and (fault := _fault(item, datasets.get(name), n_bytes)):
            raise ValueError(f"{name} {fault}")


def _fault(item, dataset, n_bytes):
    """Return in words what is wrong with a dataset in a file of `n_bytes`; "" if nothing is."""
    if dataset is None:
        return "does not lie in the file"
    how = item.get_create_plist() if dataset.offset is None and dataset.n_bytes else None
    if how is not None and (how.get_layout() == h5d.VIRTUAL or how.get_external_count()):
        return "does not lie in the file"
    kind = dataset.dtype.str.lstrip("<|")  # kernels need the byte order of this machine
    if dataset.dtype.kind != "S" and kind not in DTYPES:
        return f"has the type {dataset.dtype}, which flyannot does not write"
    if not dataset.shape:
        return "has no rows"
    if how is None:  # HDF5 reads zeros beyond the end of the file
        is_whole = (dataset.offset or 0) + dataset.n_bytes <= n_bytes
    elif [how.get_filter(i)[0] for i in range(how.get_nfilters())] != _BLOCK_FILTERS:
        return "is stored neither in one piece nor in blocks with checksums"
    else:
        n_blocks = math.prod(-(-size // block) for size, block in zip(dataset.shape, how.get_chunk()))
        is_whole = item.get_num_chunks() == n_blocks
    if not is_whole or item.get_storage_size() < dataset.n_bytes:
        return "claims more data than it stores"
    return ""

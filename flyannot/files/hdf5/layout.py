"""What an HDF5 file holds and where it lies, found before a value of it is read.

HDF5 itself is not made for hostile files.  Before a dataset is read we know that it is reached by hard links
only, lies in this file, and is stored in full: a 1 MB file cannot claim 4 GiB.  h5py's lower level tells
that in a tenth of the time of its upper one.  What lies in one piece is then read past HDF5, by threads side
by side.
"""

import math
import os
from dataclasses import dataclass
from typing import NamedTuple

import h5py
import numpy as np
from h5py import h5d, h5g, h5l, h5o, h5s, h5z

from flyannot.files.hdf5.schema import DTYPES
from flyannot.files.text_files import first_bytes, open_regular

_SIGNATURE = b"\x89HDF\r\n\x1a\n"  # how every HDF5 file begins
_OF_BLOCKS = [h5z.FILTER_FLETCHER32]  # of datasets that flyannot wrote before 1.0, which lie in blocks
_READS_PAST_HDF5 = hasattr(os, "preadv")


@dataclass(frozen=True, slots=True)
class Dataset:
    """What is known of a dataset; `offset` is where it lies in its file, None if it is not in one piece."""

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
    """A file as h5py has it open, and the number that the system has it open by, or None."""

    h5: h5py.File
    descriptor: int | None

    @classmethod
    def of(cls, h5):
        """The system's number is of use where HDF5 itself reads by it."""
        return cls(h5, h5.id.get_vfd_handle() if _READS_PAST_HDF5 and h5.driver == "sec2" else None)

    def rows(self, name, dataset, start=0, stop=None):
        """Rows of a `Dataset` by its name; OSError if the file ends before them."""
        start, stop, _ = slice(start, stop).indices(len(dataset))
        rows = np.empty((max(0, stop - start), *dataset.shape[1:]), dataset.dtype)
        if dataset.offset is not None and self.descriptor is not None:
            left, at = rows.reshape(-1).view(np.uint8).data, dataset.offset + start * dataset.row_bytes
            while left:
                n_read = os.preadv(self.descriptor, [left], at)
                if not n_read:
                    raise OSError("the file ends before it")
                left, at = left[n_read:], at + n_read
        elif rows.size:
            space = h5s.create_simple(dataset.shape)
            space.select_hyperslab((start, *(0,) * (rows.ndim - 1)), rows.shape)
            h5d.open(self.h5.id, name.encode()).read(h5s.create_simple(rows.shape), space, rows)
        return rows


def open_hdf5(path, **how):
    """A file as h5py opens it, of which nothing is known yet; `how` as of h5py.  OSError if it cannot be."""
    open_regular(path).close()
    # Not locked: files are replaced as a whole, and not all systems have locks.
    return h5py.File(path, "r", locking=False, **how)


def is_hdf5(path):
    """Whether a file begins as HDF5 files do."""
    return first_bytes(path, len(_SIGNATURE)) == _SIGNATURE


def objects_in(h5):
    """Name -> h5py's lower-level id of every group and dataset of an open file, of its root as "/".
    ValueError if one is reached by a link out of the file."""
    root = h5o.open(h5.id, b"/")
    objects = {"/": root}
    _collect(root, "", objects)
    return objects


def _collect(group, place, objects):
    for name in group:
        full = place + name.decode()
        if group.links.get_info(name).type != h5l.TYPE_HARD:
            raise ValueError(f"{full} is a link out of the file")
        objects[full] = item = h5o.open(group, name)
        if isinstance(item, h5g.GroupID):
            _collect(item, f"{full}/", objects)


def datasets_of(objects):
    """Name -> `Dataset` of those of some objects that are datasets."""
    return {
        name: Dataset(item.shape or (), item.dtype, item.get_offset())
        for name, item in objects.items()
        if isinstance(item, h5d.DatasetID)
    }


def require_as_written(objects, datasets, n_bytes):
    """ValueError, which names it, if one of them does not lie in its file of so many bytes, in full and as
    flyannot writes it."""
    for name, item in objects.items():
        if not isinstance(item, h5g.GroupID) and (fault := _fault(item, datasets.get(name), n_bytes)):
            raise ValueError(f"{name} {fault}")


def _fault(item, dataset, n_bytes):
    """Return what is wrong with a dataset in a file of so many bytes, in words; "" if nothing is."""
    if dataset is None:
        return "does not lie in the file"
    how = item.get_create_plist() if dataset.offset is None and dataset.n_bytes else None
    if how is not None and (how.get_layout() == h5d.VIRTUAL or how.get_external_count()):
        return "does not lie in the file"
    kind = dataset.dtype.str.lstrip("<|")  # kernels take no other order of bytes
    if dataset.dtype.kind != "S" and kind not in DTYPES:
        return f"holds {dataset.dtype}, which no flyannot file does"
    if not dataset.shape:
        return "has no rows"
    if how is None:  # HDF5 reads zeros beyond the end of the file
        is_whole = (dataset.offset or 0) + dataset.n_bytes <= n_bytes
    elif [how.get_filter(i)[0] for i in range(how.get_nfilters())] != _OF_BLOCKS:
        return "is stored neither in one piece nor in checksummed blocks"
    else:
        n_blocks = math.prod(-(-size // block) for size, block in zip(dataset.shape, how.get_chunk()))
        is_whole = item.get_num_chunks() == n_blocks
    if not is_whole or item.get_storage_size() < dataset.n_bytes:
        return "claims more data than it stores"
    return ""

"""Checks of the layout of an HDF5 file, made before any of its values are read.

The HDF5 library does not protect itself against malicious files. So every dataset must be reached by hard
links only, lie in this file, and be stored in full. A file of 1 MB then cannot claim to have 4 GiB of data.
The low-level interface of h5py is ten times faster here than the high-level one. A dataset that is stored in
one piece is then read without the HDF5 library, also by several threads at once.
"""

import math
import os
from dataclasses import dataclass
from typing import NamedTuple

import h5py
import numpy as np
from h5py import h5d, h5g, h5l, h5o, h5s, h5z

from flyannot.files.hdf5.schema import DTYPES
from flyannot.files.text_files import open_regular_file, read_first_bytes

_SIGNATURE = b"\x89HDF\r\n\x1a\n"  # the first bytes of every HDF5 file
_OLD_BLOCK_FILTERS = [h5z.FILTER_FLETCHER32]  # before 1.0 flyannot wrote datasets in blocks with checksums
_CAN_READ_WITHOUT_HDF5 = hasattr(os, "preadv")


@dataclass(frozen=True, slots=True)
class DatasetLayout:
    """The shape, dtype and position of a dataset in an HDF5 file.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    offset : int, the position of its first byte in the file; None if it is not stored in one piece
    """

    shape: tuple
    dtype: np.dtype
    offset: int | None

    def __len__(self):
        return self.shape[0] if self.shape else 0

    @property
    def row_bytes(self):
        """The number of bytes of one row, that is, one index of the first dimension."""
        return self.dtype.itemsize * math.prod(self.shape[1:])

    @property
    def n_bytes(self):
        """The number of bytes of the whole dataset."""
        return self.dtype.itemsize * math.prod(self.shape)


class OpenFile(NamedTuple):
    """An open HDF5 file, whose datasets can be read without the HDF5 library.

    Attributes
    ----------
    h5 : h5py.File
    descriptor : int, the descriptor of the operating system for the file; None if the HDF5 library must read
        it
    """

    h5: h5py.File
    descriptor: int | None

    @classmethod
    def from_h5py(cls, h5):
        """Make an `OpenFile` from an open `h5py.File`.

        The file descriptor is None unless the system has `preadv` and HDF5 itself reads by a descriptor.
        """
        return cls(h5, h5.id.get_vfd_handle() if _CAN_READ_WITHOUT_HDF5 and h5.driver == "sec2" else None)

    def read_rows(self, name, dataset, start=0, stop=None):
        """Read the rows `start` to `stop` of a dataset into a new array; OSError if the file ends early.

        Parameters
        ----------
        name : str, the path of the dataset in the file, such as "4-6/image"
        dataset : DatasetLayout, its shape, dtype and position
        start, stop : int, as in a slice; by default all rows
        """
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
    """Open an HDF5 file for reading with h5py, without checking its contents.

    Parameters
    ----------
    path : Path or str
    how : further keyword arguments of `h5py.File`

    Raises
    ------
    OSError
        If the file cannot be opened or is not HDF5.
    """
    open_regular_file(path).close()
    # No lock is needed, since files are replaced as a whole; some systems have no locks.
    return h5py.File(path, "r", locking=False, **how)


def is_hdf5(path):
    """Return whether a file begins with the signature of HDF5; OSError if it cannot be read."""
    return read_first_bytes(path, len(_SIGNATURE)) == _SIGNATURE


def list_objects(h5):
    """List all groups and datasets of an open HDF5 file.

    Returns
    -------
    dict
        Path in the file, such as "4-6/image" -> low-level h5py object (`GroupID` or `DatasetID`). The root is
        "/".

    Raises
    ------
    ValueError
        If the file contains a link other than a hard link.
    """
    root = h5o.open(h5.id, b"/")
    objects = {"/": root}
    _collect_objects(root, "", objects)
    return objects


def _collect_objects(group, place, objects):
    """Add all objects below an HDF5 group to a dict, recursively.

    Parameters
    ----------
    group : h5py.h5g.GroupID
    place : str, the path of the group in the file with "/" at its end; "" for the root
    objects : dict, path -> low-level h5py object, to which the objects are added

    Raises
    ------
    ValueError
        If the group contains a link other than a hard link.
    """
    for name in group:
        full = place + name.decode()
        if group.links.get_info(name).type != h5l.TYPE_HARD:
            raise ValueError(f"{full} is a link out of the file")
        objects[full] = item = h5o.open(group, name)
        if isinstance(item, h5g.GroupID):
            _collect_objects(item, f"{full}/", objects)


def select_datasets(objects):
    """Return a dict, path in the file -> `Dataset`, of all datasets among the objects of a file.

    `objects` is the result of `list_objects`; groups are left out.
    """
    return {
        name: DatasetLayout(item.shape or (), item.dtype, item.get_offset())
        for name, item in objects.items()
        if isinstance(item, h5d.DatasetID)
    }


def require_stored_in_full(objects, datasets, n_bytes):
    """Raise ValueError unless every dataset lies in the file, in full and with a type that flyannot writes.

    Parameters
    ----------
    objects : dict, path -> low-level h5py object, from `list_objects`
    datasets : dict, path -> Dataset, from `select_datasets`
    n_bytes : int, the size of the file
    """
    for name, item in objects.items():
        if not isinstance(item, h5g.GroupID) and (fault := _storage_error(item, datasets.get(name), n_bytes)):
            raise ValueError(f"{name} {fault}")


def _storage_error(item, dataset, n_bytes):
    """Describe in words why a dataset is not stored as flyannot writes it; return "" if it is.

    Parameters
    ----------
    item : h5py.h5d.DatasetID, or another object that is not a group
    dataset : Dataset of the item; None if the item is no dataset
    n_bytes : int, the size of the file
    """
    if dataset is None:
        return "does not lie in the file"
    creation = item.get_create_plist() if dataset.offset is None and dataset.n_bytes else None
    if creation is not None and (creation.get_layout() == h5d.VIRTUAL or creation.get_external_count()):
        return "does not lie in the file"
    kind = dataset.dtype.str.lstrip("<|")  # kernels need the byte order of this machine
    if dataset.dtype.kind != "S" and kind not in DTYPES:
        return f"has the type {dataset.dtype}, which flyannot does not write"
    if not dataset.shape:
        return "has no rows"
    if creation is None:  # HDF5 reads zeros beyond the end of the file
        is_whole = (dataset.offset or 0) + dataset.n_bytes <= n_bytes
    elif [creation.get_filter(i)[0] for i in range(creation.get_nfilters())] != _OLD_BLOCK_FILTERS:
        return "is stored neither in one piece nor in blocks with checksums"
    else:
        n_blocks = math.prod(-(-size // block) for size, block in zip(dataset.shape, creation.get_chunk()))
        is_whole = item.get_num_chunks() == n_blocks
    if not is_whole or item.get_storage_size() < dataset.n_bytes:
        return "claims more data than it stores"
    return ""

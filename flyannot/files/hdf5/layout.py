"""Checks of the layout of an HDF5 file, made before any of its values are read.

The HDF5 library does not protect itself against malicious files. So types and storage are examined before
shapes and values. Every object has one name and is visited once. Every dataset lies in this file, and is
stored in full. Attributes are single texts or numbers. A file of 1 MB then cannot claim to have 4 GiB of
data, also not by many claims to the same bytes. The numbers of objects and attributes are limited.

The low-level interface of h5py is ten times faster here than the high-level one. A dataset is stored in one
piece, and is read without the HDF5 library, also by several threads at once.
"""

import math
import os
from dataclasses import dataclass

import h5py
import numpy as np
from h5py import h5, h5a, h5d, h5g, h5l, h5o, h5s, h5t

from flyannot.files.hdf5.schema import DTYPES
from flyannot.files.text_files import open_regular_file, read_first_bytes

_SIGNATURE = b"\x89HDF\r\n\x1a\n"  # the first bytes of every HDF5 file
_PLAIN_TYPES = {h5t.INTEGER, h5t.FLOAT, h5t.STRING}
# flyannot writes up to 200 objects, 5 deep, and 14 attributes.
_MAX_OBJECTS = 2000
_MAX_DEPTH = 16
_MAX_ATTRIBUTES = 64  # of all objects together


@dataclass(frozen=True, slots=True)
class DatasetLayout:
    """The shape, dtype and position of a dataset in an HDF5 file.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    offset : int, the position of its first byte in the file; None if it has no values, or in a file that is
        not examined yet
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


def read_rows(source, dataset, start=0, stop=None):
    """Read the rows `start` to `stop` of a dataset into a new array; OSError if the file ends early.

    Parameters
    ----------
    source : the file, open for reading bytes, or the low-level h5py dataset, which may have unwritten values
    dataset : DatasetLayout, its shape, dtype and position
    start, stop : int, as in a slice; by default all rows
    """
    start, stop, _ = slice(start, stop).indices(len(dataset))
    rows = np.empty((max(0, stop - start), *dataset.shape[1:]), dataset.dtype)
    if not rows.size:
        return rows
    if isinstance(source, h5d.DatasetID):
        space = h5s.create_simple(dataset.shape)
        space.select_hyperslab((start, *(0,) * (rows.ndim - 1)), rows.shape)
        source.read(h5s.create_simple(rows.shape), space, rows)
    else:
        source.seek(dataset.offset + start * dataset.row_bytes)
        if source.readinto(rows.reshape(-1).view(np.uint8)) < rows.nbytes:
            raise OSError("the file ends early")
    return rows


def open_hdf5(path):
    """Open an HDF5 file for reading with h5py, without checking its contents.

    Raises
    ------
    OSError
        If the file cannot be opened or is not HDF5.
    """
    open_regular_file(path).close()
    # No lock is needed, since files are replaced as a whole; some systems have no locks.
    return h5py.File(path, "r", locking=False)


def is_hdf5(path):
    """Return whether a file begins with the signature of HDF5; OSError if it cannot be read."""
    return read_first_bytes(path, len(_SIGNATURE)) == _SIGNATURE


def examine_layout(h5, path):
    """Check the layout of an open HDF5 file, before any values of its datasets are read.

    Returns
    -------
    objects : dict, path in the file -> low-level h5py object, as from `list_objects`
    datasets : dict, path in the file -> DatasetLayout, as from `select_datasets`

    Raises
    ------
    ValueError
        If an object, attribute or dataset is of a kind that flyannot does not write, or is not in the file.
    """
    objects = list_objects(h5)
    datasets = select_datasets(objects)
    _require_stored_in_full(objects, datasets, os.path.getsize(path))
    return objects, datasets


def list_objects(h5):
    """List all groups and datasets of an open HDF5 file, in the order of their names.

    Returns
    -------
    dict
        Path in the file, such as "4-6/image" -> low-level h5py object (`GroupID` or `DatasetID`). The root is
        "/".

    Raises
    ------
    ValueError
        If the file contains a link other than a hard link, a second link to an object, or an object that is
        neither a group nor a dataset. Also if it has too many objects or attributes, too deep groups, or an
        attribute that is not a single text or number.
    """
    root = h5o.open(h5.id, b"/")
    objects = {"/": root}
    names = {h5o.get_info(root).addr: "/"}
    _collect_objects(root, "", objects, names)
    n_attributes = 0
    for name, item in objects.items():
        attributes = list_attributes(item)
        n_attributes += len(attributes)
        if n_attributes > _MAX_ATTRIBUTES:
            raise ValueError(f"{name}: the file has more than {_MAX_ATTRIBUTES} attributes")
        for attribute in attributes:
            _require_plain_attribute(item, attribute)
    return objects


def _collect_objects(group, place, objects, names):
    """Add all objects below an HDF5 group to a dict, recursively.

    Parameters
    ----------
    group : h5py.h5g.GroupID
    place : str, the path of the group in the file with "/" at its end; "" for the root
    objects : dict, path -> low-level h5py object, to which the objects are added
    names : dict, address of an object in the file -> its path, to which the objects are added

    Raises
    ------
    ValueError
        As `list_objects`.
    """
    links: dict = {}

    def add_link(name, link):
        """Add a link to `links`; return True, which ends the iteration, if there are too many."""
        links[name] = link.type, link.u
        return len(objects) + len(links) > _MAX_OBJECTS or None

    # In any other order HDF5 lists all links before the first call.
    group.links.iterate(add_link, info=True, order=h5.ITER_NATIVE)
    if len(objects) + len(links) > _MAX_OBJECTS:
        raise ValueError(f"{place or '/'}: the file has more than {_MAX_OBJECTS:,} objects")
    for name, (kind, address) in sorted(links.items()):
        full = place + name.decode()
        if kind != h5l.TYPE_HARD:
            raise ValueError(f"{full} is a link out of the file")
        if address in names:
            raise ValueError(f"{full} and {names[address]} are one object")
        if full.count("/") >= _MAX_DEPTH:
            raise ValueError(f"{full} lies in more than {_MAX_DEPTH} groups")
        names[address] = full
        objects[full] = item = h5o.open(group, name)
        if isinstance(item, h5g.GroupID):
            _collect_objects(item, f"{full}/", objects, names)
        elif not isinstance(item, h5d.DatasetID):
            raise ValueError(f"{full} is neither a group nor a dataset")


def list_attributes(item):
    """Return the sorted names (list of str) of the attributes of a low-level h5py object.

    No more names are listed than a file may have, and one.
    """
    found: list = []

    def add_name(name):
        """Add a name to `found`; return True, which ends the iteration, if there are too many."""
        found.append(name)
        return len(found) > _MAX_ATTRIBUTES or None

    if h5a.get_num_attrs(item):
        h5a.iterate(item, add_name, order=h5.ITER_NATIVE)
    return sorted(name.decode() for name in found)


def read_attribute(item, name):
    """Return an attribute of a low-level h5py object: text as bytes or str, or a NumPy number.

    Raises
    ------
    KeyError
        If there is no such attribute.
    ValueError
        If the attribute is not a single text or number.
    """
    _require_plain_attribute(item, name)
    return h5py.AttributeManager(h5py.HLObject(item))[name]


def _require_plain_attribute(item, name):
    """Raise ValueError unless an attribute is a single text or number; its value is not read.

    An array of references to one text, for example, can take thousands of times the memory of its file.
    """
    attribute = h5a.open(item, name.encode())
    if attribute.get_type().get_class() not in _PLAIN_TYPES or attribute.shape != ():
        raise ValueError(f"the attribute {name} is not a single text or number")


def select_datasets(objects):
    """Return a dict, path in the file -> `DatasetLayout`, of all datasets among the objects of a file.

    `objects` is the result of `list_objects`; groups are left out. Raises ValueError if the values of a
    dataset are in another file, or its type is not plain.
    """
    datasets = {name: item for name, item in objects.items() if isinstance(item, h5d.DatasetID)}
    return {name: _dataset_layout(name, item) for name, item in datasets.items()}


def _dataset_layout(name, item):
    """Return the `DatasetLayout` of a low-level h5py dataset, as `select_datasets`; `name` is its path.

    The storage is examined first: the shape of a virtual dataset is asked of other files.
    """
    offset = item.get_offset()
    creation = item.get_create_plist() if offset is None else None
    if creation is not None and (creation.get_layout() == h5d.VIRTUAL or creation.get_external_count()):
        raise ValueError(f"{name} does not lie in the file")
    if item.get_type().get_class() not in _PLAIN_TYPES:
        raise ValueError(f"{name} has a type which flyannot does not write")
    return DatasetLayout(item.shape or (), item.dtype, offset)


def _require_stored_in_full(objects, datasets, n_bytes):
    """Raise ValueError unless every dataset lies in the file, in full and with a type that flyannot writes.

    Parameters
    ----------
    objects : dict, path -> low-level h5py object, from `list_objects`
    datasets : dict, path -> DatasetLayout, from `select_datasets`
    n_bytes : int, the size of the file
    """
    n_claimed = 0
    for name, dataset in datasets.items():
        if fault := _storage_error(objects[name], dataset, n_bytes):
            raise ValueError(f"{name} {fault}")
        n_claimed += objects[name].get_storage_size()
    if n_claimed > n_bytes:
        raise ValueError("its datasets claim more data than the file has")


def _storage_error(item, dataset, n_bytes):
    """Describe in words why a dataset is not stored as flyannot writes it; return "" if it is.

    Parameters
    ----------
    item : h5py.h5d.DatasetID
    dataset : DatasetLayout of the item
    n_bytes : int, the size of the file
    """
    kind = dataset.dtype.str.lstrip("<|")  # kernels need the byte order of this machine
    if dataset.dtype.kind != "S" and kind not in DTYPES:
        return f"has the type {dataset.dtype}, which flyannot does not write"
    if not dataset.shape:
        return "has no rows"
    n_stored = item.get_storage_size()
    if dataset.offset is None and dataset.n_bytes and n_stored:
        return "is not stored in one piece"
    # HDF5 reads zeros beyond the end of the file.
    is_whole = max(dataset.shape) <= n_bytes and (dataset.offset or 0) + dataset.n_bytes <= n_bytes
    if not is_whole or not dataset.n_bytes <= n_stored <= n_bytes:
        return "claims more data than it stores"
    return ""

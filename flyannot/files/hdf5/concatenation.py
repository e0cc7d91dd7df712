"""Joining of HDF5 files of one kind, with different images, into one file.

Small datasets are joined in memory. Large ones are copied from file to file, so that the memory needed does
not grow with their size.
"""

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.schema import LARGE_DATASETS, SCHEMAS
from flyannot.files.hdf5.writing import create_stored_file, reserve_array, write_array

_COPIED_BYTES = 1 << 20  # bytes that are copied at once
# All other dimensions are equal in all parts.
_IMAGE_DIMENSIONS = ("n_images", "n_patches", "n_groups", "n_rows", "n_nonzeros", "n_bytes", "n_maps")


@dataclass(frozen=True)
class PartContents:
    """The contents of a part: a file with some of the images, which is joined with others of its kind.

    Attributes
    ----------
    path : Path of the file, which is closed
    kind : str, the kind of the file, such as "features"
    failures : tuple of PictureFate of the images that were left out
    inputs : dict, role of an input -> list of digests
    contents : dict, stage range -> dict, name of a dataset -> array or `DatasetLayout`. It is an array if the
        dataset has entries for each image, patch or group and is not in LARGE_DATASETS; otherwise it
        is a `DatasetLayout`
    """

    path: Path
    kind: str
    failures: tuple
    inputs: dict
    contents: dict

    @property
    def stage_ranges(self):
        """The stage ranges of the file, a tuple of str."""
        return tuple(self.contents)


def read_part_contents(path):
    """Open and check a file with some of the images, and return its `PartContents`.

    Raises
    ------
    InputError, DataError
        As `open_stored_file`.
    """
    stored = open_stored_file(path)
    bulky = LARGE_DATASETS.get(stored.kind, ())
    contents = {}
    for s in stored.stage_ranges:
        held = stored.datasets(s)
        datasets = {name: held[name] for name in SCHEMAS[stored.kind] if name in held}
        small = [n for n in datasets if _has_entries_per_image(stored.kind, n) and n not in bulky]
        contents[s] = datasets | {name: stored.read_array(s, name, as_bytes=True) for name in small}
    return PartContents(stored.path, stored.kind, stored.failures, stored.inputs, contents)


def _has_entries_per_image(kind, name):
    """Return whether a dataset has entries for each image, patch or group, so that joining concatenates it.

    All other datasets are equal in all files that are joined.

    Parameters
    ----------
    kind : str, the kind of the files, such as "features"
    name : str, the name of the dataset
    """
    return SCHEMAS[kind][name][1][0].partition("+")[0] in _IMAGE_DIMENSIONS


@contextmanager
def create_joined_file(path, header, parts, *, each=map):
    """Join files with different images: yield a new h5py file with all images of `parts`, in order.

    The caller may add to the file within the `with` block. At its end the large datasets are copied, and the
    file is verified and renamed to `path`.

    Parameters
    ----------
    path : Path of the new file
    header : Header of the new file
    parts : list of PartContents of one kind
    each : `map`, or a function like it that uses several threads; with it datasets are copied and verified

    Raises
    ------
    WriteError
        If the file cannot be written.
    DataError
        If a file of `parts` has changed since it was written.
    """
    copies: list = []
    fill = partial(_copy_large_datasets, copies, each)
    with create_stored_file(path, header, fill=fill, each=each) as file:
        _write_small_datasets(file, parts, copies)
        yield file


def _write_small_datasets(file, parts, copies):
    """Write the small datasets of a joined file, and reserve space for the large ones.

    Parameters
    ----------
    file : open h5py file, still without datasets
    parts : list of PartContents
    copies : list, to which a tuple is appended for each large dataset of each part: path of the part,
        `DatasetLayout` in the part, position in the joined file in bytes
    """
    kind = parts[0].kind
    for s in dict.fromkeys(s for part in parts for s in part.stage_ranges):
        group = file.create_group(s)
        its_parts = [part for part in parts if s in part.stage_ranges]
        first = open_stored_file(its_parts[0].path)
        for name in its_parts[0].contents[s]:
            values = [part.contents[s][name] for part in its_parts]
            if name in LARGE_DATASETS.get(kind, ()):
                copies += _reserve_large_dataset(group, name, [part.path for part in its_parts], values)
            elif _has_entries_per_image(kind, name):
                write_array(group, name, _concatenate_dataset(name, values, its_parts, s))
            else:
                write_array(group, name, first.read_array(s, name))


def _reserve_large_dataset(group, name, paths, datasets):
    """Reserve space in a joined file for a large dataset, and yield one copy to be made for each part.

    Parameters
    ----------
    group : h5py group of the joined file
    name : str, the name of the dataset
    paths : list of Path, the parts
    datasets : list of Dataset, this dataset in each part

    Yields
    ------
    tuple
        Path of the part, `DatasetLayout` in the part, position in the joined file in bytes.
    """
    shape = (sum(map(len, datasets)), *datasets[0].shape[1:])
    offset = reserve_array(group, name, shape, datasets[0].dtype)
    for path, dataset in zip(paths, datasets):
        yield path, dataset, offset
        offset += dataset.n_bytes


def _copy_large_datasets(copies, each, path):
    """Copy all large datasets into the closed joined file.

    Parameters
    ----------
    copies : list of (path of a part, Dataset in the part, position in the joined file in bytes)
    each : `map`, or a function like it that uses several threads
    path : Path of the joined file
    """
    for _ in each(lambda copy: _copy_bytes(path, *copy), copies):
        pass


def _copy_bytes(path, source, dataset, offset):
    """Copy the bytes of one dataset from one file to another.

    If the source lacks some bytes or is missing, no error is raised here. It is found when the joined file is
    verified.

    Parameters
    ----------
    path : Path of the joined file
    source : Path of the file with the dataset
    dataset : Dataset in the source
    offset : int, its position in the joined file in bytes
    """
    with suppress(FileNotFoundError), open(source, "rb") as file, open(path, "rb+") as out:
        file.seek(dataset.offset or 0)
        out.seek(offset)
        left = dataset.n_bytes
        while left and (block := file.read(min(left, _COPIED_BYTES))):
            left -= out.write(block)


def _concatenate_dataset(name, values, parts, stage_range):
    """Concatenate one dataset of all parts.

    Offsets (`first`, `indptr`, `map_first`) and group numbers (`group_of_image`) count from 0 in each part,
    so they are shifted.

    Parameters
    ----------
    name : str, the name of the dataset
    values : list of arrays, this dataset in each part
    parts : list of PartContents
    stage_range : str
    """
    if name in ("first", "indptr", "map_first"):
        counts = np.concatenate([np.diff(first) for first in values])
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    if name == "group_of_image":
        before = np.cumsum([0, *(len(part.contents[stage_range]["group_name"]) for part in parts)])
        return np.concatenate([part + n for part, n in zip(values, before)]).astype(np.int32)
    return np.concatenate(values)

"""Files of one kind with different images, joined into one file.

Small datasets are joined in memory. Bulky ones are copied from file to file, so that the memory needed does
not grow with their size.
"""

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from flyannot.files.hdf5.reading import open_stored
from flyannot.files.hdf5.schema import BULK, SCHEMAS
from flyannot.files.hdf5.writing import create_stored, reserve_array, write_array

_COPIED_BYTES = 1 << 20  # at once
_GROWING = ("n_images", "n_patches", "n_groups")  # all other dimensions are equal in all parts


@dataclass(frozen=True)
class PartContents:
    """The contents of a closed file that is joined with others.

    contents : dict, stage range -> arrays by name if they are small and grow with the images, otherwise their
        `Dataset`
    """

    path: Path
    kind: str
    failures: tuple
    inputs: dict
    contents: dict

    @property
    def stage_ranges(self):
        return tuple(self.contents)


def read_part(path):
    """Read the `PartContents` of a path; errors as `open_stored`."""
    with open_stored(path) as stored:
        bulky = BULK.get(stored.kind, ())
        contents = {}
        for s in stored.stage_ranges:
            datasets = {
                name: stored.group(s)[name] for name in SCHEMAS[stored.kind] if name in stored.group(s)
            }
            small = [name for name in datasets if _grows(stored.kind, name) and name not in bulky]
            contents[s] = datasets | {name: stored.array(s, name, as_bytes=True) for name in small}
        return PartContents(stored.path, stored.kind, stored.failures, stored.inputs, contents)


def _grows(kind, name):
    """Return whether a dataset is longer in a file of more images."""
    return SCHEMAS[kind][name][1][0].partition("+")[0] in _GROWING


@contextmanager
def create_joined(path, header, parts, *, each=map):
    """Yield a new file with the images of `parts`, which are of one kind, in order.

    Bulky arrays are copied on leaving. Errors and `each` are as of `create_stored`. DataError if a part has
    changed since it was written.
    """
    copies: list = []
    with create_stored(path, header, fill=partial(_copy_rows, copies, each), each=each) as file:
        _begin(file, parts, copies)
        yield file


def _begin(file, parts, copies):
    """Write the small datasets, reserve room for the bulky ones, and list the copies still to be made.

    A tuple is appended to `copies` for each: path of a part, `Dataset` in the part, offset in the joined
    file.
    """
    kind = parts[0].kind
    for s in dict.fromkeys(s for part in parts for s in part.stage_ranges):
        group = file.create_group(s)
        its_parts = [part for part in parts if s in part.stage_ranges]
        with open_stored(its_parts[0].path) as first:
            for name in its_parts[0].contents[s]:
                values = [part.contents[s][name] for part in its_parts]
                if name in BULK.get(kind, ()):
                    copies += _reserve(group, name, [part.path for part in its_parts], values)
                elif _grows(kind, name):
                    write_array(group, name, _join(name, values, its_parts, s))
                else:
                    write_array(group, name, first.array(s, name))


def _reserve(group, name, paths, datasets):
    """Reserve room for the datasets of some files, one after the other, and yield the items of `copies`."""
    shape = (sum(map(len, datasets)), *datasets[0].shape[1:])
    offset = reserve_array(group, name, shape, datasets[0].dtype)
    for path, dataset in zip(paths, datasets):
        yield path, dataset, offset
        offset += dataset.n_bytes


def _copy_rows(copies, each, path):
    """Copy all bulky datasets into the file at `path`."""
    for _ in each(lambda copy: _copy_bytes(path, *copy), copies):
        pass


def _copy_bytes(path, source, dataset, offset):
    """Copy a dataset as far as it exists; missing bytes are noticed when the joined file is verified."""
    with suppress(FileNotFoundError), open(source, "rb") as file, open(path, "rb+") as out:
        file.seek(dataset.offset or 0)
        out.seek(offset)
        left = dataset.n_bytes
        while left and (block := file.read(min(left, _COPIED_BYTES))):
            left -= out.write(block)


def _join(name, values, parts, stage_range):
    """Return the joined values of all parts; numbers of patches and groups are counted through all parts."""
    if name == "first":
        counts = np.concatenate([np.diff(first) for first in values])
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    if name == "group_of_image":
        before = np.cumsum([0, *(len(part.contents[stage_range]["group_name"]) for part in parts)])
        return np.concatenate([part + n for part, n in zip(values, before)]).astype(np.int32)
    return np.concatenate(values)

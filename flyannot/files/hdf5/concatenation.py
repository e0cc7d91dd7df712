"""Files of one kind, made from different images, as one file: what is small of them is joined, and what is
bulky is copied from file to file, so that memory does not grow with it."""

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from flyannot.files.hdf5.reading import open_stored
from flyannot.files.hdf5.schema import BULK, SCHEMAS
from flyannot.files.hdf5.writing import create_stored, reserve_array, write_array

_COPIED_BYTES = 1 << 20  # at a time
_GROWING = ("n_images", "n_patches", "n_groups")  # every other dimension is the same in all parts


@dataclass(frozen=True)
class PartContents:
    """A file to be joined with others, closed: what grows with its images, unless it is bulky.

    contents : stage range -> its arrays by name, and of all others the `Dataset`
    """

    path: Path
    kind: str
    failures: tuple
    inputs: dict
    contents: dict

    @property
    def stage_ranges(self):
        return tuple(self.contents)


def closed_file(path):
    """The `PartContents` of a path; errors as of `flyannot.files.hdf5.reading.open_stored`."""
    with open_stored(path) as stored:
        schema, bulky, contents = SCHEMAS[stored.kind], BULK.get(stored.kind, ()), {}
        for s in stored.stage_ranges:
            datasets = {name: stored.group(s)[name] for name in schema if name in stored.group(s)}
            held = [name for name in datasets if _grows(stored.kind, name) and name not in bulky]
            contents[s] = datasets | {name: stored.array(s, name, as_bytes=True) for name in held}
        return PartContents(stored.path, stored.kind, stored.failures, stored.inputs, contents)


def _grows(kind, name):
    """Whether a dataset is longer in a file of more images."""
    return SCHEMAS[kind][name][1][0].partition("+")[0] in _GROWING


@contextmanager
def create_joined(path, header, parts, *, each=map):
    """Yield a file with the images of `parts`, which are of one kind, in their order.

    Bulky arrays are copied on leaving.  Errors and `each` are as of `create_stored`.  DataError if a part is
    not what was written.
    """
    copies: list = []
    with create_stored(path, header, fill=partial(_copy_rows, copies, each), each=each) as file:
        _begin(file, parts, copies)
        yield file


def _begin(file, parts, copies):
    """Add what is small, and room for what is bulky; to `copies`, of that: path, `Dataset`, offset here."""
    kind = parts[0].kind
    for s in dict.fromkeys(s for part in parts for s in part.stage_ranges):
        group, its_parts = file.create_group(s), [part for part in parts if s in part.stage_ranges]
        with open_stored(its_parts[0].path) as first:
            for name in its_parts[0].contents[s]:
                values = [part.contents[s][name] for part in its_parts]
                if name in BULK.get(kind, ()):
                    copies += _reserved(group, name, [part.path for part in its_parts], values)
                elif _grows(kind, name):
                    write_array(group, name, _joined(name, values, its_parts, s))
                else:
                    write_array(group, name, first.array(s, name))


def _reserved(group, name, paths, datasets):
    """Add room for the datasets of some files, one after the other; its `copies`."""
    like, n_rows = datasets[0], sum(map(len, datasets))
    offset = reserve_array(group, name, (n_rows, *like.shape[1:]), like.dtype)
    for path, dataset in zip(paths, datasets):
        yield path, dataset, offset
        offset += dataset.n_bytes


def _copy_rows(copies, each, path):
    for _ in each(lambda copy: _copy_bytes(path, *copy), copies):
        pass


def _copy_bytes(path, source, dataset, offset):
    """As far as there are any: what is missing shows when the file is verified."""
    with suppress(FileNotFoundError), open(source, "rb") as file, open(path, "rb+") as out:
        file.seek(dataset.offset or 0)
        out.seek(offset)
        left = dataset.n_bytes
        while left and (block := file.read(min(left, _COPIED_BYTES))):
            left -= out.write(block)


def _joined(name, values, parts, stage_range):
    """The values of all parts; what counts patches or groups within a part then counts through all parts."""
    if name == "first":
        counts = np.concatenate([np.diff(first) for first in values])
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    if name == "group_of_image":
        before = np.cumsum([0, *(len(part.contents[stage_range]["group_name"]) for part in parts)])
        return np.concatenate([part + n for part, n in zip(values, before)]).astype(np.int32)
    return np.concatenate(values)

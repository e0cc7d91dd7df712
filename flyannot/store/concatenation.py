"""Files of one kind, made from different images, as one file: what is small of them is joined, and what is
bulky is copied from file to file, so that memory does not grow with it."""

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flyannot.store.reading import open_stored
from flyannot.store.schema import BULK, SCHEMAS
from flyannot.store.writing import create_stored, reserve_array, write_array

_GROWING = ("n_images", "n_patches", "n_groups")  # every other dimension is the same in all parts


@dataclass(frozen=True)
class ClosedFile:
    """A file to be joined with others, closed: what grows with its images, unless it is bulky.

    contents : stage range -> its arrays by name, and of all others the `flyannot.store.layout.Dataset`
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
    """The `ClosedFile` of a path; errors as of `flyannot.store.reading.open_stored`."""
    with open_stored(path) as stored:
        schema, bulky, contents = SCHEMAS[stored.kind], BULK.get(stored.kind, ()), {}
        for s in stored.stage_ranges:
            datasets = {name: stored.group(s)[name] for name in schema if name in stored.group(s)}
            held = [name for name in datasets if _grows(stored.kind, name) and name not in bulky]
            contents[s] = datasets | {name: stored.array(s, name, as_bytes=True) for name in held}
        return ClosedFile(stored.path, stored.kind, stored.failures, stored.inputs, contents)


def _grows(kind, name):
    """Whether a dataset is longer in a file of more images."""
    return SCHEMAS[kind][name][1][0].partition("+")[0] in _GROWING


@contextmanager
def create_joined(path, header, parts, *, each=map):
    """Yield a file with the images of `parts`, which are of one kind, in their order.

    Errors and `each` are as in `create_stored`.  DataError if a part is not what was written.
    """
    with create_stored(path, header, each=each) as file:
        _write_parts(file, parts)
        yield file


def _write_parts(file, parts):
    """Write the arrays of all parts, and copy the bulky arrays, for which room is reserved first."""
    kind = parts[0].kind
    for s in dict.fromkeys(s for part in parts for s in part.stage_ranges):
        group, its_parts, bulky = file.create_group(s), [part for part in parts if s in part.stage_ranges], {}
        with open_stored(its_parts[0].path) as first:
            for name in its_parts[0].contents[s]:
                values = [part.contents[s][name] for part in its_parts]
                if name in BULK.get(kind, ()):
                    shape = sum(map(len, values)), *values[0].shape[1:]
                    bulky[name] = reserve_array(group, name, shape, values[0].dtype)
                elif _grows(kind, name):
                    write_array(group, name, _joined(name, values, its_parts, s))
                else:
                    write_array(group, name, first.array(s, name))
        _copy_bulky(bulky, its_parts, s)


def _copy_bulky(bulky, parts, stage_range):
    """Copy the rows of bulky arrays of the parts into the datasets `bulky`, some megabytes at a time.

    The rows are compared with their digests when the whole file is verified.
    """
    n_copied = dict.fromkeys(bulky, 0)
    for part in parts if bulky else ():
        with open_stored(part.path) as stored:
            for name, dataset in bulky.items():
                for rows in stored.blocks_of_rows(stage_range, name, ...):
                    stop = n_copied[name] + len(rows)
                    dataset[n_copied[name] : stop] = rows
                    n_copied[name] = stop


def _joined(name, values, parts, stage_range):
    """The values of all parts; what counts patches or groups within a part then counts through all parts."""
    if name == "first":
        counts = np.concatenate([np.diff(first) for first in values])
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    if name == "group_of_image":
        before = np.cumsum([0, *(len(part.contents[stage_range]["group_name"]) for part in parts)])
        return np.concatenate([part + n for part, n in zip(values, before)]).astype(np.int32)
    return np.concatenate(values)

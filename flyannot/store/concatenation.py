"""Files of one kind, made from different images, as one file.  One of them is open at a time, and what is
bulky streams, so that memory does not grow with their number."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flyannot.store.reading import open_stored
from flyannot.store.schema import BULK, SCHEMAS
from flyannot.store.writing import append_rows, growing_array, write_array

_GROWING = ("n_images", "n_patches", "n_groups")  # every other dimension is the same in all parts


@dataclass(frozen=True)
class ClosedFile:
    """A file to be joined with others, closed: what it held when it was open, but for what is bulky.

    contents : stage range -> (values of the small columns by name, number of rows of the other growing
        datasets by name)
    """

    path: Path
    kind: str
    digest: str
    failures: tuple
    contents: dict

    @property
    def stage_ranges(self):
        return tuple(self.contents)


def closed_file(stored):
    """The `ClosedFile` of an open file."""
    contents = {}
    for s in stored.stage_ranges:
        small, large = contents[s] = {}, {}
        for name, (_, dimensions) in SCHEMAS[stored.kind].items():
            if dimensions[0].partition("+")[0] not in _GROWING or name not in stored.group(s):
                continue
            if len(dimensions) == 1 and name not in BULK.get(stored.kind, ()):
                small[name] = stored.array(s, name, as_bytes=True)
            else:
                large[name] = len(stored.group(s)[name])
    return ClosedFile(stored.path, stored.kind, stored.digest, stored.failures, contents)


def concatenate(file, parts, *, verified=True):
    """Fill `file` with the images of `parts`, of one kind, in their order; each is opened once.

    verified : False where `file` is verified as a whole, and nobody asks which part was damaged
    """
    streamed = {}
    last = {stage_range: part for part in parts for stage_range in part.stage_ranges}
    for part in parts:
        with open_stored(part.path, part.kind, digest=part.digest) as stored:
            for stage_range in part.stage_ranges:
                if stage_range not in streamed:
                    streamed[stage_range] = _begin(file, parts, stored, stage_range)
                _stream(streamed[stage_range], stored, stage_range, verified)
                if part is last[stage_range]:  # datasets that stay open keep megabytes of chunks
                    del streamed[stage_range]


def _begin(file, parts, first, stage_range):
    """Add a stage range: what is small of all parts, and what the first of them, open, has like the others.

    Returns the datasets that are to grow, by name.
    """
    group, streamed = file.create_group(stage_range), {}
    held = [part.contents[stage_range] for part in parts if stage_range in part.stage_ranges]
    small, large = zip(*held)
    for name in SCHEMAS[first.kind]:
        if name in large[0]:
            like, n_rows = first.group(stage_range)[name], sum(rows_by_name[name] for rows_by_name in large)
            streamed[name] = growing_array(group, name, like.shape[1:], like.dtype, n_rows=n_rows)
        elif name in small[0]:
            write_array(group, name, _joined(name, small))
        elif name in first.group(stage_range):
            write_array(group, name, first.array(stage_range, name))
    return streamed


def _joined(name, small):
    """The values of all parts; what counts patches or groups within a part then counts through all parts."""
    values = [columns[name] for columns in small]
    if name == "first":
        counts = np.concatenate([np.diff(first) for first in values])
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    if name == "group_of_image":
        before = np.cumsum([0, *(len(columns["group_name"]) for columns in small)])
        return np.concatenate([part + n for part, n in zip(values, before)]).astype(np.int32)
    return np.concatenate(values)


def _stream(datasets, stored, stage_range, verified):
    """What is not small of an open part, at the end of the datasets by that name."""
    bulky = BULK.get(stored.kind, ())
    for arrays in stored.blocks_of_images(stage_range, verified=verified) if bulky else ():
        for name, rows in zip(bulky, arrays):
            append_rows(datasets[name], rows)
    for name, dataset in datasets.items():  # in their order, which decides where they lie in the file
        if name not in bulky:
            append_rows(dataset, stored.array(stage_range, name))

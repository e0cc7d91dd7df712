"""Files of one kind, made from different images, as one file.  One of them is open at a time, and what is
bulky streams, so that memory does not grow with their number."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flyannot.stage_ranges import STAGE_RANGES
from flyannot.store.reading import open_stored
from flyannot.store.schema import BULK, SCHEMAS
from flyannot.store.writing import append_rows, growing_array, write_array

_GROWING = ("n_images", "n_patches", "n_groups")  # every other dimension is the same in all parts


@dataclass(frozen=True)
class Part:
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


def part_of(stored):
    """The `Part` of an open file."""
    contents = {s: _contents(stored, s) for s in stored.stage_ranges}
    return Part(stored.path, stored.kind, stored.digest, stored.failures, contents)


def _contents(stored, stage_range):
    group, small, large = stored.group(stage_range), {}, {}
    for name, (_, dimensions) in SCHEMAS[stored.kind].items():
        if dimensions[0].partition("+")[0] in _GROWING:
            if len(dimensions) == 1 and name not in BULK.get(stored.kind, ()):
                small[name] = stored.array(stage_range, name, as_bytes=True)
            else:
                large[name] = len(group[name])
    return small, large


def concatenate(file, parts):
    """Fill `file` with the images of `parts`, of one kind, in their order."""
    for stage_range in STAGE_RANGES:
        holding = [part for part in parts if stage_range in part.stage_ranges]
        if holding:
            _concatenate_stage_range(file.create_group(stage_range), holding, stage_range)


def _concatenate_stage_range(group, parts, stage_range):
    small, large = zip(*(part.contents[stage_range] for part in parts))
    streamed = {}
    with open_stored(parts[0].path, parts[0].kind, digest=parts[0].digest) as first:
        for name in SCHEMAS[parts[0].kind]:
            like = first.group(stage_range)[name]
            if name in large[0]:
                n_rows = sum(one[name] for one in large)
                streamed[name] = growing_array(group, name, like.shape[1:], like.dtype, n_rows=n_rows)
            elif name in small[0]:
                write_array(group, name, _joined(name, small))
            else:
                write_array(group, name, first.array(stage_range, name))
    for part in parts:
        _stream(streamed, part, stage_range)


def _joined(name, small):
    values = [one[name] for one in small]
    if name == "first":
        return _joined_offsets(values)
    if name == "group_of_image":
        return _joined_numbers(values, [len(one["group_name"]) for one in small])
    return np.concatenate(values)


def _stream(datasets, part, stage_range):
    """What is not small of a part, at the end of the datasets by that name."""
    bulky = BULK.get(part.kind, ())
    with open_stored(part.path, part.kind, digest=part.digest) as stored:
        for arrays in stored.blocks_of_images(stage_range) if bulky else ():
            for name, rows in zip(bulky, arrays):
                append_rows(datasets[name], rows)
        for name, dataset in datasets.items():  # in their order, which decides where they lie in the file
            if name not in bulky:
                append_rows(dataset, stored.array(stage_range, name))


def _joined_offsets(offsets):
    counts = np.concatenate([np.diff(first) for first in offsets])
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _joined_numbers(numbers, counts):
    """Numbers that count things within a part, as numbers that count them through all parts."""
    before = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return np.concatenate([mine + n for mine, n in zip(numbers, before)]).astype(np.int32)

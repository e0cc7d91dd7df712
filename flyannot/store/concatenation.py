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

    contents : stage range -> (values of the small datasets by name, shape and type of the bulky ones by name)
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
    group, bulky = stored.group(stage_range), BULK.get(stored.kind, ())
    small = {n: stored.array(stage_range, n) for n in SCHEMAS[stored.kind] if n not in bulky}
    return small, {name: (group[name].shape, group[name].dtype) for name in bulky}


def concatenate(file, parts):
    """Fill `file` with the images of `parts`, of one kind, in their order."""
    for stage_range in STAGE_RANGES:
        holding = [part for part in parts if stage_range in part.stage_ranges]
        if holding:
            _concatenate_stage_range(file.create_group(stage_range), holding, stage_range)


def _concatenate_stage_range(group, parts, stage_range):
    small, bulk = zip(*(part.contents[stage_range] for part in parts))
    for name, (kinds, dimensions) in SCHEMAS[parts[0].kind].items():
        if name in bulk[0]:
            continue
        values = [one[name] for one in small]
        if name == "first":
            write_array(group, name, _joined_offsets(values))
        elif name == "group_of_image":
            write_array(group, name, _joined_numbers(values, [len(one["group_name"]) for one in small]))
        elif dimensions[0] not in _GROWING:
            write_array(group, name, values[0])
        elif kinds == "S":
            write_array(group, name, [text for texts in values for text in texts])
        else:
            write_array(group, name, np.concatenate(values))
    joined = [
        growing_array(group, name, shape[1:], dtype, n_rows=sum(one[name][0][0] for one in bulk))
        for name, (shape, dtype) in bulk[0].items()
    ]
    if joined:
        _stream(joined, parts, stage_range)


def _stream(joined, parts, stage_range):
    """The bulky datasets, images of one part after those of the other."""
    for part in parts:
        with open_stored(part.path, part.kind, digest=part.digest) as stored:
            for arrays in stored.blocks_of_images(stage_range):
                for dataset, rows in zip(joined, arrays):
                    append_rows(dataset, rows)


def _joined_offsets(offsets):
    counts = np.concatenate([np.diff(first) for first in offsets])
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _joined_numbers(numbers, counts):
    """Numbers that count things within a part, as numbers that count them through all parts."""
    before = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return np.concatenate([mine + n for mine, n in zip(numbers, before)]).astype(np.int32)

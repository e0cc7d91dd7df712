"""Files of one kind, made from different images, as one file.  Data stream; nothing is held whole."""

import numpy as np

from flyannot.stage_ranges import STAGE_RANGES
from flyannot.store.schema import BULK, SCHEMAS
from flyannot.store.writing import append_rows, growing_array, write_array

_GROWING = ("n_images", "n_patches", "n_groups")  # every other dimension is the same in all parts


def concatenate(file, parts):
    """Fill `file` with the images of `parts`, open files of one kind, in their order."""
    for stage_range in STAGE_RANGES:
        holding = [part for part in parts if stage_range in part.stage_ranges]
        if holding:
            _concatenate_stage_range(file.create_group(stage_range), holding, stage_range)


def _concatenate_stage_range(group, parts, stage_range):
    for name, (kinds, dimensions) in SCHEMAS[parts[0].kind].items():
        if name == "first":
            offsets = [part.array(stage_range, name) for part in parts]
            write_array(group, name, _joined_offsets(offsets))
        elif name == "group_of_image":
            numbers = [part.array(stage_range, name) for part in parts]
            n_groups = [len(part.group(stage_range)["group_name"]) for part in parts]
            write_array(group, name, _joined_numbers(numbers, n_groups))
        elif name in BULK.get(parts[0].kind, ()):
            continue
        elif dimensions[0] not in _GROWING:
            write_array(group, name, parts[0].array(stage_range, name))
        elif kinds == "S":
            write_array(group, name, [text for part in parts for text in part.array(stage_range, name)])
        else:
            write_array(group, name, np.concatenate([part.array(stage_range, name) for part in parts]))
    if parts[0].kind in BULK:
        _stream_bulk(group, parts, stage_range)


def _stream_bulk(group, parts, stage_range):
    """The bulky datasets, images of one part after those of the other."""
    names = BULK[parts[0].kind]
    first = [part.group(stage_range) for part in parts]
    joined = [
        growing_array(group, name, first[0][name].shape[1:], first[0][name].dtype,
                      n_rows=sum(len(one[name]) for one in first))
        for name in names
    ]  # fmt: skip
    for part in parts:
        for arrays in part.blocks_of_images(stage_range):
            for dataset, rows in zip(joined, arrays):
                append_rows(dataset, rows)


def _joined_offsets(offsets):
    counts = np.concatenate([np.diff(first) for first in offsets])
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _joined_numbers(numbers, counts):
    """Numbers that count things within a part, as numbers that count them through all parts."""
    before = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return np.concatenate([mine + n for mine, n in zip(numbers, before)]).astype(np.int32)

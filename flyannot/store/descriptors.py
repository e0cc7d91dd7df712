"""descriptors.h5: the patches of every image, end to end, stage range by stage range."""

import numpy as np

from flyannot.store.image_columns import write_image_columns
from flyannot.store.writing import write_array

_OF_PATCHES = ("descriptors", "centres_px", "patch_px")


def write_descriptors(file, stage_range, columns, described):
    """Add one stage range.

    `columns` as in `write_image_columns`; `described` holds for every image its descriptors
    (n_patches, n_features) uint8, its patch centres (n_patches, 2) and sides (n_patches,) in pixels, and the
    number of patches before those of little contrast were dropped.
    """
    group = file.create_group(stage_range)
    write_image_columns(group, columns)
    counts = [len(one.descriptors) for one in described]
    write_array(group, "descriptors", np.concatenate([one.descriptors for one in described]))
    write_array(group, "centres_px", np.concatenate([one.centres_px for one in described]), dtype="f4")
    write_array(group, "patch_px", np.concatenate([one.patch_px for one in described]), dtype="u2")
    write_array(group, "first", np.concatenate([[0], np.cumsum(counts)]), dtype="i8")
    write_array(group, "n_candidates", [one.n_candidates for one in described], dtype="i4")


def read_patches_of_image(stored, stage_range, index):
    """The descriptors, centres and sides of the patches of one image, as `write_descriptors` took them."""
    start, stop = stored.array(stage_range, "first", index, index + 2)
    return tuple(stored.array(stage_range, name, start, stop) for name in _OF_PATCHES)


def n_patches(stored, stage_range):
    """How many patches a file holds of one stage range; 0 if it has no such stage range."""
    if stage_range not in stored.stage_ranges:
        return 0
    return len(stored.group(stage_range)["descriptors"])


def read_patches(files, stage_range, rows):
    """The descriptors with the given ascending row numbers, counted through all `files` end to end.

    Read block by block into one array of the stored type: a stage range is never held in float.
    """
    picked, start = [], 0
    for stored in files:
        if stage_range not in stored.stage_ranges:
            continue
        for block in stored.blocks(stage_range, "descriptors"):
            a, b = np.searchsorted(rows, [start, start + len(block)])
            picked.append(block[rows[a:b] - start])
            start += len(block)
    return np.concatenate(picked)

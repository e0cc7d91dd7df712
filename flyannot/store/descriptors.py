"""descriptors.h5: the patches of every image, end to end, stage range by stage range."""

import numpy as np

from flyannot.store.image_columns import write_image_columns
from flyannot.store.writing import write_array


def write_descriptors(file, stage_range, columns, described, *, has_several_sides=False):
    """Add one stage range.

    `columns` as in `write_image_columns`; `described` holds for every image its descriptors
    (n_patches, 128) uint8, its patch centres (n_patches, 2) in pixels, and how many there were
    before those of little contrast were dropped.  Of several sizes, the side of each is kept too.
    """
    group = file.create_group(stage_range)
    write_image_columns(group, columns)
    counts = [len(one.descriptors) for one in described]
    write_array(group, "descriptors", np.concatenate([one.descriptors for one in described]))
    write_array(group, "centres_px", np.concatenate([one.centres_px for one in described]), dtype="f4")
    write_array(group, "first", np.concatenate([[0], np.cumsum(counts)]), dtype="i8")
    write_array(group, "n_candidates", [one.n_candidates for one in described], dtype="i4")
    if has_several_sides:
        write_array(group, "patch_px", np.concatenate([one.patch_px for one in described]), dtype="u2")


def read_patches_of_image(stored, stage_range, index):
    """The descriptors and patch centres of one image, as `write_descriptors` took them."""
    start, stop = stored.array(stage_range, "first", index, index + 2)
    return tuple(stored.array(stage_range, name, start, stop) for name in ("descriptors", "centres_px"))


def read_sides_of_image(stored, stage_range, index):
    """The side of every patch of one image in pixels, (n_patches,); None where all have one."""
    if "patch_px" not in stored.group(stage_range):
        return None
    start, stop = stored.array(stage_range, "first", index, index + 2)
    return stored.array(stage_range, "patch_px", start, stop)


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

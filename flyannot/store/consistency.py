"""Beyond shapes and types: do the datasets of one stage range fit one another?"""

import numpy as np


def contradiction_in_file(stored, stage_range):
    """In words, what in one stage range of an open file contradicts another part of it; "" if nothing.

    Reads numbers of images and groups only, never the bulk of the data.
    """
    return _CHECKS.get(stored.kind, lambda *_: "")(stored, stage_range)


def _offsets(stored, stage_range):
    first = stored.array(stage_range, "first")
    n_patches = len(stored.group(stage_range)["descriptors"])
    if first[0] != 0 or first[-1] != n_patches or (np.diff(first) < 0).any():
        return f"{stage_range}/first does not cut {n_patches} patches into images"
    return ""


def _width(stored, stage_range):
    """Of atoms and winning patches, a file of features that another program made has neither."""
    group = stored.group(stage_range)
    width, n_winners, n_atoms = group["features"].shape[1], group["winner"].shape[1], len(group["D"])
    if n_atoms == 0 and n_winners == 0 and width:
        return ""
    if n_atoms == 0 or width % n_atoms:
        return f"{stage_range}/features has {width} columns: they do not fit {n_atoms} atoms"
    if n_winners != width:
        return f"{stage_range}/winner has {n_winners} columns, and {stage_range}/features {width}"
    return ""


def _group_numbers(stored, stage_range):
    of_image = stored.array(stage_range, "group_of_image")
    n_groups = len(stored.group(stage_range)["group_name"])
    if not np.array_equal(np.unique(of_image), np.arange(n_groups)):
        return f"{stage_range}/group_of_image does not number {n_groups} groups"
    return ""


_CHECKS = {"descriptors": _offsets, "features": _width, "predictions": _group_numbers}

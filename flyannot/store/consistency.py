"""What shapes and types cannot say: do the datasets of one stage range fit one another?"""

import numpy as np

from flyannot.descriptors.patch_sides import patch_sides
from flyannot.features.grid import n_cells
from flyannot.store.schema import SCORERS, shape_breach


def contradiction(stored, stage_range):
    """In words, what in one stage range of an open file contradicts another part of it; "" if nothing.

    Reads numbers of images and groups only, never the bulk of the data.
    """
    return _CHECKS.get(stored.kind, lambda *_: "")(stored, stage_range)


def _offsets(stored, stage_range):
    first = stored.array(stage_range, "first")
    n_patches = len(stored.group(stage_range)["descriptors"])
    if first[0] != 0 or first[-1] != n_patches or (np.diff(first) < 0).any():
        return f"{stage_range}/first does not cut {n_patches} patches into images"
    sides = patch_sides(stored.options["patch_px"])
    if (len(sides) > 1) != ("patch_px" in stored.group(stage_range)):
        return f"{stage_range}/patch_px does not fit patches of {sides} px"
    return ""


def _pooled_widths(stored, stage_range):
    group = stored.group(stage_range)
    n_images, width = group["features"].shape
    cells, n_atoms = group["n_patches"].shape[1], len(group["D"])
    expected, pooling = _cells(stored.options), stored.options["pooling"]
    n_winners = width if pooling == "max" else 0
    expected_width = cells * n_atoms * _values_per_atom(stored.options)
    if (width, cells, group["winner"].shape[1]) != (expected_width, expected, n_winners):
        return (
            f"{stage_range}/features has {width} columns: they do not fit {n_atoms} atoms in {expected} cells"
        )
    return ""


def _cells(pooled):
    """How many cells features have that were pooled with these options."""
    return n_cells(pooled["grid"], pooled["extract"]["patch_px"], pooled.get("views", "merged"))


def _values_per_atom(pooled):
    """How many features an atom has in a cell."""
    return 2 if pooled.get("signs") == "apart" else 1


def _scorers(stored, stage_range):
    """Every array of the classifier, and of a second opinion, has its shape, and there is no other."""
    wrong = _scorer(stored, stage_range, "")
    if wrong or "second" not in stored.group(stage_range):
        return wrong
    return _scorer(stored, stage_range, "second/")


def _scorer(stored, stage_range, place):
    group = stored.group(stage_range)
    (method,) = stored.array(stage_range, place + "method")
    if method not in SCORERS:
        return f"{stage_range}/{place}method names no classifier"
    pooled = stored.options["pool"]
    n_features = len(group["D"]) * _values_per_atom(pooled) * _cells(pooled)
    sizes = {"n_terms": len(group["term"]), "n_features": n_features}
    where = f"{stage_range}/{place}scorer"
    return shape_breach(SCORERS[method], group.get(place + "scorer", {}), where, sizes)


def _group_numbers(stored, stage_range):
    of_image = stored.array(stage_range, "group_of_image")
    n_groups = len(stored.group(stage_range)["group_name"])
    if not np.array_equal(np.unique(of_image), np.arange(n_groups)):
        return f"{stage_range}/group_of_image does not number {n_groups} groups"
    return ""


_CHECKS = {
    "descriptors": _offsets,
    "features": _pooled_widths,
    "model": _scorers,
    "predictions": _group_numbers,
}

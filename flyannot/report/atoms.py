"""The section of the dictionary: how learning went, and the patches that its most used atoms stand for."""

from functools import lru_cache

import numpy as np

from flyannot.base.errors import DataError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.images.geometry import scaled_image
from flyannot.images.options import ExtractOptions
from flyannot.images.picture import read_embryo
from flyannot.pipeline.engine.inputs import described_images, is_imported, options_from
from flyannot.report.drawing import jpeg, picture_as_data_url
from flyannot.report.templates import render

_N_ATOMS = 48
_N_PATCHES = 5  # of an atom
_PATCH_PX = 40  # the side of a patch on the page
_FIRST_ATOMS = 12  # shown before the reader asks for more


def dictionary_section(run):
    """Return the objectives of learning and the most used atoms as HTML; "" if the run has neither."""
    dictionary, objectives = run.files.get("dictionary"), []
    for stage_range in dictionary.stage_ranges if dictionary else ():
        trace = dictionary.array(stage_range, "trace/objective")
        objectives.append((stage_range, len(trace), f"{trace[0]:.5g}", f"{trace[-1]:.5g}"))
    atoms = {s: shown for s in STAGE_RANGES if (shown := most_used_atoms(run, s))}
    if not objectives and not atoms:
        return ""
    return render(
        "dictionary.html", objectives=objectives, atoms=atoms, n_first=_FIRST_ATOMS, n_patches=_N_PATCHES
    )


def most_used_atoms(run, stage_range):
    """Return what the page shows of the atoms of one stage range, the most used first.

    A dict of `n_atoms` and `n_images`, the numbers of all, and `atoms`, a list of (number, number of images
    that use it, number of patches, patches side by side as a URL).  None if there are no features, or no
    picture that has a patch of one.
    """
    features, described = (run.stored(kind, stage_range) for kind in ("features", "descriptors"))
    if features is None or described is None or is_imported(features):
        return None
    strongest, cells = _strongest(features, stage_range)
    n_images, n_atoms = strongest.shape
    names, paths = features.array(stage_range, "image"), run.pictures.paths
    rows = {name: row for row, name in enumerate(described.array(stage_range, "image"))}
    shown = []
    for atom in np.argsort(-strongest.sum(axis=0), kind="stable")[:_N_ATOMS].tolist():
        patches = []
        for image in np.argsort(-strongest[:, atom], kind="stable")[: 2 * _N_PATCHES].tolist():
            name = names[image]
            if strongest[image, atom] > 0 and name in paths and name in rows and len(patches) < _N_PATCHES:
                column = int(cells[image, atom]) * n_atoms + atom
                winner = int(features.images(stage_range, image, image + 1)[1][0, column])
                patches += _patch(paths[name], described, stage_range, rows[name], winner)
        url = picture_as_data_url(jpeg(np.hstack(patches))) if patches else ""
        shown.append((atom, int((strongest[:, atom] > 0).sum()), len(patches), url))
    has_patches = any(url for *_, url in shown)
    return {"n_atoms": n_atoms, "n_images": n_images, "atoms": shown} if has_patches else None


def _strongest(stored, stage_range):
    """Return the largest feature of all cells of each image and atom, and the cell that has it."""
    n_atoms, largest, cells = len(stored.array(stage_range, "D")), [], []
    for block, _ in stored.blocks_of_images(stage_range):
        by_cell = block.reshape(len(block), -1, n_atoms)
        largest.append(by_cell.max(axis=1))
        cells.append(by_cell.argmax(axis=1))
    return np.concatenate(largest), np.concatenate(cells)


def _patch(path, described, stage_range, image, patch):
    """Return the grey levels of one patch of an image in a list; an empty one if the image is unreadable."""
    try:
        grey = _read_grey(path, options_from(described, ExtractOptions))
    except DataError:
        return []
    patches = next(described_images(described, stage_range, image, image + 1))
    side = int(patches.patch_px[patch])
    top, left = np.rint(patches.centres_px[patch] - side / 2).astype(int)
    scaled = scaled_image(grey[top : top + side, left : left + side], (_PATCH_PX, _PATCH_PX))
    return [np.rint(scaled).astype(np.uint8)]


@lru_cache(maxsize=128)
def _read_grey(path, options):
    return read_embryo(path, options)[0]

"""The dictionary section of the report: the learning objective, and the patches that use each atom most."""

from functools import lru_cache, partial

import numpy as np

from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.files.hdf5.reading import keep_files_open, read_image_metadata
from flyannot.images.geometry import resize_image
from flyannot.images.shown import encode_jpeg
from flyannot.jobs.executor import map_ordered
from flyannot.pipeline.engine.inputs import is_imported
from flyannot.pipeline.pictures.stored_pictures import grey_levels
from flyannot.report.drawing import to_data_url
from flyannot.report.templates import render

_N_ATOMS = 24
_N_PATCHES = 5  # for each atom
_PATCH_PX = 40  # the side of a patch on the page


def render_dictionary(run):
    """Render the dictionary section of the report of a `Run` as HTML.

    It shows the first and last learning objective of each stage range, and the most used atoms with
    patches. Returns "" if the run has neither objectives nor readable patches.
    """
    objectives = []
    if dictionary := run.files.get("dictionary"):
        for stage_range in dictionary.stage_ranges:
            trace = dictionary.read_array(stage_range, "trace/objective")
            objectives.append((stage_range, len(trace), f"{trace[0]:.5g}", f"{trace[-1]:.5g}"))
    found = map_ordered(partial(find_most_used_atoms, run), STAGE_RANGES)
    atoms = {s: shown for s, shown in zip(STAGE_RANGES, found) if shown}
    if not objectives and not atoms:
        return ""
    return render("dictionary.html", objectives=objectives, atoms=atoms, n_patches=_N_PATCHES)


def find_most_used_atoms(run, stage_range):
    """Find the atoms with the largest features in one stage range, and draw the patches that use them most.

    Parameters
    ----------
    run : Run
    stage_range : str

    Returns
    -------
    dict or None
        `n_atoms` and `n_images` are the numbers of all atoms and images. `atoms` is a list of tuples, the
        most used atom first. A tuple has the index of the atom, the number of images that use it, the
        number of patches drawn, and these patches side by side as a data URL. None if the run has no
        features, no descriptors or no readable patch.
    """
    features = run.stored("features", stage_range)
    described = run.stored("descriptors", stage_range)
    if features is None or described is None or is_imported(features):
        return None
    strongest, cells = _strongest_features(features, stage_range)
    n_images, n_atoms = strongest.shape
    names = features.read_array(stage_range, "image")
    columns = read_image_metadata(features, stage_range)
    rows = {name: row for row, name in enumerate(described.read_array(stage_range, "image"))}

    read_grey = lru_cache(128)(lambda image: grey_levels(run.pictures.find(stage_range, columns, image)))
    shown = []
    with keep_files_open(run.image_files):
        for atom in np.argsort(-strongest.sum(axis=0), kind="stable")[:_N_ATOMS].tolist():
            patches = []
            for image in np.argsort(-strongest[:, atom], kind="stable")[: 2 * _N_PATCHES].tolist():
                name = names[image]
                is_shown = name in rows and run.pictures.has(stage_range, columns, image)
                if strongest[image, atom] > 0 and is_shown and len(patches) < _N_PATCHES:
                    column = int(cells[image, atom]) * n_atoms + atom
                    winner = int(features.read_image_rows(stage_range, image, image + 1)[1][0, column])
                    grey = read_grey(image)
                    patches.append(_cut_patch(grey, described, stage_range, rows[name], winner))
            url = to_data_url(encode_jpeg(np.hstack(patches))) if patches else ""
            shown.append((atom, int((strongest[:, atom] > 0).sum()), len(patches), url))
    has_patches = any(url for *_, url in shown)
    return {"n_atoms": n_atoms, "n_images": n_images, "atoms": shown} if has_patches else None


def _strongest_features(stored, stage_range):
    """Return the largest feature of every image and atom over all grid cells, and the cell that has it.

    `stored` is the open features file. Both returned arrays have the shape (n_images, n_atoms).
    """
    n_atoms = len(stored.read_array(stage_range, "D"))
    largest = []
    cells = []
    for block, _ in stored.iterate_image_rows(stage_range):
        by_cell = block.reshape(len(block), -1, n_atoms)
        largest.append(by_cell.max(axis=1))
        cells.append(by_cell.argmax(axis=1))
    return np.concatenate(largest), np.concatenate(cells)


def _cut_patch(grey, described, stage_range, image, patch):
    """Cut one patch out of the grey levels of a picture, scaled to the size shown on the page.

    Parameters
    ----------
    grey : float array (height, width)
    described : open descriptors file
    stage_range : str
    image : int, the row of the image in that file
    patch : int, the index of the patch in the image

    Returns
    -------
    uint8 array (_PATCH_PX, _PATCH_PX)
    """
    row = int(described.read_array(stage_range, "first", image, image + 1)[0]) + patch
    side = int(described.read_array(stage_range, "patch_px", row, row + 1)[0])
    centre = described.read_array(stage_range, "centres_px", row, row + 1)[0]
    corner = np.rint(centre - side / 2).astype(int)
    top, left = np.clip(corner, 0, np.array(grey.shape) - side)  # a step may have moved the patch
    scaled = resize_image(grey[top : top + side, left : left + side], (_PATCH_PX, _PATCH_PX))
    return np.rint(scaled).astype(np.uint8)

"""The dictionary section of the report: the learning objective, and the patches that use each atom most."""

from functools import lru_cache, partial

import numpy as np

from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.files.hdf5.reading import keep_files_open, read_image_metadata
from flyannot.images.geometry import resize_image
from flyannot.images.grey_levels import to_grey
from flyannot.images.shown import decode_jpeg, encode_jpeg
from flyannot.jobs.executor import map_ordered
from flyannot.pipeline.engine.inputs import is_imported
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
    strongest, winners = _strongest_features(features, stage_range)
    n_images, n_atoms = strongest.shape
    names = features.read_array(stage_range, "image")
    columns = read_image_metadata(features, stage_range)
    first = described.read_once(stage_range, "first")
    rows = {name: row for row, name in enumerate(described.read_array(stage_range, "image"))}

    find = partial(run.pictures.find, stage_range, columns)
    read_pixels = lru_cache(128)(lambda image: decode_jpeg(find(image).jpeg))
    shown = []
    with keep_files_open(run.image_files):
        for atom in np.argsort(-strongest.sum(axis=0), kind="stable")[:_N_ATOMS].tolist():
            patches = []
            for image in np.argsort(-strongest[:, atom], kind="stable")[: 2 * _N_PATCHES].tolist():
                name = names[image]
                is_shown = name in rows and run.pictures.has(stage_range, columns, image)
                if strongest[image, atom] > 0 and is_shown and len(patches) < _N_PATCHES:
                    row = int(first[rows[name]] + winners[image, atom])
                    patches.append(_cut_patch(read_pixels(image), described, stage_range, row))
            url = to_data_url(encode_jpeg(np.hstack(patches))) if patches else ""
            shown.append((atom, int((strongest[:, atom] > 0).sum()), len(patches), url))
    has_patches = any(url for *_, url in shown)
    return {"n_atoms": n_atoms, "n_images": n_images, "atoms": shown} if has_patches else None


def _strongest_features(stored, stage_range):
    """Return the largest feature of every image and atom over all grid cells, and the patch that won it.

    `stored` is the open features file. Both returned arrays have the shape (n_images, n_atoms).
    """
    n_atoms = len(stored.read_array(stage_range, "D"))
    largest = []
    winners = []
    for block in stored.iterate_image_rows(stage_range):
        features, winner = (array.reshape(len(array), -1, n_atoms) for array in block)
        best = features.argmax(axis=1, keepdims=True)
        largest.append(np.take_along_axis(features, best, axis=1)[:, 0])
        winners.append(np.take_along_axis(winner, best, axis=1)[:, 0])
    return np.concatenate(largest), np.concatenate(winners)


def _cut_patch(pixels, described, stage_range, row):
    """Cut the grey levels of one patch out of a picture, scaled to the size shown on the page.

    Parameters
    ----------
    pixels : uint8 array, as `decode_jpeg` returns
    described : open descriptors file
    stage_range : str
    row : int, the row of the patch in that file

    Returns
    -------
    uint8 array (_PATCH_PX, _PATCH_PX)
    """
    side = int(described.read_array(stage_range, "patch_px", row, row + 1)[0])
    centre = described.read_array(stage_range, "centres_px", row, row + 1)[0]
    corner = np.rint(centre - side / 2).astype(int)
    top, left = np.clip(corner, 0, np.array(pixels.shape[:2]) - side)  # a step may have moved the patch
    grey = to_grey(pixels[top : top + side, left : left + side]).astype(np.float32)
    scaled = resize_image(grey, (_PATCH_PX, _PATCH_PX))
    return np.rint(scaled).astype(np.uint8)

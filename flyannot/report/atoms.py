"""The atoms that images use most, each with the windows that use it most."""

from dataclasses import dataclass

import numpy as np

from flyannot.descriptors.extract import read_embryo
from flyannot.errors import DataError
from flyannot.report.pictures import jpeg
from flyannot.steps.file_options import extract_options
from flyannot.steps.inputs import described_image
from flyannot.store.features import read_features_of_image

N_SHOWN, N_WINDOWS = 48, 5
WINDOW_PX = 40  # side of a window on the page's sheet


@dataclass(frozen=True)
class AtomSheet:
    """Atoms of one stage range, the most used first.

    n_atoms : of the dictionary; atoms : their numbers; D : float array (n, 128)
    n_users : how many images use each; sheet : JPEG of all windows, an atom a row, N_WINDOWS columns, or
    None; n_windows : how many of them each atom has
    """

    n_atoms: int
    n_images: int
    atoms: list
    D: np.ndarray
    n_users: list
    sheet: bytes | None
    n_windows: list


def atom_sheet(run, stage_range):
    """The sheet of one stage range; None without features."""
    stored = run.stored("features", stage_range)
    if stored is None:
        return None
    D = stored.array(stage_range, "D")
    strongest, cell = _strongest(stored, stage_range, len(D))
    order = np.argsort(-strongest.sum(axis=0), kind="stable")[:N_SHOWN]
    windows = [_windows(run, stored, stage_range, k, strongest[:, k], cell[:, k]) for k in order]
    users = (strongest[:, order] > 0).sum(axis=0)
    has_some = any(windows)
    return AtomSheet(
        len(D), len(strongest), order.tolist(), D[order], users.tolist(),
        jpeg(_sheet(windows)) if has_some else None, [len(found) for found in windows],
    )  # fmt: skip


def _strongest(stored, stage_range, n_atoms):
    """For every image and atom the largest feature of all cells, and the cell that has it."""
    largest, cells = [], []
    for block, _ in stored.blocks_of_images(stage_range):
        by_cell = block.reshape(len(block), -1, n_atoms)
        largest.append(by_cell.max(axis=1))
        cells.append(by_cell.argmax(axis=1).astype(np.int16))
    return np.concatenate(largest), np.concatenate(cells)


def _windows(run, features, stage_range, atom, strength, cell):
    """The grey windows (WINDOW_PX a side) of the images that use an atom most, one an image."""
    described = run.stored("descriptors", stage_range)
    if described is None:
        return []
    found, n_atoms = [], len(features.group(stage_range)["D"])
    names = features.array(stage_range, "image")
    row_of = {name: i for i, name in enumerate(described.array(stage_range, "image"))}
    for image in np.argsort(-strength, kind="stable")[: 2 * N_WINDOWS]:
        path = run.paths.get(names[image])
        if strength[image] > 0 and path is not None and names[image] in row_of and len(found) < N_WINDOWS:
            column = int(cell[image]) * n_atoms + int(atom)
            patch = int(read_features_of_image(features, stage_range, image)[1][0, column])
            number = row_of[names[image]]
            patches = described_image(described, stage_range, number)
            centre, side = patches.centres_px[patch], int(patches.patch_px[patch])
            found += _cut(path, extract_options(described), centre, side)
    return found


def _cut(path, options, centre, patch_px):
    """One window as a list of one; an empty list if its image cannot be read any more."""
    from PIL import Image

    try:
        grey, _ = read_embryo(path, options)
    except DataError:
        return []
    top, left = np.rint(centre - patch_px / 2).astype(int)
    window = Image.fromarray(np.rint(grey[top : top + patch_px, left : left + patch_px]).astype(np.uint8))
    return [np.asarray(window.resize((WINDOW_PX, WINDOW_PX), Image.Resampling.BICUBIC))]


def _sheet(windows):
    sheet = np.full((len(windows) * WINDOW_PX, N_WINDOWS * WINDOW_PX), 255, np.uint8)
    for row, found in enumerate(windows):
        for column, window in enumerate(found):
            top, left = row * WINDOW_PX, column * WINDOW_PX
            sheet[top : top + WINDOW_PX, left : left + WINDOW_PX] = window
    return sheet

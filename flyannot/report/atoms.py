"""The section of the dictionary: how learning went, and the atoms that images use most, with patches."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from flyannot.base.errors import DataError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.images.geometry import scaled_image
from flyannot.images.options import ExtractOptions
from flyannot.images.picture import read_embryo
from flyannot.images.sift import N_FEATURES
from flyannot.pipeline.engine.inputs import described_images, is_imported, options_from
from flyannot.report.drawing import atom_glyph, jpeg, picture_as_data_url, trace_chart
from flyannot.report.templates import render

N_SHOWN, N_PATCHES = 48, 5
PATCH_PX = 40  # side of a patch on the page's sheet
_FIRST_ATOMS = 12  # shown before more are asked for


@dataclass(frozen=True)
class AtomSheet:
    """Atoms of one stage range, the most used first.

    n_atoms : of the dictionary; atoms : their numbers; D : float array (n, n_features)
    n_users : how many images use each; n_patches : how many patches of each are shown
    sheet : JPEG of all patches, an atom a row, N_PATCHES columns, or None
    """

    n_atoms: int
    n_images: int
    atoms: list
    D: np.ndarray
    n_users: list
    n_patches: list
    sheet: bytes | None


def atom_sheet(run, stage_range):
    """The sheet of one stage range; None without features."""
    stored, described = (run.stored(kind, stage_range) for kind in ("features", "descriptors"))
    if stored is None or is_imported(stored):
        return None
    D, names = stored.array(stage_range, "D"), stored.array(stage_range, "image")
    strongest, cells = _strongest(stored, stage_range, len(D))
    order = np.argsort(-strongest.sum(axis=0), kind="stable")[:N_SHOWN]
    n_users = (strongest[:, order] > 0).sum(axis=0).tolist()
    paths = run.pictures.paths
    rows_of = {} if described is None else dict(zip(described.array(stage_range, "image"), range(10**9)))
    sheet, n_patches = np.full((len(order) * PATCH_PX, N_PATCHES * PATCH_PX), 255, np.uint8), []
    for row, atom in enumerate(order):
        n_found = 0
        for image in np.argsort(-strongest[:, atom], kind="stable")[: 2 * N_PATCHES]:
            path, number = paths.get(names[image]), rows_of.get(names[image])
            if strongest[image, atom] > 0 and path and number is not None and n_found < N_PATCHES:
                column = int(cells[image, atom]) * len(D) + int(atom)
                winner = int(stored.images(stage_range, image, image + 1)[1][0, column])
                patch = _patch(path, described, stage_range, number, winner)
                if patch is not None:
                    top, left = row * PATCH_PX, n_found * PATCH_PX
                    sheet[top : top + PATCH_PX, left : left + PATCH_PX] = patch
                    n_found += 1
        n_patches.append(n_found)
    patches = jpeg(sheet) if any(n_patches) else None
    return AtomSheet(len(D), len(strongest), order.tolist(), D[order], n_users, n_patches, patches)


def _strongest(stored, stage_range, n_atoms):
    """For every image and atom the largest feature of all cells, and the cell that has it."""
    largest, cells = [], []
    for block, _ in stored.blocks_of_images(stage_range):
        by_cell = block.reshape(len(block), -1, n_atoms)
        largest.append(by_cell.max(axis=1))
        cells.append(by_cell.argmax(axis=1).astype(np.int16))
    return np.concatenate(largest), np.concatenate(cells)


def _patch(path, described, stage_range, number, patch):
    """The grey levels of one patch of an image; None if the image cannot be read any more."""
    try:
        grey = _read_grey(path, options_from(described, ExtractOptions))
    except DataError:
        return None
    patches = next(described_images(described, stage_range, number, number + 1))
    side = int(patches.patch_px[patch])
    top, left = np.rint(patches.centres_px[patch] - side / 2).astype(int)
    return np.rint(scaled_image(grey[top : top + side, left : left + side], (PATCH_PX, PATCH_PX)))


@lru_cache(maxsize=128)
def _read_grey(path, options):
    return read_embryo(path, options)[0]


def dictionary_section(run):
    """Return the trace of learning and the atoms as HTML, "" without either, and the sheets as URLs."""
    sheets = {s: sheet for s in STAGE_RANGES if (sheet := atom_sheet(run, s)) is not None}
    dictionary = run.files.get("dictionary")
    traces = {
        s: tuple(dictionary.array(s, f"trace/{name}") for name in ("epoch", "objective"))
        for s in (dictionary.stage_ranges if dictionary else ())
    }
    if not traces and not sheets:
        return "", []
    chart = ""
    if traces:
        ends = [f"{s} from {y[0]:.4g} to {y[-1]:.4g}" for s, (_, y) in traces.items()]
        summary = f"Objective after every epoch: {'; '.join(ends)}"
        chart = trace_chart(traces, x_name="epoch", y_name="objective", summary=summary)
    glyphs = {
        s: [atom_glyph(row[:N_FEATURES], f"glyph of atom {atom}") for atom, row in zip(sheet.atoms, sheet.D)]
        for s, sheet in sheets.items()
    }
    rows = [(s, str(len(x)), f"{y[0]:.5g}", f"{y[-1]:.5g}") for s, (x, y) in traces.items()]
    sizes = {"n_first": _FIRST_ATOMS, "n_patches": N_PATCHES, "patch_px": PATCH_PX}
    html = render("dictionary.html", chart=chart, rows=rows, sheets=sheets, glyphs=glyphs, **sizes)
    return html, [picture_as_data_url(sheet.sheet) if sheet.sheet else "" for sheet in sheets.values()]

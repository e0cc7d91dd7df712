"""Small pictures for the page: embryos, patches, maps of contributions, and glyphs of atoms.

A glyph has 4 x 4 cells, and in each a ray for every one of 8 directions.
"""

import base64
import io

import numpy as np

from flyannot.descriptors.images.geometry import STANDARD_PX
from flyannot.descriptors.images.picture import read_in_colour
from flyannot.report.templates import render

CELL_PX = 8  # the side of a cell of a map
_QUALITY = 76
_CELL, _REACH = 16, 7.5  # side of a cell and length of the longest ray
_LEAST = 0.12  # of the largest number; shorter rays are left out
_UNIT = np.array([(np.cos(a), -np.sin(a)) for a in np.arange(8) * np.pi / 4])  # upwards is -y on a page


def jpeg_for_page(path, options):
    """An embryo at the standard size, placed as when it was described, in colour where the file has it.

    Parameters
    ----------
    path : Path of the picture
    options : flyannot.descriptors.extract.ExtractOptions

    Returns
    -------
    jpeg : bytes

    Raises
    ------
    flyannot.descriptors.images.unreadable.UnreadableImage
        As `flyannot.descriptors.images.picture.read_picture`.
    """
    return jpeg(read_in_colour(path, options))


def jpeg(pixels):
    """Pixels, uint8 (height, width) or (height, width, 3), as the bytes of a JPEG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=_QUALITY, optimize=True)
    return file.getvalue()


def as_url(jpeg_bytes):
    """A JPEG as the text that stands for it in a page."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg_bytes).decode()}"


def coarse_map(spread):
    """A map of contributions in cells of CELL_PX pixels, float array; the sum stays."""
    rows, columns = STANDARD_PX[0] // CELL_PX, STANDARD_PX[1] // CELL_PX
    return spread.reshape(rows, CELL_PX, columns, CELL_PX).sum(axis=(1, 3))


def packed_map(cells, full):
    """Cells as text: base64 of one signed byte each, 127 for `full`."""
    levels = np.clip(np.rint(cells / full * 127), -127, 127).astype(np.int8)
    return base64.b64encode(levels.tobytes()).decode()


def atom_glyph(atom, summary):
    """One atom as SVG.

    Parameters
    ----------
    atom : float array (128,), cell by cell in row-major order, 8 directions from right towards up
    summary : the sentence that a screen reader reads instead

    Returns
    -------
    svg : HTML; rays of numbers above zero (more gradient than the mean) and below in two classes
    """
    largest = np.abs(atom).max() or 1.0
    paths = {"above": [], "below": []}
    for k in np.flatnonzero(np.abs(atom) >= _LEAST * largest):
        cell, direction = divmod(int(k), 8)
        x, y = (cell % 4 + 0.5) * _CELL, (cell // 4 + 0.5) * _CELL
        dx, dy = _REACH * abs(atom[k]) / largest * _UNIT[direction]
        paths["above" if atom[k] > 0 else "below"].append(f"M{x:g} {y:g}l{dx:.1f} {dy:.1f}")
    return render("glyph.svg", side=4 * _CELL, summary=summary, paths=paths)

"""Atoms as SIFT glyphs: 4 x 4 cells, in each a ray for every one of 8 directions."""

import numpy as np

from flyannot.report.templates import render

_CELL, _REACH = 16, 7.5  # side of a cell and length of the longest ray
_LEAST = 0.12  # of the largest number; shorter rays are left out
_UNIT = np.array([(np.cos(a), -np.sin(a)) for a in np.arange(8) * np.pi / 4])  # upwards is -y on a page


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

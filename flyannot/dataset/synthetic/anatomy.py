"""Where the terms of the synthetic embryos lie: `anatomy.csv`, and how much of each place lies in a region.

The names are BDGP's; the layout is a sketch after the images of BDGP, good enough to look like them and no
more.  A region is a union of tubes, as it looks from the side and from above.  Coordinates are in half
lengths of the body: x from -1, the anterior tip, to 1, and in half heights: y from -1, dorsal (or one flank
in a dorsal view), to 1.  The radius of a tube is in half heights.
"""

import csv
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from flyannot.stage_ranges import STAGE_RANGES

ASPECT = 2.5  # length of the body over its height
EVERYWHERE = ("all", "maternal")  # tissues of terms that leave no part of the body out
_FURROWS = "(furrows)"  # the row of what every body of a stage range shows, stained or not


class Region(NamedTuple):
    """One term: how often a gene has it, with which others, and how it looks from two sides."""

    frequency: float
    tissue: str  # terms of one tissue tend to come together
    texture: str  # a key of `flyannot.dataset.synthetic.render.TEXTURES`
    lateral: tuple
    dorsal: tuple  # empty where the region cannot be seen from above


def tube(radius, *xy):
    """A tube around the line through the points x0, y0, x1, y1, ...; one point makes a disc."""
    return ((radius, tuple(zip(xy[::2], xy[1::2]))),)


def _both(radius, *xy):
    """A tube and its mirror image on the other flank."""
    return tube(radius, *xy) + tube(radius, *(v if i % 2 == 0 else -v for i, v in enumerate(xy)))


def _rows(n, radius, x0, x1, y0, y1):
    """`n` upright tubes, evenly spaced from head to tail."""
    return sum((tube(radius, x, y0, x, y1) for x in np.linspace(x0, x1, int(n))), ())


def _dots(n, radius, x0, x1, y):
    """`n` discs in a line, evenly spaced from head to tail."""
    return sum((tube(radius, x, y) for x in np.linspace(x0, x1, int(n))), ())


def _pairs(n, radius, x0, x1, y):
    """`n` discs in a line, and their mirror images on the other flank."""
    return sum((_both(radius, x, y) for x in np.linspace(x0, x1, int(n))), ())


_SHAPES = {"tube": tube, "both": _both, "rows": _rows, "dots": _dots, "pairs": _pairs}


def _tubes(text):
    """The tubes of a cell of the table, such as "tube 0.1 -0.5 0 0.5 0 + rows 9 0.1 -0.3 0.7 0.2 0.5"."""
    shapes = (words.split() for words in text.split("+") if words)
    return sum((_SHAPES[name](*map(float, numbers)) for name, *numbers in shapes), ())


def _read():
    """Stage range -> term -> Region, and stage range -> view -> the furrows of every body."""
    terms = {s: {} for s in STAGE_RANGES}
    folds = {s: {"lateral": (), "dorsal": ()} for s in STAGE_RANGES}
    table = (files("flyannot.dataset.synthetic") / "anatomy.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(table.splitlines()):
        views = {view: _tubes(row[view]) for view in ("lateral", "dorsal")}
        if row["term"] == _FURROWS:
            folds[row["stage_range"]] = views
        else:
            region = Region(float(row["frequency"]), row["tissue"], row["texture"], **views)
            terms[row["stage_range"]][row["term"]] = region
    return terms, folds


TERMS, FOLDS = _read()


def distance_to_line(points, x, y):
    """Distance, in half heights, of the places (x, y) from the line through `points`."""
    nearest = np.full(x.shape, np.inf, x.dtype)
    points = points if len(points) > 1 else points * 2
    for (ax, ay), (bx, by) in zip(points, points[1:]):
        along_x, along_y = ASPECT * (bx - ax), by - ay
        from_x, from_y = ASPECT * (x - ax), y - ay
        length2 = along_x**2 + along_y**2 or 1.0  # a disc has no length
        t = np.clip((from_x * along_x + from_y * along_y) / length2, 0.0, 1.0)
        nearest = np.minimum(nearest, (from_x - t * along_x) ** 2 + (from_y - t * along_y) ** 2)
    return np.sqrt(nearest)


def region_mask(tubes, x, y, *, softness=0.05, swollen=0.0):
    """How much of each place (x, y) belongs to a union of tubes: 1 inside, 0 outside, soft between.

    Parameters
    ----------
    tubes : the `lateral` or `dorsal` tubes of a Region
    x, y : float arrays of one shape, in half lengths and half heights of the body
    softness : width of the edge, in half heights
    swollen : added to every radius, a number or one for each place

    Returns
    -------
    mask : float array of the shape of x, in [0, 1]
    """
    mask = np.zeros(x.shape, x.dtype)
    for radius, points in tubes:
        inside = (radius + swollen - distance_to_line(points, x, y)) / softness
        mask = np.maximum(mask, 0.5 + 0.5 * np.tanh(inside))
    return mask

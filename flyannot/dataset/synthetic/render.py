"""Drawing of one synthetic embryo: a body in relief, stain in the regions of its terms, and a camera.

Light is multiplied, as in a stained embryo: the body gives a relief, the stain absorbs, the camera blurs
and adds noise.  Every part draws from a random generator of its own name.  A term more or less therefore
changes nothing but its own stain.

The table `anatomy.csv` has the regions of terms.  Names are BDGP's; the layout is a sketch after images
of BDGP.  A region is a union of tubes, seen from the side and from above.  Coordinates are in half
lengths of the body: x from -1, the anterior tip, to 1.  In half heights, y goes from -1, dorsal (or one
flank in a dorsal view), to 1.  The radius of a tube is in half heights.

Images of one gene differ as images of BDGP do.  The embryo is rolled about its long axis, older or
younger within its stage range, bent and blunt to its own degree.  Its stain is more or less strong,
uneven, and often spread over the whole body.
"""

import csv
from functools import lru_cache, partial
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from flyannot.base.stage_ranges import STAGE_RANGES, stage_range_rng
from flyannot.images.geometry import blur_image, distance_transform, enlarge_image

ASPECT = 2.5  # length of the body over its height
EVERYWHERE = ("all", "maternal")  # tissues of terms that are in the whole body
_FURROWS = "(furrows)"  # row of the table with the furrows of every body of a stage range
HEIGHT_PX, WIDTH_PX = 128, 320
_SHAPE = (HEIGHT_PX, WIDTH_PX)
_ROLL = 0.2  # radians, standard deviation of the roll about the long axis
_DRIFT = {"1-3": 0.01, "4-6": 0.015}  # half lengths by which organs move within a stage range
_LATE_DRIFT = 0.04  # in all other stage ranges, from gastrulation on
_STAIN_BLUE = np.array([1.0, 0.95, 0.36], "f4")  # optical densities in red, green and blue
_STAIN_PURPLE = np.array([0.90, 1.05, 0.62], "f4")


class TermRegion(NamedTuple):
    """The region of one term: its frequency among genes, its tissue, and its shape from two sides."""

    frequency: float
    tissue: str  # terms of one tissue often occur together
    texture: str  # a key of TEXTURES
    lateral: tuple
    dorsal: tuple  # empty where the region cannot be seen from above


def draw_tube(radius, *xy):
    """Return a tube (radius, points) around the line through the points x0, y0, x1, y1, ...

    One point makes a disc.
    """
    return ((radius, tuple(zip(xy[::2], xy[1::2]))),)


def _mirror_tube(radius, *xy):
    """Return a list with a tube and its mirror image on the other flank; parameters as in `draw_tube`."""
    return draw_tube(radius, *xy) + draw_tube(radius, *(v if i % 2 == 0 else -v for i, v in enumerate(xy)))


def _repeat_shape(draw, n, radius, x0, x1, *ys):
    """Return n discs, or upright tubes, evenly spaced from x0 to x1 along the body.

    draw : function that makes one shape; radius : of each; ys : one y for discs, two for tubes
    """
    places = ([v for y in ys for v in (x, y)] for x in np.linspace(x0, x1, int(n)))
    return sum((draw(radius, *xy) for xy in places), ())


_SHAPES = {
    "tube": draw_tube,
    "both": _mirror_tube,
    "rows": partial(_repeat_shape, draw_tube),
    "pairs": partial(_repeat_shape, _mirror_tube),
}


def _parse_tubes(text):
    """Return the tubes that a cell of the table of regions describes.

    An example is "tube 0.1 -0.5 0 0.5 0 + rows 9 0.1 -0.3 0.7 0.2 0.5".
    """
    shapes = (words.split() for words in text.split("+") if words)
    return sum((_SHAPES[name](*map(float, numbers)) for name, *numbers in shapes), ())


def _read_anatomy():
    """Read the table of regions, and return two dicts.

    The first is stage range -> term -> Region, the second stage range -> view -> tubes of the furrows of
    every body.
    """
    terms = {s: {} for s in STAGE_RANGES}
    folds = {s: {"lateral": (), "dorsal": ()} for s in STAGE_RANGES}
    table = (files("flyannot.dataset.synthetic") / "anatomy.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(table.splitlines()):
        views = {view: _parse_tubes(row[view]) for view in ("lateral", "dorsal")}
        if row["term"] == _FURROWS:
            folds[row["stage_range"]] = views
        else:
            region = TermRegion(float(row["frequency"]), row["tissue"], row["texture"], **views)
            terms[row["stage_range"]][row["term"]] = region
    return terms, folds


TERMS, FOLDS = _read_anatomy()


def distance_to_line(points, x, y):
    """Return the distances, in half heights, of the points (x, y) from the line through `points`."""
    nearest = np.full(x.shape, np.inf, x.dtype)
    points = points if len(points) > 1 else points * 2
    for (ax, ay), (bx, by) in zip(points, points[1:]):
        along_x = ASPECT * (bx - ax)
        along_y = by - ay
        from_x = ASPECT * (x - ax)
        from_y = y - ay
        length2 = along_x**2 + along_y**2 or 1.0  # a disc has no length
        t = np.clip((from_x * along_x + from_y * along_y) / length2, 0.0, 1.0)
        nearest = np.minimum(nearest, (from_x - t * along_x) ** 2 + (from_y - t * along_y) ** 2)
    return np.sqrt(nearest)


def region_mask(tubes, x, y, *, softness=0.05, swollen=0.0):
    """Return how far each point (x, y) is in a union of tubes: 1 inside, 0 outside, soft at the edge.

    Parameters
    ----------
    tubes : tuple of (radius, points)
    x, y : arrays of one shape, in half lengths and half heights of the body
    softness : width of the edge in half heights
    swollen : number, or array of the shape of `x`, that is added to every radius
    """
    mask = np.zeros(x.shape, x.dtype)
    for radius, points in tubes:
        inside = (radius + swollen - distance_to_line(points, x, y)) / softness
        mask = np.maximum(mask, 0.5 + 0.5 * np.tanh(inside))
    return mask


class BodyFrame(NamedTuple):
    """The coordinates, relative to the body, of each pixel of one picture; see the comments at the fields."""

    x: np.ndarray  # -1 anterior to 1 posterior; organs move as the embryo ages
    y: np.ndarray  # -1 dorsal to 1 ventral; the embryo may be rolled
    depth_px: np.ndarray  # distance from the outline, 0 outside
    inside: np.ndarray  # share of the pixel that is body, in [0, 1]


def smooth_noise(rng, sigma_px):
    """Draw a random field (HEIGHT_PX, WIDTH_PX) of mean 0, standard deviation 1 and grains of `sigma_px`.

    It is white noise on a grid of points that are `sigma_px` apart.  Gaussians spread it over the pixels.
    """
    down = _smoothing_matrix(HEIGHT_PX, sigma_px)
    across = _smoothing_matrix(WIDTH_PX, sigma_px)
    coarse = rng.standard_normal((down.shape[1], across.shape[1]), dtype="f4")
    return np.ascontiguousarray((across @ (down @ coarse).T).T)


@lru_cache(maxsize=64)
def _smoothing_matrix(n_px, sigma_px):
    """Return a sparse matrix (n_px, n_grains) that spreads the values of a coarse grid over n_px pixels.

    Grid points are `sigma_px` apart.  Each column is a Gaussian around its grid point, of standard deviation
    `sigma_px`.  Each row is then scaled to norm 1.
    """
    centres = np.arange(-3, n_px / sigma_px + 3) * sigma_px
    away = (np.arange(n_px)[:, None] - centres) / sigma_px
    spread = np.where(abs(away) < 3.5, np.exp(-(away**2) / 2), 0)
    return csr_array((spread / np.linalg.norm(spread, axis=1, keepdims=True)).astype("f4"))


def draw_body_frame(stage_range, rng):
    """Draw the size, tilt, taper, warp, roll and age of a body at random; return its Frame."""
    row, column = np.mgrid[:HEIGHT_PX, :WIDTH_PX].astype("f4")
    across = (column - WIDTH_PX / 2 + 0.5) / 158
    down = (row - HEIGHT_PX / 2 + 0.5) / 62
    tilt = rng.normal(0, 0.025)
    shift = rng.normal(0, 0.01, 2)
    size = rng.uniform([0.94, 0.88], [0.995, 0.99])
    x = (across + tilt * down / ASPECT) / size[0] + shift[0] + 0.012 * smooth_noise(rng, 30)
    y = (down - ASPECT * tilt * across) / size[1] + shift[1] + 0.035 * smooth_noise(rng, 30)
    blunt = rng.uniform([1.4, 2.0], [1.9, 3.2])  # the anterior end is the more pointed
    y = y + rng.normal(0, 0.08) * (x**2 - 0.3)  # a slightly bent body
    level = 1 - np.abs(x) ** np.where(x < 0, *blunt) - np.abs(y) ** rng.uniform(1.9, 2.4)
    lumps = 0.01 if stage_range in ("1-3", "4-6") else 0.03
    level += lumps * smooth_noise(rng, 7) + 0.006 * smooth_noise(rng, 2)
    depth_px = distance_transform(level > 0)
    x, y = _roll_and_age(x, y, _DRIFT.get(stage_range, _LATE_DRIFT), rng)
    return BodyFrame(x, y, depth_px, np.clip(depth_px * (0.6 + 0.15 * smooth_noise(rng, 1)), 0, 1))


def _roll_and_age(x, y, drift, rng):
    """Return the coordinates of the body that is seen at each point (x, y), for a random roll and age.

    drift : how far tissues move with age, in half lengths
    """
    roll = rng.normal(0, _ROLL)
    age = rng.normal(0, drift)
    flank = np.clip(y, -1, 1)
    y = y - flank + np.sin(np.arcsin(flank) - np.float32(roll))
    x = x + np.float32(age) * np.clip(1 - x**2, 0, None)  # the tips do not move
    return x + 0.5 * drift * smooth_noise(rng, 40), y + drift * smooth_noise(rng, 30)


def _cell_lattice(frame, spacing_px, rng):
    """Draw a honeycomb of cells: a field in about [-1, 1], high in the middle of each cell.

    Three waves at 120 degrees make the honeycomb, and a wobble of their phase makes it look like tissue.

    frame : BodyFrame; spacing_px : distance of cells
    """
    k = 2 * np.pi / spacing_px
    u = k * (frame.x * 158 + 0.45 * spacing_px * smooth_noise(rng, 1.6 * spacing_px))
    v = k * (frame.y * 62 + 0.45 * spacing_px * smooth_noise(rng, 1.6 * spacing_px))
    half = np.float32(np.sqrt(3) / 2)
    return (np.cos(v) + np.cos(half * u + v / 2) + np.cos(half * u - v / 2)) / 1.8 - 0.25


def _furrow_height(frame, stage_range, view, rng):
    """Draw the height of the furrows of a stage range, each of its own depth and width."""
    wander = 0.02 * smooth_noise(rng, 11)[::2, ::2]
    x = frame.x[::2, ::2] + wander
    y = frame.y[::2, ::2] + ASPECT * wander
    height = np.zeros(x.shape, "f4")
    for _, points in FOLDS[stage_range][view]:
        distance_px = 62 * distance_to_line(points, x, y)
        depth, width = rng.uniform([1.5, 1.6], [6.0, 4.5])
        height -= depth * np.exp(-((distance_px / width) ** 2))
    return enlarge_image(height, 2)


def _cell_layer(frame, rng):
    """Draw the layer of tall cells under the outline.

    Returns two arrays: how far each pixel lies in the layer (0 to 1), and the height of the cells there.
    """
    wall_px = rng.uniform(7, 12) + 1.2 * smooth_noise(rng, 14)
    layer = 1 / (1 + np.exp(np.minimum((frame.depth_px - wall_px) / 0.8, 80)))  # exp(89) is infinite
    around = 158 * frame.x * np.abs(frame.y) + 62 * frame.y * np.abs(frame.x)  # px along the outline
    cells = np.cos(around * (2 * np.pi / 5.5) + 0.5 * smooth_noise(rng, 4))
    return layer, layer * (rng.uniform(0.3, 1.2) * cells + rng.uniform(-4.0, 1.0))


def _body_light(frame, stage_range, view, rng):
    """Draw the brightness of the unstained body in relief, (HEIGHT_PX, WIDTH_PX), about 0.8."""
    yolk, grain = {"1-3": (2.6, 1.3), "11-12": (1.2, 0.8), "13-16": (1.6, 0.8)}.get(stage_range, (1.0, 0.7))
    height = yolk * (smooth_noise(rng, 4.5) + 2.0 * smooth_noise(rng, 10)) + grain * smooth_noise(rng, 1.3)
    height += rng.uniform(0.1, 0.6) * grain * _cell_lattice(frame, 4.2, rng)
    height += _furrow_height(frame, stage_range, view, rng)
    level = rng.uniform(0.78, 0.91) + 0.02 * smooth_noise(rng, 40)
    if stage_range != "1-3":
        layer, layer_height = _cell_layer(frame, rng)
        height += layer_height
        level += rng.normal(0.01, 0.03) * layer  # the yolk inside is darker, or lighter
    height += 8 * (1 - np.exp(-frame.depth_px / 4))  # the flank of the body falls off
    lit = rng.uniform(-0.5, 1.1)  # direction of the light, from above and the left
    slope = np.cos(lit) * np.gradient(height, axis=0) + np.sin(lit) * np.gradient(height, axis=1)
    relief = np.tanh(slope * rng.uniform(0.35, 0.6)) * rng.uniform(0.11, 0.19)
    return level + relief - rng.uniform(0.03, 0.12) * np.exp(-frame.depth_px / 5)


def _solid(frame, rng):
    return 1 + 0.16 * smooth_noise(rng, 5) + 0.08 * smooth_noise(rng, 1.5)


def _sheet(frame, rng):
    return 0.85 + 0.16 * _cell_lattice(frame, 4.4, rng) + 0.1 * smooth_noise(rng, 6)


def _dots(frame, rng):
    cells = 1 / (1 + np.exp(-2.5 * (smooth_noise(rng, 1.9) - 0.1)))
    return 0.3 + 1.0 * cells


def _fibres(frame, rng):
    strands = blur_image(rng.standard_normal(_SHAPE, dtype="f4"), (5, 1.1), truncate=3)
    return np.clip(0.8 + 0.45 * strands / strands.std(), 0, None)


def _yolk(frame, rng):
    return 0.9 + 0.16 * smooth_noise(rng, 3.5) + 0.08 * smooth_noise(rng, 9)


TEXTURES = {"solid": _solid, "sheet": _sheet, "dots": _dots, "fibres": _fibres, "yolk": _yolk}


def _term_stain(frame, stage_range, term, view, part, rng):
    """Draw the stain of one term at strength 1, ragged and grainy, (HEIGHT_PX, WIDTH_PX) >= 0.

    part : int, the seed that decides which part of the region is stained; None for all of it
    """
    region = TERMS[stage_range][term]
    tubes = region.lateral if view == "lateral" else region.dorsal
    if not tubes:
        return np.zeros(_SHAPE, "f4")
    blur_px = rng.uniform(0.6, 2.8)
    dx = 0.022 * smooth_noise(rng, 14)  # shifts the region, differently in each embryo
    dy = 0.055 * smooth_noise(rng, 14)
    x = (frame.x + dx)[::2, ::2]
    y = (frame.y + dy)[::2, ::2]
    # This noise makes the edge ragged.
    torn = 0.035 * smooth_noise(rng, 4)[::2, ::2] + 0.05 * smooth_noise(rng, 9)[::2, ::2]
    mask = enlarge_image(region_mask(tubes, x, y, softness=rng.uniform(0.05, 0.13), swollen=torn), 2)
    is_everywhere = region.tissue in EVERYWHERE
    if part is not None and not is_everywhere:
        mask *= _stained_part(mask, frame, stage_range_rng(part, term))
    swing = 0.12 if is_everywhere else 0.3
    uneven = np.clip(1 + swing * smooth_noise(rng, 20), 0.3, None) * _uneven_staining(frame, rng)
    stain = mask * uneven * np.clip(TEXTURES[region.texture](frame, rng), 0, None)
    stain += 0.12 * blur_image(stain, 7, truncate=2.5)  # some stain has spread
    if region.texture == "sheet":  # a sheet is darker at the rim, where it is seen edge on
        stain *= 0.85 + 0.5 * np.exp(-frame.depth_px / 9)
    return blur_image(stain, blur_px, truncate=3)


def _stained_part(mask, frame, rng):
    """Return how much of a region a gene stains at each pixel: all of it, or a part with soft edges.

    Waves along and across the body decide on the part, so that it is the same in all images of the gene.
    """
    share = rng.uniform(0.55, 1.35)
    waves = rng.normal(0, 1, (3, 2)) * [4.0, 2.5]
    if share >= 1:
        return 1.0
    phases = rng.uniform(0, 2 * np.pi, len(waves))
    field = sum(np.cos(a * frame.x + b * frame.y + phase) for (a, b), phase in zip(waves, phases))
    inside = field[mask > 0.5]
    least = np.quantile(inside, 1 - share) if inside.size else 0.0
    return 1 / (1 + np.exp(np.clip((least - field) / 0.1, -30, 30)))


def _uneven_staining(frame, rng):
    """Draw a factor for each pixel: stain is stronger on one side of an embryo than on the other."""
    along, across = rng.normal(0, [0.2, 0.15])
    return np.exp(np.float32(along) * frame.x + np.float32(across) * frame.y)


def _haze(frame, rng):
    """Draw background stain without meaning: faint in most embryos, strong in some."""
    veil = min(0.7, 0.1 * np.exp(rng.normal(0, 0.9)))
    patchy = np.clip(1 + 0.4 * smooth_noise(rng, 25) + 0.1 * smooth_noise(rng, 3), 0, None)
    hollow = 1 + rng.normal(0, 0.4) * np.exp(-frame.depth_px / 14)  # more in the yolk, or more at the rim
    return veil * patchy * np.clip(hollow, 0.2, None) * _uneven_staining(frame, rng)


def _photograph(light, stain, frame, rng):
    """Combine body, stain and white ground into an 8-bit picture."""
    purple = rng.beta(0.7, 1.3)
    density = _STAIN_BLUE * (1 - purple) + _STAIN_PURPLE * purple
    warm = rng.normal(0, 0.018)
    tint = np.array([1.0 + warm, 1.0, 0.965 - 2 * warm], "f4")
    tilt = rng.normal(0, 0.025, 2)
    light = light * (1 + tilt[0] * frame.x + tilt[1] * frame.y)
    light = blur_image(light, rng.uniform(0.3, 0.9), truncate=3)
    # Each colour is one plane, because NumPy is slow along an axis of three.
    body = light * tint[:, None, None] * np.exp(-stain * density[:, None, None])
    body += 0.006 * rng.standard_normal(_SHAPE, dtype="f4")  # noise of the light, then of the camera
    body += 0.003 * rng.standard_normal((*_SHAPE, 3), dtype="f4").transpose(2, 0, 1)
    for _ in range(rng.poisson(0.5)):  # a grain of dirt
        row, column, radius = rng.uniform([20, 40, 0.7], [108, 280, 1.8])
        rows, columns = np.ogrid[:HEIGHT_PX, :WIDTH_PX]
        grain = np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / radius**2)
        body *= 1 - 0.7 * grain * np.array([0.8, 0.9, 1.0])[:, None, None]
    picture = 255 * (frame.inside * np.clip(body, 0.02, 1) + 1 - frame.inside)
    return np.ascontiguousarray(np.rint(picture).astype("u1").transpose(1, 2, 0))


def render_embryo(stage_range, strengths, rng, *, view="lateral", part=None):
    """Draw a synthetic picture of one embryo that is stained in the regions of some terms.

    Parameters
    ----------
    stage_range : name
    strengths : dict, a term of `TERMS[stage_range]` -> optical density of its stain, about 0.3 faint to 2
        black
    rng : numpy Generator; one number is drawn from it.  Body, light, haze and noise depend on its state,
        and not on the terms; the stain of a term does not depend on other terms
    view : "lateral" or "dorsal"
    part : int, the seed that decides which part of each region is stained; None for all of each

    Returns
    -------
    picture : uint8 array (128, 320, 3); white ground, anterior to the left, dorsal up in the lateral view
    """
    root = int(rng.integers(2**62))
    frame = draw_body_frame(stage_range, stage_range_rng(root, "frame"))
    light = _body_light(frame, stage_range, view, stage_range_rng(root, "light"))
    stain = _haze(frame, stage_range_rng(root, "haze"))
    for term in sorted(strengths):
        stain += strengths[term] * _term_stain(
            frame, stage_range, term, view, part, stage_range_rng(root, term)
        )
    return _photograph(light, stain, frame, stage_range_rng(root, "camera"))

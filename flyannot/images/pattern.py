"""The blastoderm pattern of a picture: how strongly each part of the embryo is stained.

A pattern is 405 pixels of an ellipse on a grid of 16 x 32, from 0 (the palest part of the embryo) to 1.  It
does not depend on the colours of body, background and stain, on yolk, focus or light.  So the photographs of
any laboratory and the patterns of Wu et al. (PNAS 2016, doi:10.1073/pnas.1521171113) look alike as patterns.
A model can learn from the patterns and annotate the photographs.
"""

from functools import cache, lru_cache

import numpy as np

from flyannot.images.geometry import STANDARD_PX, blur_image, load_opencv
from flyannot.images.grey_levels import WHITE

GRID = (16, 32)
BLOCK_PX = (STANDARD_PX[0] // GRID[0], STANDARD_PX[1] // GRID[1])  # a pixel of a pattern, drawn
BODY_GREY = 180  # grey level of unstained body; its outline shows where a patch lies
_PALEST, _DARKEST = 5, 98  # percentiles of the blocks of an embryo that become 0 and 1
_SPLINE_PAD = 12  # copies of the edge value: enough for the spline to ignore what follows
_LEAST_RANGE = 0.15  # darkness between them; a smaller range would turn noise into a pattern
_MIDDLE = np.s_[4:-4, 6:-6]  # of GRID: away from the outline, which is dark in every embryo
_LEAST_COLOUR = 10  # grey levels between the colours of the 5% most coloured pixels; FlyExpress: 12 to 99
# First and last column of the mask in each of its 16 rows, counted from 1.
_FIRST_COLUMNS = (11, 7, 5, 3, 2, 2, 1, 1, 1, 1, 2, 3, 4, 5, 8, 12)
_LAST_COLUMNS = (22, 26, 28, 29, 30, 31, 32, 32, 32, 32, 31, 30, 29, 27, 25, 21)


@cache
def ellipse_mask():
    """Return which pixels of a pattern of Wu et al. are embryo, bool array (16, 32).

    The numbers of a pattern fill these pixels column by column.
    """
    spans = zip(_FIRST_COLUMNS, _LAST_COLUMNS)
    return np.array([[first <= at <= last for at in range(1, GRID[1] + 1)] for first, last in spans])


def extract_pattern(grey):
    """Return the blastoderm pattern of a picture in which one embryo fills the frame.

    Parameters
    ----------
    grey : array (128, 320), grey levels of the stain from 0 (dark) to 255 (none)

    Returns
    -------
    pattern : float array (405,) in [0, 1], in the order of `render_patterns`
    """
    rows, columns = BLOCK_PX
    darkness = 1 - grey.reshape(GRID[0], rows, GRID[1], columns).mean(axis=(1, 3)) / WHITE
    values = darkness.T[ellipse_mask().T]
    palest, darkest = np.percentile(values, (_PALEST, _DARKEST))
    return np.clip((values - palest) / max(darkest - palest, _LEAST_RANGE), 0, 1)


def measure_unevenness(picture):
    """Measure how uneven the tissue of an embryo is, apart from its stain.

    A blastoderm is one smooth layer of cells.  Older embryos have folds and organs, which darken all three
    colours.  A stain hardly darkens its own colour.  So each colour is taken as a pattern, and the smoothest
    one counts.

    Parameters
    ----------
    picture : array (128, 320, 3), colours from 0 to 255, in which one embryo fills the frame

    Returns
    -------
    unevenness : float, the mean difference between neighbours of a pattern, down and across, in the middle of
        the embryo; nan if the picture has no colour
    """
    colours = np.ascontiguousarray(np.moveaxis(picture, 2, 0))  # ptp over a last axis of 3 is slow
    if np.percentile(np.ptp(colours, axis=0), 95) < _LEAST_COLOUR:
        return np.nan
    grids = np.zeros((3, *GRID))
    for grid, colour in zip(grids, colours):
        grid.T[ellipse_mask().T] = extract_pattern(colour)
    return min(sum(np.abs(np.diff(grid[_MIDDLE], axis=axis)).mean() for axis in (0, 1)) for grid in grids)


def redraw_as_pattern(grey):
    """Draw the blastoderm pattern of a picture as a picture: float32 (128, 320), from 0 to 255.

    grey : array (128, 320), grey levels of the stain from 0 (dark) to 255 (none)
    """
    (picture,) = render_patterns(extract_pattern(grey)[None], ellipse_mask())
    return picture.astype(np.float32)


def render_patterns(patterns, mask):
    """Draw each pattern as a picture.

    The pattern is continued outside the mask before it is interpolated, so that it does not fade towards the
    outline.  An interpolated mask then cuts out the body.  The interpolation is by cubic splines; the
    published scores were measured with it.

    Parameters
    ----------
    patterns : float array (n_images, n_pixels) in [0, 1]
        0 is unstained, and 1 black.  A row fills the True places of `mask`, column by column.
    mask : bool array (16, 32)

    Yields
    ------
    picture : uint8 array (128, 320)
        The mean over a block of 8 x 10 px inside the body is nearly BODY_GREY (1 - value).
    """
    cv2 = load_opencv()
    body, nearest = _body_and_nearest(mask.tobytes())
    grid = np.zeros(mask.shape)
    for pattern in patterns:
        grid.T[mask.T] = pattern
        smoothed = cv2.blur(grid[nearest], (3, 3), borderType=cv2.BORDER_REPLICATE)
        continued = np.where(mask, grid, smoothed)  # no steps where two rim pixels meet outside
        light = 1 - np.clip(_enlarge_grid(continued), 0, 1)
        yield np.rint(255 + body * (BODY_GREY * light - 255)).astype("u1")


@lru_cache(maxsize=1)  # photographs are drawn one by one, all with one mask
def _body_and_nearest(mask):
    """Return `smooth_body_mask` of a mask, and for each pixel of the grid the nearest pixel within the mask.

    Of several nearest pixels the leftmost is taken.

    mask : bytes of a bool array of shape GRID, so that results can be cached

    Returns
    -------
    body : float array, as `smooth_body_mask` returns
    nearest : (rows, columns) of the nearest pixels, int arrays of shape GRID
    """
    mask = np.frombuffer(mask, bool).reshape(GRID)
    inside = np.argwhere(mask.T)[:, ::-1]
    everywhere = np.argwhere(np.ones(GRID))
    distance2 = ((everywhere[:, None] - inside) ** 2).sum(axis=2)
    nearest = inside[distance2.argmin(axis=1)].T.reshape(2, *GRID)
    return smooth_body_mask(mask), tuple(nearest)


def smooth_body_mask(mask):
    """Enlarge the mask of an embryo's body to the size of a picture, with a smooth rim.

    mask : bool array of shape GRID, True inside the body

    Returns a float array (128, 320), the fraction of each pixel that belongs to the body, from 0 to 1.
    """
    padded = np.pad(mask.astype(float), 2)  # the body touches the edge of the grid
    enlarged = blur_image(_enlarge_grid(padded), (5.0, 6.25))
    rows, columns = (2 * px for px in BLOCK_PX)
    return np.clip((enlarged[rows:-rows, columns:-columns] - 0.36) / 0.2, 0, 1)


def _enlarge_grid(grid):
    """Enlarge a grid of numbers by the size of a block, with cubic interpolation.

    grid : float array (n_rows, n_columns), the values in the middle of each block of BLOCK_PX pixels
    """
    n_rows, n_columns = grid.shape
    return _spline_matrix(n_rows, BLOCK_PX[0]) @ grid @ _spline_matrix(n_columns, BLOCK_PX[1]).T


@cache
def _spline_matrix(n, times):
    """Return the matrix (n * times, n) that interpolates n values by a cubic spline at n * times places.

    The values continue as constants beyond the first and the last.  SciPy's
    `ndimage.zoom` has other rounding errors.  It takes 13 times as long, and 0.2 s to import.
    """
    values = np.eye(n)[np.clip(np.arange(-_SPLINE_PAD, n + _SPLINE_PAD), 0, n - 1)]
    m = len(values)
    at_knots = (4 * np.eye(m) + np.eye(m, k=1) + np.eye(m, k=-1)) / 6
    at_knots[[0, -1], [0, -1]] += 1 / 6  # the first and the last value continue
    coefficients = np.linalg.solve(at_knots, values)
    places = (np.arange(n * times) + 0.5) / times - 0.5 + _SPLINE_PAD
    apart = np.abs(places[:, None] - np.arange(m))
    weights = np.where(apart < 1, 2 / 3 - apart**2 + apart**3 / 2, np.maximum(2 - apart, 0) ** 3 / 6)
    return weights @ coefficients

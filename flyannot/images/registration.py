"""Registration of an embryo: its picture is turned and scaled so that all embryos lie alike.

The box around every embryo, along its principal axes, is mapped to the whole frame, as in the images of
FlyExpress.  A cell of a pooling grid is then the same part of every embryo.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from flyannot.base.fates import REFUSED, find_advice
from flyannot.images.geometry import border_values, load_opencv, resize_image, warp_image
from flyannot.images.grey_levels import WHITE, to_grey
from flyannot.images.unreadable import UnusableImage

_WORK_PX = 400  # longest side of the small copy, in which the embryo is searched for
_LEAST_STEP = 6.0  # grey levels between background and embryo
_NOISE_STEP = 4.0  # the same, in standard deviations of the background
_MOST_NOISE = 5.0  # grey levels, the standard deviation of a plain background; below 1 for embryos
_CURVED_NOISE = 3.0  # grey levels, the noise above which the background may be curved
_LEAST_RATIO = 1e-10  # of the variances along which a surface is fitted to the border
_SLOPE = 30.0  # grey levels by which the background may differ from its median
_CLOSED = 0.015  # half the width of the gaps that are closed, relative to the longest side
_OPENED = 0.02  # half the width of the bumps that are removed
_LEAST_AREA = 0.02  # part of the picture that an embryo covers
_GAP_PX = 3  # wider gaps in the outline of an embryo stay open, in a copy of half the size
_LEAST_OUTLINED = 0.2  # part of the picture that the outline of an embryo encloses
_LEAST_PIXELS = 50  # pixels of the small copy that an embryo covers
_MOST_CUT = 0.65  # part of an embryo's extent along a side of the picture that may lie on the side
# Limits of the shape of an embryo.  The comments give the range of 165 embryos of FlyExpress.
_ASPECTS = (2.0, 3.3)  # length over height: 2.4 to 2.8
_LEAST_ELLIPSE = 0.92  # area over the area of the ellipse with the same moments: 0.94 to 1.00
_BOX_PARTS = (0.64, 0.88)  # area over the area of the box: 0.67 to 0.85; 1 for a rectangle
_MIDDLE_PART = 0.8  # of an embryo's length, to whose edges parabolas are fitted
_LEAST_CONVEX = 0.88  # area over the area of the convex hull: 0.91 to 1.00; less if two embryos touch


class NoEmbryo(UnusableImage):
    """An error for a picture in which no embryo was found, or several."""

    fate = REFUSED


class EmbryoPose(NamedTuple):
    """The place of an embryo, in pixels from the top left corner.

    centre : (x, y) of the box around the embryo, along its axes
    half_sides : (long, short) of that box
    direction : (x, y) of the long axis, of length 1, x >= 0
    axis_asymmetry : distance of the centroid to the right of the centre, relative to half the length.  The
        anterior end of an embryo is the more pointed one, so the value is positive if anterior is left.
    lower_bulge : how much more the lower edge bulges than the upper one, from end to end, relative to the
        height.  The ventral side of most embryos bulges more.  nan if it was not measured, or if the embryo
        does not lie level
    """

    centre: np.ndarray
    half_sides: np.ndarray
    direction: np.ndarray
    axis_asymmetry: float
    lower_bulge: float = float("nan")


def find_pose(picture):
    """Find the embryo of a picture of any size.

    The embryo will be turned by at most a quarter turn, so that left stays left.

    Parameters
    ----------
    picture : array (height, width) of grey levels, or (height, width, 3) of colours

    Returns
    -------
    pose : EmbryoPose

    Raises
    ------
    NoEmbryo
        If nothing stands out from the background, or something without the shape of one embryo.
    """
    size = np.array(picture.shape[1::-1])
    small = resize_image(picture, tuple((-(-size // -(-size.max() // _WORK_PX))).tolist()))
    mask = embryo_mask(to_grey(small))
    pose = pose_from_mask(mask)
    zoom = size / small.shape[1::-1]
    place = {"centre": pose.centre * zoom, "half_sides": pose.half_sides * zoom.mean()}
    return pose._replace(**place, lower_bulge=_lower_bulge(mask, pose))


def embryo_mask(grey):
    """Return a mask of the largest thing that stands out from the background of a picture, without holes.

    Parameters
    ----------
    grey : float array (height, width)

    Returns
    -------
    mask : bool array (height, width)

    Raises
    ------
    NoEmbryo
        If the background is not plain, or nothing covers 2% of the picture.  If another thing is more than
        half as large.  If the border of the picture cuts the largest thing.
    """
    off, noise = subtract_background(grey)
    if noise > _MOST_NOISE:
        raise no_embryo_error("the background is not plain")
    opened = foreground_mask(off, noise, max(grey.shape) * _CLOSED, max(grey.shape) * _OPENED)
    parts, areas = label_connected_parts(opened)
    if areas.max(initial=0) < max(_LEAST_AREA * grey.size, _LEAST_PIXELS):
        raise no_embryo_error("nothing stands out from the background")
    if len(areas) > 1 and np.sort(areas)[-2] > areas.max() / 2:
        raise no_embryo_error("several things stand out from the background")
    mask = parts == 1 + areas.argmax()
    on_sides = [(mask[[0, -1]], mask.any(axis=0)), (mask.T[[0, -1]], mask.any(axis=1))]
    if any(side.sum() > _MOST_CUT * extent.sum() for two, extent in on_sides for side in two):
        raise no_embryo_error("the border of the picture cuts what stands out")
    return mask


def foreground_mask(off, noise, close_px, open_px):
    """Return which pixels of a picture differ from its background, bool array (height, width).

    Gaps up to 2 `close_px` wide are closed and holes filled.  Then bumps and dust up to 2 `open_px` wide are
    removed.

    off : float array (height, width), difference of each pixel from the background, in grey levels
    noise : float, standard deviation of the background, in grey levels
    """
    cv2 = load_opencv()
    margin = int(close_px + open_px) + 2  # an embryo may touch the border
    stands_out = (off > max(_LEAST_STEP, _NOISE_STEP * noise)).view(np.uint8)
    padded = cv2.copyMakeBorder(stands_out, *(4 * [margin]), cv2.BORDER_CONSTANT, value=0)
    filled = fill_holes(cv2.morphologyEx(padded, cv2.MORPH_CLOSE, _disc_mask(close_px)))
    opened = cv2.morphologyEx(filled, cv2.MORPH_OPEN, _disc_mask(open_px))
    return opened[margin:-margin, margin:-margin] > 0


def find_outline(picture):
    """Return which pixels are inside the outline of an embryo, in a copy of its picture of half the size.

    `picture` is an array (height, width) or (height, width, 3).  The result is a bool array.  All pixels are
    True if no embryo is found.
    """
    small = to_grey(resize_image(picture, (picture.shape[1] // 2, picture.shape[0] // 2)))
    mask = foreground_mask(*subtract_background(small), _GAP_PX, _GAP_PX)
    parts, areas = label_connected_parts(mask)
    is_found = areas.max(initial=0) >= _LEAST_OUTLINED * mask.size
    return parts == 1 + areas.argmax() if is_found else np.ones_like(mask)


def subtract_background(grey):
    """Return the difference of every pixel of a picture from the background, and the noise of the background.

    The background is a plane, or a quadratic surface if this halves the noise: microscopes light the corners
    less than the middle.  The noise is a standard deviation along the border, estimated from the median.

    grey : float array (height, width), grey levels
    """
    plane = _subtract_surface(grey, 3)
    curved = _subtract_surface(grey, 6) if plane[1] > _CURVED_NOISE else plane
    return curved if curved[1] < plane[1] / 2 else plane


@lru_cache(maxsize=4)
def _surface_terms(shape):
    """Return the terms 1, x, y, x^2, xy and y^2 of a quadratic surface at each pixel of a picture.

    Returns
    -------
    terms : float array (6, height * width)
    border : float array (n_border, 6), their values on the border
    """
    y, x = np.indices(shape) / max(shape)
    terms = [np.ones(shape), x, y, x * x, x * y, y * y]
    return np.reshape(terms, (6, -1)), np.stack([border_values(term) for term in terms], axis=1)


def _subtract_surface(grey, n_terms):
    """Return the difference of a picture from its background, a surface that is fitted to its border.

    An embryo may touch the border, so pixels that differ too much are left out of the fit.

    Parameters
    ----------
    grey : float array (height, width)
    n_terms : int, the number of terms of the surface: 3 for a plane, 6 for a quadratic surface

    Returns
    -------
    off : float array (height, width), the absolute differences from the surface
    noise : float, the standard deviation of the border around it, estimated from the median
    """
    terms, border = _surface_terms(grey.shape)
    border = border[:, :n_terms]
    levels = border_values(grey)
    kept = np.abs(levels - _even_median(levels)) <= _SLOPE
    for _ in range(3):
        some = border[kept]  # of three or six columns: their normal equations are solved much sooner
        fit = np.linalg.lstsq(some.T @ some, some.T @ levels[kept], rcond=_LEAST_RATIO)[0]
        off = np.abs(levels - border @ fit)
        before = kept
        kept = off <= max(_LEAST_STEP, 3 * _even_median(off))
        if np.array_equal(kept, before):  # the next fit would be the same
            break
    surface = (fit @ terms[:n_terms]).reshape(grey.shape)
    off = np.abs(np.subtract(grey, surface, out=surface), out=surface)
    return off, 1.4826 * _even_median(border_values(off))


def _even_median(values):
    """Return the median of an even number of values, such as the border of a picture, quicker than NumPy."""
    half = len(values) // 2
    return np.partition(values, (half - 1, half))[half - 1 : half + 1].mean()


def dilate_mask(mask, px):
    """Return a bool mask that also has all pixels within a distance of `px` pixels."""
    return load_opencv().dilate(mask.view(np.uint8), _disc_mask(px)) > 0


def _disc_mask(px):
    """Return a uint8 mask of a disc of radius `px` pixels."""
    offsets = np.arange(-int(px), int(px) + 1)  # a distance transform takes 3 to 8 times as long
    return (np.add.outer(offsets**2, offsets**2) <= px * px).view(np.uint8)


def fill_holes(mask):
    """Return a uint8 mask without holes."""
    cv2 = load_opencv()
    outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return cv2.drawContours(np.zeros_like(mask), outlines, -1, 1, cv2.FILLED)


def label_connected_parts(mask):
    """Label the connected parts of a bool mask.

    Returns
    -------
    parts : int array (height, width), the number of the part of each pixel; 0 outside the mask
    areas : int array (n_parts,), the area of each part in pixels
    """
    _, parts = load_opencv().connectedComponents(mask.view(np.uint8), connectivity=4)
    return parts, np.bincount(parts.ravel())[1:]  # OpenCV's own statistics take longer


def pose_from_mask(mask):
    """Return the EmbryoPose of a mask that has the shape of one embryo.

    Raises
    ------
    NoEmbryo
        If the mask is too round, too long, too angular, notched, or not like an ellipse.
    """
    pose, has_shape = measure_mask(mask)
    if not has_shape:
        raise no_embryo_error("what stands out does not have the shape of one embryo")
    return pose


def measure_mask(mask):
    """Return the EmbryoPose of a mask, and whether the mask has the shape of one embryo.

    Parameters
    ----------
    mask : bool array (height, width)

    Returns
    -------
    pose : EmbryoPose
    has_shape : bool, whether it has the shape of one embryo
    """
    area = np.count_nonzero(mask)  # six times as quick as its sum
    centroid, direction, aspect, ellipse_part = _principal_axis(mask)
    rows = np.flatnonzero(mask.any(axis=1))
    left = mask[rows].argmax(axis=1)
    right = mask.shape[1] - 1 - mask[rows, ::-1].argmax(axis=1)
    ends = np.column_stack([np.concatenate([left, right]), np.tile(rows, 2)])  # the ends of each row
    along = (ends + 0.5) @ _rotation_matrix(*direction)
    first, last = along.min(axis=0), along.max(axis=0)
    middle = _rotation_matrix(*direction) @ (first + last) / 2
    half_sides = (last - first + 1) / 2
    lean = (centroid @ direction - (first[0] + last[0]) / 2) / half_sides[0]
    has_shape = (
        _ASPECTS[0] <= aspect <= _ASPECTS[1]
        and ellipse_part >= _LEAST_ELLIPSE
        and _BOX_PARTS[0] <= area / (4 * half_sides.prod()) <= _BOX_PARTS[1]
        and area >= _LEAST_CONVEX * _hull_area(ends, mask.shape)
    )
    return EmbryoPose(middle, half_sides, direction, float(lean)), bool(has_shape)


def _lower_bulge(mask, pose):
    """Return `EmbryoPose.lower_bulge`: how much more the lower edge of an embryo bulges than the upper one.

    A parabola is fitted to each edge, without its ends.

    mask : bool array (height, width); pose : EmbryoPose of the mask
    """
    if abs(pose.direction[0]) < abs(pose.direction[1]):
        return float("nan")
    columns = np.flatnonzero(mask.any(axis=0))
    upper = mask[:, columns].argmax(axis=0)
    lower = len(mask) - mask[::-1, columns].argmax(axis=0)
    bulge = 0.0
    for edge in (upper, lower):
        points = np.column_stack([columns + 0.5, edge]) - pose.centre
        points = points @ _rotation_matrix(*pose.direction) / pose.half_sides
        points = points[np.abs(points[:, 0]) <= _MIDDLE_PART]
        # What is left of a square after the fit of a line: its product with the edge gives the parabola.
        along = points[:, 0] - points[:, 0].mean()
        square = along**2 - (along**2).mean()
        square -= along * (along @ square) / (along @ along)
        bulge -= square @ points[:, 1] / (square @ square) / 2
    return float(bulge)


def _principal_axis(mask):
    """Return the centroid of a mask, the direction of its long axis, its aspect, and its elliptic part.

    All follow from the moments of first and second order.  The aspect is length over breadth.  The elliptic
    part is the area of the mask over the area of the ellipse with the same moments.
    """
    moments = load_opencv().moments(mask.view(np.uint8), binaryImage=True)
    area = moments["m00"]
    covariance = np.array([[moments["mu20"], moments["mu11"]], [moments["mu11"], moments["mu02"]]]) / area
    variances, axes = np.linalg.eigh(covariance)
    deviations = np.sqrt(np.maximum(variances[::-1], 1e-9))
    centroid = np.array([moments["m10"], moments["m01"]]) / area + 0.5
    direction = axes[:, 1] if axes[0, 1] >= 0 else -axes[:, 1]
    return centroid, direction, deviations[0] / deviations[1], area / (np.pi * (2 * deviations).prod())


def _hull_area(points, shape):
    """Return the number of pixels in the convex hull of some points.

    points : array (n, 2), pixels (x, y); shape : (height, width) of the mask to which they belong
    """
    cv2 = load_opencv()
    hull = cv2.convexHull(points.astype(np.int32))
    return np.count_nonzero(cv2.fillConvexPoly(np.zeros(shape, np.uint8), hull, 1))


def _rotation_matrix(x, y):
    """Return a matrix with two columns: the direction (x, y), and this direction turned by 90 degrees."""
    return np.array([[x, -y], [y, x]])


def crop_embryo(picture, size_px, pose):
    """Return the picture of an embryo, turned and scaled so that the embryo fills the frame.

    Parameters
    ----------
    picture : array (height, width) of grey levels, or (height, width, 3) of colours
    size_px : (height, width) of the frame
    pose : EmbryoPose, as `find_pose` returns

    Returns
    -------
    cropped : float32 array of the size of the frame, from 0 to 255
        Pixels that lie outside the picture have the median of its border.
    """
    size = np.array(picture.shape[1::-1])
    middle = np.array(size_px[::-1]) / 2
    shrunk = np.maximum(1, np.rint(size * min(1.0, middle[0] / pose.half_sides[0]))).astype(int)
    fill = np.median(border_values(picture), axis=0)
    small = resize_image(picture, tuple(shrunk.tolist()))
    to_small = shrunk / size
    # Where a pixel of the frame, counted from the frame's centre, lies in the small picture.
    steps = to_small[:, None] * _rotation_matrix(*pose.direction) * (pose.half_sides / middle)
    corner = pose.centre * to_small - steps @ middle
    framed = warp_image(small, np.column_stack([steps, corner]), size_px[::-1], fill)
    return np.clip(framed, 0, WHITE, out=framed)


def no_embryo_error(reason):
    """Make a NoEmbryo error with a reason, such as "nothing stands out from the background".

    The constructor of the error takes only the message, so that it can be pickled between workers.
    """
    error = NoEmbryo(f"no embryo found: {reason}", fix=find_advice(reason))
    error.reason = reason
    return error

"""The embryo of a picture in a frame of its own: level, in the middle, and of one size.

The box around every embryo, along its principal axes, is brought to the whole frame, as in the images of
FlyExpress: a cell of a pooling grid is then the same part of every embryo.
"""

from typing import NamedTuple

import numpy as np

from flyannot.descriptors.image_file import WHITE, UnreadableImage
from flyannot.descriptors.stain import LUMA
from flyannot.descriptors.standard_image import border_of, scaled

WAYS = ("axis", "shape")  # of registering a picture

_WORK_PX = 400  # longest side of the picture in which the embryo is looked for
_LEAST_STEP = 6.0  # grey levels between background and embryo
_NOISE_STEP = 4.0  # and deviations of the background's noise
_SLOPE = 30.0  # grey levels by which the background may differ from its median
_CLOSED, _OPENED = 0.015, 0.02  # gaps and bumps that are mended, as parts of the picture's longest side
_LEAST_AREA, _LEAST_PIXELS = 0.02, 50  # of an embryo: of the picture, and at all
_ASPECTS = (1.8, 3.8)  # length over height; of 165 embryos of FlyExpress 2.4 to 2.8
_LEAST_ELLIPSE = 0.88  # area over that of the ellipse of the same moments; of these embryos 0.94 to 1.00


class NoEmbryo(UnreadableImage):
    """A picture in which no embryo was found, or several."""


class Body(NamedTuple):
    """Where an embryo lies, in pixels from the top left corner.

    centre : (x, y) of the box around it, along its axes; half_sides : (long, short) of that box
    direction : (x, y) of the long axis, of length 1, x >= 0
    skew : third moments along the long and the short axis, over the cube of the deviation; negative
        where the embryo tapers to the left, or to the top
    """

    centre: np.ndarray
    half_sides: np.ndarray
    direction: tuple
    skew: np.ndarray


def registered(bands, size_px, *, way):
    """The bands of a picture as the embryo's own frame shows them.

    Parameters
    ----------
    bands : list of Pillow pictures of one size: grey, or red, green and blue
    size_px : (height, width) of the frame
    way : "axis": the picture is turned by at most a quarter, so that what is left stays left; "shape":
        besides, it is mirrored so that the embryo's more pointed end is on the left and its more curved
        side at the bottom, as anterior and ventral mostly are (an embryo has two like flanks, so its
        mirror image is an embryo too)

    Returns
    -------
    bands : list of float32 arrays of shape size_px, from 0 to 255; outside the picture its border's median

    Raises
    ------
    NoEmbryo
        If nothing, or something that has not the shape of one embryo, stands out from the background.
    """
    factor = -(-max(bands[0].size) // _WORK_PX)
    body = body_of(embryo_mask(_work_picture(bands, factor)))
    body = body._replace(centre=body.centre * factor, half_sides=body.half_sides * factor)
    flips = np.where(body.skew * (-1, 1) < 0, -1, 1) if way == "shape" else np.ones(2)
    return [_in_frame(band, body, flips, size_px) for band in bands]


def embryo_mask(grey):
    """The largest thing that stands out from the background, without holes.

    Parameters
    ----------
    grey : float array (height, width)

    Returns
    -------
    mask : bool array (height, width)

    Raises
    ------
    NoEmbryo
        If there is none of at least 2 % of the picture, or another that is half as large.
    """
    from scipy import ndimage

    off = np.abs(grey - _background(grey))
    noise = 1.4826 * np.median(border_of(off))
    close_px, open_px = max(grey.shape) * _CLOSED, max(grey.shape) * _OPENED
    margin = int(close_px + open_px) + 2  # an embryo may touch the border
    stands_out = np.pad(off > max(_LEAST_STEP, _NOISE_STEP * noise), margin)
    filled = ndimage.binary_fill_holes(_shrunk(_grown(stands_out, close_px), close_px))
    opened = _grown(_shrunk(filled, open_px), open_px)[margin:-margin, margin:-margin]
    parts, n_parts = ndimage.label(opened)
    areas = np.bincount(parts.ravel(), minlength=2)[1:]
    if areas.max() < max(_LEAST_AREA * grey.size, _LEAST_PIXELS):
        raise _no_embryo("nothing stands out from the background")
    if len(areas) > 1 and np.sort(areas)[-2] > areas.max() / 2:
        raise _no_embryo("several things stand out from the background")
    return parts == 1 + areas.argmax()


def _background(grey):
    """The plane through the grey levels of the border, without what leaves it: an embryo may touch it."""
    y, x = np.indices(grey.shape)
    plane = np.stack([np.ones(grey.shape), x, y])
    border = np.stack([border_of(one) for one in plane], axis=1)
    levels = border_of(grey)
    kept = np.abs(levels - np.median(levels)) <= _SLOPE
    for _ in range(3):
        fit = np.linalg.lstsq(border[kept], levels[kept], rcond=None)[0]
        off = np.abs(levels - border @ fit)
        kept = off <= max(_LEAST_STEP, 3 * np.median(off))
    return np.tensordot(fit, plane, 1)


def _grown(mask, px):
    return ~_shrunk(~mask, px)


def _shrunk(mask, px):
    """Without what is within `px` of the outside."""
    from scipy import ndimage

    return mask if mask.all() else ndimage.distance_transform_edt(mask) > px


def body_of(mask):
    """Where the embryo of a mask lies; its axes are those of the mask's second moments.

    Parameters
    ----------
    mask : bool array (height, width)

    Raises
    ------
    NoEmbryo
        If the mask is too round, too long, or far from an ellipse.
    """
    rows, columns = np.nonzero(mask)
    places = np.stack([columns, rows], axis=1) + 0.5
    variances, axes = np.linalg.eigh(np.cov(places.T))
    deviations = np.sqrt(np.maximum(variances[::-1], 1e-9))
    filled = len(places) / (np.pi * (2 * deviations).prod())
    if not _ASPECTS[0] <= deviations[0] / deviations[1] <= _ASPECTS[1] or filled < _LEAST_ELLIPSE:
        raise _no_embryo("what stands out has not the shape of one embryo")
    x, y = axes[:, 1] if axes[0, 1] >= 0 else -axes[:, 1]
    along = places @ _turn(x, y)
    first, last = along.min(axis=0), along.max(axis=0)
    skew = (((along - along.mean(axis=0)) / deviations) ** 3).mean(axis=0)
    return Body(_turn(x, y) @ (first + last) / 2, (last - first + 1) / 2, (x, y), skew)


def _turn(x, y):
    """Columns: the direction of the long axis, and a quarter turn from it towards y."""
    return np.array([[x, -y], [y, x]])


def _work_picture(bands, factor):
    """Grey levels of a smaller picture, float array."""
    reduced = [np.asarray(band.reduce(factor) if factor > 1 else band, np.float32) for band in bands]
    return reduced[0] if len(bands) == 1 else np.stack(reduced, axis=2) @ LUMA


def _in_frame(band, body, flips, size_px):
    """One band: scaled (with antialiasing), then turned and cut out."""
    from PIL import Image

    height, width = size_px
    middle = np.array([width, height]) / 2
    scale = min(1.0, middle[0] / body.half_sides[0])
    fill = float(np.median(border_of(np.asarray(band, np.float32))))
    small = scaled(band, tuple(max(1, round(length * scale)) for length in band.size))
    to_small = np.array(small.size) / band.size
    # Where a pixel of the frame, counted from the frame's centre, lies in the small picture.
    steps = to_small[:, None] * _turn(*body.direction) * (flips * body.half_sides / middle)
    corner = body.centre * to_small - steps @ middle
    places = [*steps[0], corner[0], *steps[1], corner[1]]
    framed = small.transform(
        (width, height), Image.Transform.AFFINE, places, Image.Resampling.BICUBIC, fillcolor=fill
    )
    return np.clip(np.asarray(framed, np.float32), 0, WHITE)


def _no_embryo(reason):
    """The error, made here and not in a constructor, so that it survives pickling between workers."""
    error = NoEmbryo(f"no embryo found: {reason}")
    error.reason = reason
    return error

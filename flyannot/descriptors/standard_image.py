"""Embryo pictures as grey levels of one standard size, or one clear line why not."""

import numpy as np

from flyannot.descriptors.image_file import WHITE, decoded
from flyannot.descriptors.stain import stain_as_grey
from flyannot.errors import InputError

SIZE_PX = (128, 320)  # FlyExpress's standard (height, width)
CHANNELS = {"grey": "L", "stain": "RGB"}  # and the mode in which Pillow gives what they are made of

_REDUCING_GAP = 4  # averaging blocks first saves memory; at this ratio the filter hides it

_LEAST_RANGE = 10.0  # grey levels between the 1st and 99th percentile of a picture worth coding
_BORDER_TOLERANCE = 20.0  # grey levels around the background's
_BORDER_FRACTION = 0.25  # of the border may leave the background: embryos touch it (real ones to 0.15)


def read_grey(path, *, size_px=SIZE_PX, channel="grey", place=None):
    """The grey levels of one picture or of the stain in it, at the standard size.

    Parameters
    ----------
    path : path of the picture
    size_px : (height, width) of the result, in pixels
    channel : "grey", or "stain" for `flyannot.descriptors.stain.stain_as_grey` of the scaled colours; a
    picture without
        any colour gives its grey levels either way
    place : as in `read_bands`

    Returns
    -------
    grey : float32 array (height, width), from 0 (black) to 255 (white), all finite

    Raises
    ------
    InputError
        If there is no such channel.
    UnreadableImage
        As `flyannot.descriptors.image_file.decoded`.
    """
    if channel not in CHANNELS:
        raise InputError(f"no channel {channel!r}", fix=f"choose from {', '.join(CHANNELS)}")
    bands = read_bands(path, CHANNELS[channel], size_px=size_px, place=place)
    return bands[0] if len(bands) == 1 else stain_as_grey(np.stack(bands, axis=2))


def read_bands(path, mode, *, size_px=SIZE_PX, place=None):
    """A picture at the standard size: a list of its grey levels ("L"), or of red, green and blue ("RGB").

    Parameters
    ----------
    place : function of the Pillow pictures that `flyannot.descriptors.image_file.decoded` gives, and
    size_px, that makes
        float32 arrays of that size of them; `fitted` by default
    """
    return decoded(path, mode, lambda bands: (place or fitted)(bands, size_px))


def quality_flags(grey):
    """What makes a picture doubtful, as far as grey levels can tell; most embryos get none.

    Parameters
    ----------
    grey : float array (height, width), as `read_grey` returns

    Returns
    -------
    flags : tuple of str
        "blank" (one white), "uniform" (one other grey level), "low contrast" (1st and 99th percentile
        within 10 grey levels), "no plain background" (more than a quarter of the border is over 20
        grey levels from the border's median: noise, a photograph, several embryos).
    """
    if np.ptp(grey) == 0:
        return ("blank",) if grey[0, 0] >= WHITE - 1 else ("uniform",)
    flags = []
    low, high = np.percentile(grey, (1, 99))
    if high - low < _LEAST_RANGE:
        flags.append("low contrast")
    border = border_of(grey)
    if (np.abs(border - np.median(border)) > _BORDER_TOLERANCE).mean() > _BORDER_FRACTION:
        flags.append("no plain background")
    return tuple(flags)


def fitted(bands, size_px):
    """Pictures scaled to fit inside `size_px`, float32 arrays from 0 to 255.

    Proportions are kept; they are centred, and padded with their border's median.  Scaling is with
    antialiasing (Pillow's triangle filter; much larger pictures by block means first).
    """
    return [_fit(band, size_px) for band in bands]


def scaled(picture, size):
    """A picture of another (width, height), with antialiasing, in Pillow's mode "F"."""
    from PIL import Image

    scale = min(size[0] / picture.width, size[1] / picture.height)
    factor = max(1, int(1 / (_REDUCING_GAP * scale)))
    box = 0, 0, picture.width / factor, picture.height / factor  # the last block may be partial
    reduced = picture.reduce(factor) if factor > 1 else picture
    return reduced.convert("F").resize(size, Image.Resampling.BILINEAR, box)


def _fit(picture, size_px):
    height, width = size_px
    scale = min(height / picture.height, width / picture.width)
    inner = _centred(picture.width * scale, width), _centred(picture.height * scale, height)
    grey = np.asarray(scaled(picture, inner) if inner != picture.size else picture, np.float32)
    if grey.shape == tuple(size_px):
        return np.clip(grey, 0, WHITE)
    fitted = np.full(size_px, np.median(border_of(grey)), np.float32)
    top, left = (height - inner[1]) // 2, (width - inner[0]) // 2
    fitted[top : top + inner[1], left : left + inner[0]] = grey
    return np.clip(fitted, 0, WHITE)


def _centred(length, outer):
    """The integer nearest to `length` that leaves equal margins in `outer`: mirror images stay so."""
    return max(2 - outer % 2, outer - 2 * round((outer - length) / 2))


def border_of(grey):
    """The values along the four sides of a matrix, once each."""
    return np.concatenate([grey[0], grey[-1], grey[1:-1, 0], grey[1:-1, -1]])

"""Embryo pictures as grey levels of one standard size, or one clear line why not."""

import numpy as np

from flyannot.descriptors.geometry import scaled_image
from flyannot.descriptors.image_file import WHITE, decoded_image
from flyannot.descriptors.stain import stain_as_grey
from flyannot.errors import InputError

SIZE_PX = (128, 320)  # FlyExpress's standard (height, width)
CHANNELS = {"grey": "L", "stain": "RGB"}  # and the mode in which Pillow gives what they are made of


def read_grey(path, *, size_px=SIZE_PX, channel="grey", place=None):
    """The grey levels of one picture or of the stain in it, at the standard size.

    Parameters
    ----------
    path : path of the picture
    size_px : (height, width) of the result, in pixels
    channel : "grey", or "stain" for `flyannot.descriptors.stain.stain_as_grey` of the scaled colours; a
        picture without any colour gives its grey levels either way
    place : as in `read_picture`

    Returns
    -------
    grey : float32 array (height, width), from 0 (black) to 255 (white), all finite

    Raises
    ------
    InputError
        If there is no such channel.
    UnreadableImage
        As `flyannot.descriptors.image_file.decoded_image`.
    """
    if channel not in CHANNELS:
        raise InputError(f"no channel {channel!r}", fix=f"choose from {', '.join(CHANNELS)}")
    picture = read_picture(path, CHANNELS[channel], size_px=size_px, place=place)
    return picture if picture.ndim == 2 else stain_as_grey(picture)


def read_picture(path, mode, *, size_px=SIZE_PX, place=None):
    """A picture at the standard size, float32 from 0 to 255: its grey levels ("L"), or its colours ("RGB").

    Parameters
    ----------
    place : function of what `flyannot.descriptors.image_file.decoded_image` returns, and of size_px, that
        brings the one to the other; `fitted_to_standard` by default
    """
    return (place or fitted_to_standard)(decoded_image(path, mode), size_px)


def fitted_to_standard(picture, size_px):
    """A picture scaled to fit inside `size_px`, float32 from 0 to 255.

    Proportions are kept; it is centred, and padded with its border's median.  One of the standard size
    stays as it is.
    """
    (height, width), size = size_px, picture.shape[:2]
    scale = min(height / size[0], width / size[1])
    inner = _centred(size[0] * scale, height), _centred(size[1] * scale, width)
    picture = picture.astype(np.float32) if inner == size else scaled_image(picture, inner[::-1])
    if inner == (height, width):
        return np.clip(picture, 0, WHITE)
    framed = np.empty((height, width, *picture.shape[2:]), np.float32)
    framed[:] = np.median(border_of_image(picture), axis=0)
    top, left = (height - inner[0]) // 2, (width - inner[1]) // 2
    framed[top : top + inner[0], left : left + inner[1]] = picture
    return np.clip(framed, 0, WHITE)


def _centred(length, outer):
    """The integer nearest to `length` that leaves equal margins in `outer`: mirror images stay so."""
    return max(2 - outer % 2, outer - 2 * round((outer - length) / 2))


def border_of_image(picture):
    """The values along the four sides of a picture, once each."""
    return np.concatenate([picture[0], picture[-1], picture[1:-1, 0], picture[1:-1, -1]])

"""Pictures scaled to one standard size."""

import numpy as np

from flyannot.descriptors.geometry import scaled_image
from flyannot.descriptors.grey_levels import WHITE

SIZE_PX = (128, 320)  # FlyExpress's standard (height, width)


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

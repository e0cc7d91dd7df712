"""The geometry of pictures, by OpenCV on one thread, and their standard size.

A picture is an array (height, width) of grey levels or (height, width, 3) of colours; sizes are
(width, height), as OpenCV has them, and those in pixels, `size_px`, are (height, width).
"""

from functools import cache

import numpy as np

from flyannot.images.grey_levels import WHITE

STANDARD_PX = (128, 320)  # FlyExpress's standard (height, width)
_REDUCING_GAP = 4  # averaging whole blocks first saves memory; at this ratio the rounding does not show


@cache
def opencv():
    """The module cv2, on one thread: images are shared among threads, and bits must not depend on these."""
    import cv2  # slow to import, and half of all commands never see a picture

    cv2.setNumThreads(1)
    return cv2


def scaled_image(picture, size):
    """A picture of another size, float32: means over areas where it shrinks, linear where it grows."""
    cv2 = opencv()
    height, width = picture.shape[:2]
    block_px = min(width // size[0], height // size[1]) // _REDUCING_GAP
    if block_px > 1:
        picture = cv2.resize(picture, (width // block_px, height // block_px), interpolation=cv2.INTER_AREA)
    shrinks = size[0] < width or size[1] < height
    how = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return cv2.resize(picture.astype(np.float32), size, interpolation=how)


def enlarged_image(picture, factor):
    """A picture whose every factor-th pixel, across and down, is one of these; linear between them."""
    cv2 = opencv()
    height, width = picture.shape
    matrix = np.array([[1 / factor, 0, 0], [0, 1 / factor, 0]])
    flags, border = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, cv2.BORDER_REPLICATE
    return cv2.warpAffine(picture, matrix, (factor * width, factor * height), flags=flags, borderMode=border)


def warped_image(picture, matrix, size, fill=0.0):
    """What a frame of some size shows of a picture, float32, by cubic interpolation.

    Parameters
    ----------
    picture : float32 array
    matrix : float array (2, 3): from a place (x, y, 1) of the frame to one of the picture, in pixels from
        the top left corner (the middle of the first pixel is 0.5, 0.5)
    size : (width, height) of the frame
    fill : the value, or that of each colour, outside the picture
    """
    cv2 = opencv()
    steps, corner = matrix[:, :2], matrix[:, 2]
    to_middles = np.column_stack([steps, corner + steps @ (0.5, 0.5) - 0.5])  # OpenCV counts from the middle
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    fill = np.broadcast_to(fill, 4).tolist() if np.ndim(fill) == 0 else fill.tolist()
    return cv2.warpAffine(picture, to_middles, size, flags=flags, borderValue=fill)


def blurred_image(picture, sigma_px, *, truncate=4.0):
    """A picture under a Gaussian, of one deviation or of (down, across), cut off at `truncate` of them."""
    cv2 = opencv()
    down, across = (float(sigma) for sigma in np.broadcast_to(sigma_px, 2))
    size = [2 * int(truncate * sigma + 0.5) + 1 for sigma in (across, down)]
    return cv2.GaussianBlur(picture, size, across, sigmaY=down, borderType=cv2.BORDER_REFLECT)


def distance_transform(mask):
    """How far every place of a mask (not everywhere true) lies from the nearest outside it; 0 outside."""
    cv2 = opencv()
    was_used = cv2.ipp.useIPP()
    cv2.ipp.setUseIPP(False)  # the last bit of its square roots depends on where an array lies in memory
    try:
        return cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    finally:
        cv2.ipp.setUseIPP(was_used)


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

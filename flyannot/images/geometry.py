"""Geometry of pictures, by OpenCV on one thread, and their standard size.

A picture is an array (height, width) of grey levels or (height, width, 3) of colours.  Sizes are
(width, height), as in OpenCV; sizes called `size_px` are (height, width).
"""

from functools import cache

import numpy as np

from flyannot.images.grey_levels import WHITE

STANDARD_PX = (128, 320)  # FlyExpress's standard (height, width)
_REDUCING_GAP = 4  # whole blocks are averaged first: from this ratio on, rounding is negligible


@cache
def load_opencv():
    """Import and return cv2 (OpenCV), set to one thread, since images are processed in parallel.

    The bits of a result must not depend on the number of threads.
    """
    import cv2  # imported on demand: it is slow, and half of all commands read no picture

    cv2.setNumThreads(1)
    return cv2


def resize_image(picture, size):
    """Resize a picture to the given (width, height) in pixels; the result is float32.

    Smaller pictures are means over areas; larger ones are interpolated linearly.
    """
    cv2 = load_opencv()
    height, width = picture.shape[:2]
    block_px = min(width // size[0], height // size[1]) // _REDUCING_GAP
    if block_px > 1:
        picture = cv2.resize(picture, (width // block_px, height // block_px), interpolation=cv2.INTER_AREA)
    shrinks = size[0] < width or size[1] < height
    interpolation = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return cv2.resize(picture.astype(np.float32), size, interpolation=interpolation)


def enlarge_image(picture, factor):
    """Enlarge the grey levels of a picture by an integer factor, with linear interpolation.

    Every factor-th pixel, across and down, keeps its value.
    """
    cv2 = load_opencv()
    height, width = picture.shape
    matrix = np.array([[1 / factor, 0, 0], [0, 1 / factor, 0]])
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    size = factor * width, factor * height
    return cv2.warpAffine(picture, matrix, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)


def warp_image(picture, matrix, size, fill=0.0):
    """Warp a picture into a frame by cubic interpolation.

    Parameters
    ----------
    picture : float32 array
    matrix : float array (2, 3)
        It maps a point (x, y, 1) of the frame to a point of the picture, in pixels from the top left corner.
        The middle of the first pixel is (0.5, 0.5).
    size : (width, height) of the frame
    fill : float, or one for each colour, the value of the frame outside the picture

    Returns
    -------
    frame : float32 array
    """
    cv2 = load_opencv()
    steps = matrix[:, :2]
    corner = matrix[:, 2]
    to_middles = np.column_stack([steps, corner + steps @ (0.5, 0.5) - 0.5])  # OpenCV counts from middles
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    fill = np.broadcast_to(fill, 4).tolist() if np.ndim(fill) == 0 else fill.tolist()
    return cv2.warpAffine(picture, to_middles, size, flags=flags, borderValue=fill)


def blur_image(picture, sigma_px, *, truncate=4.0):
    """Convolve a picture with a Gaussian, cut off at `truncate` standard deviations.

    sigma_px : float, one standard deviation in pixels, or a pair (down, across)
    """
    cv2 = load_opencv()
    down, across = (float(sigma) for sigma in np.broadcast_to(sigma_px, 2))
    size = [2 * int(truncate * sigma + 0.5) + 1 for sigma in (across, down)]
    return cv2.GaussianBlur(picture, size, across, sigmaY=down, borderType=cv2.BORDER_REFLECT)


def distance_transform(mask):
    """Return the distance, in pixels, of every pixel of a mask from the nearest pixel outside the mask.

    Pixels outside the mask have the distance 0. The mask must not be True everywhere.
    """
    cv2 = load_opencv()
    was_used = cv2.ipp.useIPP()
    cv2.ipp.setUseIPP(False)  # the last bit of its square roots depends on where an array lies in memory
    try:
        return cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    finally:
        cv2.ipp.setUseIPP(was_used)


def resize_to_fit(picture, size_px):
    """Scale a picture to fit into a frame, which is padded with the median of the picture's border.

    Proportions are kept, and the picture is centred. A picture of the size of the frame is not changed.

    picture : array of numbers from 0 to 255; size_px : (height, width) of the frame

    Returns a float32 array, from 0 to 255.
    """
    height, width = size_px
    size = picture.shape[:2]
    scale = min(height / size[0], width / size[1])
    inner = _centred_length(size[0] * scale, height), _centred_length(size[1] * scale, width)
    picture = picture.astype(np.float32) if inner == size else resize_image(picture, inner[::-1])
    if inner == (height, width):
        return np.clip(picture, 0, WHITE, out=picture)
    framed = np.empty((height, width, *picture.shape[2:]), np.float32)
    framed[:] = np.median(border_values(picture), axis=0)
    top = (height - inner[0]) // 2
    left = (width - inner[1]) // 2
    framed[top : top + inner[0], left : left + inner[1]] = picture
    return np.clip(framed, 0, WHITE, out=framed)


def _centred_length(length, outer):
    """Return the integer nearest to `length` that leaves equal margins on both sides within `outer` pixels.

    With equal margins, mirrored pictures stay mirrored.
    """
    return max(2 - outer % 2, outer - 2 * round((outer - length) / 2))


def border_values(picture):
    """Return the values of all pixels on the four sides of a picture, each once, as a flat array."""
    return np.concatenate([picture[0], picture[-1], picture[1:-1, 0], picture[1:-1, -1]])

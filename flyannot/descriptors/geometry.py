"""The geometry of pictures, by OpenCV on one thread.  It never opens a file: `image_file` does.

A picture is an array (height, width) of grey levels or (height, width, 3) of colours; sizes are
(width, height), as OpenCV has them.
"""

from functools import cache

import numpy as np

_REDUCING_GAP = 4  # averaging whole blocks first saves memory; at this ratio the rounding does not show


@cache
def opencv():
    """The module cv2, on one thread: workers are processes, and the bits must not depend on threads."""
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


def depths_px(mask):
    """How far every place of a mask (not everywhere true) lies from the nearest outside it; 0 outside."""
    cv2 = opencv()
    was_used = cv2.ipp.useIPP()
    cv2.ipp.setUseIPP(False)  # the last bit of its square roots depends on where an array lies in memory
    try:
        return cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    finally:
        cv2.ipp.setUseIPP(was_used)

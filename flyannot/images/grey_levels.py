"""Grey levels from 0 to 255: from numbers of any type, from colours, and of the stain alone.

The stain of an in-situ hybridisation is separated from the colour of the embryo by colour deconvolution.
Light that passes through several dyes is multiplied, so their optical densities add up.  The density of a
pixel is a multiple of the stain's colour, plus a multiple of the tissue's colour, plus a rest at right angles
to both.
"""

from functools import lru_cache

import numpy as np

WHITE = 255.0
CAMERA_BITS = (8, 10, 12, 14)  # bits of cameras whose numbers are stored in 16 bits
STRIP_PIXELS = 2**20  # pixels of a large picture that are converted at once
LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # Rec. 601

# Optical density in red, green, blue: the direction of each, of any length.
STAIN = (0.70, 0.67, 0.23)  # NBT/BCIP, blue-purple: hardly absorbs blue
TISSUE = (0.57, 0.54, 0.61)  # shadow and yolk: grey, a little yellow


def guess_white_level(highest, type_bits):
    """Guess which number means white in a picture of integers.

    Integers of 16 bits often come from a camera with fewer bits. White is then the largest number of the
    smallest camera range that contains `highest`.

    highest : the largest number in the picture; type_bits : int, bits of the integer type
    """
    in_use = (bits for bits in (*CAMERA_BITS, 16) if bits < type_bits and highest < 2**bits)
    return 2.0 ** next(in_use, type_bits) - 1


def stated_white_level(maximum):
    """Return the number that means white if a file states that `maximum` is its largest number.

    It is `maximum` itself if that is above 255 and of the form 2^n - 1. Otherwise it is the largest number of
    the smallest camera range that contains `maximum`.
    """
    fills_bits = maximum > 255 and maximum & (maximum + 1) == 0
    return float(maximum) if fills_bits else guess_white_level(maximum, 32)


def to_luma(pixels):
    """Convert colours (height, width, 3) to grey levels (height, width) with the weights of Rec. 601.

    Bytes are converted to exactly the levels of Pillow's mode "L".
    """
    if pixels.dtype == np.uint8:
        from PIL import Image

        grey = np.empty(pixels.shape[:2], np.uint8)
        rows = max(1, STRIP_PIXELS // pixels.shape[1])  # Pillow takes four bytes for a pixel
        for top in range(0, len(pixels), rows):
            grey[top : top + rows] = Image.fromarray(pixels[top : top + rows]).convert("L")
        return grey
    return pixels @ LUMA


def to_grey(picture):
    """Return the grey levels (height, width) of a picture, which may have colours (height, width, 3)."""
    return to_luma(picture) if picture.ndim == 3 else picture


def separate_stain(rgb):
    """Return the grey levels that a picture of an embryo would have if it showed only the stain.

    What absorbs blue as much as red or more (shadow, yolk, brown) counts as no stain.  The two colours are
    fixed, so that the result for a picture depends on no other picture.  They come from the optical densities
    of 165 pictures of FlyExpress, which have a white background.  STAIN is the 2nd percentile of the angle in
    the plane that has most of the densities.  TISSUE is the median colour of pale pixels (densities of length
    0.1 to 0.2).  Black has no colour.  Stain so dense that it photographs as black is lost, and its paler rim
    remains.

    Parameters
    ----------
    rgb : float array (height, width, 3), from 0 to 255, on a white background

    Returns
    -------
    grey : float32 array (height, width), from 0 (dense stain) to 255 (none)
        The grey levels of the picture itself if it has no colour.

    Source
    ------
    Ruifrok and Johnston, Anal Quant Cytol Histol 23 (2001), 291-299, as implemented in scikit-image.  Their
    densities of single dyes were measured on slides with one dye; ours come from pictures with both.
    """
    from skimage.color import combine_stains, separate_stains

    rgb = np.asarray(rgb, np.float32)
    if (rgb == rgb[..., :1]).all():
        return rgb[..., 0]
    to_rgb, from_rgb = _stain_matrices()
    amounts = separate_stains(np.clip(rgb, 1, WHITE) / np.float32(WHITE), from_rgb)  # 0 has no logarithm
    amounts[..., 1:] = 0
    stain = np.asarray(combine_stains(amounts, to_rgb), np.float32)
    return np.clip(stain @ LUMA * np.float32(WHITE), 0, WHITE)


@lru_cache(maxsize=1)
def _stain_matrices():
    """Return the matrix whose rows are the colours of stain, tissue and the rest, and its inverse matrix."""
    rows = np.array([STAIN, TISSUE, np.cross(STAIN, TISSUE)])
    to_rgb = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return to_rgb, np.linalg.inv(to_rgb)

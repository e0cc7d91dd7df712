"""Grey levels from 0 to 255: of whatever numbers pictures are stored in, of colours, and of the stain.

The stain of an in-situ hybridisation is separated from the embryo's own colour by colour deconvolution.
Light that passes through dyes is multiplied, so their optical densities add up: a pixel's density is a
sum of a multiple of the stain's colour, a multiple of the tissue's and a rest at right angles to both.
"""

from functools import lru_cache

import numpy as np

from flyannot.images.unreadable import unreadable_image

WHITE = 255.0
CAMERA_BITS = (8, 12, 14)  # that files of 16 bits often hold
LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # Rec. 601

# Optical density in red, green, blue: the direction of each, of any length.
STAIN = (0.70, 0.67, 0.23)  # NBT/BCIP, blue-purple: hardly absorbs blue
TISSUE = (0.57, 0.54, 0.61)  # shadow and yolk: grey, a little yellow


def to_eight_bit_range(path, pixels, dtype, *, inverted=False, full=None):
    """Numbers of another range as float32 from 0 to 255; `dtype` is that of the file, `full` its white."""
    lowest, highest = float(pixels.min()), float(pixels.max())
    if not np.isfinite([lowest, highest]).all():
        raise unreadable_image(path, "it holds NaN or infinite grey levels")
    if full is None or highest > full:
        is_whole = np.dtype(dtype).kind == "u"
        full = white_of(highest, dtype) if is_whole else (1.0 if highest <= 1 else WHITE)
    if lowest < 0 or highest > full:
        raise unreadable_image(
            path,
            f"its grey levels run from {lowest:g} to {highest:g}, outside 0 to {full:g}",
            fix="save it with 8 or 16 bits per channel",
        )
    grey = pixels.astype(np.float32) * np.float32(WHITE / full)
    return np.float32(WHITE) - grey if inverted else grey


def white_of(highest, dtype):
    """The white of whole numbers up to `highest`: in 16 bits that of the bits of a camera which hold them,
    else the largest of their type."""
    in_use = (bits for bits in CAMERA_BITS if np.dtype(dtype).itemsize == 2 and highest < 2**bits)
    return float(2 ** next(in_use, 8 * np.dtype(dtype).itemsize) - 1)


def luma_of_colours(pixels):
    """Colours (height, width, 3) as grey levels, Rec. 601: of bytes exactly Pillow's "L"."""
    if pixels.dtype == np.uint8:
        from PIL import Image

        return np.asarray(Image.fromarray(pixels).convert("L"))
    return pixels @ LUMA


def stain_as_grey(rgb):
    """The grey levels that a picture would have if nothing but the stain were in it.

    What absorbs blue as much as red or more (shadow, yolk, brown) leaves no stain.  The two colours are
    fixed, so that a picture's result depends on no other picture.  They were read off the optical
    densities of 165 pictures of FlyExpress, which have a white background: STAIN is the 2nd percentile
    of the angle in the plane that holds most of the densities, TISSUE the median colour of pale pixels
    (densities of length 0.1 to 0.2).  Black holds no colour: where stain is so dense that it
    photographs as black it is lost, and its paler rim stays.

    Parameters
    ----------
    rgb : float array (height, width, 3), from 0 to 255, on a white background

    Returns
    -------
    grey : float32 array (height, width), from 0 (dense stain) to 255 (none); of a picture without any
        colour its own grey levels

    Source
    ------
    Ruifrok and Johnston, Anal Quant Cytol Histol 23 (2001), 291-299, as scikit-image has it.  Their
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
    """Rows of norm 1: stain, tissue, what is neither; and the inverse of that matrix."""
    rows = np.array([STAIN, TISSUE, np.cross(STAIN, TISSUE)])
    to_rgb = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return to_rgb, np.linalg.inv(to_rgb)

"""Pictures as files store them: scenes, planes, and the meaning of the numbers of a plane."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# The number of samples of a pixel, without alpha, in each colour model.
N_COLOURS = {"grey": 1, "palette": 1, "rgb": 3, "ycbcr": 3, "cmyk": 4}


class StoredPlane(NamedTuple):
    """One plane as a file stores it: the numbers (samples) of its pixels, and their meaning.

    samples : array (height, width) or (height, width, n), or a Pillow image with bytes
        Colours come first, then alpha.
    colours : str, a key of N_COLOURS, such as "grey" or "rgb"
    palette : uint8 array (n, 3), the colour of each number if `colours` is "palette"; otherwise None
    alpha : "" for none, "straight", or "premultiplied" if the colours were multiplied by alpha
    transparent : tuple, the samples of the one colour that is transparent, or ()
    used_bits : number of bits in use, as stated by the file; 0 if it is not stated
    maximum : the largest number, as stated by the file; 0 if it is not stated
    is_white_zero : bool, True if 0 is white and the largest number is black
    orientation : 1 to 8, as in EXIF and TIFF
    profile : bytes of an ICC profile, or a float, the gamma with which light was encoded; b"" for sRGB
    """

    samples: Any
    colours: str
    palette: np.ndarray | None = None
    alpha: str = ""
    transparent: tuple = ()
    used_bits: int = 0
    maximum: int = 0
    is_white_zero: bool = False
    orientation: int = 1
    profile: Any = b""


class Scene(NamedTuple):
    """One scene (series, image) of a picture file: planes of one size.

    name : str, "" if the scene has none
    axes : list of Axis, on each of which one plane can be chosen
    size : (width, height)
    pixel_bytes : bytes of one pixel when it is unpacked
    read : function of the coordinates of a plane, a dict from the name of an axis to a number from 0; it
        returns a StoredPlane
    """

    name: str
    axes: list
    size: tuple
    pixel_bytes: int
    read: Callable

"""A region that was drawn on a picture, as the standard image shows it."""

import numpy as np

from flyannot.descriptors.grey_levels import WHITE
from flyannot.descriptors.picture import CHANNELS, picture_at
from flyannot.descriptors.placing import placing
from flyannot.descriptors.standard_image import SIZE_PX
from flyannot.errors import InputError


def region_in_standard(path, region, options):
    """Which pixels of the standard image a region covers: it is turned and scaled as the picture is.

    Parameters
    ----------
    path : path of the picture
    region : (top, left, height, width), in pixels of the picture
    options : flyannot.descriptors.options.ExtractOptions

    Returns
    -------
    mask : bool array of shape SIZE_PX

    Raises
    ------
    InputError
        If the region leaves the picture, or is empty.
    UnreadableImage
        If the picture cannot be read.
    """
    picture = picture_at(path, CHANNELS[options.channel], options.plane)
    top, left, height, width = region
    if not height or not width or top + height > picture.shape[0] or left + width > picture.shape[1]:
        raise InputError(
            f"the region {','.join(map(str, region))} leaves {path}, which is {picture.shape[0]} px high and "
            f"{picture.shape[1]} px wide",
            fix="give it as top,left,height,width in pixels of the picture",
        )
    marked = np.zeros(picture.shape[:2], np.float32)
    marked[top : top + height, left : left + width] = WHITE
    return placing(picture, options=options)(marked, SIZE_PX) > WHITE / 2

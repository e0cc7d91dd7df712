"""The picture at an address: a whole file, a plane of it, or one embryo of a photograph.

Whatever reads pictures reads them here.
"""

import os
from functools import lru_cache

from flyannot.descriptors.address import split_address
from flyannot.descriptors.grey_levels import as_luma
from flyannot.descriptors.image_file import decoded_image
from flyannot.descriptors.photograph import cut_out, find_embryos
from flyannot.descriptors.stain import stain_as_grey
from flyannot.descriptors.standard_image import SIZE_PX, fitted_to_standard
from flyannot.descriptors.unreadable import unreadable
from flyannot.errors import InputError

CHANNELS = {"grey": "L", "stain": "RGB"}  # and the mode in which Pillow gives what they are made of


def read_grey(path, *, size_px=SIZE_PX, channel="grey", place=None, planes=()):
    """The grey levels of one picture or of the stain in it, at the standard size.

    Parameters
    ----------
    path : path or address of the picture
    size_px : (height, width) of the result, in pixels
    channel : "grey", or "stain" for `flyannot.descriptors.stain.stain_as_grey` of the scaled colours; a
        picture without any colour gives its grey levels either way
    place, planes : as in `read_picture`

    Returns
    -------
    grey : float32 array (height, width), from 0 (black) to 255 (white), all finite

    Raises
    ------
    InputError
        If there is no such channel.
    UnreadableImage
        As `picture_at`.
    """
    if channel not in CHANNELS:
        raise InputError(f"no channel {channel!r}", fix=f"choose from {', '.join(CHANNELS)}")
    picture = read_picture(path, CHANNELS[channel], size_px=size_px, place=place, planes=planes)
    return picture if picture.ndim == 2 else stain_as_grey(picture)


def read_picture(path, mode, *, size_px=SIZE_PX, place=None, planes=()):
    """A picture at the standard size, float32 from 0 to 255: its grey levels ("L"), or its colours ("RGB").

    Parameters
    ----------
    path : path or address of the picture, as in `flyannot.descriptors.address`
    place : function of what `picture_at` returns, and of size_px, that brings the
        one to the other; `fitted_to_standard` by default
    planes : as in `picture_at`
    """
    return (place or fitted_to_standard)(picture_at(path, mode, planes), size_px)


def picture_at(address, mode, planes=()):
    """What an address names, as `flyannot.descriptors.image_file.decoded_image`.

    Parameters
    ----------
    address : path, as in `flyannot.descriptors.address`
    mode : "L" or "RGB"
    planes : what is meant of a file that holds several pictures, where the address does not say it

    Raises
    ------
    UnreadableImage
        As `decoded_image`; if there is no such embryo, or it cannot be used.
    """
    file, own, number = split_address(address)
    planes = (*planes, *own)
    if number is None:
        return decoded_image(file, mode, planes)
    picture, found = _photograph(file, planes)
    if not 1 <= number <= len(found):
        raise unreadable(address, f"{len(found)} things stand out from the background of the photograph")
    one = found[number - 1]
    if one.why_not:
        raise unreadable(address, one.why_not)
    cut = cut_out(picture, one, found)
    return as_luma(cut) if cut.ndim == 3 and mode == "L" else cut


def embryos_at(address, planes=()):
    """What stands out from the background of a photograph: a list of `flyannot.descriptors.photograph.Found`.

    Raises
    ------
    UnreadableImage
        As `decoded_image`; NoEmbryo if nothing stands out.
    """
    file, own, _ = split_address(address)
    return _photograph(file, (*planes, *own))[1]


def _photograph(file, planes):
    about = os.stat(file) if os.path.exists(file) else None
    return _decoded_photograph(file, planes, about and (about.st_mtime_ns, about.st_size))


@lru_cache(maxsize=1)  # its embryos are asked for one after the other
def _decoded_photograph(file, planes, stamp):
    picture = decoded_image(file, "RGB", planes)
    return picture, find_embryos(picture)

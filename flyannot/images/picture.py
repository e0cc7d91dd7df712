"""The picture at an address, brought to its standard size: as a whole, or by the embryo that is found in it.

Whatever reads the picture of an embryo reads it here.
"""

import os
import threading
from functools import lru_cache

import numpy as np

from flyannot.images.address import split_address, turn_and_planes
from flyannot.images.geometry import STANDARD_PX, fitted_to_standard
from flyannot.images.grey_levels import luma_of_colours, stain_as_grey
from flyannot.images.image_file import decode_image
from flyannot.images.pattern import drawn_as_pattern
from flyannot.images.photograph import cut_out_embryo, find_embryos
from flyannot.images.quality import PORTRAIT, POSTERIOR_LEFT, picture_warnings, standard_warnings
from flyannot.images.registration import NoEmbryo, frame_embryo, pose_in_picture
from flyannot.images.unreadable import unreadable_image

EITHER_WAY = "cannot tell which end is anterior"  # a warning
_LEAST_LEAN = (
    0.006  # of `EmbryoPose`: of 165 embryos of FlyExpress 14 lean less, and of the others one is wrong
)
_MODES = {"grey": "L", "stain": "RGB", "pattern": "RGB"}  # in which Pillow gives what a channel is made of


def picture_at(address, mode, planes=()):
    """What an address names, as `flyannot.images.image_file.decode_image`.

    Parameters
    ----------
    address : path, as in `flyannot.images.address`
    mode : "L" or "RGB"
    planes : what is meant of a file that holds several pictures, where the address does not say it

    Raises
    ------
    UnreadableImage
        As `decode_image`; if there is no such embryo, or it cannot be used.
    """
    file, planes_of_address, number = split_address(address)
    turn, planes = turn_and_planes(address, (*planes, *planes_of_address))
    if number is None:
        return np.ascontiguousarray(decode_image(file, mode, planes)[turn])
    picture, candidates = _photograph(file, planes)
    if not 1 <= number <= len(candidates):
        n = len(candidates)
        raise unreadable_image(address, f"{n} things stand out from the background of the photograph")
    candidate = candidates[number - 1]
    if candidate.why_not:
        raise unreadable_image(address, candidate.why_not)
    cut = np.ascontiguousarray(cut_out_embryo(picture, candidate, candidates)[turn])
    return luma_of_colours(cut) if cut.ndim == 3 and mode == "L" else cut


def embryos_at(address, planes=()):
    """What stands out from the background of a photograph: a list of
    `EmbryoCandidate`.

    Raises
    ------
    UnreadableImage
        As `decode_image`; NoEmbryo if nothing stands out.
    """
    file, planes_of_address, _ = split_address(address)
    return _photograph(file, turn_and_planes(address, (*planes, *planes_of_address))[1])[1]


def _photograph(file, planes):
    about = os.stat(file) if os.path.exists(file) else None
    return _of_thread.decoded(file, planes, about and (about.st_mtime_ns, about.st_size))


class _LastPhotograph(threading.local):
    """Of each thread the photograph whose embryos it asks for, one after the other."""

    def __init__(self):
        self.decoded = lru_cache(maxsize=1)(_decoded_photograph)


def _decoded_photograph(file, planes, stamp):
    picture = decode_image(file, "RGB", planes)
    return picture, find_embryos(picture)


_of_thread = _LastPhotograph()


def read_grey(path, *, size_px=STANDARD_PX):
    """The grey levels of a whole picture, scaled to fit: float32 (height, width), from 0 (black) to 255.

    Parameters
    ----------
    path : path or address of the picture
    size_px : (height, width) of the result, in pixels

    Raises
    ------
    UnreadableImage
        As `picture_at`.
    """
    return fitted_to_standard(picture_at(path, "L"), size_px)


def read_embryo(path, options):
    """The grey levels that are described, and the warnings about the picture.

    Parameters
    ----------
    path : path of the picture, or its address as in `flyannot.images.address`
    options : ExtractOptions

    Returns
    -------
    grey : float32 array of shape STANDARD_PX, of the channel that the options say
    quality_warnings : str, separated by commas
        Those of `flyannot.images.quality`, and "not registered" with the reason where no embryo
        was found.

    Raises
    ------
    UnreadableImage
        As `picture_at`.
    """
    picture = picture_at(path, _MODES[options.channel], options.plane)
    warnings = picture_warnings(picture)
    if options.multiple_embryos:  # as an embryo lies on a photograph, so is the box around it
        warnings = tuple(warning for warning in warnings if warning != PORTRAIT)
    if options.orient:
        warnings = tuple(warning for warning in warnings if warning != POSTERIOR_LEFT)
    pose, why_not = _pose(picture, options)
    if options.orient and pose and abs(pose.axis_asymmetry) < _LEAST_LEAN:
        why_not = [EITHER_WAY]
    grey = _at_standard_size(picture, pose, options)
    grey = grey if grey.ndim == 2 else stain_as_grey(grey)
    warnings = [*standard_warnings(grey), *warnings, *why_not]
    return drawn_as_pattern(grey) if options.channel == "pattern" else grey, ", ".join(warnings)


def read_embryo_in_colour(path, options):
    """The picture placed as `read_embryo` places it, to look at: uint8 (height, width, 3), or grey."""
    picture = picture_at(path, "RGB", options.plane)
    return np.rint(_at_standard_size(picture, _pose(picture, options)[0], options)).astype(np.uint8)


def _pose(picture, options):
    """Where the embryo of a picture lies, or None if the picture is taken as it is; and a list of the warning
    that no embryo was found."""
    if options.register == "none":
        return None, []
    try:
        return pose_in_picture(picture), []
    except NoEmbryo as error:
        return None, [f"not registered: {error.reason}"]


def _at_standard_size(picture, pose, options):
    """A picture scaled to fit, or cut out and turned by the pose of its embryo, perhaps mirrored."""
    if pose is None:
        return fitted_to_standard(picture, STANDARD_PX)
    framed = frame_embryo(picture, STANDARD_PX, pose)
    is_mirrored = options.orient and pose.axis_asymmetry <= -_LEAST_LEAN
    return np.ascontiguousarray(framed[:, ::-1]) if is_mirrored else framed

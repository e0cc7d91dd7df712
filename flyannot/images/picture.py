"""The reader of the picture at an address, at its own size or at the standard size.

The picture is scaled as a whole, or by the embryo that is found in it.  All code that reads the picture of
an embryo reads it here.
"""

import os
import threading
from functools import lru_cache

import numpy as np

from flyannot.images.address import split_address, split_rotation
from flyannot.images.geometry import STANDARD_PX, resize_to_fit
from flyannot.images.grey_levels import separate_stain, to_luma
from flyannot.images.image_file import decode_image
from flyannot.images.pattern import measure_unevenness, redraw_as_pattern
from flyannot.images.photograph import cut_out_embryo, find_embryos
from flyannot.images.quality import (
    PORTRAIT,
    POSTERIOR_LEFT,
    describe_unregistered,
    picture_warnings,
    standard_warnings,
)
from flyannot.images.registration import NoEmbryo, crop_embryo, find_pose
from flyannot.images.unreadable import require_image_size, unreadable_image_error

EITHER_WAY = "cannot tell which end is anterior"  # a warning
_LEAST_ASYMMETRY = 0.0075  # 17 of 165 embryos of FlyExpress have less, and so have all drawn patterns
_SEARCH_BYTES = {2: 4, 3: 8}  # by dimensions; half of what a pixel takes while embryos are searched for
_MODES = {"grey": "L", "stain": "RGB", "pattern": "RGB", "blue": "RGB"}  # Pillow's mode for each channel


def read_picture(address, mode, planes=()):
    """Read the picture at an address, as `decode_image`.

    Parameters
    ----------
    address : path or address, as in `address`
    mode : "L" or "RGB"
    planes : sequence of str, the plane of all files of a data set, unless the address chooses one

    Raises
    ------
    UnusableImage
        As `decode_image`; also if there is no such embryo, or it cannot be used.
    """
    file, chosen, number = split_address(address)
    turn, chosen = split_rotation(address, chosen)
    if number is None:
        return np.ascontiguousarray(decode_image(file, mode, chosen, tuple(planes))[turn])
    picture, candidates = _photograph(file, chosen, planes)
    if not 1 <= number <= len(candidates):
        n = len(candidates)
        raise unreadable_image_error(address, f"{n} things stand out from the background of the photograph")
    candidate = candidates[number - 1]
    if candidate.why_not:
        raise unreadable_image_error(address, candidate.why_not)
    cut = np.ascontiguousarray(cut_out_embryo(picture, candidate, candidates)[turn])
    return to_luma(cut) if cut.ndim == 3 and mode == "L" else cut


def read_embryo_candidates(address, planes=()):
    """Return a list of EmbryoCandidate: everything that stands out from the background of a photograph.

    Raises
    ------
    UnusableImage
        As `decode_image`; NoEmbryo if nothing stands out.
    """
    file, chosen, _ = split_address(address)
    return _photograph(file, split_rotation(address, chosen)[1], planes)[1]


def _photograph(file, chosen, planes):
    """Return the colours of a photograph and its EmbryoCandidates; each thread keeps the last photograph."""
    about = os.stat(file) if os.path.exists(file) else None
    stamp = about and (about.st_mtime_ns, about.st_size)
    return _last_photograph.decoded(file, chosen, tuple(planes), stamp)


class _LastPhotograph(threading.local):
    """The last photograph of each thread: its embryos are read one after the other."""

    def __init__(self):
        self.decoded = lru_cache(maxsize=1)(_decode_photograph)


def _decode_photograph(file, chosen, planes, stamp):
    """Decode a photograph, and find its EmbryoCandidates.

    stamp : distinguishes versions of the file, for the cache
    """
    picture = decode_image(file, "RGB", chosen, planes)
    height, width = picture.shape[:2]
    require_image_size(file, width, height, _SEARCH_BYTES[picture.ndim])
    return picture, find_embryos(picture)


_last_photograph = _LastPhotograph()


def read_grey(path, *, size_px=STANDARD_PX):
    """Read the grey levels of a whole picture, scaled to fit: float32 (height, width), from 0 (black) to 255.

    Parameters
    ----------
    path : path or address of the picture
    size_px : (height, width) of the result, in pixels

    Raises
    ------
    UnusableImage
        As `read_picture`.
    """
    return resize_to_fit(read_picture(path, "L"), size_px)


def read_embryo(path, options):
    """Read the picture of an embryo at the standard size, as grey levels, with warnings about its quality.

    The parameters, the first two results and the errors are those of `read_embryo_and_unevenness`.
    """
    return read_embryo_and_unevenness(path, options, measures=False)[:2]


def read_embryo_and_unevenness(path, options, *, measures=True):
    """Read the picture of an embryo, and measure the unevenness of its surface.

    Parameters
    ----------
    path : path of the picture, or its address as in `address`
    options : ExtractOptions
    measures : bool, whether the unevenness is measured

    Returns
    -------
    grey : float32 array of shape STANDARD_PX, of the channel in the options
    quality_warnings : str, separated by commas
        The warnings of `quality`, and "not registered" with the reason if no embryo was found.
    unevenness : `measure_unevenness` of the embryo; nan if the picture is grey or has none

    Raises
    ------
    UnusableImage
        As `read_picture`.
    """
    picture = read_picture(path, _MODES[options.channel], options.plane)
    warnings = picture_warnings(picture)
    if options.multiple_embryos:  # an embryo may be upright on its photograph
        warnings = tuple(warning for warning in warnings if warning != PORTRAIT)
    pose, why_not = _pose(picture, options)
    if pose:  # the pose is more exact than the small copy that `picture_warnings` measures
        warnings = tuple(warning for warning in warnings if warning != POSTERIOR_LEFT)
        if options.orient and abs(pose.axis_asymmetry) < _LEAST_ASYMMETRY:
            why_not = [EITHER_WAY]
        elif not options.orient and pose.axis_asymmetry <= -_LEAST_ASYMMETRY:
            why_not = [POSTERIOR_LEFT]
    grey = _at_standard_size(picture, pose, options)
    unevenness = measure_unevenness(grey) if measures and pose and grey.ndim == 3 else np.nan
    if grey.ndim == 3:
        grey = grey[..., 2] if options.channel == "blue" else separate_stain(grey)
    warnings = [*standard_warnings(grey), *warnings, *why_not]
    drawn = redraw_as_pattern(grey) if options.channel == "pattern" else grey
    return drawn, ", ".join(warnings), unevenness


def read_embryo_in_colour(path, options):
    """Read a picture for display, turned and scaled as by `read_embryo`: uint8 colours, or grey levels."""
    picture = read_picture(path, "RGB", options.plane)
    pose = _pose(picture, options)[0]
    if pose is None and picture.dtype == np.uint8 and picture.shape[:2] == STANDARD_PX:
        return picture
    return np.rint(_at_standard_size(picture, pose, options)).astype(np.uint8)


def _pose(picture, options):
    """Return the EmbryoPose of a picture and a list of warnings.

    The pose is None if the options ask for no registration, and if no embryo is found.
    """
    if options.register == "none":
        return None, []
    try:
        return find_pose(picture), []
    except NoEmbryo as error:
        return None, [describe_unregistered(error.reason)]


def _at_standard_size(picture, pose, options):
    """Return a picture at the standard size.

    Without a pose it is scaled to fit.  With an EmbryoPose it is turned, cut out, and mirrored if the
    options ask for it.
    """
    if pose is None:
        return resize_to_fit(picture, STANDARD_PX)
    framed = crop_embryo(picture, STANDARD_PX, pose)
    is_mirrored = options.orient and pose.axis_asymmetry <= -_LEAST_ASYMMETRY
    return np.ascontiguousarray(framed[:, ::-1]) if is_mirrored else framed

"""How a picture comes to its standard size: by the embryo that is found in it, or as it is."""

from functools import partial

from flyannot.descriptors.quality import PORTRAIT, picture_warnings
from flyannot.descriptors.registration import NoEmbryo, in_frame, pose_in_picture
from flyannot.descriptors.standard_image import fitted_to_standard


def placing(picture, *, options, warnings=None):
    """The function (array, size_px) that brings this picture, or another of its size, to the standard size.

    A picture in which no embryo is found is taken as it is.  The list `warnings` gets the reason, and what
    else may be wrong with the picture as it was taken.
    """
    if warnings is not None:
        found = picture_warnings(picture)  # as an embryo lies on a photograph, so is the box around it
        warnings += [one for one in found if one != PORTRAIT or not options.many]
    if options.register != "none":
        try:
            return partial(in_frame, pose=pose_in_picture(picture))
        except NoEmbryo as error:
            if warnings is not None:
                warnings.append(f"not registered: {error.reason}")
    return fitted_to_standard


def place(picture, size_px, *, options, warnings=None):
    """A picture at its standard size, for `flyannot.descriptors.picture.read_picture`."""
    return placing(picture, options=options, warnings=warnings)(picture, size_px)

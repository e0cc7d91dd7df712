"""The picture of an embryo for display: a JPEG with the outline of the embryo, which files store."""

import io

import numpy as np

from flyannot.files.hdf5.pictures import ShownPicture
from flyannot.images.geometry import STANDARD_PX
from flyannot.images.image_file import explain_decoding_errors
from flyannot.images.registration import find_outline
from flyannot.images.unreadable import unreadable_image_error

_QUALITY = 76  # of a JPEG
_STORED = "of a stored embryo"  # in messages


def draw_shown(view):
    """Return the ShownPicture of an EmbryoView."""
    return ShownPicture(encode_jpeg(view.shown), find_outline(view.shown))


def encode_jpeg(pixels):
    """Return pixels, uint8 (height, width) or (height, width, 3), as the bytes of a JPEG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=_QUALITY)
    return file.getvalue()


def decode_jpeg(content):
    """Return the pixels of a stored JPEG, uint8 (height, width) or (height, width, 3).

    Raises
    ------
    UnusableImage
        If it is not a JPEG of the standard size.
    """
    from PIL import Image

    with explain_decoding_errors(_STORED):
        picture = Image.open(io.BytesIO(content), formats=("JPEG",))
        if picture.size != STANDARD_PX[::-1]:
            raise unreadable_image_error(_STORED, f"it has {picture.width} x {picture.height} pixels")
        return np.asarray(picture)

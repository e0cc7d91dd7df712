"""The picture of an embryo for display, which files store: a JPEG, and the outline of the embryo."""

import io

import numpy as np

from flyannot.files.hdf5.pictures import ShownPicture, read_picture_row
from flyannot.files.hdf5.reading import damaged_file_error
from flyannot.images.geometry import STANDARD_PX
from flyannot.images.image_file import explain_decoding_errors
from flyannot.images.jpeg_data import SCAN, find_markers, open_jpeg
from flyannot.images.registration import find_outline
from flyannot.images.unreadable import UnusableImage, unreadable_image_error

_QUALITY = 76  # of a JPEG
_STORED = "of a stored embryo"  # in messages
_MARKERS = {0xE0, 0xDB, 0xC0, 0xC4, SCAN, 0xD9}  # of a JPEG without comments, with one scan
_MOST_HEAD_BYTES = 1000  # before the pixels; 623 in a JPEG with colours


def draw_shown(view):
    """Return the ShownPicture, a JPEG and an outline, of an EmbryoView."""
    return ShownPicture(encode_jpeg(view.shown), find_outline(view.shown))


def encode_jpeg(pixels):
    """Compress pixels, uint8 (height, width) or (height, width, 3), to the bytes of a JPEG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=_QUALITY)
    return file.getvalue()


def read_shown(stored, stage_range, row):
    """Read the ShownPicture of one image from an open file, and check it.

    No stored picture is decoded or put on a page before this check.

    stored : open StoredFile of pictures; stage_range : str, such as "4-6"; row : int, number of the image

    Raises
    ------
    DataError
        If the picture is not what was written, or not as `draw_shown` makes it.
    """
    shown = read_picture_row(stored, stage_range, row)
    try:
        _require_flyannot_jpeg(shown.jpeg)
        if not shown.outline.any():
            raise unreadable_image_error(_STORED, "its outline has no pixels")
    except UnusableImage as error:
        (name,) = stored.read_array(stage_range, "image", row, row + 1)
        what = f"{stage_range}: the picture of {name}: {error.reason}"
        raise damaged_file_error(stored.path, what, stored.kind) from error
    return shown


def _require_flyannot_jpeg(content):
    """Raise UnusableImage unless some bytes are a JPEG of the standard size as `encode_jpeg` writes it.

    The pixels are not decoded, which would take most of a report's time: the digest of the file covers them.
    """
    with explain_decoding_errors(_STORED):
        markers = list(find_markers(content))
        scans = [place for marker, place in markers if marker == SCAN]
        is_own = len(scans) == 1 and scans[0] < _MOST_HEAD_BYTES and {mark for mark, _ in markers} == _MARKERS
        if not is_own or markers[-1][1] + 2 != len(content):
            raise unreadable_image_error(_STORED, "not a JPEG that flyannot writes")
        with open_jpeg(content) as picture:
            if picture.size != STANDARD_PX[::-1] or picture.mode not in ("L", "RGB"):
                kind = f"{picture.width} x {picture.height} pixels of the kind {picture.mode}"
                raise unreadable_image_error(_STORED, f"it has {kind}")


def decode_jpeg(content, least_px=STANDARD_PX):
    """Decode the JPEG of a ShownPicture: return its pixels, uint8 (height, width) or (height, width, 3).

    content : bytes of the JPEG
    least_px : (height, width), the smallest size at which it may be decoded: whole, a half or a quarter
        A smaller size takes a third of the time.
    """
    with explain_decoding_errors(_STORED), open_jpeg(content) as picture:
        picture.draft(None, least_px[::-1])
        return np.asarray(picture)

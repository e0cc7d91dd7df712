"""Small pictures for the page: embryos, patches, and maps of contributions."""

import base64
import io
from functools import partial

import numpy as np

from flyannot.descriptors.extract import place
from flyannot.descriptors.standard_image import SIZE_PX, read_picture

CELL_PX = 8  # the side of a cell of a map
_QUALITY = 76


def embryo_jpeg(path, options):
    """An embryo at the standard size, placed as when it was described, in colour where the file has it.

    Parameters
    ----------
    path : Path of the picture
    options : flyannot.descriptors.extract.ExtractOptions

    Returns
    -------
    jpeg : bytes

    Raises
    ------
    flyannot.descriptors.image_file.UnreadableImage
        As `flyannot.descriptors.standard_image.read_picture`.
    """
    picture = read_picture(path, "RGB", place=partial(place, options=options))
    return jpeg(np.rint(picture).astype(np.uint8))


def jpeg(pixels):
    """Pixels, uint8 (height, width) or (height, width, 3), as the bytes of a JPEG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=_QUALITY, optimize=True)
    return file.getvalue()


def as_url(jpeg_bytes):
    """A JPEG as the text that stands for it in a page."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg_bytes).decode()}"


def coarse_map(spread):
    """A map of contributions in cells of CELL_PX pixels, float array; the sum stays."""
    rows, columns = SIZE_PX[0] // CELL_PX, SIZE_PX[1] // CELL_PX
    return spread.reshape(rows, CELL_PX, columns, CELL_PX).sum(axis=(1, 3))


def packed_map(cells, full):
    """Cells as text: base64 of one signed byte each, 127 for `full`."""
    levels = np.clip(np.rint(cells / full * 127), -127, 127).astype(np.int8)
    return base64.b64encode(levels.tobytes()).decode()

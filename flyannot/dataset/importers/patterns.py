"""The patterns of Wu et al. 2016: checked arrays, and pictures of dark stain on a light grey body.

patterns (n_images, n_pixels) float in [0, 1], mask (16, 32) bool with n_pixels True, which each pattern fills
column by column, and image_id, gene and fbgn, text (n_images,); from an npz
file nothing is unpickled.  The pictures are interpolated by cubic splines: their scores were measured so.
"""

import re
import zipfile
from pathlib import Path

import numpy as np

from flyannot.errors import DataError, InputError
from flyannot.runtime.wording import pluralise

GRID = (16, 32)
_TEXTS = ("image_id", "gene", "fbgn")
_ARRAYS = ("patterns", "mask", *_TEXTS)
_MOST_BYTES = 2**30  # unpacked; the published file has 3 MB
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
BLOCK_PX = (8, 10)  # of the picture, for each pixel of a pattern
BODY_GREY = 180  # of unstained body, as in many real pictures: the outline tells a patch where it lies
_FIX = "use the patterns.npz of the data set, or make it again"


def is_npz(path):
    """Whether a file begins as npz files do, or is called one."""
    with open(path, "rb") as file:
        return file.read(4) == b"PK\x03\x04" or Path(path).suffix == ".npz"


def read_patterns(path):
    """The checked arrays of an npz file, by name.

    Raises
    ------
    InputError
        If there is no such file.
    DataError
        If it is no npz file, or an array is missing or not as it should be.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no such file: {path}", fix="name the patterns.npz of the data set")
    try:
        arrays = _unpacked(path)
    except DataError:
        raise
    except Exception as error:  # a damaged header raises whatever Python's tokenizer does
        raise DataError(f"{path} is no readable npz file: {error}", fix=_FIX) from error
    return checked_patterns(path, arrays)


def checked_patterns(path, arrays):
    """The arrays, if nothing is wrong with them; DataError names the file and the array."""
    fault = next((f'the array "{name}" is missing' for name in _ARRAYS if name not in arrays), None)
    fault = fault or _pattern_fault(arrays["patterns"], arrays["mask"]) or _text_fault(arrays)
    if fault:
        raise DataError(f"{path}: {fault}", fix=_FIX)
    return arrays


def _unpacked(path):
    with zipfile.ZipFile(path) as archive:
        n_bytes = sum(member.file_size for member in archive.infolist())
    if n_bytes > _MOST_BYTES:
        raise DataError(f"{path} would unpack to {n_bytes:,} bytes", fix=_FIX)
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in _ARRAYS if name in archive}


def _pattern_fault(patterns, mask):
    if mask.dtype != bool or mask.shape != GRID:
        return f'the array "mask" is {mask.dtype} {mask.shape}, not bool {GRID}'
    n_pixels = int(mask.sum())
    if n_pixels == 0:
        return 'the array "mask" is False everywhere'
    if patterns.dtype.kind != "f" or patterns.ndim != 2 or patterns.shape[1] != n_pixels:
        return f'the array "patterns" is {patterns.dtype} {patterns.shape}, not float (n_images, {n_pixels})'
    bad = ~((patterns >= 0) & (patterns <= 1)).all(axis=1)  # NaN fails both
    if bad.any():
        rows = pluralise(bad.sum(), 'row of "patterns" holds', 'rows of "patterns" hold')
        return f"{rows} NaN or values outside [0, 1], first row {bad.argmax()}"
    return ""


def _text_fault(arrays):
    n_images = len(arrays["patterns"])
    for name in _TEXTS:
        texts = arrays[name]
        if texts.dtype.kind != "U" or texts.shape != (n_images,):
            return f'the array "{name}" is {texts.dtype} {texts.shape}, not text ({n_images},)'
    image_ids = arrays["image_id"].tolist()
    unsafe = next((image_id for image_id in image_ids if not _SAFE_NAME.fullmatch(image_id)), None)
    if unsafe is not None:
        return f'"{unsafe}" in the array "image_id" cannot be a file name'
    if len({image_id.lower() for image_id in image_ids}) < n_images:
        return 'the array "image_id" names an image twice'
    return "" if all(arrays["gene"].tolist()) else 'the array "gene" has an empty entry'


def render_patterns(patterns, mask):
    """Each pattern as a picture.

    A pattern is continued outside the mask before it is interpolated, so that it does not fade towards
    the outline; an interpolated mask then cuts the body out.

    Parameters
    ----------
    patterns : float array (n_images, n_pixels) in [0, 1]
        0 unstained, 1 black; a row fills the True places of `mask`, column by column.
    mask : bool array (16, 32)

    Yields
    ------
    picture : uint8 array (128, 320)
        The mean over a block of 8 x 10 px inside the body is BODY_GREY (1 - value), nearly.
    """
    from scipy import ndimage

    body = body_of(mask)
    nearest = tuple(ndimage.distance_transform_edt(~mask, return_distances=False, return_indices=True))
    grid = np.zeros(mask.shape)
    for pattern in patterns:
        grid.T[mask.T] = pattern
        smoothed = ndimage.uniform_filter(grid[nearest], 3, mode="nearest")
        continued = np.where(mask, grid, smoothed)  # no steps where two rim pixels meet outside
        light = 1 - np.clip(_enlarged(continued), 0, 1)
        yield np.rint(255 + body * (BODY_GREY * light - 255)).astype("u1")


def body_of(mask):
    """How much of each pixel of a picture is body, in [0, 1]: the staircase of the mask made smooth."""
    from scipy import ndimage

    padded = np.pad(mask.astype(float), 2)  # the body touches the edge of the grid: it ends there
    enlarged = ndimage.gaussian_filter(_enlarged(padded), (5.0, 6.25))
    rows, columns = (2 * px for px in BLOCK_PX)
    return np.clip((enlarged[rows:-rows, columns:-columns] - 0.36) / 0.2, 0, 1)


def _enlarged(grid):
    """Cubic interpolation between the middles of the blocks, to the size of the picture."""
    from scipy import ndimage

    return ndimage.zoom(grid, BLOCK_PX, order=3, mode="nearest", grid_mode=True)

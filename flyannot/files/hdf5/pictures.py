"""The writer and reader of NAME-pictures.h5: every embryo as a page shows it.

It stands beside the file NAME.h5 that was made from the pictures, so that no other command opens them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from flyannot.files.hdf5.header import image_digest
from flyannot.files.hdf5.schema import MAP_CELLS, OUTLINE_PX
from flyannot.files.hdf5.writing import write_array


class ShownPicture(NamedTuple):
    """The picture of one embryo for display.

    jpeg : bytes
    outline : bool array of shape OUTLINE_PX, the pixels inside the outline of the embryo
    maps : dict, term -> (numbers, cells) of its `TermMap`, of the terms that were predicted from the picture
    stage_odds : the probabilities of stage ranges, such as "4-6 98%"; "" if unknown
    """

    jpeg: bytes
    outline: np.ndarray
    maps: Mapping = MappingProxyType({})
    stage_odds: str = ""


def pictures_path(path):
    """Return the Path of the file of pictures that belongs to the file at a path."""
    return path.with_name(f"{path.stem}-pictures{path.suffix}")


def write_pictures(file, stage_range, columns, shown):
    """Add the pictures of the images of one stage range to a new file of pictures.

    Parameters
    ----------
    file : open h5py file
    stage_range : str
    columns : dict of lists, the columns of the images
    shown : list of ShownPicture, one for each image
    """
    group = file.create_group(stage_range)
    for name in ("image", "picture_digest"):
        write_array(group, name, columns[name])
    jpegs = [np.frombuffer(one.jpeg, np.uint8) for one in shown]
    write_array(group, "jpeg", np.concatenate(jpegs))
    write_array(group, "first", np.cumsum([0, *map(len, jpegs)]), dtype="i8")
    write_array(group, "content", np.stack([image_digest(jpeg) for jpeg in jpegs]))
    write_array(group, "stage_odds", [one.stage_odds for one in shown])
    write_array(group, "outline", np.packbits([one.outline.ravel() for one in shown], axis=1))
    maps = [(term, *drawn) for one in shown for term, drawn in one.maps.items()]
    write_array(group, "map_first", np.cumsum([0, *(len(one.maps) for one in shown)]), dtype="i8")
    write_array(group, "map_term", [term for term, _, _ in maps])
    write_array(group, "map_numbers", np.reshape([numbers for _, numbers, _ in maps], (-1, 5)), dtype="f8")
    cells = np.reshape([cells.ravel() for _, _, cells in maps], (-1, MAP_CELLS[0] * MAP_CELLS[1]))
    write_array(group, "map_cells", cells, dtype="i1")


def read_picture_row(stored, stage_range, row):
    """Read the ShownPicture of one image from an open file of pictures.

    Raises
    ------
    DataError
        If the picture is not what was written.
    """
    (jpeg,) = stored.read_image_rows(stage_range, row, row + 1)
    outline = stored.read_array(stage_range, "outline", row, row + 1)[0]
    (odds,) = stored.read_array(stage_range, "stage_odds", row, row + 1)
    first, stop = stored.read_once(stage_range, "map_first")[row : row + 2].tolist()
    terms, numbers, cells = (
        stored.read_array(stage_range, name, first, stop) if stop > first else ()
        for name in ("map_term", "map_numbers", "map_cells")
    )
    maps = dict(zip(terms, zip(numbers, np.reshape(cells, (-1, *MAP_CELLS)))))
    n_pixels = OUTLINE_PX[0] * OUTLINE_PX[1]
    mask = np.unpackbits(outline, count=n_pixels).astype(bool).reshape(OUTLINE_PX)
    return ShownPicture(jpeg.tobytes(), mask, maps, odds)

"""The maps of patterns: for each stage range a sheet of small pictures, one a group, and where each lies.

The page's script cuts the pictures from the sheet, which it loads when a map is looked at.
"""

import io
import json

import numpy as np

from flyannot.report.pictures import jpeg

SMALL_PX = (32, 80)  # height and width of a picture
N_IN_ROW = 40
_FINE = 9999  # places are whole numbers from 0 to this
_NO_PICTURE = 238  # grey


class PatternMaps:
    """Collects the groups of a page that have a place on a map, stage range by stage range."""

    def __init__(self):
        self._found = {}

    def add(self, number, entry, jpeg_bytes):
        """Take a group, by its number on the page, with the JPEG of its first picture, or None."""
        if entry.place is not None:
            place = [round(_FINE * x) for x in entry.place]
            self._found.setdefault(entry.stage_range, []).append((number, place, _small(jpeg_bytes)))

    def maps(self):
        """(stage range, JPEG of its sheet, JSON of what the script needs) of every map."""
        for stage_range, found in self._found.items():
            numbers, places, pictures = zip(*found)
            text = json.dumps({"groups": numbers, "places": places}, separators=(",", ":"))
            yield stage_range, jpeg(_sheet(pictures)), text


def _small(jpeg_bytes):
    """A picture at SMALL_PX, uint8 (height, width, 3)."""
    from PIL import Image

    if not jpeg_bytes:
        return np.full((*SMALL_PX, 3), _NO_PICTURE, np.uint8)
    with Image.open(io.BytesIO(jpeg_bytes)) as picture:
        picture.draft("RGB", (2 * SMALL_PX[1], 2 * SMALL_PX[0]))  # it need not decode more
        small = picture.convert("RGB").resize(SMALL_PX[::-1], Image.Resampling.BILINEAR, reducing_gap=2)
    return np.asarray(small)


def _sheet(pictures):
    height, width = SMALL_PX
    n_columns = min(N_IN_ROW, len(pictures))
    sheet = np.full((-(-len(pictures) // n_columns) * height, n_columns * width, 3), _NO_PICTURE, np.uint8)
    for number, picture in enumerate(pictures):
        row, column = divmod(number, n_columns)
        sheet[row * height : (row + 1) * height, column * width : (column + 1) * width] = picture
    return sheet

"""What the page draws: charts over the unit square as inline SVG, embryos as JPEG, maps as text.

The places of a chart are computed here, a template draws them, and colours stand in the page's style sheet.
"""

import base64
import io

import numpy as np

from flyannot.images.picture import read_embryo_in_colour
from flyannot.report.templates import render

CELL_PX = 8  # the side of a cell of a map
_QUALITY = 76
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 328, 12, 254  # of a chart, in pixels


def jpeg_for_page(path, options):
    """An embryo at the standard size, placed as when it was described, in colour where the file has it: the
    bytes of a JPEG.  Errors are those of `flyannot.images.picture.read_embryo_in_colour`.
    """
    return jpeg(read_embryo_in_colour(path, options))


def jpeg(pixels):
    """Pixels, uint8 (height, width) or (height, width, 3), as the bytes of a JPEG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=_QUALITY, optimize=True)
    return file.getvalue()


def picture_as_data_url(jpeg_bytes):
    """A JPEG as the text that stands for it in a page."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg_bytes).decode()}"


def packed_map(cells, full):
    """Cells as text: base64 of one signed byte each, 127 for `full`."""
    levels = np.clip(np.rint(cells / full * 127), -127, 127).astype(np.int8)
    return base64.b64encode(levels.tobytes()).decode()


def curve_chart(heights, low, high, xs, x_name, y_name, *, summary, chance):
    """Draw heights over `xs` with a band from low to high as HTML; all numbers are within [0, 1].

    Parameters
    ----------
    x_name, y_name : what stands at the axes
    summary : what a screen reader reads instead
    chance : the heights of guessing at both ends
    """
    outline = _points(np.concatenate([xs, xs[::-1]]), np.concatenate([high, low[::-1]]))
    lines = [("chance", _points([0, 1], chance)), ("curve", _points(xs, heights))]
    return _chart(x_name, y_name, summary, lines, band=outline)


def reliability_chart(predicted, observed, *, summary):
    """Draw the fraction of true answers over their mean probability as HTML: a dot for every bin."""
    dots = [(_x(x), _y(y), f"{y:.2f} true, {x:.2f} predicted") for x, y in zip(predicted, observed)]
    lines = [("chance", _points([0, 1], [0, 1])), ("curve", _points(predicted, observed))]
    return _chart("probability given", "fraction true", summary, lines, dots=dots)


def _chart(x_name, y_name, summary, lines, *, band="", dots=()):
    ticks = [(_x(number), _y(number), f"{number:.1f}") for number in np.linspace(0, 1, 6)]
    named = {"x_name": x_name, "y_name": y_name, "summary": summary, "ticks": ticks}
    ends = {"left": _LEFT, "right": _RIGHT, "top": _TOP, "bottom": _BOTTOM}
    return render("chart.svg", **named, **ends, lines=lines, band=band, dots=dots)


def _x(number):
    return round(float(_LEFT + number * (_RIGHT - _LEFT)), 1)


def _y(number):
    return round(float(_BOTTOM + number * (_TOP - _BOTTOM)), 1)


def _points(xs, ys):
    """Return the words of a polyline, without points that are nan."""
    return " ".join(f"{_x(x)},{_y(y)}" for x, y in zip(xs, ys) if np.isfinite(x + y))

"""Drawings of the page: charts over the unit square as inline SVG, embryos as JPEG, and maps as text.

The places of a chart are computed here. A template draws them, and the style sheet of the page has colours.
"""

import base64
import io

import numpy as np

from flyannot.images.picture import read_embryo_in_colour
from flyannot.report.templates import render

CELL_PX = 8  # the side of a cell of a map
_QUALITY = 76  # of a JPEG
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 328, 12, 254  # edges of a chart in pixels


def encode_embryo(path, options):
    """Return an embryo as the bytes of a JPEG, at the standard size and in colour if the file has colour.

    `options` are the ExtractOptions by which the embryo is placed. Raises the errors of
    `read_embryo_in_colour`.
    """
    return encode_jpeg(read_embryo_in_colour(path, options))


def encode_jpeg(pixels):
    """Return pixels, uint8 (height, width) or (height, width, 3), as the bytes of a JPEG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=_QUALITY, optimize=True)
    return file.getvalue()


def to_data_url(jpeg_bytes):
    """Return a JPEG as a URL that holds the whole picture."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg_bytes).decode()}"


def pack_map(cells, full):
    """Return the cells of a map in base64, one signed byte each; the value `full` becomes 127."""
    levels = np.clip(np.rint(cells / full * 127), -127, 127).astype(np.int8)
    return base64.b64encode(levels.tobytes()).decode()


def draw_curve(heights, low, high, xs, x_name, y_name, *, summary, chance):
    """Draw a curve over `xs` with its band from `low` to `high`; return HTML. All numbers are in [0, 1].

    Parameters
    ----------
    x_name, y_name : names of the axes
    summary : the text that a screen reader reads instead
    chance : heights of guessing at both ends
    """
    outline = _points(np.concatenate([xs, xs[::-1]]), np.concatenate([high, low[::-1]]))
    lines = [("chance", _points([0, 1], chance)), ("curve", _points(xs, heights))]
    return _draw(x_name, y_name, summary, lines, band=outline)


def draw_reliability(predicted, observed, *, summary):
    """Draw the fraction of true answers over their mean probability, a dot for every bin; return HTML."""
    dots = [(_x(x), _y(y), f"{y:.2f} true, {x:.2f} predicted") for x, y in zip(predicted, observed)]
    lines = [("chance", _points([0, 1], [0, 1])), ("curve", _points(predicted, observed))]
    return _draw("probability given", "fraction true", summary, lines, dots=dots)


def _draw(x_name, y_name, summary, lines, *, band="", dots=()):
    ticks = [(_x(number), _y(number), f"{number:.1f}") for number in np.linspace(0, 1, 6)]
    named = {"x_name": x_name, "y_name": y_name, "summary": summary, "ticks": ticks}
    ends = {"left": _LEFT, "right": _RIGHT, "top": _TOP, "bottom": _BOTTOM}
    return render("chart.svg", **named, **ends, lines=lines, band=band, dots=dots)


def _x(number):
    return round(float(_LEFT + number * (_RIGHT - _LEFT)), 1)


def _y(number):
    return round(float(_BOTTOM + number * (_TOP - _BOTTOM)), 1)


def _points(xs, ys):
    """Return the points of a polyline as SVG writes them, without points that are nan."""
    return " ".join(f"{_x(x)},{_y(y)}" for x, y in zip(xs, ys) if np.isfinite(x + y))

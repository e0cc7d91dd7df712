"""Drawings of the report: charts as inline SVG, embryos as JPEG, and contribution maps as base64 text.

Coordinates of a chart are computed here. A template draws the chart, and the style sheet sets its colours.
"""

import base64

import numpy as np

from flyannot.images.geometry import load_opencv
from flyannot.report.templates import render

_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 328, 12, 254  # edges of a chart in pixels


def trace_outline(mask):
    """Trace the outline of an embryo, a bool array, as a CSS polygon; "" if no embryo is found."""
    cv2 = load_opencv()
    if mask.all():
        return ""
    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    corners = cv2.approxPolyDP(contours[0], 0.7, closed=True)[:, 0]
    places = 100 * (corners + 0.5) / mask.shape[::-1]  # per cent of the width and of the height
    return f"polygon({','.join(f'{x:.1f}% {y:.1f}%' for x, y in places)})"


def to_data_url(jpeg_bytes):
    """Convert JPEG bytes to a data URL, which embeds the picture in HTML."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg_bytes).decode()}"


def pack_map(cells):
    """Return a map of contributions, an int8 array, as base64 text."""
    return base64.b64encode(cells.tobytes()).decode()


def draw_curve(heights, low, high, xs, x_name, y_name, *, summary, chance):
    """Draw a curve with its confidence band as an SVG chart. Returns HTML.

    Parameters
    ----------
    heights, low, high : float arrays (n,), in [0, 1]
        The curve, and the lower and upper limit of its band, at `xs`.
    xs : float array (n,), in [0, 1]
    x_name, y_name : str, labels of the axes
    summary : str, the text for screen readers
    chance : pair of float
        Heights at x = 0 and x = 1 of the line that random guessing gives.
    """
    outline = _points(np.concatenate([xs, xs[::-1]]), np.concatenate([high, low[::-1]]))
    lines = [("chance", _points([0, 1], chance)), ("curve", _points(xs, heights))]
    return _draw(x_name, y_name, summary, lines, band=outline)


def draw_reliability(predicted, observed, *, summary):
    """Draw a reliability curve as an SVG chart, with a dot for every bin. Returns HTML.

    Parameters
    ----------
    predicted, observed : float arrays (n_bins,), in [0, 1]
        Mean probability (x) and fraction of positives (y) of every bin.
    summary : str, the text for screen readers
    """
    dots = [(_x(x), _y(y), f"{y:.2f} true, {x:.2f} predicted") for x, y in zip(predicted, observed)]
    lines = [("chance", _points([0, 1], [0, 1])), ("curve", _points(predicted, observed))]
    return _draw("probability given", "fraction true", summary, lines, dots=dots)


def _draw(x_name, y_name, summary, lines, *, band="", dots=()):
    """Render a chart as SVG from coordinates in SVG units: polylines, the outline of a band, and dots."""
    ticks = [(_x(number), _y(number), f"{number:.1f}") for number in np.linspace(0, 1, 6)]
    named = {"x_name": x_name, "y_name": y_name, "summary": summary, "ticks": ticks}
    ends = {"left": _LEFT, "right": _RIGHT, "top": _TOP, "bottom": _BOTTOM}
    return render("chart.svg", **named, **ends, lines=lines, band=band, dots=dots)


def _x(number):
    """Convert a number in [0, 1] to the horizontal SVG coordinate of a chart."""
    return round(float(_LEFT + number * (_RIGHT - _LEFT)), 1)


def _y(number):
    """Convert a number in [0, 1] to the vertical SVG coordinate of a chart."""
    return round(float(_BOTTOM + number * (_TOP - _BOTTOM)), 1)


def _points(xs, ys):
    """Format coordinates as the `points` attribute of an SVG polyline, and skip points that are nan."""
    return " ".join(f"{_x(x)},{_y(y)}" for x, y in zip(xs, ys) if np.isfinite(x + y))

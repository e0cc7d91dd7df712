"""What the page draws: line charts as inline SVG, embryos and patches as JPEG, maps, and glyphs of atoms.

Of charts and glyphs the places are computed here, the drawing is a template, and colours stand in the page's
style sheet.  A glyph has 4 x 4 cells, and in each a ray for every one of 8 directions.
"""

import base64
import io

import numpy as np

from flyannot.images.picture import read_embryo_in_colour
from flyannot.report.templates import render

_TENTHS = np.linspace(0, 1, 6)  # of an axis
CELL_PX = 8  # the side of a cell of a map
_QUALITY = 76
_CELL, _REACH = 16, 7.5  # side of a cell and length of the longest ray
_LEAST = 0.12  # of the largest number; shorter rays are left out
_UNIT = np.array([(np.cos(a), -np.sin(a)) for a in np.arange(8) * np.pi / 4])  # upwards is -y on a page


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


def atom_glyph(atom, summary):
    """One atom as SVG; rays of numbers above zero (more gradient than the mean) and below in two classes.

    Parameters
    ----------
    atom : float array (128,), cell by cell in row-major order, 8 directions from right towards up
    summary : the sentence that a screen reader reads instead
    """
    largest = np.abs(atom).max() or 1.0
    paths = {"above": [], "below": []}
    for k in np.flatnonzero(np.abs(atom) >= _LEAST * largest):
        cell, direction = divmod(int(k), 8)
        x, y = (cell % 4 + 0.5) * _CELL, (cell // 4 + 0.5) * _CELL
        dx, dy = _REACH * abs(atom[k]) / largest * _UNIT[direction]
        paths["above" if atom[k] > 0 else "below"].append(f"M{x:g} {y:g}l{dx:.1f} {dy:.1f}")
    return render("glyph.svg", side=4 * _CELL, summary=summary, paths=paths)


class Chart:
    """A plotting area with axes, and what is drawn in it; all places in pixels.

    xs, ys : the numbers at the axes; summary : what a screen reader reads instead
    bands : outlines; lines : (class, points, name); dots : (x, y, low, high, title)
    labels : (class, x, y, text)
    """

    left, top, height = 60, 12, 300

    def __init__(self, x_name, y_name, summary, *, xs=_TENTHS, ys=_TENTHS, width=340):
        self.x_name, self.y_name, self.summary, self.width = x_name, y_name, summary, width
        self.right, self.bottom = width - 12, self.height - 46
        self._x_ends, self._y_ends = (xs[0], xs[-1]), (ys[0], ys[-1])
        self.x_ticks = [(self.x(number), f"{number:.4g}") for number in xs]
        self.y_ticks = [(self.y(number), f"{number:.4g}") for number in ys]
        self.bands, self.lines, self.dots, self.labels = [], [], [], []

    def x(self, number):
        """Pixels from the left."""
        return round(float(np.interp(number, self._x_ends, (self.left, self.right))), 1)

    def y(self, number):
        """Pixels from the top."""
        return round(float(np.interp(number, self._y_ends, (self.bottom, self.top))), 1)

    def points(self, xs, ys):
        """The words of a polyline; what is nan is left out."""
        return " ".join(f"{self.x(x)},{self.y(y)}" for x, y in zip(xs, ys) if np.isfinite(x + y))

    def svg(self):
        """The chart as HTML."""
        return render("chart.svg", c=self)


def curve_chart(heights, low, high, xs, *, x_name, y_name, summary, chance):
    """Draw heights over `xs` with a band from low to high, within [0, 1] x [0, 1], as HTML.

    `chance` are the heights of guessing at both ends; the other arguments are as in `Chart`.
    """
    chart = Chart(x_name, y_name, summary)
    chart.lines.append(("chance", chart.points((0, 1), chance), ""))
    outline = np.concatenate([xs, xs[::-1]]), np.concatenate([high, low[::-1]])
    chart.bands.append(chart.points(*outline))
    chart.lines.append(("curve", chart.points(xs, heights), ""))
    return chart.svg()


def reliability_chart(bins, *, summary):
    """A `Reliability`: a dot and an interval for every bin with answers, as HTML."""
    chart, shown = Chart("probability given", "fraction true", summary), np.flatnonzero(bins.counts)
    chart.lines.append(("chance", chart.points((0, 1), (0, 1)), ""))
    chart.lines.append(("curve", chart.points(bins.predicted[shown], bins.observed[shown]), ""))
    for k in shown:
        title = f"{bins.observed[k]:.2f} of {bins.counts[k]:,} true, {bins.predicted[k]:.2f} predicted"
        heights = (chart.y(heights[k]) for heights in (bins.observed, bins.low, bins.high))
        chart.dots.append((chart.x(bins.predicted[k]), *heights, title))
    return chart.svg()


def trace_chart(lines, *, x_name, y_name, summary):
    """Some series on common axes, as HTML; `lines` is a dict from name to (xs, ys)."""
    xs, ys = (np.concatenate([np.asarray(line[k], float) for line in lines.values()]) for k in (0, 1))
    numbers = {"xs": _ticks(xs.min(), xs.max(), whole=True), "ys": _ticks(ys.min(), ys.max())}
    chart = Chart(x_name, y_name, summary, width=520, **numbers)
    for number, (name, (x, y)) in enumerate(lines.items()):
        kind = f"series series-{number % 6}"
        chart.lines.append((kind, chart.points(x, y), name))
        chart.labels.append((kind, round(chart.x(x[-1]) - 4, 1), round(chart.y(y[-1]) - 6, 1), name))
    return chart.svg()


def _ticks(low, high, *, whole=False):
    """About five round numbers around [low, high]."""
    span = max(high - low, 1 if whole else abs(high) * 1e-3 or 1.0)
    step = 10 ** np.floor(np.log10(span / 4))
    step *= next(m for m in (1, 2, 5, 10) if span / (m * step) <= 6)
    step = max(step, 1) if whole else step
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return np.arange(first, max(last, first + 1) + 0.5) * step

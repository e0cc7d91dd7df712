"""Line charts as inline SVG: places here, the drawing in a template, colours in the page's style sheet."""

import numpy as np

from flyannot.report.templates import render

_TENTHS = np.linspace(0, 1, 6)


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


def curve_chart(curve, xs, *, x_name, y_name, summary, chance):
    """One curve with its band over [0, 1] x [0, 1], as HTML.

    Parameters
    ----------
    curve : flyannot.report.curves.Curve over `xs`
    x_name, y_name : the words at the axes
    summary : the sentence that a screen reader reads instead
    chance : the heights of guessing at both ends
    """
    chart = Chart(x_name, y_name, summary)
    chart.lines.append(("chance", chart.points((0, 1), chance), ""))
    outline = np.concatenate([xs, xs[::-1]]), np.concatenate([curve.high, curve.low[::-1]])
    chart.bands.append(chart.points(*outline))
    chart.lines.append(("curve", chart.points(xs, curve.y), ""))
    return chart.svg()


def reliability_chart(found, *, summary):
    """Observed against predicted, a dot and an interval for every bin that is not empty, as HTML."""
    chart, shown = Chart("probability given", "fraction true", summary), np.flatnonzero(found.counts)
    for kind, xs, ys in (
        ("chance", (0, 1), (0, 1)), ("curve", found.predicted[shown], found.observed[shown]),
    ):  # fmt: skip
        chart.lines.append((kind, chart.points(xs, ys), ""))
    for k in shown:
        title = f"{found.observed[k]:.2f} of {found.counts[k]:,} true, {found.predicted[k]:.2f} predicted"
        heights = (chart.y(heights[k]) for heights in (found.observed, found.low, found.high))
        chart.dots.append((chart.x(found.predicted[k]), *heights, title))
    return chart.svg()


def trace_chart(lines, *, x_name, y_name, summary):
    """Some series on common axes, as HTML; `lines` is a dict from name to (xs, ys)."""
    xs, ys = (np.concatenate([np.asarray(one[k], float) for one in lines.values()]) for k in (0, 1))
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

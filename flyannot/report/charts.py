"""Line charts as inline SVG: text by the page's fonts, colours by its style sheet."""

from html import escape

import numpy as np

_WIDTH, _HEIGHT = 340, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 12, 12, 46


class Frame:
    """A plotting area: x and y limits, and the way from numbers to pixels."""

    def __init__(self, x_limits, y_limits, width=_WIDTH):
        self.x_limits, self.y_limits, self.width = x_limits, y_limits, width

    def x(self, value):
        """Pixels from the left."""
        low, high = self.x_limits
        return _LEFT + (value - low) / (high - low) * (self.width - _LEFT - _RIGHT)

    def y(self, value):
        """Pixels from the top."""
        low, high = self.y_limits
        return _HEIGHT - _BOTTOM - (value - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    def points(self, xs, ys):
        """The words of a polyline; what is nan is left out."""
        pairs = zip(np.atleast_1d(xs), np.atleast_1d(ys))
        return " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in pairs if np.isfinite(x + y))


def curve_chart(curve, xs, *, x_name, y_name, says, chance=None):
    """One curve with its band over [0, 1] x [0, 1].

    Parameters
    ----------
    curve : flyannot.report.curves.Curve over `xs`
    x_name, y_name : the words at the axes
    says : the sentence that a screen reader reads instead
    chance : None, "diagonal", or the height of guessing
    """
    frame = Frame((0, 1), (0, 1))
    ends = {None: None, "diagonal": (0, 1)}.get(chance, (chance, chance))
    parts = [_axes(frame, x_name, y_name, _TENTHS, _TENTHS)]
    if ends:
        parts.append(f'<polyline class="chance" points="{frame.points((0, 1), ends)}"/>')
    outline = frame.points(np.concatenate([xs, xs[::-1]]), np.concatenate([curve.high, curve.low[::-1]]))
    parts.append(f'<polygon class="band" points="{outline}"/>')
    parts.append(f'<polyline class="curve" points="{frame.points(xs, curve.y)}"/>')
    return _svg(frame, parts, says)


def reliability_chart(found, *, says):
    """Observed against predicted, a dot and an interval for every bin that is not empty."""
    frame = Frame((0, 1), (0, 1))
    parts = [_axes(frame, "probability given", "fraction true", _TENTHS, _TENTHS)]
    parts.append(f'<polyline class="chance" points="{frame.points((0, 1), (0, 1))}"/>')
    shown = np.flatnonzero(found.counts)
    parts.append(
        f'<polyline class="curve" points="{frame.points(found.predicted[shown], found.observed[shown])}"/>'
    )
    for k in shown:
        x = f"{frame.x(found.predicted[k]):.1f}"
        ends = f'y1="{frame.y(found.low[k]):.1f}" y2="{frame.y(found.high[k]):.1f}"'
        said = f"{found.observed[k]:.2f} of {found.counts[k]:,} true, {found.predicted[k]:.2f} predicted"
        parts.append(
            f'<line class="interval" x1="{x}" x2="{x}" {ends}/><circle class="dot" cx="{x}" '
            f'cy="{frame.y(found.observed[k]):.1f}" r="4"><title>{said}</title></circle>'
        )
    return _svg(frame, parts, says)


def trace_chart(lines, *, x_name, y_name, says):
    """Some series on common axes.

    Parameters
    ----------
    lines : dict from name to (xs, ys)
    """
    xs = np.concatenate([np.asarray(one[0], float) for one in lines.values()])
    ys = np.concatenate([np.asarray(one[1], float) for one in lines.values()])
    x_ticks, y_ticks = _ticks(xs.min(), xs.max(), whole=True), _ticks(ys.min(), ys.max())
    frame = Frame((x_ticks[0], x_ticks[-1]), (y_ticks[0], y_ticks[-1]), width=520)
    parts = [_axes(frame, x_name, y_name, x_ticks, y_ticks)]
    for number, (name, (x, y)) in enumerate(lines.items()):
        kind = f"series series-{number % 6}"
        parts.append(
            f'<polyline class="{kind}" points="{frame.points(x, y)}"><title>{escape(name)}</title></polyline>'
        )
        at = f'x="{frame.x(x[-1]) - 4:.1f}" y="{frame.y(y[-1]) - 6:.1f}"'
        parts.append(f'<text class="name {kind}" text-anchor="end" {at}>{escape(name)}</text>')
    return _svg(frame, parts, says)


_TENTHS = np.linspace(0, 1, 6)


def _ticks(low, high, *, whole=False):
    """About five round numbers around [low, high]."""
    span = max(high - low, 1 if whole else abs(high) * 1e-3 or 1.0)
    step = 10 ** np.floor(np.log10(span / 4))
    step *= next(m for m in (1, 2, 5, 10) if span / (m * step) <= 6)
    step = max(step, 1) if whole else step
    return np.arange(np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9) + 1.5) * step if span else [low]


def _axes(frame, x_name, y_name, x_ticks, y_ticks):
    parts, bottom = [], _HEIGHT - _BOTTOM
    for x in x_ticks:
        parts.append(
            f'<line class="grid" x1="{frame.x(x):.1f}" x2="{frame.x(x):.1f}" y1="{_TOP}" y2="{bottom}"/>'
        )
        parts.append(f'<text x="{frame.x(x):.1f}" y="{bottom + 16}" text-anchor="middle">{x:.4g}</text>')
    for y in y_ticks:
        row = f"{frame.y(y):.1f}"
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{frame.width - _RIGHT}" y1="{row}" y2="{row}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{frame.y(y) + 4:.1f}" text-anchor="end">{y:.4g}</text>')
    middle = (_LEFT + frame.width - _RIGHT) / 2
    parts.append(
        f'<text class="axis" x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(x_name)}</text>'
    )
    parts.append(
        f'<text class="axis" transform="translate(13 {(_TOP + bottom) / 2}) rotate(-90)" '
        f'text-anchor="middle">{escape(y_name)}</text>'
    )
    return "".join(parts)


def _svg(frame, parts, says):
    return (
        f'<svg class="chart" viewBox="0 0 {frame.width} {_HEIGHT}" role="img" '
        f'aria-label="{escape(says)}">{"".join(parts)}</svg>'
    )

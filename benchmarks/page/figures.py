"""Figures as SVG, drawn from the panels of a finding.  Without matplotlib there are none."""

import re
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from textwrap import fill

import numpy as np

from flyannot.files.atomic_file import write_text

INSTALL = "pip install 'flyannot[reproduce]'"
_STYLE: dict = {
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "legend.fontsize": 8,
    "svg.hashsalt": "flyannot",  # the same numbers give the same bytes
    "svg.fonttype": "none",  # text stays text: a third of the bytes
}
_COLOURS = ("#0b5394", "#cc4125", "#38761d", "#7f6000", "#674ea7", "#45818e", "#a64d79", "#444444")
_MARKS, _MOST_MARKED = "osD^vP*X", 25  # points of a line
_TAG, _UNSEEN = re.compile("<[^>]*>"), re.compile(r"(\.\d\d)\d+")  # digits of a place, in points
_WIDTH, _HEIGHT, _LINE = 4.6, 3.5, 0.25  # inches of one panel, and of a line of text above or below all
_CHARACTERS = 78  # of the footnote under one panel
_MOST_INSIDE = 3  # names of a legend that finds room among the lines
_MOST_LETTERS = 45  # of all names under bars, side by side
_BELOW = -0.17  # of the height: under the label of the axis


def can_draw():
    """Return True if matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(finding, title, path):
    """Write the figure of a finding as SVG, if it has panels and there is matplotlib."""
    if not finding.panels or not can_draw():
        return
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        n_columns = 2 if len(finding.panels) == 4 else min(3, len(finding.panels))
        n_rows = -(-len(finding.panels) // n_columns)
        about = fill(footnote(finding), _CHARACTERS * n_columns)
        size = _WIDTH * n_columns, _HEIGHT * n_rows + _LINE * (2 + about.count("\n"))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
        for ax, panel in zip(axes, finding.panels):
            _draw_panel(ax, panel, numbers_of_series(panel, finding.panels))
        for ax in axes[len(finding.panels) :]:
            ax.axis("off")
        figure.suptitle(fill(title, 48 * n_columns), fontsize=11, fontweight="bold")
        figure.supxlabel(about, fontsize=8, color="#333333")
        figure.savefig(drawn := StringIO(), format="svg", dpi=130, metadata={"Date": None})
    text = _TAG.sub(lambda tag: _UNSEEN.sub(r"\1", tag[0]), drawn.getvalue())
    write_text(Path(path), text.replace(" \n", " "))


def footnote(finding):
    """Say how real the data are, as every figure does."""
    return f"Data ({finding.source.kind}): {finding.source.text}"


def numbers_of_series(panel, panels):
    """Name -> number, which decides the colour: one in all panels, as far as there are colours."""
    names = dict.fromkeys(series.name for one in panels for series in one.series)
    if len(names) > len(_COLOURS):
        names = dict.fromkeys(series.name for series in panel.series)
    return {name: i % len(_COLOURS) for i, name in enumerate(names)}


def _draw_panel(ax, panel, numbers):
    ax.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    ax.title.set_fontsize(9.5)
    if panel.tiles:
        _draw_tiles(ax, panel.tiles)
    elif panel.series and isinstance(panel.series[0].x[0], str):
        _draw_bars(ax, panel.series, numbers)
    else:
        for series in panel.series:
            number = numbers[series.name]
            mark = _MARKS[number % len(_MARKS)] if len(series.x) <= _MOST_MARKED else ""
            style = series.style.replace("o", mark)
            ax.plot(series.x, series.y, style, color=_COLOURS[number], label=series.name, ms=3.5, lw=1.4)
    if panel.x_log:  # setting a scale, even the same again, would undo the names under bars
        ax.set_xscale("log")
        _label_log(ax.xaxis, ax.get_xlim())
    if panel.y_log:
        ax.set_yscale("log")
        _label_log(ax.yaxis, ax.get_ylim())
    if len(panel.series) > _MOST_INSIDE:
        ax.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, _BELOW))
    elif len(panel.series) > 1:
        ax.legend()


def _label_log(axis, limits):
    """Within two decades plain numbers at 1, 2 and 5; otherwise powers of ten alone."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_minor_locator(NullLocator())
    if limits[1] < 100 * limits[0]:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _draw_tiles(ax, tiles):
    """Pictures side by side with a line between, each from black to white."""
    n_columns = int(np.ceil(np.sqrt(len(tiles))))
    height, width = np.shape(tiles[0])
    wall = np.full((-(-len(tiles) // n_columns) * (height + 1) + 1, n_columns * (width + 1) + 1), np.nan)
    for i, tile in enumerate(tiles):
        top, left = (k * (n + 1) + 1 for k, n in zip(divmod(i, n_columns), (height, width)))
        wall[top : top + height, left : left + width] = np.divide(tile, max(1e-12, np.abs(tile).max()))
    ax.imshow(wall, cmap="gray", vmin=-1, vmax=1, interpolation="nearest")
    ax.axis("off")


def _draw_bars(ax, all_series, numbers):
    names = list(dict.fromkeys(x for series in all_series for x in series.x))
    width = 0.8 / len(all_series)
    for i, series in enumerate(all_series):
        at = np.array([names.index(x) for x in series.x]) + (i - (len(all_series) - 1) / 2) * width
        heights = [np.nan if y is None else y for y in series.y]
        ax.bar(at, heights, width, color=_COLOURS[numbers[series.name]], label=series.name)
    turned = {"rotation": 30, "ha": "right"} if sum(map(len, names)) > _MOST_LETTERS else {}
    ax.set_xticks(range(len(names)), names, **turned)
    ax.grid(axis="x", visible=False)
    ax.margins(y=0.3 if 1 < len(all_series) <= _MOST_INSIDE else 0.05)  # room for the legend

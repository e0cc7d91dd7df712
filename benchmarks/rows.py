"""Rows of measurements, and the lines that are drawn of them."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Series:
    """A line or points of a panel."""

    name: str
    x: list
    y: list
    style: str = "o-"


@dataclass(frozen=True)
class Panel:
    """One pair of axes.  x of text makes groups of bars; tiles, pictures of one size, are drawn instead."""

    title: str
    x_label: str
    y_label: str
    series: list
    x_log: bool = False
    y_log: bool = False
    tiles: list = field(default_factory=list)


class Rows(list):
    """Dicts of text and numbers by column."""

    def where(self, **wanted):
        """The rows that have these values."""
        return Rows(row for row in self if all(row.get(name) == value for name, value in wanted.items()))

    def column(self, name, **wanted):
        """The values of a column, of the rows that have what is wanted."""
        return [row[name] for row in self.where(**wanted)]

    def value(self, name, **wanted):
        """The value of a column in the first row that has what is wanted; None without one."""
        return next((row.get(name) for row in self.where(**wanted)), None)

    def values(self, name):
        """The values of a column, each once, in the order in which they appear."""
        return list(dict.fromkeys(row[name] for row in self if name in row))

    def lines(self, by, x, y, name="{}"):
        """A `Series` of y against x for every value of the column `by`."""
        drawn = {value: self.where(**{by: value}) for value in self.values(by)}
        return [Series(name.format(value), part.column(x), part.column(y)) for value, part in drawn.items()]

    def panel(self, title, by, x, y, x_label=None, y_label=None, name="{}", **scales):
        """A `Panel` of these lines, its axes named after the columns unless they are named otherwise."""
        labels = (column if label is None else label for column, label in ((x, x_label), (y, y_label)))
        return Panel(title, *labels, self.lines(by, x, y, name), **scales)


def exponent(sizes, costs):
    """The a of costs ~ sizes^a: the slope of the least-squares line through the logarithms, or None."""
    if len(set(sizes)) < 2:
        return None
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])

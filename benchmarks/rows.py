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
        """Return the rows that have these values."""
        return Rows(row for row in self if all(row.get(name) == value for name, value in wanted.items()))

    def column(self, name, **wanted):
        """Return the values of a column in the rows that have the wanted values."""
        return [row[name] for row in self.where(**wanted)]

    def value(self, name, **wanted):
        """Return the value of a column in the first row that has the wanted values; None without one."""
        return next((row.get(name) for row in self.where(**wanted)), None)

    def values(self, name):
        """Return the distinct values of a column, in the order in which they appear."""
        return list(dict.fromkeys(row[name] for row in self if name in row))

    def lines(self, by, x, y, name="{}"):
        """Return a `Series` of y against x for every value of the column `by`."""
        drawn = {value: self.where(**{by: value}) for value in self.values(by)}
        return [Series(name.format(value), part.column(x), part.column(y)) for value, part in drawn.items()]

    def panel(self, title, by, x, y, x_label=None, y_label=None, name="{}", **scales):
        """Return a `Panel` of these lines, with axes named after the columns unless labels are given."""
        labels = (column if label is None else label for column, label in ((x, x_label), (y, y_label)))
        return Panel(title, *labels, self.lines(by, x, y, name), **scales)


def exponent(sizes, costs):
    """Return the a of costs ~ sizes^a, by a least-squares line through the logarithms; None for one size."""
    if len(set(sizes)) < 2:
        return None
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])

"""Rows of measurements, and the lines that are drawn of them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Series:
    """A line or points of a panel."""

    name: str
    x: list
    y: list
    style: str = "o-"


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

    def lines(self, by, x, y, name="{}"):
        """A `Series` of y against x for every value of the column `by`."""
        keys = dict.fromkeys(row[by] for row in self)
        return [Series(name.format(k), self.column(x, **{by: k}), self.column(y, **{by: k})) for k in keys]


def exponent(sizes, costs):
    """The a of costs ~ sizes^a: the slope of the least-squares line through the logarithms, or None."""
    if len(set(sizes)) < 2:
        return None
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])

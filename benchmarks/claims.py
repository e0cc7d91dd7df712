"""What a paper claims, and whether it holds here.

A `Statement` is a sentence of a paper, or of ours, about one number that the rows of an item give, with the
interval that noise leaves it.  It holds when the whole interval lies within the statement's bounds, fails
when none of it does, and is undecided between.  `evaluated` makes `Claim`s of it, which are plain data.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from itertools import product

import numpy as np
from scipy.special import ndtri, stdtrit

from benchmarks.rows import Rows
from flyannot.options.registry import thing_at

PAPER, OURS = "the paper", "ours"
HOLDS, FAILS, UNDECIDED, NOT_MEASURED = "holds", "FAILS", "undecided", "not measured"

# Noise of what is measured once.  Of SCC, variant paper, ten epochs over 8,000 FlyExpress patches: six seeds
# (initial atoms and order) differed by 0.14 % of the objective of exact codes at 500 atoms, 0.05 % at 2,000
# (standard deviations); ten runs in turn by 1.6 % of processor time, and by several times that beside others.
TIME_NOISE = 0.1
OBJECTIVE_NOISE = 0.003
LEVEL = 0.95  # of intervals from repeats and draws


@dataclass(frozen=True)
class Number:
    """A number, the interval that noise leaves it, and in words what it was made of."""

    value: float
    low: float
    high: float
    detail: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement about `value`, with its interval: that it lies above and below bounds (None for none).

    by : PAPER or OURS
    here : the number in words; None of value where it was not measured
    """

    by: str
    text: str
    above: float | None
    below: float | None
    value: float | None
    low: float | None
    high: float | None
    here: str

    @property
    def verdict(self):
        """HOLDS, FAILS, UNDECIDED or NOT_MEASURED."""
        if self.value is None:
            return NOT_MEASURED
        low, high = _ends(self.low, self.high)
        above, below = _ends(self.above, self.below)
        if low > above and high < below:
            return HOLDS
        return FAILS if high <= above or low >= below else UNDECIDED

    @property
    def refuted_by(self):
        """What would have refuted it, in words."""
        edges = [f"{self.above:g} or less"] if self.above is not None else []
        return " or ".join(edges + ([f"{self.below:g} or more"] if self.below is not None else []))


@dataclass(frozen=True)
class Statement:
    """A sentence that the rows of an item can refute.

    key : its name in the table of examples, of which every statement has one that holds and one that fails
    by : PAPER or OURS
    text : the sentence, in the paper's words as far as they go
    number : function of `Rows` to the `Number` that decides, or to None where the rows do not have it
    above, below : where the number must lie; None for no bound
    unit : of the number
    each : a column; the statement is made of the rows of each of its values by themselves
    """

    key: str
    by: str
    text: str
    number: Callable
    above: float | None = None
    below: float | None = None
    unit: str = ""
    each: str = ""

    def of(self, rows):
        """Its `Claim`s, from the rows of an item."""
        rows = Rows(rows)
        if not self.each:
            return [self._claim(self.text, self.number(rows))]
        parts = ((value, rows.where(**{self.each: value})) for value in rows.values(self.each))
        return [self._claim(f"{self.text} ({value})", self.number(part)) for value, part in parts]

    def _claim(self, text, number):
        if number is None:
            return Claim(self.by, text, self.above, self.below, None, None, None, "")
        value, low, high = number.value, number.low, number.high
        ends = "" if low == high else f" ({low:.3g} to {high:.3g})"
        detail = f": {number.detail}" if number.detail else ""
        here = f"{value:.3g}{ends}{' ' * bool(self.unit)}{self.unit}{detail}"
        return Claim(self.by, text, self.above, self.below, value, low, high, here)


@cache
def statements_of(paper):
    """Key -> `Statement`, from PAPER/claims.toml; a number is of PAPER/claims.py, or MODULE:NAME."""
    text = (files("benchmarks") / paper / "claims.toml").read_text(encoding="utf-8")
    stated = {}
    for key, entry in tomllib.loads(text).items():
        name, arguments = entry.pop("number"), entry.pop("arguments", {})
        number = thing_at(name if ":" in name else f"benchmarks.{paper}.claims:{name}")
        stated[key] = Statement(key, number=partial(number, **arguments), **entry)
    return stated


def exactly(value, detail=""):
    """A number without noise: a count, or one that rounding alone makes uncertain."""
    return Number(float(value), float(value), float(value), detail)


def give_or_take(value, noise, detail=""):
    """A number between value - noise and value + noise."""
    return Number(float(value), float(value - noise), float(value + noise), detail)


def ratio_of_times(slow, quick, detail="", *, noise=TIME_NOISE):
    """One time over another."""
    ratio = float(slow) / max(float(quick), 1e-9)  # a difference of two times can be 0
    return Number(ratio, ratio / (1 + noise), ratio * (1 + noise), detail)


def share_above(one, other, detail="", *, noise=OBJECTIVE_NOISE):
    """How far one objective lies above another, as a part of it."""
    return give_or_take(one / other - 1, noise, detail)


def of_repeats(values, detail=""):
    """The mean of repeats or splits, with Student's interval."""
    values = np.asarray(values, float)
    if len(values) < 2:
        return Number(float(values[0]), -np.inf, np.inf, detail)
    t = stdtrit(len(values) - 1, (1 + LEVEL) / 2)  # scipy.stats would take half of a worker's start
    return give_or_take(values.mean(), t * values.std(ddof=1) / np.sqrt(len(values)), detail)


def of_counts(n_yes, n):
    """A share with Wilson's interval."""
    z2 = ndtri((1 + LEVEL) / 2) ** 2
    middle = (n_yes + z2 / 2) / (n + z2)
    half = np.sqrt(z2 * (n_yes * (n - n_yes) / n + z2 / 4)) / (n + z2)
    return Number(n_yes / n, float(middle - half), float(middle + half), f"{n_yes} of {n}")


def of_draws(value, draws, detail=""):
    """A number with the interval of its bootstrap draws."""
    low, high = np.quantile(np.asarray(draws, float), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Number(float(value), float(low), float(high), detail)


def least(numbers, names=(), form=".3g"):
    """The smallest of several numbers, of which all must lie above a bound."""
    return _extreme(numbers, names, form, min)


def largest(numbers, names=(), form=".3g"):
    """The largest of several numbers, of which all must lie below a bound."""
    return _extreme(numbers, names, form, max)


EXTREMES = {"least": least, "largest": largest}  # as claims.toml names them


def _extreme(numbers, names, form, pick):
    numbers = list(numbers)
    if not numbers or None in numbers:
        return None
    values, lows, highs = zip(*((n.value, n.low, n.high) for n in numbers))
    details = [n.detail or format(n.value, form) for n in numbers]
    if names:
        details = [f"{name}{': ' * bool(str(name))}{detail}" for name, detail in zip(names, details)]
    detail = ", ".join(details) if len(numbers) > 1 else numbers[0].detail
    return Number(pick(values), pick(lows), pick(highs), detail)


def pairs(rows, column, one, other, by=()):
    """For every value of the columns `by`, or of all their values, the numbers of a column in two rows.

    one, other : what the two rows hold, values by column; of several such rows, the mean
    Empty where one of the numbers is not known.
    """
    columns, found = [by] if isinstance(by, str) else by, {}
    for key in product(*map(rows.values, columns)):
        part = rows.where(**dict(zip(columns, key)))
        both = [part.column(column, **wanted) for wanted in (one, other)]
        if any(not values or None in values for values in both):
            return {}
        found[key[0] if len(key) == 1 else key] = [np.mean(values, axis=0) for values in both]
    return found


def times(rows, column, one, other, *, by=(), form=".3g"):
    """How many times as large, a time, the column is in one row as in the other; the least of all `by`."""
    return _compared(rows, column, one, other, by, form, "least", ratio_of_times)


def above(rows, column, one, other, *, by=(), form=".3g", pick="largest", noise=OBJECTIVE_NOISE):
    """How far the column, an objective, lies above the other row's in the one, as a part of it."""
    return _compared(rows, column, one, other, by, form, pick, partial(share_above, noise=noise))


def _compared(rows, column, one, other, by, form, pick, compare):
    found = pairs(rows, column, one, other, by)
    names = found if isinstance(by, str) else ()
    return EXTREMES[pick]((compare(*pair) for pair in found.values()), names, form)


def _ends(low, high):
    """Of an interval; None is none."""
    return -np.inf if low is None else low, np.inf if high is None else high

"""What a paper states, and what came of it here, in the regime that it speaks of.

A `Statement` is a sentence of a paper, or of ours, about a number that the rows of an item give, with the
interval that noise leaves it.  Its cases are the values of one column: data sets, signals, variants.  The
item says in which regime the paper speaks; a case is in it or outside it.  A `Claim`, plain data, is a
statement with its cases, and has one finding: that of its cases in the regime.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.resources import files
from itertools import product

import numpy as np
from scipy.special import ndtri, stdtrit

from benchmarks.rows import Rows
from flyannot.base.registry import import_object

PAPER, OURS = "the paper", "ours"  # who states it, and whose its bound is
REGIMES = PAPERS_DATA, LIKE, OUTSIDE = "the paper's data", "like the paper's", "outside"
REPRODUCED, HOLDS, CONTRADICTED, OPEN = "reproduced", "holds", "contradicted", "open"  # findings

# Noise of what is measured once.  Of SCC, variant paper, ten epochs over 8,000 FlyExpress patches: six seeds
# (initial atoms and order) differed by 0.14% of the objective of exact codes at 500 atoms, 0.05% at 2,000
# (standard deviations); ten runs in turn by 1.6% of processor time, and by several times that beside others.
TIME_NOISE = 0.1
OBJECTIVE_NOISE = 0.003
LEVEL = 0.95  # of intervals from repeats and draws


@dataclass(frozen=True)
class Number:
    """A measured number, its uncertainty interval, and a description of the data it came from."""

    value: float
    low: float
    high: float
    detail: str = ""


@dataclass(frozen=True)
class Case:
    """What a statement's number is in one case; `value` is None where it was not measured."""

    name: str
    regime: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    here: str = "not measured"


@dataclass(frozen=True)
class Claim:
    """A statement, with its `Case`s: that their numbers lie above and below bounds (None for none).

    by : PAPER or OURS, whose statement it is; bound : whose bound it is
    reopened : why numbers beyond the bounds decide nothing
    """

    key: str
    by: str
    text: str
    bound: str
    above: float | None
    below: float | None
    unit: str
    cases: list
    reopened: str = ""

    @property
    def finding(self):
        """REPRODUCED, HOLDS, CONTRADICTED or OPEN, of its cases in the regime; OUTSIDE if none of them is."""
        found = [self.finding_of(case) for case in self.cases if case.regime != OUTSIDE]
        if not found:
            return OUTSIDE if self.cases else OPEN
        return next((word for word in (CONTRADICTED, OPEN, HOLDS) if word in found), REPRODUCED)

    def finding_of(self, case):
        """Return the finding for one case.

        A claim holds if the whole interval lies within the bounds.  It is contradicted if no part of the
        interval does, and open otherwise.  A claim that holds on the paper's own data is reproduced.
        A claim is open, too, if `reopened` says so, or if half or double of a bound of ours would not
        contradict it.
        """
        found = self.compared(case)
        return OPEN if found == CONTRADICTED and self.why_reopened(case) else found

    def why_reopened(self, case):
        """Say why numbers beyond the bounds do not contradict a claim; return "" if they do, or are not."""
        if self.compared(case) != CONTRADICTED:
            return ""
        others = [self.compared(case, times) for times in (0.5, 2)]
        is_ours = self.bound == OURS and others != [CONTRADICTED, CONTRADICTED]
        return self.reopened or ("half or double of our bound would not contradict" if is_ours else "")

    def compared(self, case, times=1):
        """Compare the interval of one case with `times` the bounds."""
        if case.value is None:
            return OPEN
        low, high = _ends(case.low, case.high)
        above, below = _ends(*(None if end is None else end * times for end in (self.above, self.below)))
        if low > above and high < below:
            return REPRODUCED if (case.regime, self.by) == (PAPERS_DATA, PAPER) else HOLDS
        return CONTRADICTED if high <= above or low >= below else OPEN

    def distance(self, case):
        """Return the distance of a case from the nearer bound; it is negative within the bounds."""
        above, below = _ends(self.above, self.below)
        return max(above - case.value, case.value - below)

    @property
    def refuted_by(self):
        """What would have refuted it, in words."""
        edges = (self.above, "at most"), (self.below, "at least")
        return " or ".join(_beyond(bound, side, self.unit) for bound, side in edges if bound is not None)

    def at_other_bounds(self, case):
        """Say who chose the bound and, if we did, what the finding would be at half and double the bound."""
        if self.by == OURS or self.bound == PAPER:
            return self.by
        half, double = (self.compared(case, times) for times in (0.5, 2))
        return f"ours; at half {half}, at double {double}"


@dataclass(frozen=True)
class Regime:
    """The condition under which an item's statements can be concluded.

    text : the condition in words
    least : column -> least value that it must reach in every row; a column that no row has is looked up among
        `Finding.facts`, and a row's None does not matter
    numbers : name in `least` -> "MODULE:NAME" of a function of the rows of a case, in the place of a column
    """

    text: str
    least: dict = field(default_factory=dict)
    numbers: dict = field(default_factory=dict)

    def of(self, rows, facts):
        """Return the regime of a case, from its rows."""
        for name, least in self.least.items():
            if name in self.numbers:
                found = [import_object(self.numbers[name])(rows)]
            else:
                found = [row[name] for row in rows if name in row] or [facts.get(name, -np.inf)]
            if not all(value is None or value >= least for value in found):
                return OUTSIDE
        return PAPERS_DATA if facts.get("is_papers_data") else LIKE


@dataclass(frozen=True)
class Statement:
    """A sentence that the rows of an item can refute.

    key : its name in claims.toml, which no other statement has
    by : PAPER or OURS
    text : the sentence, in the paper's words as far as they go
    number : function of `Rows` to the `Number` that decides, or to None where the rows do not have it
    above, below : where the number must lie; None for no bound
    bound : PAPER or OURS, whose bound that is
    unit : of the number, as `in_words` reads it
    each : a column, of whose values each is a case
    where : values of columns; only rows that have them, of those that have the columns, count
    reopened : why what would contradict it decides nothing; "" if it does
    """

    key: str
    by: str
    text: str
    number: Callable
    above: float | None = None
    below: float | None = None
    bound: str = PAPER
    unit: str = ""
    each: str = ""
    where: dict = field(default_factory=dict)
    reopened: str = ""

    def of(self, rows, regime=None, facts=None):
        """Build the `Claim` of this statement from the rows of an item."""
        regime, facts = regime or Regime(""), facts or {}
        rows = Rows(row for row in rows if all(row.get(name, v) == v for name, v in self.where.items()))
        cases = (
            {_case_of(self.each, v): rows.where(**{self.each: v}) for v in rows.values(self.each)}
            if self.each
            else {"": rows}
        )
        found = [self._case(name, part, regime.of(part, facts)) for name, part in cases.items()]
        kept = self.key, self.by, self.text, self.bound, self.above, self.below, self.unit
        return Claim(*kept, found, self.reopened)

    def _case(self, name, rows, regime):
        number = self.number(rows)
        if number is None:
            return Case(name, regime)
        value, low, high = number.value, number.low, number.high
        detail = f": {number.detail}" if number.detail else ""
        return Case(name, regime, value, low, high, in_words(value, self.unit, low, high) + detail)


def _case_of(column, value):
    """Return the name of a case; a number is preceded by what it counts."""
    what = column.removeprefix("n_").replace("_", " ")
    return f"{what} {value:,}" if isinstance(value, int | float) else str(value)


def in_unit(value, unit):
    """Three digits that matter; a part of something as per cent, where its unit begins with %."""
    return f"{100 * value:.3g}%" if unit.startswith("%") else f"{value:.3g}"


_OPPOSITES = {"more": "less", "less": "more", "fewer": "more", "above": "below"}
_OPPOSITES |= {"lower": "higher", "higher": "lower"}


def in_words(value, unit, low=0, high=0):
    """Write a number, its interval and its unit as people say them: -0.05 with "% above" is 5% below.

    A unit may end with a bar and the words that stand for 0.
    """
    unit, _, zero = unit.partition("|")
    if value == 0 and zero:
        return zero
    if value < 0 and _opposite(unit):
        return in_words(-value, _opposite(unit), -high, -low)
    ends = "" if low == high else f" ({in_unit(low, unit)} to {in_unit(high, unit)})"
    return f"{in_unit(value, unit)}{ends} {unit.removeprefix('%').strip()}".strip()


def _opposite(unit):
    """Replace each word of a unit by its opposite; return "" if no word has one."""
    swapped = " ".join(_OPPOSITES.get(word, word) for word in unit.split())
    return "" if swapped == unit else swapped


def _beyond(bound, side, unit):
    """Describe the values beyond a bound, where `side` is "at most" or "at least"."""
    unit = unit.partition("|")[0]
    if bound == 0 and _opposite(unit):
        return "equal or " + (_opposite(unit) if side == "at most" else unit).removeprefix("% ")
    if bound < 0 and _opposite(unit):
        side = "at least" if side == "at most" else "at most"
    return f"{side} {in_words(bound, unit)}"


def merged(claims):
    """Claims of several items: one for every key, the cases of all together."""
    found = {}
    for claim in claims:
        there = found.get(claim.key)
        found[claim.key] = replace(there, cases=[*there.cases, *claim.cases]) if there else claim
    return list(found.values())


@cache
def statements_of(paper):
    """Key -> `Statement`, from PAPER/claims.toml; a number is of PAPER/claims.py, or MODULE:NAME.

    What differs from another statement alone stands there, with its key as `same-as`.
    """
    text = (files("benchmarks") / paper / "claims.toml").read_text(encoding="utf-8")
    entries, stated = tomllib.loads(text), {}
    for key in entries:
        entry = entries.get(entries[key].get("same-as"), {}) | entries[key]
        entry.pop("same-as", None)
        name, arguments = entry.pop("number"), entry.pop("arguments", {})
        number = import_object(name if ":" in name else f"benchmarks.{paper}.claims:{name}")
        stated[key] = Statement(key, number=partial(number, **arguments), **entry)
    return stated


def exactly(value, detail=""):
    """Return a number without noise: a count, or a number that only rounding makes uncertain."""
    return Number(float(value), float(value), float(value), detail)


def give_or_take(value, noise, detail=""):
    """Return a number with the interval from value - noise to value + noise."""
    return Number(float(value), float(value - noise), float(value + noise), detail)


def ratio_of_times(slow, quick, detail="", *, noise=TIME_NOISE):
    """Divide one time by another."""
    ratio = float(slow) / max(float(quick), 1e-9)  # a difference of two times can be 0
    return Number(ratio, ratio / (1 + noise), ratio * (1 + noise), detail)


def share_above(one, other, detail="", *, noise=OBJECTIVE_NOISE):
    """Return the relative excess of one objective over another."""
    return give_or_take(one / other - 1, noise, detail)


def of_repeats(values, detail=""):
    """Return the mean of repeats or splits, with Student's interval."""
    values = np.asarray(values, float)
    if len(values) < 2:
        return Number(float(values[0]), -np.inf, np.inf, detail)
    t = stdtrit(len(values) - 1, (1 + LEVEL) / 2)  # scipy.stats would take half of a worker's start
    return give_or_take(values.mean(), t * values.std(ddof=1) / np.sqrt(len(values)), detail)


def of_counts(n_yes, n):
    """Return the share n_yes / n with Wilson's interval."""
    z2 = ndtri((1 + LEVEL) / 2) ** 2
    middle = (n_yes + z2 / 2) / (n + z2)
    half = np.sqrt(z2 * (n_yes * (n - n_yes) / n + z2 / 4)) / (n + z2)
    return Number(n_yes / n, float(middle - half), float(middle + half), f"{n_yes} of {n}")


def of_draws(value, draws, detail=""):
    """Return a number with the interval of its bootstrap draws."""
    low, high = np.quantile(np.asarray(draws, float), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Number(float(value), float(low), float(high), detail)


def least(numbers, names=(), form=".3g"):
    """Return the smallest of several numbers, which must all lie above a bound."""
    return _extreme(numbers, names, form, min)


def largest(numbers, names=(), form=".3g"):
    """Return the largest of several numbers, which must all lie below a bound."""
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
    """Return the numbers of a column in two rows, for every combination of the values of the columns `by`.

    one, other : column -> value, which choose the two rows; several such rows are averaged

    The result is empty if one of the numbers is unknown.
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
    """Return the ratio of the column, a time, in one row to that in the other: the least over all `by`."""
    return _compared(rows, column, one, other, by, form, "least", ratio_of_times)


def above(rows, column, one, other, *, by=(), form=".3g", pick="largest", noise=OBJECTIVE_NOISE):
    """Return the relative excess of the column, an objective, in one row over that in the other."""
    return _compared(rows, column, one, other, by, form, pick, partial(share_above, noise=noise))


def _compared(rows, column, one, other, by, form, pick, compare):
    found = pairs(rows, column, one, other, by)
    names = found if isinstance(by, str) else ()
    return EXTREMES[pick]((compare(*pair) for pair in found.values()), names, form)


def _ends(low, high):
    """Return the ends of an interval, with an infinite one for None."""
    return -np.inf if low is None else low, np.inf if high is None else high

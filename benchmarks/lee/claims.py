"""What Lee et al. state of feature-sign search and of the Lagrange dual, and what would refute it."""

import numpy as np

from benchmarks.claims import (
    exactly,
    give_or_take,
    largest,
    least,
    of_counts,
    of_repeats,
    ratio_of_times,
)
from benchmarks.claims import share_above as relative_lead

SIGN, LARS, SLOW_LARS, CD, QP = "feature-sign", "lars", "lars, scikit-learn", "cd", "qp"
GRAFTING, CONJUGATE = "grafting", "conjugate-gradient"
PIXELS, CODES, BOTH = "pixels", "codes", "pixels and codes"
DUAL, GRADIENT, ACCELERATED = "dual", "gradient", "accelerated gradient"
EXACT = 1e-8  # a relative error below it is 0
_ROUNDING = 1e-12  # of a relative error: nearer than that, none is more accurate


def times_over_sign(rows, solver):
    """How many times as long as feature-sign search the solver takes, least over the signals."""
    signals = list(dict.fromkeys(row["signal"] for row in rows))
    times = [[rows.value("us_per_sample", signal=s, who=who) for who in (solver, SIGN)] for s in signals]
    known = [pair for pair in times if None not in pair]
    return least((ratio_of_times(*pair) for pair in known), signals) if known == times else None


def errors(rows, solvers):
    errors = [e for solver in solvers for e in rows.column("relative_error", who=solver)]
    return None if None in errors or not errors else largest(exactly(e, f"{e:.0e}") for e in errors)


def lead_in_accuracy(rows, solver):
    ours, theirs = errors(rows, (SIGN, LARS)), errors(rows, [solver])
    if ours is None or theirs is None:
        return None
    return give_or_take(theirs.value - ours.value, _ROUNDING, f"{solver} {theirs.value:.0e}")


def cd_over_sign(rows):
    quick = [
        [row["us_per_sample"] for who in (SIGN, CD) for row in rows.where(signal=s, who=who)]
        for s in dict.fromkeys(row["signal"] for row in rows)
    ]
    return least(ratio_of_times(*pair) for pair in quick)


def over(rows, column, one, other):
    """On every signal, a column by one way (codes, bases) over it by the other; the least."""
    pairs = _pairs(rows, column, one, other)
    return least((ratio_of_times(*pair) for pair in pairs.values()), pairs) if pairs else None


def _pairs(rows, column, *ways):
    """The column by both ways, by signal; {} where one is not known."""
    found = {}
    for signal in dict.fromkeys(row["signal"] for row in rows):
        pair = [rows.value(column, signal=signal, codes_by=codes, bases_by=bases) for codes, bases in ways]
        if None in pair:
            return {}
        found[signal] = pair
    return found


def dual_is_faster(rows, bases):
    """The time of the bases alone, of rows that share how their codes were made; the least."""
    codes = list(dict.fromkeys(row["codes_by"] for row in rows))
    return least(over(rows, "seconds_of_bases", (c, bases), (c, DUAL)) for c in codes)


def fastest(rows):
    codes = (SIGN, LARS, GRAFTING, CONJUGATE)
    others = [(c, b) for c in codes for b in (DUAL, GRADIENT) if (c, b) != (SIGN, DUAL)]
    return least([over(rows, "seconds", other, (SIGN, DUAL)) for other in others], map(" / ".join, others))


def over_sign(rows, solver):
    """By signal, how many times as long the codes take, alternation by alternation, with the dual."""
    both = _pairs(rows, "seconds_of_each_coding", (solver, DUAL), (SIGN, DUAL))
    return {signal: [a / b for a, b in zip(*pair)] for signal, pair in both.items()}


def further_speed_up(rows):
    """The last ratio over the first, least over the signals."""
    found = over_sign(rows, LARS)
    numbers = [ratio_of_times(r[-1], r[0], f"{r[0]:.1f} to {r[-1]:.1f}", noise=0.2) for r in found.values()]
    return least(numbers, found)


def slower_than_sign(rows):
    """The least of all ratios of LARS's and grafting's time over feature-sign search's, iteration by
    iteration."""
    found = {(who, s): min(ratios) for who in (LARS, GRAFTING) for s, ratios in over_sign(rows, who).items()}
    return least((ratio_of_times(r, 1) for r in found.values()), [f"{who}, {s}" for who, s in found])


def ends(rows):
    codes = list(dict.fromkeys(row["codes_by"] for row in rows))
    leads = [
        relative_lead(*pair, noise=0)
        for c in codes
        for pair in _pairs(rows, "objective", (c, DUAL), (c, GRADIENT)).values()
    ]
    return largest(leads)


def _share(rows, column, above):
    """The share of rows in which a column is above a value, with Wilson's interval."""
    n_yes, n = sum(value > above for value in rows.column(column)), len(rows)
    return of_counts(n_yes, n) if n else None


def well_fitted(rows):
    return _share(rows, "explained_by_gabor", 0.5)


def of(rows, effect, column, above):
    return _share(rows.where(effect=effect), column, above)


def reduction(rows, features):
    """The part of the test error of raw pixels that other features save, by paired draws or folds."""
    raw, other = (rows.value("errors", features=name) for name in (PIXELS, features))
    if raw is None or other is None:
        return None
    return of_repeats(1 - np.array(other) / np.array(raw), f"{np.mean(raw):.3f} to {np.mean(other):.3f}")

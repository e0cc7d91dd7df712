"""What Lee et al. state of feature-sign search and of the Lagrange dual, and what would refute it."""

import numpy as np

from benchmarks.claims import exactly, largest, least, of_counts, of_repeats, pairs, ratio_of_times, times

SIGN, LARS, CD, QP, QUASI_NEWTON = "feature-sign", "lars", "cd", "OSQP", "L-BFGS-B"
GRAFTING, CONJUGATE = "grafting", "conjugate-gradient"
PIXELS, CODES, BOTH = "pixels", "codes", "pixels and codes"
DUAL, GRADIENT, ACCELERATED = "dual", "gradient", "accelerated gradient"


def errors(rows, solvers):
    errors = [e for solver in solvers for e in rows.column("relative_error", who=solver)]
    return None if None in errors or not errors else largest(exactly(e, f"{e:.0e}") for e in errors)


def lead_in_accuracy(rows, solver):
    ours, theirs = errors(rows, (SIGN, LARS)), errors(rows, [solver])
    if ours is None or theirs is None:
        return None
    return exactly(theirs.value - ours.value, f"{solver} {theirs.value:.0e}")


def _way(codes, bases):
    return {"codes_by": codes, "bases_by": bases}


def fastest(rows):
    codes = (SIGN, LARS, GRAFTING, CONJUGATE)
    others = [(c, b) for c in codes for b in (DUAL, GRADIENT) if (c, b) != (SIGN, DUAL)]
    found = [times(rows, "seconds", _way(*other), _way(SIGN, DUAL), by="signal") for other in others]
    return least(found, map(" / ".join, others))


def over_sign(rows, solver):
    """By signal, how many times as long the codes take, alternation by alternation, with the dual."""
    both = pairs(rows, "seconds_of_each_coding", _way(solver, DUAL), _way(SIGN, DUAL), "signal")
    return {signal: np.divide(*pair).tolist() for signal, pair in both.items()}


def further_speed_up(rows):
    """Return the least ratio, over the signals, of the last speed-up to the first."""
    found = over_sign(rows, LARS)
    numbers = [ratio_of_times(r[-1], r[0], f"{r[0]:.1f} to {r[-1]:.1f}", noise=0.2) for r in found.values()]
    return least(numbers, found)


def slower_than_sign(rows):
    """Return the least ratio of the times of LARS and grafting to the time of feature-sign search."""
    found = {(who, s): min(ratios) for who in (LARS, GRAFTING) for s, ratios in over_sign(rows, who).items()}
    return least((ratio_of_times(r, 1) for r in found.values()), [f"{who}, {s}" for who, s in found])


def share_above(rows, column, least, **wanted):
    """Return the share of the wanted rows in which a column is above a value, with Wilson's interval."""
    values = rows.column(column, **wanted)
    return of_counts(sum(value > least for value in values), len(values)) if values else None


def reduction(rows, features):
    """Return the part of the test error of raw pixels that other features save, by paired draws or folds."""
    raw, other = (rows.value("errors", features=name) for name in (PIXELS, features))
    if raw is None or other is None:
        return None
    return of_repeats(1 - np.array(other) / np.array(raw), f"{np.mean(raw):.3f} to {np.mean(other):.3f}")

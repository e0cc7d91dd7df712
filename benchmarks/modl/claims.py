"""What Mensch et al. state of MODL on pictures and volumes, and what would refute it.

Where the paper gives a word and no number, the number is ours and stands in the sentence.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from benchmarks.claims import (
    EXTREMES,
    TIME_NOISE,
    exactly,
    give_or_take,
    largest,
    least,
    of_repeats,
    ratio_of_times,
    share_above,
)
from benchmarks.rows import Rows

AGAIN, FEW, HALF = "all records again", "a 24th of the records", "half of the records, r=12"
_AT_REST = 0.8  # of the records: what falls after it is left to converge
_TARGET_ABOVE = 0.02  # of the way from the first objective to the end: "the same objective"
MASKED = (4, 8, 12)  # reductions
_BATCH_SIZE = 40
_DECIDES = 0.001  # of an error: differences below it decide nothing


def by_reduction(rows):
    """Rows by reduction, by rising number of records."""
    ordered = Rows(sorted(rows, key=lambda row: row["records"]))
    return {r: ordered.where(reduction=r) for r in rows.values("reduction")}


def _ends(rows, column):
    return {r: trace[-1][column] for r, trace in by_reduction(rows).items()}


def left_to_fall(rows):
    return largest(
        exactly(_left(trace), f"r={r} {_left(trace):.1%}") for r, trace in by_reduction(rows).items()
    )


def _left(trace):
    """Return the part of the whole fall of the objective that the last fifth of the records brings.

    The part is 1 if the objective does not fall.
    """
    first, last = trace[0]["objective"], trace[-1]["objective"]
    before = next(row["objective"] for row in trace if row["records"] >= _AT_REST * trace[-1]["records"])
    return 1.0 if last >= first else abs(before - last) / (first - last)


def over_unmasked(rows, column, reductions, pick):
    """Return the relative excess of the last value of a column with masks over that without masks."""
    ends = _ends(rows, column)
    if None in ends.values():
        return None
    found = (share_above(ends[r], ends[1]) for r in reductions)
    return EXTREMES[pick](found, map("r={}".format, reductions), "+.1%")


def cheaper(rows):
    s = _ends(rows, "seconds")
    found = (ratio_of_times(s[1] / r, s[r], f"{s[1] / s[r]:.1f} times") for r in MASKED)
    return least(found, map("r={}".format, MASKED))


def batches_to_converge(rows):
    """Return the least number of mini-batches that r=1 needs to converge; None where nothing was learned."""
    traces = [by_reduction(rows.where(problem=problem))[1] for problem in rows.values("problem")]
    reached = [_reached(_converged(trace), trace)[1] for trace in traces if _converged(trace)]
    return min(reached) / _BATCH_SIZE if reached else None


def sooner(rows, reduction, left):
    """Return how many times as soon masks bring r=1's objective down to where it has so much left to fall."""
    traces = by_reduction(rows)
    return ratio_of_times(ratio_to_reach(traces[1], traces[reduction], left)[0], 1)


def ratio_to_reach(one, other, left=_TARGET_ABOVE):
    """Return the ratios of seconds and records that two traces need to converge.

    Both come down to where the first has a part of its fall `left`.  Both ratios are 0 if the other trace
    never does.
    """
    end = _converged(one, left)
    a, b = (None if end is None else _reached(end, trace) for trace in (one, other))
    return (0.0, 0.0) if b is None else tuple(x / y for x, y in zip(a, b))


def seconds_to_converge(trace):
    """Return the seconds until a trace has covered 98% of the way from its first objective to its last.

    Return None if the objective does not fall, or there is no trace.
    """
    end = _converged(trace) if trace else None
    return None if end is None else _reached(end, trace)[0]


def _converged(trace, left=_TARGET_ABOVE):
    first, last = trace[0]["objective"], trace[-1]["objective"]
    return last + left * (first - last) if last < first else None


def _reached(objective, trace):
    """Return the (seconds, records) at which a trace comes down to an objective, by linear interpolation.

    Return None if it never does.
    """
    for before, point in pairwise(trace):
        if point["objective"] <= objective:
            part = (before["objective"] - objective) / (before["objective"] - point["objective"])
            both = ((before[name], point[name]) for name in ("seconds", "records"))
            return tuple(first + part * (last - first) for first, last in both)
    return None


def longer_with_less(rows):
    """Seconds to converge with less regularisation over those with more, of the r that the paper gives."""
    over = {}
    for r in (1, 12):
        some = rows.where(reduction=r)
        ends = [seconds_to_converge(some.where(regularisation=name)) for name in ("low", "high")]
        over[f"r={r}"] = None if None in ends else ratio_of_times(*ends)
    return least(over.values(), over)


def sooner_at_12(rows):
    traces = by_reduction(rows)
    ratio = ratio_to_reach(traces[1], traces[12])[0]
    return ratio_of_times(ratio / 12, 1, f"{ratio:.1f} times as soon" if ratio else "")


def records_kept(rows):
    traces = by_reduction(rows)
    kept = [ratio_to_reach(traces[1], traces[r])[1] for r in MASKED]
    return least((exactly(v, f"{v:.2f}" if v else "not reached") for v in kept), map("r={}".format, MASKED))


def gain(rows, column, sign):
    """Return the difference in a column between masks that keep a half and a 24th of the records."""
    few, half, again = (np.array(rows.column(column, run=run)) for run in (FEW, HALF, AGAIN))
    detail = f"{half.mean():.3g} against {few.mean():.3g}; all records again {again.mean():.3g}"
    return of_repeats(sign * (half - few), detail)


CD, MODL, FULL = "coordinate descent", "MODL", "MODL, full projection"  # MODL alone: partial projection
_CLOSE = 0.001  # "convergence time": to 0.1% of the final error


def error_and_time(trace):
    """Return the last test error, and the first time at which the error is at most 0.1% above it."""
    last = trace[-1][1]
    return last, next(seconds for seconds, error in trace if error <= (1 + _CLOSE) * last)


def of_splits(rows):
    """CD and MODL -> (n_splits, 2): the last test error, and the seconds until it is nearly reached."""
    found = {}
    for solver in (CD, MODL):
        kept = rows.where(solver=solver)
        splits = [kept.where(split=i) for i in kept.values("split")]
        traces = [list(zip(split.column("seconds"), split.column("test_rmse"))) for split in splits]
        found[solver] = np.array([error_and_time(trace) for trace in traces])
    return found


def error(rows):
    theirs, ours = (found[:, 0] for found in of_splits(rows).values())
    return of_repeats(ours - theirs, f"{ours.mean():.4f} against {theirs.mean():.4f}")


def traces_of_sizes(rows):
    """Return the (epoch, seconds, error) of every epoch, by number of ratings and solver."""
    found = {n: {CD: [], MODL: [], FULL: []} for n in sorted(rows.values("n_ratings"))}
    for row in rows:
        point = row["epoch"], row["seconds"], row["test_rmse"]
        found[row["n_ratings"]][row["solver"]].append(point)
    return found


def good_ends(rows):
    over = {
        f"{solver}, {n:,}": share_above(found[solver][-1][2], found[CD][-1][2])
        for n, found in traces_of_sizes(rows).items()
        for solver in (MODL, FULL)
    }
    return largest(over.values(), over, "+.1%")


def partial_better(rows):
    """Return the least lead of partial projection over all sizes."""
    found = {n: (of_n[FULL][-1][2], of_n[MODL][-1][2]) for n, of_n in traces_of_sizes(rows).items()}
    leads = [share_above(full, part, f"{full:.4f} and {part:.4f}") for full, part in found.values()]
    return least(leads, [f"{n:,}" for n in found])


def speed_up(found):
    """Return the ratio of the times that coordinate descent and MODL need to their last error."""
    seconds = {s: error_and_time([point[1:] for point in found[s]])[1] for s in (CD, MODL)}
    return seconds[CD] / seconds[MODL]


def speed_up_grows(rows):
    ratios = {n: speed_up(found) for n, found in traces_of_sizes(rows).items()}
    detail = ", ".join(f"{n:,} ratings: {ratio:.2g} times" for n, ratio in ratios.items())
    return ratio_of_times(ratios[max(ratios)], ratios[min(ratios)], detail, noise=2 * TIME_NOISE)


def fewer_epochs(rows):
    needed = {
        n: error_and_time([(epoch, error) for epoch, _, error in found[MODL]])[1]
        for n, found in traces_of_sizes(rows).items()
    }
    detail = ", ".join(f"{n:,} ratings: {epochs}" for n, epochs in needed.items())
    return give_or_take(needed[min(needed)] - needed[max(needed)], 1, detail)  # only whole epochs are seen


def times_apart(rows):
    """Return the ratio of the longer time to the shorter."""
    few, half = (np.mean(rows.column("seconds", run=run)) for run in (FEW, HALF))
    return ratio_of_times(max(few, half), min(few, half), f"{half:.3g} s, and {few:.3g} s without masks")


def _by_beta(rows, pick):
    """Apply `pick` to the errors of every split, epoch by epoch; return the results by beta."""
    found = {beta: rows.where(beta=beta) for beta in rows.values("beta")}
    splits = rows.values("split")
    return {b: np.array([pick(of.column("test_rmse", split=i)) for i in splits]) for b, of in found.items()}


def best_beta(rows, low=0.85, high=0.95):
    """Return how much lower the mean error is at the best beta within a range than outside of it.

    The interval is that of the splits, widened by what decides nothing.
    """
    means = _by_beta(rows, np.mean)
    inside, outside = (
        np.min([m for beta, m in means.items() if (low <= beta <= high) == is_inside], axis=0)
        for is_inside in (True, False)
    )
    detail = ", ".join(f"{beta:g}: {m.mean():.4f}" for beta, m in means.items())
    found = of_repeats(outside / inside - 1, detail)
    return replace(found, low=found.low - _DECIDES, high=found.high + _DECIDES)


def spread_of_betas(rows):
    """Return the relative excess of the last error at the worst beta over that at the best."""
    last = list(_by_beta(rows, lambda errors: errors[-1]).values())
    return of_repeats(np.max(last, axis=0) / np.min(last, axis=0) - 1)


def sooner_than_descent(rows, least):
    """Return the speed-up over coordinate descent at the largest size from `least` ratings on, or None."""
    found = [speed_up(traces) for n, traces in traces_of_sizes(rows).items() if n >= least]
    return ratio_of_times(found[-1], 1) if found else None

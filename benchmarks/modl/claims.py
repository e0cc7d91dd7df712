"""What Mensch et al. state of MODL on pictures and volumes, and what would refute it.

Where the paper gives a word and no number, the number is ours and stands in the sentence.
"""

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
    times_as,
)

AGAIN, FEW, HALF = "all records again", "a 24th of the records", "half of the records, r=12"
_AT_REST = 0.8  # of the records: what falls after it is left to converge
_TARGET_ABOVE = 0.02  # of the way from the first objective to the end: "the same objective"
MASKED = (4, 8, 12)  # reductions


def _traces(rows):
    """Rows by reduction, by rising number of records."""
    by_r = {r: rows.where(reduction=r) for r in dict.fromkeys(row["reduction"] for row in rows)}
    return {r: sorted(trace, key=lambda row: row["records"]) for r, trace in by_r.items()}


def _ends(rows, column):
    return {r: trace[-1][column] for r, trace in _traces(rows).items()}


def left_to_fall(rows):
    return largest(exactly(_left(trace), f"r={r} {_left(trace):.1%}") for r, trace in _traces(rows).items())


def _left(trace):
    """The part of the whole fall that comes in the last fifth of the records; 1 where it does not fall."""
    first, last = trace[0]["objective"], trace[-1]["objective"]
    before = next(row["objective"] for row in trace if row["records"] >= _AT_REST * trace[-1]["records"])
    return 1.0 if last >= first else abs(before - last) / (first - last)


def up_to_8(rows, column, pick):
    ends = _ends(rows, column)
    if None in ends.values():
        return None
    over = {r: share_above(ends[r], ends[1], f"{ends[r] / ends[1] - 1:+.1%}") for r in (4, 8)}
    return EXTREMES[pick](over.values(), [f"r={r}" for r in over])


def sparser_at_12(rows):
    ends = _ends(rows, "l1_over_l2")
    return None if None in ends.values() else share_above(ends[12], ends[1])


def cheaper(rows):
    seconds = _ends(rows, "seconds")
    over = {r: ratio_of_times(seconds[1], seconds[r], f"{seconds[1] / seconds[r]:.1f} times") for r in MASKED}
    return least((times_as(v, 1 / r) for r, v in over.items()), [f"r={r}" for r in over])


def ratio_to_reach(one, other):
    """To where the first trace has converged: its seconds over the other's, its records over the other's.

    Both are 0 where the other does not come so low.
    """
    end = _converged(one)
    a, b = (None if end is None else _reached(end, trace) for trace in (one, other))
    return (0.0, 0.0) if b is None else tuple(x / y for x, y in zip(a, b))


def seconds_to_converge(trace):
    """Until a trace is 2 % of the way from its first objective to its last above the last; None where it
    does not fall."""
    end = _converged(trace)
    return None if end is None else _reached(end, trace)[0]


def _converged(trace):
    first, last = trace[0]["objective"], trace[-1]["objective"]
    return last + _TARGET_ABOVE * (first - last) if last < first else None


def _reached(objective, trace):
    """Where a trace comes down to an objective, (seconds, records) on the line between two points of it; None
    where it never does."""
    for before, point in pairwise(trace):
        if point["objective"] <= objective:
            part = (before["objective"] - objective) / (before["objective"] - point["objective"])
            return tuple(
                before[name] + part * (point[name] - before[name]) for name in ("seconds", "records")
            )
    return None


def longer_with_less(rows):
    """Seconds to converge with the least lam over those with the most, of the r that the paper gives."""
    over = {}
    for data in dict.fromkeys(rows.column("data")):
        kept = rows.where(data=data)
        lams = sorted(set(kept.column("lam")))
        for r in (1, 12) if len(lams) > 1 else ():
            ends = [seconds_to_converge(_traces(kept.where(lam=lam))[r]) for lam in (lams[0], lams[-1])]
            over[f"{data}, r={r}"] = None if None in ends else ratio_of_times(*ends)
    return least(over.values(), over)


def sooner_at_12(rows):
    traces = _traces(rows)
    ratio = ratio_to_reach(traces[1], traces[12])[0]
    return ratio_of_times(ratio / 12, 1, f"{ratio:.1f} times as soon" if ratio else "not reached")


def records_kept(rows):
    traces = _traces(rows)
    kept = {r: ratio_to_reach(traces[1], traces[r])[1] for r in MASKED}
    return least(
        (exactly(v, f"{v:.2f}" if v else "not reached") for v in kept.values()), [f"r={r}" for r in kept]
    )


def _by_run(rows, column):
    """The values of a column for (a 24th of the records, half of them behind masks), repeat by repeat."""
    return [np.array(rows.column(column, run=run)) for run in (FEW, HALF)]


def gain(rows, column, sign):
    """How much more, or less, of it half of the records have, with what each has."""
    few, half = _by_run(rows, column)
    again = np.mean(rows.column(column, run=AGAIN))
    detail = f"{half.mean():.3g} against {few.mean():.3g}; all records again {again:.3g}"
    return of_repeats(sign * (half - few), detail)


def similar_time(rows):
    few, half = _by_run(rows, "seconds")
    return ratio_of_times(half.mean(), few.mean())


def over_without_masks(rows):
    ends = {row["times_the_records"]: row["objective"] for row in rows}
    return share_above(ends[max(ends)], ends[1])


def best_beta(rows, low=0.85, high=0.95):
    last = max(rows.column("records"))
    ends = {row["beta"]: row["objective"] for row in rows.where(records=last)}
    inside = min(value for beta, value in ends.items() if low <= beta <= high)
    outside = min(value for beta, value in ends.items() if not low <= beta <= high)
    return share_above(outside, inside, ", ".join(f"{beta:g}: {v:.4f}" for beta, v in ends.items()))


CD, MODL, FULL = "coordinate descent", "MODL", "MODL, full projection"  # MODL alone: partial projection
_CLOSE = 0.001  # "convergence time": to 0.1 % of the final error


def error_and_time(trace):
    """The last test error, and the seconds until the error is at most 0.1 % above it.

    An error that falls below the last one and rises again counts: it was as good sooner.
    """
    last = trace[-1][1]
    return last, next(seconds for seconds, error in trace if error <= (1 + _CLOSE) * last)


def of_splits(rows):
    """(n_splits, 2) by solver: the last test error, and the seconds until it is nearly reached."""
    found = {}
    for solver in (CD, MODL):
        kept = rows.where(solver=solver)
        splits = [kept.where(split=i) for i in dict.fromkeys(kept.column("split"))]
        found[solver] = np.array(
            [error_and_time([(r["seconds"], r["test_rmse"]) for r in split]) for split in splits]
        )
    return found


def error(rows):
    found = of_splits(rows)
    means = {solver: values[:, 0].mean() for solver, values in found.items()}
    detail = f"{means[MODL]:.4f} against {means[CD]:.4f}"
    return of_repeats(found[MODL][:, 0] - found[CD][:, 0], detail)


def time(rows):
    found = of_splits(rows)
    means = {solver: values[:, 1].mean() for solver, values in found.items()}
    ratio = of_repeats(found[CD][:, 1] / found[MODL][:, 1])
    return give_or_take(
        ratio.value, ratio.value - ratio.low, f"{means[CD]:.2f} s against {means[MODL]:.2f} s"
    )


def _of_sizes(rows):
    """n ratings -> solver -> (epoch, seconds, error) of every epoch."""
    sizes = sorted(set(rows.column("n_ratings")))
    return {
        n: {
            s: [(r["epoch"], r["seconds"], r["test_rmse"]) for r in rows.where(n_ratings=n, solver=s)]
            for s in (CD, MODL, FULL)
        }
        for n in sizes
    }


def good_ends(rows):
    over = {
        f"{s}, {n:,}": found[s][-1][2] / found[CD][-1][2]
        for n, found in _of_sizes(rows).items()
        for s in (MODL, FULL)
    }
    return largest((share_above(v, 1, f"{v - 1:+.1%}") for v in over.values()), over)


def partial_better(rows):
    """The least lead of partial projection at any size."""
    found = {n: (of_n[FULL][-1][2], of_n[MODL][-1][2]) for n, of_n in _of_sizes(rows).items()}
    leads = [share_above(full, part, f"{full:.4f} and {part:.4f}") for full, part in found.values()]
    return least(leads, [f"{n:,}" for n in found])


def speed_up(found):
    """Of MODL over coordinate descent, from the traces of one size: seconds until the error is its last."""
    seconds = {s: error_and_time([point[1:] for point in found[s]])[1] for s in (CD, MODL)}
    return seconds[CD] / seconds[MODL]


def speed_up_grows(rows):
    ratios = {n: speed_up(found) for n, found in _of_sizes(rows).items()}
    detail = ", ".join(f"{n:,} ratings: {ratio:.2g} times" for n, ratio in ratios.items())
    return ratio_of_times(ratios[max(ratios)], ratios[min(ratios)], detail, noise=2 * TIME_NOISE)


def fewer_epochs(rows):
    needed = {
        n: error_and_time([(epoch, error) for epoch, _, error in found[MODL]])[1]
        for n, found in _of_sizes(rows).items()
    }
    detail = ", ".join(f"{n:,} ratings: {epochs}" for n, epochs in needed.items())
    return exactly(needed[min(needed)] - needed[max(needed)], detail)

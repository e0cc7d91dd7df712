"""What Huang et al. state of SISO and hash-accelerated SISO, and what would refute it."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from benchmarks.claims import TIME_NOISE, Number, give_or_take, largest, least, of_draws, ratio_of_times
from benchmarks.rows import Rows, exponent
from benchmarks.siso.annotators import HASH, LASSO, LASSOS, P_STABLE, SISO

_LARGEST = 6  # sizes of a sixth of the largest and more show how time grows
MAP_LOSS = 0.01  # "less than 1% loss of MAP", "negligible"


def others(rows):
    """Return the methods other than SISO, hash-SISO and the LASSO."""
    own = HASH, P_STABLE, SISO, *LASSOS
    return [m for m in rows.values("method") if m not in own]


def quicker(rows, who=P_STABLE, *, without=()):
    """Return the least ratio of the other methods' times to the time of hash-SISO.

    `without` names methods that the paper's table does not have.
    """
    hashed = rows.value("seconds", method=who)
    found = {m: rows.value("seconds", method=m) / hashed for m in others(rows) if m not in without}
    return least((ratio_of_times(v, 1, f"{v:.2g}") for v in found.values()), found)


def construction(rows):
    fit, whole = (rows.value(column, method=P_STABLE) for column in ("seconds_of_fit", "seconds"))
    return give_or_take(fit / whole, TIME_NOISE * fit / whole, f"{fit:.2g} of {whole:.2g} s")


def mostly(rows, longer, shorter, methods):
    """Return the least ratio of one time to another, over the named methods that have rows."""
    methods = [m for m in methods if m in rows.values("method")]
    found = {m: [rows.value(column, method=m) for column in (longer, shorter)] for m in methods}
    return least((ratio_of_times(a, b) for a, b in found.values()), found)


def per_query(rows, one, other):
    """Return the ratio of two methods' times per query; LASSO is the quickest of its solvers.

    A ratio in favour of hash-SISO counts only if its answers are as good as SISO's.
    """
    quick = rows.value("ms_per_query", method=other)
    asked = LASSOS if one == LASSO else [one]
    slow = {m: rows.value("ms_per_query", method=m) for m in asked if m in rows.values("method")}
    if not slow or quick is None:
        return None
    ratio = least((ratio_of_times(ms, quick) for ms in slow.values()), slow)
    return ratio if other == SISO else _if_as_good(ratio, loss(rows, other, SISO), "MAP")


def per_query_at_most(rows, one, other):
    """Return the ratio of two methods' times for queries that come one at a time, as in the paper.

    The ratio is taken at the largest number of labelled vectors that both methods were given.  The answers to
    queries that come at once decide whether it counts, because there are many more of these.
    """
    alone = rows.where(how="one at a time")
    shared = set(alone.column("n", method=one)) & set(alone.column("n", method=other))
    if not shared:
        return None
    n = max(shared)
    ratio = ratio_of_times(*(alone.value("seconds_per_query", method=m, n=n) for m in (one, other)))
    theirs, sisos = (rows.where(how="at once", method=m, n=n)[0] for m in (other, SISO))
    apart = (np.subtract(theirs[name], sisos[name]) for name in ("flat_cost", "draws"))
    found = _if_as_good(ratio, of_draws(*apart), "flat cost")
    return replace(found, detail=f"n={n:,}, {found.detail}")


def _if_as_good(ratio, loss, what):
    """Set a speed-up to 0 if the answers are worse than SISO's by MAP_LOSS or more.

    A hash that finds next to nothing is fast.
    """
    speeds, losses = (ratio.value, ratio.low, ratio.high), (loss.value, loss.high, loss.low)
    counted = [speed if loss < MAP_LOSS else 0.0 for speed, loss in zip(speeds, losses)]
    words = "" if counted[0] else "which does not count: "
    detail = f"{ratio.value:.3g} times, {words}{what} {loss.value:.4f} worse than SISO's"
    return Number(*counted, detail)


def _lead(one, other):
    """Return the difference of two rows' MAP on the queries that both answered."""
    n = min(one["n_queries"], other["n_queries"])
    one, other = (row if row["n_queries"] == n else row["of_first"][str(n)] for row in (one, other))
    return of_draws(one["map"] - other["map"], np.subtract(one["draws"], other["draws"]))


def loss(rows, one, other):
    """Return the largest amount by which one method's MAP lies below another's, over all shares."""
    pairs = zip(rows.where(method=other), rows.where(method=one))
    return largest((_lead(a, b) for a, b in pairs), form=".4f")


def rises(rows):
    """Return the least gain of MAP from one labelled share to the next."""
    ordered = sorted(rows, key=lambda row: row["tau"])
    gain = least([_lead(more, fewer) for fewer, more in pairwise(ordered)])
    return replace(gain, detail=", ".join(f"{row['map']:.3f}" for row in ordered))


def most_settings(rows, who=P_STABLE):
    """Return the share of (method, tau) for which hash-SISO has the larger MAP."""
    rivals = [row for m in others(rows) for row in rows.where(method=m)]
    pairs = [(rows.where(method=who, tau=row["tau"])[0], row) for row in rivals]
    leads = np.array([np.subtract(a["draws"], b["draws"]) > 0 for a, b in pairs])
    n = sum(a["map"] > b["map"] for a, b in pairs)
    return of_draws(n / len(pairs), leads.mean(axis=0), f"{n} of {len(pairs)}")


def ahead(rows, one, methods, above_tau=0, below_tau=2):
    """Return the least lead of one method's MAP over others, for shares between two bounds."""
    kept = [row for row in rows.where(method=one) if above_tau < row["tau"] < below_tau]
    pairs = [(row, rows.where(method=m, tau=row["tau"])[0]) for m in methods for row in kept]
    return least((_lead(a, b) for a, b in pairs), [f"{b['method']} at {b['tau']:g}" for _, b in pairs])


def cost_falls(rows):
    kept = sorted(rows.where(method=P_STABLE, how="at once"), key=lambda row: row["n"])
    value, draws = (np.subtract(kept[0][name], kept[-1][name]) for name in ("flat_cost", "draws"))
    return of_draws(value, draws, ", ".join(f"{row['flat_cost']:.3f}" for row in kept))


def growth(rows):
    """Return the exponent of growth at the largest sizes, where the fixed cost of a query weighs least."""
    all_ = rows.where(method=P_STABLE, how="at once")
    kept = Rows(row for row in all_ if row["n"] >= max(all_.column("n")) / _LARGEST)
    sizes = kept.column("n")
    slope = exponent(sizes, kept.column("seconds_per_query"))
    noise = 2 * np.log1p(TIME_NOISE) / np.log(max(sizes) / min(sizes))
    return give_or_take(slope, noise, f"as n^{slope:.2f} from {min(sizes):,} to {max(sizes):,}")

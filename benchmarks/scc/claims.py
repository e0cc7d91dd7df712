"""What Lin et al. state of SCC beside online learning (OL), and what would refute it."""

from itertools import pairwise

import numpy as np

from benchmarks.claims import (
    OBJECTIVE_NOISE,
    above,
    exactly,
    give_or_take,
    largest,
    least,
    of_draws,
    of_repeats,
    pairs,
    ratio_of_times,
    share_above,
)

OL_AT_1, OL_AT_512, SCC_PAPER = "OL, batch 1", "OL, batch 512", "SCC paper"
VARIANTS = {"paper": SCC_PAPER, "released": "SCC released"}
AS_THE_PAPER = "as the paper"  # how terms are found; and with one difference of ours at a time
OVERLAPPING, LARGER, CELLS = "patches 8 px apart, overlapping", "patches of 64 px", "a grid of 2x4 cells"
GROUPED, BALANCED = "one vector for a group", "balanced SVM, C from inner folds"
FIGURE, DIFFERENCES = "the figure", "what differs"  # parts of the rows
THRESHOLD, ALL_OF_OURS = "balanced SVM, and threshold from inner folds", "all of ours"
_NOISE_OF_D = 0.3  # of the time of the dictionary, which is the difference of two times
_NOISE_OF_RATIO = 0.2  # of one ratio of times over another


def _growths(rows, column):
    """Return how many times as much the largest size takes as the smallest, for OL and SCC.

    None if it is unknown.
    """
    sizes = rows.values("n_atoms")
    ends = pairs(rows, column, {"n_atoms": max(sizes)}, {"n_atoms": min(sizes)}, "who")
    both = [ends[who] for who in (OL_AT_1, SCC_PAPER)] if ends else []
    return None if not both or any(few <= 0 for _, few in both) else [many / few for many, few in both]


def grows_slower(rows):
    found = _growths(rows, "us_of_total")
    return found and ratio_of_times(*found, f"OL {found[0]:.1f} times, SCC {found[1]:.1f}")


def dictionary_least(rows):
    of_D, of_z = _growths(rows, "us_of_D"), _growths(rows, "us_of_z")
    if of_D is None or of_z is None:
        return None
    return ratio_of_times(
        of_z[1], of_D[1], f"dictionary {of_D[1]:.2f}, codes {of_z[1]:.2f}", noise=_NOISE_OF_D
    )


def share_of_dictionary(rows):
    shares = [row["us_of_D"] / row["us_of_total"] for row in rows.where(who=SCC_PAPER)]
    return largest(give_or_take(share, _NOISE_OF_D * share) for share in shares)


def speed_up_grows(rows):
    found = pairs(
        rows, "us_per_sample", {"method": OL_AT_1}, {"method": SCC_PAPER}, ("n_atoms", "stage_range")
    )
    speed_ups = {size: ol / scc for size, (ol, scc) in found.items()}
    steps = [
        speed_ups[more, s] / speed_ups[fewer, s]
        for fewer, more in pairwise(rows.values("n_atoms"))
        for s in rows.values("stage_range")
        if found
    ]
    return least(ratio_of_times(v, 1, noise=_NOISE_OF_RATIO) for v in steps)


def falls(rows):
    """Return the least fall from every size to the next, of all learners in every stage range."""
    steps = [
        above(rows.where(stage_range=s, method=method), "objective", {"n_atoms": fewer}, {"n_atoms": more})
        for method in (*VARIANTS.values(), OL_AT_512)
        for fewer, more in pairwise(rows.values("n_atoms"))
        for s in rows.values("stage_range")
    ]
    return least(steps, form=".1%")


def above_ol(rows):
    """Return the mean over the cells of the table with its interval, or the value of a single cell."""
    found = rows.column("above")
    if len(found) == 1:
        return give_or_take(found[0], OBJECTIVE_NOISE)
    return of_repeats(found, f"{len(found)} cells, {min(found):.2%} to {max(found):.2%}")


def _by_sweeps(rows, column):
    """Return a column after the last epoch, by rising number of sweeps."""
    last = max(rows.column("epoch"))
    kept = sorted(rows.where(epoch=last), key=lambda row: row["n_sweeps"])
    return [row["n_sweeps"] for row in kept], [row[column] for row in kept]


def most_sweeps_lower(rows):
    n, ends = _by_sweeps(rows, "objective")
    return share_above(ends[0], ends[-1], ", ".join(f"{k}: {v:.4f}" for k, v in zip(n, ends)))


def most_sweeps_longer(rows):
    n, seconds = _by_sweeps(rows, "seconds")
    return ratio_of_times(seconds[-1], seconds[0], ", ".join(f"{k}: {v:.3g} s" for k, v in zip(n, seconds)))


def three_bring_most(rows):
    n, ends = _by_sweeps(rows, "objective")
    most, three = (ends[0] / end - 1 for end in (ends[-1], ends[n.index(3)]))
    return give_or_take(three / most, OBJECTIVE_NOISE / abs(most), f"{three:.2%} of the objective")


def _rates(rows):
    """Return the objectives after every epoch of the adaptive rate and of the best natural one."""
    natural = min(rows.where(rate="natural"), key=lambda row: row["objective"])
    at = f"a={natural['a']:g}, b={natural['b']:g}"
    return rows.value("trace", rate="adaptive"), natural["trace"], at


def adaptive_lower(rows):
    adaptive, natural, at = _rates(rows)
    return share_above(natural[-1], adaptive[-1], f"{adaptive[-1]:.4f} against {natural[-1]:.4f} at {at}")


def epochs_to_natural_end(rows):
    """After which the adaptive rate is as low as the natural one in the end."""
    adaptive, natural, at = _rates(rows)
    n = next((epoch for epoch, v in enumerate(adaptive, 1) if v <= natural[-1]), 1 + len(adaptive))
    ahead = ", ".join(f"{b / a - 1:+.1%}" for a, b in zip(adaptive[:3], natural))
    return exactly(n, f"after 1, 2, 3 epochs {ahead} ahead of {at}")


def _scored(rows, learner, pick):
    """Return the row of a learner at the smallest ("min") or largest dictionary.

    It is annotated as in the paper.
    """
    kept = sorted(rows.where(learner=learner, part=FIGURE), key=lambda row: row["n_atoms"])
    return kept[0 if pick == "min" else -1] if kept else None


def _difference(one, other):
    if one is None or other is None:
        return None
    draws = np.subtract(one["draws"], other["draws"])
    return of_draws(one["value"] - other["value"], draws, f"{one['value']:.3f} less {other['value']:.3f}")


def ol_less_scc(rows, pick):
    return _difference(*(_scored(rows, learner, pick) for learner in ("OL", "SCC")))


def gain(rows):
    gains = [_difference(_scored(rows, who, "max"), _scored(rows, who, "min")) for who in ("SCC", "OL")]
    return least(gains, ("SCC", "OL"))


def gain_of(rows, protocol, metric="auc"):
    """Return the gain of another protocol."""
    kept = rows.where(part=DIFFERENCES, metric=metric)
    return _difference(*(next(iter(kept.where(protocol=one)), None) for one in (protocol, AS_THE_PAPER)))

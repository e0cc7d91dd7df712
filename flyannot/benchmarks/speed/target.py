"""Time to an objective: the one that SPAMS reaches at its best batch size after three epochs."""

from flyannot.benchmarks.speed.race import Contender, Task, race
from flyannot.sparse.learners import LEARNERS

_M = 1000
_BATCHES = (64, 256, 512)
_N_EPOCHS = 3
_LONG = 10  # epochs of the second comparison
_OURS = {
    "paper": {"variant": "paper"},
    "released": {"variant": "released"},
    "released, forgetting 0.3": {"variant": "released", "forgetting": 0.3},
    "quick": {"variant": "quick"},
}


def rows(inputs, bounds):
    """SPAMS over 3 epochs at every batch size, over 10 at the best; then ours, epoch by epoch."""
    problem = inputs.problem(_M) | {"n": bounds.n_target}
    three = race(_task(1), [_spams(problem, b, _N_EPOCHS) for b in _BATCHES])
    reached = [row for row in three if row["objective"] is not None]
    best = min(reached, key=lambda row: row["objective"], default=None)
    ten = race(_task(1), [_spams(problem, best["batch_size"], _LONG)]) if best else []
    ours = race(_task(bounds.repeats), list(_all_ours(problem)))
    yield from (row | {"ratio_to_flyannot": None} for row in three + ten)
    yield from (_with_time_to(row, best) for row in ours)


def _task(repeats):
    return Task("target", "learn", m=_M, repeats=repeats)


def _spams(problem, batch_size, n_epochs):
    return Contender(
        f"spams-ol-{batch_size}", f"{n_epochs} epochs", "learning:learn_spams",
        problem | {"batch_size": batch_size, "n_epochs": n_epochs}, "spams",
    )  # fmt: skip


def _all_ours(problem):
    problem = problem | {"n_epochs": _LONG}
    for name, settings in _OURS.items():
        yield Contender("flyannot", name, "learning:learn_ours", problem | {"settings": settings})
    if "ol" in LEARNERS:
        yield Contender("flyannot", "ol", "learning:learn_ours", problem | {"learner": "ol"})


def _with_time_to(row, best):
    """Our row with the epochs and seconds to the best peer's objective, and the ratio of the seconds."""
    row = row | {"epochs_to_target": None, "seconds_to_target": None, "ratio_to_target": None}
    row["ratio_to_flyannot"] = None
    if best is None:
        return row | {"note": "no target: SPAMS is absent"}
    epoch = first_at_most(row["trace"], best["objective"])
    row["target"] = best["objective"]
    if epoch is None:
        return row | {"note": f"not in {len(row['trace'])} epochs"}
    seconds = row["trace"][epoch - 1][0]
    ratio = best["seconds"] / seconds
    return row | {"epochs_to_target": epoch, "seconds_to_target": seconds, "ratio_to_target": ratio}


def first_at_most(trace, objective):
    """The first epoch (from 1) whose objective is at most that given, or None."""
    return next((k for k, (_, value) in enumerate(trace, 1) if value <= objective), None)

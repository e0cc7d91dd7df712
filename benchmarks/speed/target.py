"""Time to the lowest objective of SPAMS after three epochs; SPAMS at the batch size that is soonest there."""

from dataclasses import replace

from benchmarks.compare_methods import Method, compare_methods
from benchmarks.findings import Finding, Target
from benchmarks.inputs.patches import LAM, patches_of
from benchmarks.scc.learning import learn, scc, spams_ol, traced

_N_EPOCHS = 3
_LONG = 10  # epochs of the second comparison
_ONCE = ("paper", "ol")  # of ours
_OURS = {
    "released": {"variant": "released"},
    "paper": {"variant": "paper"},
    "released, forgetting 0.3": {"variant": "released", "forgetting": 0.3},
    "quick": {"variant": "quick"},
}


def measure_time_to_objective(setup):
    """SPAMS over more and more epochs at every batch size; then ours, epoch by epoch."""
    given, m = patches_of(setup, setup.sizes["n_patches"]), setup.sizes["n_atoms"]
    problem, once = given.problem(m), replace(setup, repeats=1)
    runs = [
        spams_ol(problem, given.n, n_epochs, batch_size)
        for batch_size, runs_of_one in setup.sizes["runs"] for n_epochs in runs_of_one
    ]  # fmt: skip
    theirs = compare_methods(once, runs, n_atoms=m)
    best = soonest_at_target([row for row in theirs if row["objective"] is not None])
    methods = [replace(scc(problem, given.n, _LONG, **s), variant=name) for name, s in _OURS.items()]
    arguments = problem | {"n": given.n, "n_epochs": _LONG, "learner": "ol"}
    methods.append(Method("flyannot", "ol", learn, arguments))
    methods = [traced(replace(m, most_repeats=1) if m.variant in _ONCE else m) for m in methods]
    ours = [row | _time_to(row["trace"], best) for row in compare_methods(setup, methods, n_atoms=m)]
    sooner = max((row["times_sooner"] for row in ours if "times_sooner" in row), default=None)
    ends = min((row["objective"] for row in theirs if row.get("epochs") == _LONG), default=None)
    lowest = min(row["objective"] for row in ours) / ends if ends else None
    return Finding(
        source=given.source,
        variant=f"{m} atoms, lam {LAM:.4f}; exact codes of patches unseen",
        rows=[row | {"times_as_long": None} for row in theirs + ours],
        targets=[
            Target("time to SPAMS's best objective of 3 epochs: theirs over ours", sooner, 15),
            Target("objective after 10 epochs: our best over SPAMS's", lowest, 1, at_least=False),
        ],
    )


def soonest_at_target(rows):
    """The row that is soonest at or below the lowest objective of three epochs, with that target; or None."""
    target = min((row["objective"] for row in rows if row["epochs"] == _N_EPOCHS), default=None)
    if target is None:
        return None
    return min((row for row in rows if row["objective"] <= target), key=lambda row: row["seconds"]) | {
        "target": target
    }


def _time_to(trace, best):
    """The epochs and seconds of ours to SPAMS's target, and how many times sooner than SPAMS's soonest."""
    if best is None:
        return {"note": "no target: SPAMS is absent"}
    epoch = first_at_most(trace, best["target"])
    if epoch is None:
        return {"note": f"not in {len(trace)} epochs"}
    seconds = trace[epoch - 1][0]
    reached = {"target": best["target"], "epochs_to_target": epoch, "seconds_to_target": seconds}
    return reached | {"times_sooner": best["seconds"] / seconds}


def first_at_most(trace, objective):
    """The first epoch (from 1) whose objective is at most that given, or None."""
    return next((k for k, (_, value) in enumerate(trace, 1) if value <= objective), None)

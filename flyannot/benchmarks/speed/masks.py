"""Masked learning on whole pictures: how much faster, how much worse, and what it makes of missing pixels."""

from pathlib import Path

from flyannot.benchmarks.speed.race import Contender, Task, absent, race
from flyannot.benchmarks.speed.whole_pictures import write_pictures

_M = 100
_LAM = 0.1
_REDUCTIONS = (1, 8, 12)
_MISSING = 0.3
_N_EPOCHS_MISSING = 4


def rows(inputs, bounds):
    """MODL on one pixel in 1, 8 and 12 at a time, from the same atoms; then completion."""
    what = write_pictures(inputs.folder, inputs.data_set)
    files = {name: str(Path(inputs.folder) / f"{name}.npy") for name in ("train", "test")}
    problem = files | {"n_atoms": _M, "lam": _LAM}
    if not what:
        yield absent("masks", "learn", "absent: no folder of pictures; name one by --data-set")
        return
    learning = [
        Contender(
            "modl", f"reduction {r}", "masking:learn_pictures",
            problem | {"reduction": r, "n_epochs": bounds.n_epochs_masks}, note=what,
        )
        for r in _REDUCTIONS
    ]  # fmt: skip
    for row in race(Task("masks", "learn", m=_M, repeats=bounds.repeats), learning):
        yield row | {"times_faster": 1 / row["ratio_to_flyannot"], "ratio_to_flyannot": None}
    filling = Contender(
        "modl", f"reduction 12, {100 * _MISSING:.0f} % missing", "masking:complete_pictures",
        problem | {"reduction": 12, "n_epochs": _N_EPOCHS_MISSING, "missing": _MISSING},
        note="us to fill one picture; errors in grey levels",
    )  # fmt: skip
    for row in race(Task("masks", "complete", m=_M), [filling]):
        yield row | {"ratio_to_flyannot": None}

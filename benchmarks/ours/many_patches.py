"""One pass over more patches than fit in memory: what it takes, and what the last ones are worth."""

from dataclasses import replace

from benchmarks.compare_methods import Method, compare_methods
from benchmarks.findings import Finding, Panel, Target
from benchmarks.inputs.patches import LAM, patches_of
from benchmarks.items import Item
from benchmarks.rows import Series
from benchmarks.scc.long_pass import N_SHARES, NOISE, learn_perturbed

_N_WORKERS = 2
_N_WARM = 20_000
_MOST_MB = 1000


def measure(setup):
    """One pass by two workers; the objective of patches unseen whenever as many again have been visited."""
    given, m = patches_of(setup, setup.sizes["n_patches"]), setup.sizes["n_atoms"]
    task = {"patches": given.path("patches"), "lam": LAM, "n_atoms": m, "jobs": _N_WORKERS, "noise": NOISE}
    setup.run(learn_perturbed, task | {"n": _N_WARM})  # compiles
    whole = task | {"n": setup.sizes["n_perturbed"]}
    words = f"{_N_WORKERS} workers", learn_perturbed, whole
    method = Method("flyannot", *words, most_repeats=1, note="seconds are wall-clock time")
    (row,) = compare_methods(setup, [method], n_atoms=m)
    axes = "patches visited", "objective, patches unseen"
    curve = Series(f"{N_SHARES} shares", row["n_visits"], row["objectives"])
    text = f"{given.source.text}; each comes again and again, every number changed by {NOISE} of 255 at most"
    return Finding(
        source=replace(given.source, text=text),
        variant=f"quick, {N_SHARES} shares, {m} atoms, one pass, lam {LAM:.4f}",
        rows=[row],
        targets=[Target("peak of memory, the sum of all processes, MB", row["peak_sum_mb"], _MOST_MB, False)],
        panels=[Panel("One pass over many patches", *axes, [curve], x_log=True)],
    )


ITEM = Item(
    "many-patches", "One pass over more patches than fit in memory", measure,
    sizes={"n_patches": (20_000, 4_700_000), "n_perturbed": (300_000, 100_000_000), "n_atoms": (250, 250)},
)  # fmt: skip

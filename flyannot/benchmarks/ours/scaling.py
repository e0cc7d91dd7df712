"""How the cost of learning grows: with the atoms, and with the patches."""

from flyannot.benchmarks.compare_methods import Method, compare_methods
from flyannot.benchmarks.findings import Finding, Rows, Target, exponent
from flyannot.benchmarks.inputs.patches import LAM, patches_of
from flyannot.benchmarks.items import Item
from flyannot.benchmarks.scc.learning import learn_streamed, plain_loop, scc

_M = 1000
_N_EPOCHS = 2
_LONG = 10


def measure(setup):
    """Cost per patch against m, seconds per epoch against n, and ten epochs of the largest n, streamed."""
    sizes, rows = setup.sizes["n_patches"], Rows()
    given = patches_of(setup, max(sizes))
    for m in setup.sizes["n_atoms"]:
        pair = [make(given.problem(m), min(sizes), _N_EPOCHS, "released") for make in (scc, plain_loop)]
        rows += compare_methods(setup, pair, against="atoms", n_atoms=m)
    for n in sizes:
        one = scc(given.problem(_M), n, _N_EPOCHS, "released")
        rows += compare_methods(setup, [one], against="patches", n_atoms=_M)
    for row in rows:
        size, cost = ("n_atoms", "us_per_sample") if row["against"] == "atoms" else ("n", "seconds")
        its = [r for r in rows if (r["who"], r["against"]) == (row["who"], row["against"])]
        row["exponent"] = exponent([r[size] for r in its], [r[cost] for r in its])
    arguments = given.problem(_M) | {"n": given.n, "n_epochs": _LONG}
    streamed = Method("flyannot", "released, streamed", learn_streamed, arguments, note="wall-clock time")
    rows += compare_methods(setup, [streamed], against="", n_atoms=_M)
    million = {"variant": "released, streamed", "n": 1_000_000}
    return Finding(
        source=given.source,
        variant=f"SCC released, {_N_EPOCHS} epochs, the dearer ones, lam {LAM:.4f}",
        rows=rows,
        targets=[
            Target(
                "10 epochs of 1,000,000 patches, m=1000: seconds", rows.value("seconds", **million), 90, False
            ),
            Target(
                "10 epochs of 1,000,000 patches, m=1000: peak MB",
                rows.value("peak_mb", **million),
                2000,
                False,
            ),
        ],
    )


ITEM = Item(
    "scaling", "Growth of the cost of learning with the atoms and with the patches", measure,
    sizes={
        "n_patches": ((10_000, 30_000, 100_000), (10_000, 100_000, 1_000_000)),
        "n_atoms": ((250, 500, 1000, 2000, 4000),) * 2,
    },
)  # fmt: skip

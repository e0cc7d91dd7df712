"""One thread against two, in wall-clock time: coding, and learning by DSSC."""

from flyannot.benchmarks.compare_methods import Method, compare_methods
from flyannot.benchmarks.findings import Finding, Target
from flyannot.benchmarks.inputs.patches import LAM, patches_of
from flyannot.benchmarks.items import Item
from flyannot.benchmarks.lee.coding import encode_on_threads
from flyannot.benchmarks.scc.learning import learn_streamed
from flyannot.benchmarks.speed.code import N_LEARN, learned

_M = 1000
_N_EPOCHS = 2  # of DSSC: each takes seven times as long as one of SCC


def measure(setup):
    """Coding takes turns in one process; DSSC makes the same bits on one thread and on two."""
    n = setup.sizes["n_coded"]
    given = patches_of(setup, setup.sizes["n_learn"] + n)
    files = {"patches": given.path("patches"), "dictionary": learned(setup, given, _M)[0]}
    coding = Method("cd", "two threads", encode_on_threads, files | {"lam": LAM, "n": n})
    (coded,) = compare_methods(setup, [coding], threads=2, n_atoms=_M)
    arguments = given.problem(_M) | {"n": setup.sizes["n_dssc"], "n_epochs": _N_EPOCHS, "learner": "dssc"}
    learning = [
        Method(
            "dssc",
            f"{words} thread{'s' * (n > 1)}",
            learn_streamed,
            arguments | {"settings": {"n_threads": n}},
        )
        for n, words in ((1, "one"), (2, "two"))
    ]
    one, two = compare_methods(setup, learning, threads=2, n_atoms=_M)
    two["speed_up"] = 1 / two["times_as_long"]
    return Finding(
        source=given.source,
        variant=f"{_M} atoms, lam {LAM:.4f}, wall-clock time",
        rows=[coded, one, two],
        targets=[Target("coding: one thread over two", coded["speed_up"], 1.8)],
    )


ITEM = Item(
    "threads", "One thread against two", measure,
    sizes={"n_learn": (N_LEARN, N_LEARN), "n_coded": (32_768, 32_768), "n_dssc": (10_000, 20_000)},
)  # fmt: skip

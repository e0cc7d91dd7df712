"""Coding at a fixed dictionary: ours beside the bare product X D^T, SPAMS and scikit-learn."""

from flyannot.benchmarks.compare_methods import Method, compare_methods
from flyannot.benchmarks.findings import Finding, Rows, Target
from flyannot.benchmarks.inputs.patches import LAM, patches_of
from flyannot.benchmarks.items import Item
from flyannot.benchmarks.lee.coding import (
    TOL,
    encode_beside_gemm,
    encode_on_threads,
    learn_dictionaries,
    multiply,
)
from flyannot.benchmarks.references import scikit_learn, spams
from flyannot.benchmarks.speed.learn import N_EPOCHS, SIZES_OF_ATOMS

_M_ON_THREADS = 1000
_N_SLOW = 256  # patches for scikit-learn, which takes milliseconds for one


def measure(setup):
    """All methods at every number of atoms."""
    n = setup.sizes["n_coded"]
    given = patches_of(setup, setup.sizes["n_learn"] + n)
    rows = Rows()
    for m in SIZES_OF_ATOMS:
        rows += compare_methods(setup, methods(setup, given, m, n), n_atoms=m)
    rows += compare_methods(setup, [_on_two_threads(setup, given)], threads=2, n_atoms=_M_ON_THREADS)
    return Finding(
        source=given.source,
        variant=f"cd, tol {TOL:g}, float32, lam {LAM:.4f}; dictionaries of {N_EPOCHS} epochs of SCC",
        rows=rows,
        targets=list(_targets(rows)),
    )


def methods(setup, given, m, n):
    """All that code the last n patches over one learned dictionary of m atoms."""
    last, before = learned(setup, given, m)
    all_ = {"patches": given.path("patches"), "dictionary": last, "lam": LAM, "n": n}
    few = all_ | {"n": min(_N_SLOW, n)}
    warm, few_note = "from the codes of the dictionary one epoch earlier", f"{few['n']} patches"
    return [
        Method("flyannot", "cold", encode_beside_gemm, all_),
        Method("flyannot", "warm", encode_beside_gemm, all_ | {"start_from": before}, note=warm),
        Method("gemm", "X D^T", multiply, all_),
        Method("SPAMS", "lasso", spams.encode, all_, "spams"),
        *[Method("scikit-learn", a, scikit_learn.encode, few | {"algorithm": a}, "scikit-learn", 2, few_note)
          for a in ("lasso_cd", "lasso_lars")],
    ]  # fmt: skip


def _on_two_threads(setup, given):
    """Beside one thread, in turns, in wall-clock time."""
    n, (dictionary, _) = setup.sizes["n_on_threads"], learned(setup, given, _M_ON_THREADS)
    arguments = {"patches": given.path("patches"), "dictionary": dictionary, "lam": LAM, "n": n}
    return Method("flyannot", "two threads", encode_on_threads, arguments, note="wall-clock time")


def learned(setup, given, m):
    """The files of a dictionary learned by SCC and of the same one epoch earlier."""
    last, before = (given.path(f"learned-{m}-{epoch}") for epoch in (N_EPOCHS, N_EPOCHS - 1))
    arguments = given.problem(m) | {"n": setup.sizes["n_learn"], "n_epochs": N_EPOCHS}
    del arguments["held"]
    setup.run(learn_dictionaries, arguments | {"last": last, "last_but_one": before})
    return last, before


def _targets(rows):
    def of(column, **wanted):
        return rows.value(column, n_atoms=1000, **wanted)

    slow = [of("times_as_long", who="scikit-learn", variant=a) for a in ("lasso_cd", "lasso_lars")]
    ours = {"who": "flyannot", "variant": "cold"}
    yield Target("m=1000: SPAMS lasso over ours", of("times_as_long", who="SPAMS"), 20)
    yield Target("m=1000: scikit-learn's quicker over ours", min(filter(None, slow), default=None), 100)
    yield Target(
        "m=1000: largest relative duality gap", of("worst_relative_gap", **ours), TOL, at_least=False
    )
    yield Target("m=1000: ours over the bare product", of("times_gemm", **ours), 3, at_least=False)
    yield Target("m=1000: one thread over two", of("speed_up", variant="two threads"), 1.8)


ITEM = Item(
    "code", "Coding at a fixed dictionary", measure,
    sizes={"n_learn": (20_000, 20_000), "n_coded": (4_096, 4_096), "n_on_threads": (16_384, 16_384)},
)  # fmt: skip

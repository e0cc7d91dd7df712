"""What learning costs: per patch and epoch, beside others from the same initial atoms."""

from dataclasses import replace

from benchmarks.compare_methods import compare_methods, methods_at
from benchmarks.findings import Finding, Target
from benchmarks.inputs.patches import LAM, patches_of
from benchmarks.rows import Rows
from benchmarks.scc.learning import plain_loop, scc, scikit_learn_ol, spams_ol

N_EPOCHS = 10  # as in the paper; the slowest have one, and so has SCC beside them: its first is its longest
SIZES_OF_ATOMS = (500, 1000, 2000)
MAIN_SIZE = 1000  # at which a quick run measures all methods
_BATCHES = (64, 512)
_PATCHES_AT_BATCH_1 = 200  # at 1,000 atoms; SPAMS takes some 20 ms a patch there


def measure_learning(setup):
    """Measure all methods at every number of atoms."""
    given, rows = patches_of(setup, setup.sizes["n_patches"]), Rows()
    for m in SIZES_OF_ATOMS:
        for all_ in methods(setup, given, m):
            rows += compare_methods(setup, methods_at(setup, all_, is_main_size=m == MAIN_SIZE), n_atoms=m)
    return Finding(
        source=given.source,
        variant=f"{N_EPOCHS} epochs, lam {LAM:.4f}, float32; ratios to SCC, released, after as many epochs",
        rows=rows,
        targets=list(_targets(rows)),
    )


def methods(setup, given, m):
    """Return the methods that learn m atoms: those with all epochs, and those with one."""
    problem = given.problem(m)
    ours = [scc(problem, given.n, N_EPOCHS, variant) for variant in ("released", "quick", "paper")]
    plain = [plain_loop(problem, given.n, N_EPOCHS, variant) for variant in ("released", "paper")]
    ours[-1], plain[-1] = (replace(method, is_minor=True) for method in (ours[-1], plain[-1]))
    few = min(given.n, max(60, _PATCHES_AT_BATCH_1 * 1000 // m))
    note = f"so slow that it had {few} patches: its objective is no end result"
    slow = spams_ol(problem, few, 1, 1, most_repeats=2, note=note, is_minor=True)
    n = min(given.n, setup.sizes["n_references"] * 1000 // max(m, 500))
    small, large = (spams_ol(problem, n, N_EPOCHS, batch_size) for batch_size in _BATCHES)
    first = replace(scc(problem, min(n, 1024), 1, "released"), variant="released, one epoch", is_minor=True)
    sklearn = scikit_learn_ol(problem, min(n, 1024), 256, is_minor=True)
    return [*ours, *plain, replace(small, is_minor=True, most_repeats=1), large], [first, slow, sklearn]


def _targets(rows):
    ours = rows.where(who="flyannot", variant="released")
    small, large = (ours.value("us_per_sample", n_atoms=m) for m in (500, 2000))
    yield Target("SCC: cost per patch, m=2000 over m=500", large / small, 3, at_least=False)
    value = rows.value("times_as_long", who="SPAMS OL", variant="batch 1", n_atoms=1000)
    yield Target("SCC, m=1000: SPAMS OL at batch 1 over ours", value, 2000)

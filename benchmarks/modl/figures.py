"""MODL, Figures 1 and 3: the test objective for every reduction, by processor time and by records."""

import numpy as np

from benchmarks.findings import Comparison, Finding, Size, all_of
from benchmarks.items import paper_values
from benchmarks.modl.cases import BATCH_SIZE, PAPERS, REDUCTIONS, new_learner, seconds_of_step, traces
from benchmarks.modl.claims import by_reduction, ratio_to_reach
from benchmarks.rows import Rows
from flyannot.sparse.fit import random_patches

_VARIANT = (
    f"modl, batches of {BATCH_SIZE}, beta 0.9, float32; volumes with 30 atoms in the l1 ball and |z|^2, "
    "whole pictures with 100 l2 atoms and |z|_1; B as the paper has it (Eq. 16), or B - A D as shipped"
)
# Voxels as the paper's; its atoms are not said.
_AT_PAPERS_SIZE = {"p": 200_000, "n_atoms": 70, "n_batches": 10}


def measure_time(setup):
    """Measure Figure 1: every run by seconds, the sparsity of atoms, and the time of an iteration.

    The time is taken at the paper's number of voxels.
    """
    rows, sources = traces(setup)
    panels = [*_panels(rows, "seconds", "processor seconds", x_log=True)]
    panels += _panels(
        Rows(row for row in rows if "sparse" in row), "l1_over_l2", "l1/l2 of the atoms", "(b) "
    )
    return _finding(rows, sources, panels, list(_comparisons(rows)), list(_times(setup)))


def measure_records(setup):
    """Figure 3: the runs of Figure 1 against records."""
    rows, sources = traces(setup)
    return _finding(rows, sources, [*_panels(rows, "records", "records", x_log=True)])


def _finding(rows, sources, panels, comparisons=(), more=()):
    size = Size("records of a run", max(rows.column("records")), paper_values("modl", "fig-1")["n"])
    rows = Rows([*rows, *more])
    return Finding(all_of(sources), _VARIANT, size, rows=rows, panels=panels, comparisons=list(comparisons))


def _panels(rows, x, x_label, before="", **options):
    """Yield a panel for every problem, with a line for every r of the paper's B.

    Rows without records are left out, since a logarithmic axis has no 0.
    """
    shown = Rows(row for row in rows.where(history=PAPERS) if row["records"])
    for problem in shown.values("problem"):
        panel = before + problem, "reduction", x, "objective", x_label, "test objective", "r={}"
        yield shown.where(problem=problem).panel(*panel, **options)


def _comparisons(rows):
    for problem in rows.values("problem"):
        found = by_reduction(rows.where(problem=problem, history=PAPERS))
        sooner = ratio_to_reach(found[1], found[12])[0]
        yield Comparison(f"speed-up to one objective, r=12, {problem}", "x", 10.0, sooner or None)


def _times(setup):
    """Yield a row for every reduction, with the seconds of some iterations on noise of the paper's size."""
    for r in REDUCTIONS:
        found = setup.run(time_iterations, _AT_PAPERS_SIZE | {"reduction": r})
        per_atom = _AT_PAPERS_SIZE["p"] / (r * _AT_PAPERS_SIZE["n_atoms"])
        row = {"timed": "p=200,000, k=70", "reduction": r, "features_per_atom": per_atom}
        yield row | {"mini_batches": None} | found


def time_iterations(p, n_atoms, n_batches, reduction):
    """Time some iterations on noise, in a worker."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((max(BATCH_SIZE, n_atoms), p), np.float32) / np.sqrt(p)
    options = {"lam": n_atoms / p, "ball": "l1", "code_penalty": "l2", "reduction": reduction}
    learner = new_learner(X, random_patches(X, n_atoms, rng), options | {"history": "products"})
    learner.begin_epoch(rng)
    rows = np.arange(BATCH_SIZE)
    seconds = sum(seconds_of_step(learner, X, rows) for _ in range(n_batches))
    return {"records": n_batches * BATCH_SIZE, "seconds": seconds}

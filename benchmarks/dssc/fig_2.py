"""DSSC, Figure 2 a-c: the objective by iteration, by features processed, and by the clock.

The paper's x = [D; codes] is a matrix.  Column k holds atom k and entry k of the codes, which are p k + k
numbers in all.  So a block of columns is some atoms and the same entries of codes.  The paper writes one
code in Eq. 1, and one for each sample where it defines them.  Here a sample has one code, of which a visit
moves the drawn block.
"""

from itertools import product

import numpy as np

from benchmarks.findings import Finding, Size
from benchmarks.inputs.signals import photograph_patches
from benchmarks.items import paper_values
from benchmarks.measures import exact_objective, timed_steps
from benchmarks.rows import Rows
from flyannot.sparse.fit import default_lam, random_patches
from flyannot.sparse.learners.dssc import DSSC
from flyannot.sparse.objective import objective

_BATCH_SIZE = 8  # samples of one processor; the paper gives none
_GRADED = 2000  # samples whose objective is drawn
_WHOLE, _DRAWN = "whole codes", "drawn blocks"
_CHOICES = {  # ours, and Algorithm 1 to the letter with the surrogate of Eq. 2
    _WHOLE: {},
    _DRAWN: {"surrogate": "proximal"},
}
_STEPS = {  # gamma, the part of the way that atoms go: kept at 1, as Theorem 2 has it fall, kept small
    "gamma 1": {"gamma": 1.0, "rho": 1.0, "delay": 1e30},
    "gamma falling": {},
    "gamma 0.1": {"gamma": 0.1, "rho": 1.0, "delay": 1e30},
}
_POINT = ("iteration", "features", "seconds", "objective", "objective_of_held")


def measure_blocks(setup):
    """Run DSSC for every number of blocks, step size and way to move the codes."""
    paper, n, n_held = paper_values("dssc", "fig-2"), setup.sizes["n_patches"], setup.sizes["n_held"]
    X, source = photograph_patches(setup.rng("dssc"), n + n_held, paper["patch_px"], dtype=np.float32)
    D = random_patches(X[n_held:], paper["n_atoms"], setup.rng("blocks"))
    problem = {"n_held": n_held, "n_epochs": setup.sizes["n_epochs"], "seed": setup.seed}
    problem |= {"n_processors": paper["n_processors"]}
    problem |= setup.save("dssc", samples=X, initial=D)
    rows = Rows()
    for b in paper["n_blocks"]:
        for choice, step in product(_CHOICES, _STEPS):
            given = problem | {"n_blocks": b, "settings": _CHOICES[choice] | _STEPS[step]}
            run = {"choice": choice, "step": step, "run": f"B={b}", "n_blocks": b}
            rows += [run | dict(zip(_POINT, point)) for point in setup.run(learn, given)["points"]]
    return Finding(
        source=source,
        variant=f"exact surrogate and whole codes; or drawn blocks as in Algorithm 1, one proximal step of a "
        f"block of atoms and codes; {paper['n_atoms']} atoms, {paper['n_processors']} processors "
        f"of {_BATCH_SIZE} samples, float32, lam 1.2/sqrt(p)",
        size=Size("patches", n, paper["n_patches"]),
        rows=rows,
        panels=[
            rows.where(choice=choice, step=step).panel(f"{choice}, {step}", "run", "iteration", "objective")
            for choice, step in product(_CHOICES, _STEPS)
        ],
    )


def learn(samples, initial, n_held, n_epochs, n_processors, n_blocks, settings, seed):
    """Learn in a worker; return `points` before the first and after every epoch, as in _POINT."""
    X, D, rng = np.load(samples), np.load(initial), np.random.default_rng(seed)
    held, X, at_once = X[:n_held], X[n_held:], n_processors * _BATCH_SIZE
    options = {"lam": float(default_lam(X.shape[1])), "n_blocks": n_blocks, "n_processors": n_processors}
    options |= {"batch_size": _BATCH_SIZE} | settings
    compiled = DSSC(D, at_once, **options)
    compiled.begin_epoch(rng)
    compiled.step(X[:at_once], np.arange(at_once))
    learner = DSSC(D, len(X), **options)
    spent, points = 0.0, [(0, 0, 0.0, *_objectives(learner, X, held))]
    for epoch_rng in rng.spawn(n_epochs):
        learner.begin_epoch(epoch_rng)
        order = epoch_rng.permutation(len(X))
        spent += timed_steps(learner, X, np.split(order, range(at_once, len(X), at_once)))
        learner.end_epoch()
        counts = int(learner.n_iterations), int(learner.n_features_processed)
        points.append((*counts, spent, *_objectives(learner, X, held)))
    return {"points": points}


def _objectives(learner, X, held):
    """V at the iterate, and the objective of exact codes of the held samples."""
    Z, few, D = learner.codes()[:_GRADED], X[:_GRADED].astype(np.float64), learner.D.astype(np.float64)
    value = float(objective(few, D, Z.astype(np.float64), learner.lam).mean())
    return value, exact_objective(held, D, learner.lam, tol=1e-5)

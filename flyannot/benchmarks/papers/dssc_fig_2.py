"""DSSC, Figure 2 a-c: the objective by iteration, by features processed, and by the clock."""

import time

import numpy as np

from flyannot.benchmarks.papers.findings import Claim, Compared, Finding, Panel, Series
from flyannot.benchmarks.papers.papers import stated
from flyannot.benchmarks.papers.signals import photograph_patches
from flyannot.benchmarks.speed.clocks import Stopwatch
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import default_lam, random_patches
from flyannot.sparse.learners.dssc.learner import DSSC
from flyannot.sparse.objective import objective

_N_HELD = 400
_N_PATCHES = (24_000, 610_528)
_BATCH_SIZE = 8  # samples of one processor; the paper gives none
_N_POINTS = 12  # of every curve
_THREADS = (1, 2)


def measure(setup):
    """One run for every number of blocks and of threads."""
    paper = stated("dssc", "fig-2")
    n = setup.pick(*_N_PATCHES)
    X, source = photograph_patches(setup.rng("dssc"), n + _N_HELD, paper["patch_px"], dtype=np.float32)
    X, held = X[_N_HELD:], X[:_N_HELD].astype(np.float64)
    runs = {(b, t): _run(setup, X, held, b, t, paper) for b in paper["n_blocks"] for t in _THREADS}
    claims = list(_claims(paper, runs))
    return Finding(
        data=source.text,
        kind=source.kind,
        variant=f"exact surrogate, whole codes, {paper['n_atoms']} atoms, {paper['n_processors']} processors "
        f"of {_BATCH_SIZE} samples, float32, lam 1.2/sqrt(p)",
        why=_why(claims),
        claims=claims,
        compared=[
            Compared(f"time of the run, B={b}, {t} thread{'s' * (t > 1)}", "s", None, run["seconds"][-1],
                     "the paper's processors were simulated")
            for (b, t), run in runs.items()
        ],
        rows=[
            {"n_blocks": b, "n_threads": t} | {key: run[key][i] for key in run}
            for (b, t), run in runs.items() for i in range(len(run["objective"]))
        ],
        panels=_panels(paper, runs),
        notes=[
            "The paper's images are of a robot's camera and not published; patches are of the same 24 px, "
            "from images of the same 320x240. With 120 atoms, 128 blocks leave 8 blocks empty.",
            "The objective is that of exact codes of 400 patches that nobody learned from. Iterations and "
            "features are those of one thread. One thread is timed by the processor's clock, two by the "
            "wall, where other programs on the machine slow them down (the bits are the same).",
        ],
    )  # fmt: skip


def _run(setup, X, held, n_blocks, n_threads, paper):
    """Iterations, features, seconds and the objective at points of one epoch.

    Seconds are the processor's for one thread, and those on the wall for several.
    """
    lam, rng = float(default_lam(X.shape[1])), setup.rng("blocks")
    D = random_patches(X, paper["n_atoms"], rng)
    learner = _learner(D, len(X), lam, n_blocks, n_threads, paper)
    found = {"iteration": [0], "features": [0], "seconds": [0.0], "objective": [_judge(D, held, lam)]}
    learner.begin_epoch(rng)
    clock = time.process_time if n_threads == 1 else time.perf_counter
    spent, at_once = 0.0, paper["n_processors"] * _BATCH_SIZE
    parts = np.array_split(
        rng.permutation(len(X))[: len(X) // at_once * at_once].reshape(-1, at_once), _N_POINTS
    )
    _compile(D, X[:at_once], lam, n_blocks, n_threads, paper)
    for part in parts:
        for rows in part:
            with Stopwatch(clock) as watch:
                learner.step(X[rows], rows)
            spent += watch.seconds
        found["iteration"].append(learner.n_iterations)
        found["features"].append(learner.n_features_processed)
        found["seconds"].append(spent)
        found["objective"].append(_judge(learner.D, held, lam))
    return found


def _learner(D, n, lam, n_blocks, n_threads, paper):
    return DSSC(
        D, n, lam=lam, n_blocks=n_blocks, n_processors=paper["n_processors"], batch_size=_BATCH_SIZE,
        n_threads=n_threads,
    )  # fmt: skip


def _compile(D, X, *settings):
    learner = _learner(D, len(X), *settings)
    learner.begin_epoch(np.random.default_rng(0))
    learner.step(X, np.arange(len(X)))


def _judge(D, held, lam):
    D = np.asarray(D, np.float64)
    return float(objective(held, D, CODERS["cd"](held, D, lam, tol=1e-5), lam).mean())


def _claims(paper, runs):
    falls = all(run["objective"][-1] < run["objective"][0] for run in runs.values())
    yield Claim("the objective falls for every B", falls, f"from {runs[16, 1]['objective'][0]:.4f}")
    few, many = min(paper["n_blocks"]), max(paper["n_blocks"])
    a, b = runs[few, 1], runs[many, 1]
    ends = ", ".join(f"B={n}: {runs[n, 1]['objective'][-1]:.4f}" for n in paper["n_blocks"])
    yield Claim(
        "by iteration, smaller r = I/B converges faster", b["objective"][-1] < a["objective"][-1], ends
    )
    features = b["features"][-1]
    at_same = float(np.interp(features, a["features"], a["objective"]))
    here = f"after {features:,} features B={many}: {b['objective'][-1]:.4f}, B={few}: {at_same:.4f}"
    yield Claim("by features processed, smaller r converges faster", b["objective"][-1] < at_same, here)
    seconds = min(b["seconds"][-1], a["seconds"][-1])
    values = [float(np.interp(seconds, run["seconds"], run["objective"])) for run in (a, b)]
    here = f"after {seconds:.2f} s B={few}: {values[0]:.4f}, B={many}: {values[1]:.4f}"
    yield Claim("by the clock the order is inverted", values[0] < values[1], here)


def _why(claims):
    if all(claim.holds for claim in claims):
        return "As in the paper, by iteration, by features and by the clock."
    broken = [claim.text.split(",")[0] for claim in claims if not claim.holds]
    return (
        f"Not so here: {'; '.join(broken)}. Every sample has a code of its own here, where the paper writes "
        "one for all, and its step sizes are not given."
    )


def _panels(paper, runs):
    def curves(key):
        return [Series(f"B={b}", runs[b, 1][key], runs[b, 1]["objective"]) for b in paper["n_blocks"]]

    clock = [
        Series(
            f"B={b}, {t} thread{'s' * (t > 1)}", run["seconds"], run["objective"], "o-" if t == 1 else "o:"
        )
        for (b, t), run in runs.items()
    ]
    return [
        Panel("(a) by iteration", "iteration", "objective", curves("iteration")),
        Panel("(b) by features processed", "features", "objective", curves("features")),
        Panel("(c) by the clock", "seconds", "objective", clock),
    ]

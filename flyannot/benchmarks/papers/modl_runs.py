"""MODL at several reductions on long samples: what Figures 1 and 3 are both drawn from."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from flyannot.benchmarks.papers.embryos import Source, grey_pictures
from flyannot.benchmarks.papers.signals import fmri_volumes
from flyannot.benchmarks.speed.clocks import Stopwatch
from flyannot.dataset.importers.wu2016 import read_patterns, render_patterns
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import random_patches
from flyannot.sparse.learners import LEARNERS
from flyannot.sparse.objective import objective

BATCH_SIZE = 40  # as in the paper
N_ATOMS = 30
_N_PICTURES = (1300, 1300)  # quick, full
_N_EPOCHS = {"embryos": (8, 20), "fMRI": (20, 60)}
_TEST_SHARE = 0.2
_PART_OF_EPOCH = 0.25  # between two judgements


@dataclass(frozen=True)
class Case:
    """Samples, what MODL is told, and the penalty of the codes ("l1" or "l2")."""

    name: str
    train: np.ndarray
    test: np.ndarray
    lam: float
    settings: dict
    source: Source
    n_epochs: int

    @property
    def penalty(self):
        return self.settings["code_penalty"]


def cases(setup):
    """Whole embryos with the classic penalties, and the fMRI slice with atoms in the l1 ball."""
    X, source = whole_embryos(setup)
    found = [_case(setup, "embryos", X, source, 0.02, {"ball": "l2", "code_penalty": "l1"})]
    fmri = fmri_volumes(setup)
    if fmri is not None:
        X, source = fmri
        X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
        found.append(_case(setup, "fMRI", X, source, 1e-3, {"ball": "l1", "code_penalty": "l2"}))
    return found


def _case(setup, name, X, source, lam, settings):
    order = setup.rng(name).permutation(len(X))
    n_test = int(_TEST_SHARE * len(X))
    test, train = X[order[:n_test]], X[order[n_test:]]
    return Case(name, train, test, lam, settings, source, setup.pick(*_N_EPOCHS[name]))


def whole_embryos(setup):
    """Whole pictures, centred, of norm 1: float32 (n, 40,960), and their `Source`."""
    patterns = setup.shared_file("wu2016", "patterns.npz")
    if patterns is None or setup.data_set is not None:
        greys, source = grey_pictures(setup)
    else:
        arrays = read_patterns(patterns)
        greys = list(render_patterns(arrays["patterns"], arrays["mask"]))
        source = Source(
            f"{len(greys):,} real patterns of Wu et al. 2016, drawn as whole pictures", "rendered"
        )
    rows = setup.rng("pictures").permutation(len(greys))[: setup.pick(*_N_PICTURES)]
    X = np.array([255.0 - greys[i].ravel() for i in rows], np.float32)
    X -= X.mean(axis=0)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-6)
    return X, Source(f"{len(X):,} of {source.text}, {X.shape[1]:,} pixels each", source.kind)


@lru_cache(maxsize=2)
def all_runs(setup, reductions):
    """(case name, r) -> trace, and the cases by name."""
    by_name = {case.name: case for case in cases(setup)}
    runs = {(case.name, r): run(setup, case, reduction=r) for case in by_name.values() for r in reductions}
    return runs, by_name


def run(setup, case, **options):
    """The trace of one run: a list of (records, seconds, test objective)."""
    rng = setup.rng("modl")
    D = random_patches(case.train, N_ATOMS, rng).astype(np.float32)
    learner = _learner(case, D, options)
    _compile(case, D, options)
    judge = test_judge(case)
    trace, spent, seen = [(0, 0.0, judge(learner.D))], 0.0, 0
    n_part = max(BATCH_SIZE, int(_PART_OF_EPOCH * len(case.train)) // BATCH_SIZE * BATCH_SIZE)
    for epoch_rng in rng.spawn(case.n_epochs):
        order = epoch_rng.permutation(len(case.train))
        learner.begin_epoch(epoch_rng)
        for start in range(0, len(order), n_part):
            rows = order[start : start + n_part]
            X = case.train[rows]
            with Stopwatch() as watch:
                learner.step(X, rows)
            spent, seen = spent + watch.seconds, seen + len(rows)
            trace.append((seen, spent, judge(learner.D)))
        learner.end_epoch()
    return trace


def _learner(case, D, options):
    options = {"batch_size": BATCH_SIZE} | case.settings | options
    return LEARNERS["modl"](D, len(case.train), lam=case.lam, **options)


def _compile(case, D, options):
    """One mini-batch by a learner that is thrown away."""
    learner = _learner(case, D, options)
    learner.begin_epoch(np.random.default_rng(0))
    learner.step(case.train[:BATCH_SIZE], np.arange(BATCH_SIZE))


def test_judge(case):
    """A function from D to the mean test objective, with exact codes."""
    squares = np.einsum("ij,ij->i", case.test, case.test, dtype=np.float64)

    def by_l2(D):
        gram, Q = (np.float64(D) @ M.T for M in (D, case.test))
        Z = np.linalg.solve(gram + 2 * case.lam * np.eye(len(D)), Q)
        return float((0.5 * (squares - np.einsum("ij,ij->j", Q, Z))).mean())

    def by_l1(D):
        D = np.asarray(D, np.float64)
        Z = CODERS["cd"](case.test.astype(np.float64), D, case.lam, tol=1e-5)
        return float(objective(case.test, D, Z, case.lam).mean())

    return by_l1 if case.penalty == "l1" else by_l2


def ratio_to_reach(runs, name, r):
    """(seconds of r = 1 over seconds of r, records of r over records of r = 1) to one objective, or None.

    The objective is the worse of the two last ones, and 2 % of the way from the first to it above.
    """
    one, other = runs[name, 1], runs[name, r]
    end = max(one[-1][2], other[-1][2])
    target = end + 0.02 * (one[0][2] - end)
    first = [next((point for point in trace if point[2] <= target), None) for trace in (one, other)]
    if None in first or not first[1][1] or not first[0][0]:
        return None, None
    return first[0][1] / first[1][1], first[1][0] / first[0][0]

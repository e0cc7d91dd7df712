"""What MODL's Figures 1, 3 and 5 learn from: whole embryos and volumes of fMRI, each with its penalties.

Behind masks B is remembered in one of two ways: as the paper has it (Eq. 16), and as we do.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.findings import Source
from benchmarks.inputs.pictures import whole_pictures
from benchmarks.inputs.signals import fmri_volumes
from benchmarks.measures import exact_objective, timed_steps
from benchmarks.rows import Rows
from flyannot.sparse.fit import random_patches
from flyannot.sparse.learners import LEARNERS

BATCH_SIZE = 40  # as in the paper
OURS, PAPERS = "as shipped", "the paper's B"
HISTORIES = {OURS: "residuals", PAPERS: "products"}  # values of MODL's option `history`
EMBRYOS, FMRI = "embryos", "fMRI"
_PARTS_OF_EPOCH = {EMBRYOS: 0.5, FMRI: 0.25}  # between two evaluations
_TEST_SHARE, _MOST_TEST = 0.2, 150  # of the samples, which are coded anew at every evaluation


@dataclass(frozen=True, eq=False)  # a key by itself
class Case:
    """Files of samples, and how MODL learns from them: what `learn` takes but the options of one run.

    data : EMBRYOS or FMRI; lam; history : of HISTORIES
    n : of the samples that are learned from
    """

    data: str
    lam: float
    history: str
    source: Source
    n: int
    arguments: dict

    @property
    def name(self):
        """In words."""
        return self.problem if self.history == OURS else f"{self.problem}, {self.history}"

    @property
    def problem(self):
        """In words, without how B is remembered."""
        return f"{self.data}, lam {self.lam:g}"

    @property
    def has_sparse_atoms(self):
        """Whether atoms are in the l1 ball."""
        return self.arguments["options"]["ball"] == "l1"

    def trace(self, setup, *, reduction, times=1, **options):
        """`Rows` of one run, with records, seconds and objective; a run is measured once for all items.

        times : as many epochs, and evaluations as far apart
        """
        # without masks they are the same
        history = {"history": HISTORIES[self.history]} if reduction > 1 else {}
        asked = {"reduction": reduction} | options
        given = self.arguments | {"options": self.arguments["options"] | asked | history}
        if times > 1:
            given |= {"n_epochs": times * given["n_epochs"], "part_of_epoch": times}
        rows = setup.run(learn, given)["rows"]
        run = f"r={reduction}" + (f", {PAPERS}" if history and self.history == PAPERS else "")
        named = {"case": self.name, "problem": self.problem, "data": self.data, "lam": self.lam}
        named |= {"history": self.history, "run": run}
        named |= {"sparse_case": self.name} if self.has_sparse_atoms else {}
        return Rows(named | asked | row for row in rows)


def cases(setup, *, all_lams=True):
    """Whole embryos with the classic penalties, and the fMRI slice with atoms in the l1 ball.

    Of every value of lam, or of the first, both ways to remember B.
    """
    stain, source = setup.once("whole pictures", lambda: whole_pictures(setup))
    X = stain - stain.mean(axis=0)
    norms = np.sqrt((X**2).sum(axis=1, keepdims=True), dtype=np.float64)
    settings = {"n_atoms": 100, "options": {"ball": "l2", "code_penalty": "l1"}}
    found = [(EMBRYOS, (X / np.maximum(norms, 1e-12)).astype(np.float32), source, settings)]
    if setup.data_file("fmri") is not None:
        X, source = fmri_volumes(setup)
        settings = {"n_atoms": 30, "options": {"ball": "l1", "code_penalty": "l2"}}
        found.append((FMRI, unit_volumes(X), source, settings))
    for data, X, source, settings in found:
        order = setup.rng(data).permutation(len(X))
        n_test = min(int(_TEST_SHARE * len(X)), _MOST_TEST)
        files = setup.save(f"modl-{data}", train=X[order[n_test:]], test=X[order[:n_test]])
        run = {"n_epochs": setup.sizes[f"epochs_of_{data}"], "part_of_epoch": _PARTS_OF_EPOCH[data]}
        lams = setup.sizes[f"lams_of_{data}"]
        for lam in lams if all_lams else lams[:1]:
            arguments = files | settings | run | {"seed": setup.seed, "lam": lam}
            yield from (Case(data, lam, way, source, len(X) - n_test, arguments) for way in HISTORIES)


def unit_volumes(X):
    """Rows of length 1, float32."""
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def learn(train, test, lam, n_atoms, n_epochs, part_of_epoch, seed, options):
    """In a worker: learn, and evaluate at the start and after such a part of every epoch, or so many."""
    X, held, rng = np.load(train), np.load(test), np.random.default_rng(seed)
    D = random_patches(X, n_atoms, rng).astype(np.float32)
    learner = new_learner(X, D, {"lam": lam} | options)
    grade = _objective_by_l2 if options["code_penalty"] == "l2" else exact_objective
    rows, spent = [{"records": 0, "seconds": 0.0} | _graded(grade, held, learner.D, lam)], 0.0
    n_part = max(BATCH_SIZE, int(part_of_epoch * len(X)) // BATCH_SIZE * BATCH_SIZE)
    for epoch, epoch_rng in enumerate(rng.spawn(n_epochs)):
        order, seen = epoch_rng.permutation(len(X)), epoch * len(X)
        learner.begin_epoch(epoch_rng)
        for part in np.split(order, range(n_part, len(order) - n_part + 1, n_part)):  # the last is longer
            spent, seen = spent + timed_steps(learner, X, [part]), seen + len(part)
            if part_of_epoch <= 1 or (epoch + 1) % part_of_epoch == 0:
                row = {"records": seen, "seconds": spent}
                rows.append(row | _graded(grade, held, learner.D, lam))
        learner.end_epoch()
    return {"rows": rows}


def new_learner(X, D, options):
    """MODL with the kernels that it will need compiled."""
    options = {"batch_size": BATCH_SIZE} | options
    compiled = LEARNERS["modl"](D, BATCH_SIZE, **options)
    compiled.begin_epoch(np.random.default_rng(0))
    compiled.step(X[:BATCH_SIZE], np.arange(BATCH_SIZE))
    return LEARNERS["modl"](D, len(X), **options)


def _graded(grade, held, D, lam):
    """The test objective, and the l1 norm over the l2 norm of the atoms, their mean: small where sparse."""
    norms = [np.linalg.norm(D, order, axis=1) for order in (1, 2)]
    used = norms[1] > 0
    return {"objective": grade(held, D, lam), "l1_over_l2": float((norms[0][used] / norms[1][used]).mean())}


def _objective_by_l2(X, D, lam):
    """The mean of 1/2 |x - z D|^2 + lam |z|^2 at the best codes."""
    D = np.float64(D)
    Q, squares = D @ X.T, np.einsum("ij,ij->i", X, X, dtype=np.float64)
    Z = np.linalg.solve(D @ D.T + 2 * lam * np.eye(len(D)), Q)
    return float((0.5 * (squares - np.einsum("ij,ij->j", Q, Z))).mean())

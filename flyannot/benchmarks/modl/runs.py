"""MODL on long samples, as its Figures 1, 3 and 5 are drawn from: whole embryos and volumes of fMRI."""

from dataclasses import dataclass

import numpy as np

from flyannot.benchmarks.findings import Rows, Source
from flyannot.benchmarks.inputs.signals import fmri_volumes
from flyannot.benchmarks.inputs.whole_pictures import centred, whole_pictures
from flyannot.benchmarks.measures import Stopwatch, exact_objective
from flyannot.sparse.fit import random_patches
from flyannot.sparse.learners import LEARNERS

BATCH_SIZE = 40  # as in the paper
SIZES = {"epochs_of_embryos": (8, 20), "epochs_of_fMRI": (20, 60)}
_TEST_SHARE = 0.2
_PART_OF_EPOCH = 0.25  # between two evaluations


@dataclass(frozen=True, eq=False)  # a key by itself
class Case:
    """Files of samples, and how MODL learns from them: what `learn` takes but the options of one run."""

    name: str
    source: Source
    n: int
    n_features: int
    arguments: dict

    def trace(self, setup, **options):
        """`Rows` of one run, with records, seconds and objective; a run is measured once for all items."""
        given = self.arguments | {"options": self.arguments["options"] | options}
        rows = setup.run(learn, given)["rows"]
        return Rows({"case": self.name} | options | row for row in rows)


def cases(setup):
    """Whole embryos with the classic penalties, and the fMRI slice with atoms in the l1 ball."""
    X, _, source = setup.once("whole pictures", lambda: whole_pictures(setup))
    settings = {"lam": 0.02, "n_atoms": 100, "options": {"ball": "l2", "code_penalty": "l1"}}
    found = [_case(setup, "embryos", centred(X, X.mean(axis=0))[0], source, settings)]
    if setup.data_file("fmri") is not None:
        X, source = fmri_volumes(setup)
        X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
        settings = {"lam": 1e-3, "n_atoms": 30, "options": {"ball": "l1", "code_penalty": "l2"}}
        found.append(_case(setup, "fMRI", X, source, settings))
    return found


def _case(setup, name, X, source, settings):
    order = setup.rng(name).permutation(len(X))
    n_test = int(_TEST_SHARE * len(X))
    files = {part: str(setup.scratch / f"modl-{name}-{part}.npy") for part in ("train", "test")}
    np.save(files["test"], X[order[:n_test]])
    np.save(files["train"], X[order[n_test:]])
    arguments = files | settings | {"n_epochs": setup.sizes[f"epochs_of_{name}"], "seed": setup.seed}
    return Case(name, source, len(X) - n_test, X.shape[1], arguments)


def learn(train, test, lam, n_atoms, n_epochs, seed, options):
    """In a worker: learn, and evaluate at the start and after every quarter of an epoch."""
    X, held, rng = np.load(train), np.load(test), np.random.default_rng(seed)
    options = {"lam": lam, "batch_size": BATCH_SIZE} | options
    D = random_patches(X, n_atoms, rng).astype(np.float32)
    compiled = LEARNERS["modl"](D, BATCH_SIZE, **options)
    compiled.begin_epoch(np.random.default_rng(0))
    compiled.step(X[:BATCH_SIZE], np.arange(BATCH_SIZE))
    learner = LEARNERS["modl"](D, len(X), **options)
    grade = _objective_by_l2 if options["code_penalty"] == "l2" else exact_objective
    rows, spent = [{"records": 0, "seconds": 0.0, "objective": grade(held, learner.D, lam)}], 0.0
    n_part = max(BATCH_SIZE, int(_PART_OF_EPOCH * len(X)) // BATCH_SIZE * BATCH_SIZE)
    for epoch, epoch_rng in enumerate(rng.spawn(n_epochs)):
        order = epoch_rng.permutation(len(X))
        learner.begin_epoch(epoch_rng)
        for start in range(0, len(order), n_part):
            mine = order[start : start + n_part]
            part, n_seen = X[mine], epoch * len(X) + start + len(mine)
            with Stopwatch() as watch:
                learner.step(part, mine)
            spent += watch.seconds
            rows.append({"records": n_seen, "seconds": spent, "objective": grade(held, learner.D, lam)})
        learner.end_epoch()
    return {"rows": rows}


def _objective_by_l2(X, D, lam):
    """The mean of 1/2 |x - z D|^2 + lam |z|^2 at the best codes."""
    D = np.float64(D)
    Q, squares = D @ X.T, np.einsum("ij,ij->i", X, X, dtype=np.float64)
    Z = np.linalg.solve(D @ D.T + 2 * lam * np.eye(len(D)), Q)
    return float((0.5 * (squares - np.einsum("ij,ij->j", Q, Z))).mean())


def ratio_to_reach(one, other):
    """To one objective: seconds of the first trace over those of the other, records of the other over its.

    The objective is the worse of the two last ones, and 2 % of the way from the first to it above; both are
    None where it is not reached.
    """
    end = max(one[-1]["objective"], other[-1]["objective"])
    target = end + 0.02 * (one[0]["objective"] - end)
    a, b = (next((row for row in trace if row["objective"] <= target), None) for trace in (one, other))
    if a is None or b is None or not b["seconds"] or not a["records"]:
        return None, None
    return a["seconds"] / b["seconds"], b["records"] / a["records"]

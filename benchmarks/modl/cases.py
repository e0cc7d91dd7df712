"""What MODL's Figures 1 and 3 learn from: volumes, one slice of fMRI and whole embryos, with their penalties.

Behind masks B is remembered in one of two ways: as the paper has it (Eq. 16), and as we do.  What lam means
depends on the atoms: in the l1 ball they have a square of about k / p, so that lam p / k is what is chosen.
"""

import numpy as np

from benchmarks.inputs.pictures import whole_pictures
from benchmarks.inputs.signals import fmri_volumes, synthetic_volumes
from benchmarks.measures import Stopwatch, exact_objective
from benchmarks.rows import Rows
from flyannot.sparse.fit import random_patches
from flyannot.sparse.learners import LEARNERS

BATCH_SIZE = 40  # as in the paper
REDUCTIONS = (1, 4, 8, 12)  # as in the paper
OURS, PAPERS = "as shipped", "the paper's B"
HISTORIES = {OURS: "residuals", PAPERS: "products"}  # values of MODL's option `history`
SPARSE = {"n_atoms": 30, "ball": "l1", "code_penalty": "l2"}
CLASSIC = {"n_atoms": 100, "ball": "l2", "code_penalty": "l1"}
LAMS = {"high": 3.0, "low": 0.3}  # over k / p; the paper's 1e-3 and 1e-4 are 2.9 and 0.29 at 70 atoms
_CLASSIC_LAM = 0.1  # of pictures of norm 1
_MOST_TEST, _TEST_SHARE = 150, 0.2  # samples that are coded anew at every evaluation
_N_POINTS, _FIRST = 40, 5  # evaluations of a run, the first after so many mini-batches


def cases(setup):
    """Yield the names of every case for its rows, the arguments of `learn`, and its `Source`.

    The arguments lack reduction and history.
    """
    found = [("SYN volumes", *synthetic_volumes(setup.rng("volumes"), setup.sizes["n_volumes"]), SPARSE)]
    if setup.data_file("fmri") is not None:
        found.append(("fMRI slice", *fmri_volumes(setup), SPARSE))
    stain, source = setup.once("whole pictures", lambda: whole_pictures(setup))
    found.append(("embryos", stain - stain.mean(axis=0), source, CLASSIC))
    for (data, X, source, options), n_batches in zip(found, setup.sizes["mini_batches"]):
        order = setup.rng(data).permutation(len(X))
        n_test = min(int(_TEST_SHARE * len(X)), _MOST_TEST)
        X = unit_volumes(X)
        files = setup.save(f"modl-{data}", train=X[order[n_test:]], test=X[order[:n_test]])
        scale = options["n_atoms"] / X.shape[1]
        lams = {name: (lam * scale, f"lam {lam:g} k/p") for name, lam in LAMS.items()}
        if options is CLASSIC:
            lams = {"high": (_CLASSIC_LAM, f"lam {_CLASSIC_LAM:g}")}
        for name, (lam, words) in lams.items():
            arguments = files | options | {"lam": lam, "n_batches": n_batches, "seed": setup.seed}
            problem = f"{data}, {words}"
            named = {"problem": problem, "timed": problem, "p": X.shape[1], "mini_batches": n_batches}
            if options is SPARSE:
                named |= {"sparse": problem, "volumes": data, "regularisation": name}
            yield named, arguments, source


def traces(setup):
    """`Rows` of every case, reduction and way to remember B, each run evaluated as it goes; `Source`s."""
    rows, sources = Rows(), []
    for named, arguments, source in cases(setup):
        sources.append(source)
        for history, kind in HISTORIES.items():
            for r in REDUCTIONS:  # without masks both ways are the same, and run once
                asked = arguments | {"reduction": r} | ({"history": kind} if r > 1 else {})
                found = setup.run(learn, asked)["rows"]
                per_atom = named["p"] / (r * arguments["n_atoms"])
                run = named | {"history": history, "reduction": r, "features_per_atom": per_atom}
                rows += [run | row for row in found]
    return rows, sources


def unit_volumes(X):
    """Rows of length 1, float32; of rows of that type, in their place."""
    X = np.asarray(X, np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))[:, None]
    X /= np.maximum(norms, 1e-12).astype(np.float32)
    return X


def learn(train, test, lam, n_atoms, n_batches, seed, **options):
    """Learn from mini-batches, and evaluate at the start and at growing intervals; runs in a worker."""
    X, held, rng = np.load(train, mmap_mode="r"), np.load(test), np.random.default_rng(seed)
    D = random_patches(X[: 100 * n_atoms], n_atoms, rng).astype(np.float32)
    learner = new_learner(X, D, {"lam": lam} | options)
    grade = _objective_by_l2 if options["code_penalty"] == "l2" else exact_objective
    rows, spent, order = [{"records": 0, "seconds": 0.0} | _graded(grade, held, learner.D, lam)], 0.0, []
    marks = set(np.geomspace(min(_FIRST, n_batches), n_batches, _N_POINTS).astype(int))
    for t in range(1, n_batches + 1):
        if len(order) < BATCH_SIZE:
            learner.begin_epoch(rng)
            order = rng.permutation(len(X))
        batch, order = order[:BATCH_SIZE], order[BATCH_SIZE:]
        spent += seconds_of_step(learner, X, batch)
        if t in marks:
            row = {"records": t * BATCH_SIZE, "seconds": spent}
            rows.append(row | _graded(grade, held, learner.D, lam))
    return {"rows": rows}


def seconds_of_step(learner, X, rows):
    """Return the seconds of one mini-batch without reading the samples, of which a mask needs only a part."""
    block = X[rows]
    with Stopwatch() as watch:
        learner.step(block, rows)
    return watch.seconds


def new_learner(X, D, options):
    """MODL with the kernels that it will need compiled."""
    options = {"batch_size": BATCH_SIZE} | options
    compiled = LEARNERS["modl"](D, BATCH_SIZE, **options)
    compiled.begin_epoch(np.random.default_rng(0))
    compiled.step(X[:BATCH_SIZE], np.arange(BATCH_SIZE))
    return LEARNERS["modl"](D, len(X), **options)


def _graded(grade, held, D, lam):
    """Return the test objective, and the mean ratio of l1 and l2 norm of the atoms.

    The ratio is small for sparse atoms.
    """
    norms = [np.linalg.norm(D, order, axis=1) for order in (1, 2)]
    used = norms[1] > 0
    return {"objective": grade(held, D, lam), "l1_over_l2": float((norms[0][used] / norms[1][used]).mean())}


def _objective_by_l2(X, D, lam):
    """Return the mean of 1/2 |x - z D|^2 + lam |z|^2 at the best codes."""
    D = np.float64(D)
    Q, squares = D @ X.T, np.einsum("ij,ij->i", X, X, dtype=np.float64)
    Z = np.linalg.solve(D @ D.T + 2 * lam * np.eye(len(D)), Q)
    return float((0.5 * (squares - np.einsum("ij,ij->j", Q, Z))).mean())

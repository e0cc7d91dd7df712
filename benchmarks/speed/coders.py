"""Signed, non-negative and k-sparse codes of users' problems, beside the programs that users have."""

from functools import partial

import numpy as np
from scipy.optimize import nnls
from sklearn.decomposition import sparse_encode

from benchmarks.compare_methods import compare_methods
from benchmarks.findings import Finding, Target, all_of
from benchmarks.inputs.signals import decay_curves, planted_signals
from benchmarks.measures import graded_codes, normalised_patches, timed
from benchmarks.references import other_programs as others
from benchmarks.references import why_reference_is_absent
from benchmarks.rows import Rows
from benchmarks.scc.learning import learned_dictionaries, scc, spams_ol
from benchmarks.speed.peers import problems_of
from flyannot.sparse.coders import find_coder
from flyannot.sparse.coders.omp import encode_omp
from flyannot.sparse.fit import default_lam, random_patches
from flyannot.sparse.objective import objective

SIGNED = "signed"
NONNEGATIVE = "non-negative"
K_SPARSE = "omp, 10 non-zeros"
CURVES = "decay curves"
WIDE = "many atoms"
_N_EPOCHS = 3
_WIDE_BATCH = 4096
_N_FEATURES = 512  # of the samples for many atoms
_N_WIDE_CODED = 1000
_TOL = 1e-4
_TOL_OF_CURVES = 1e-6
_LAM_OF_CURVES = 1e-3
_N_NONZEROS = 10


def measure_coders(setup):
    """Measure every program on every problem; all programs of a problem take turns in one process."""
    sizes = setup.sizes
    rows = Rows()
    sources = []
    few = {"n_slow": sizes["n_slow"], "tol": _TOL}
    for data, (problem, n, source) in problems_of(setup).items():
        sources.append(source)
        learned = {"dictionary": learned_dictionaries(setup, problem, n, _N_EPOCHS)["last"]}
        given = {"patches": problem["held"], "lam": problem["lam"], "n": sizes["n_coded"]}
        rows += _coded(setup, data, (SIGNED, NONNEGATIVE, K_SPARSE), learned | given | few)
    curves, exponentials, source = decay_curves(setup.rng(CURVES), sizes["n_curves"])
    sources.append(source)
    problem = setup.save("curves", patches=curves, dictionary=exponentials) | {"lam": _LAM_OF_CURVES}
    for kind in ("float32", "float64"):
        more = few | {"n": len(curves), "tol": _TOL_OF_CURVES, "kind": kind}
        rows += _coded(setup, CURVES, (NONNEGATIVE,), problem | more)
    found, source = _many_atoms(setup, few)
    return Finding(
        source=all_of([*sources, source]),
        variant=f"{sizes['n_atoms']} atoms of quick for the four data sets, learned from other samples than "
        f"are coded; lam 1.2/sqrt(features), tol {_TOL:g}; for curves lam {_LAM_OF_CURVES:g}, tol "
        f"{_TOL_OF_CURVES:g}; times_as_long: processor time per sample over flyannot's, in turns",
        rows=rows + found,
        targets=list(_targets(rows)),
    )


def _many_atoms(setup, few):
    """Return the rows of learning and coding with many atoms, and the `Source`."""
    n = setup.sizes["n_wide"]
    m = setup.sizes["n_wide_atoms"]
    X, source = planted_signals(setup.rng(WIDE), n + _N_WIDE_CODED, _N_FEATURES, m)
    files = {"patches": X[:n], "held": X[n:], "initial": random_patches(X[:n], m, setup.rng(WIDE))}
    problem = setup.save("wide", **files) | {"lam": float(default_lam(_N_FEATURES))}
    data = f"{WIDE}: {m:,} of {_N_FEATURES} features"
    methods = scc(problem, n, 1, "quick"), spams_ol(problem, n, 1, _WIDE_BATCH)
    rows = compare_methods(setup, methods, data=data, task="learning")
    given = {"patches": problem["held"], "lam": problem["lam"], "dictionary": problem["initial"]}
    given |= {"n": _N_WIDE_CODED}
    return rows + _coded(setup, data, (SIGNED,), given | few), source


def _coded(setup, data, tasks, problem):
    """Return the rows of all programs that code a problem, task by task."""
    found = setup.run(code_in_turns, problem | {"tasks": tasks})["rows"]
    return Rows({"data": data, "threads": 1} | row for row in found)


def _targets(rows):
    for data in rows.values("data"):
        signed = rows.value("us_per_sample", data=data, task=SIGNED, who="flyannot")
        positive = rows.value("us_per_sample", data=data, task=NONNEGATIVE, who="flyannot")
        if signed:
            yield Target(f"{data}: non-negative over signed", positive / signed, 1.5, at_least=False)
    for kind in ("float32", "float64"):
        gap = rows.value("worst_relative_gap", data=CURVES, who="flyannot", kind=kind)
        yield Target(f"{CURVES}, {kind}: largest relative gap", gap, _TOL_OF_CURVES, at_least=False)


# What a worker does.


def code_in_turns(patches, dictionary, lam, n, n_slow, tasks, tol, kind="float32"):
    """Code the last n samples by every program, slow ones the first `n_slow` of them; a row for each."""
    X = normalised_patches(patches, slice(-n, None)).astype(kind)
    D = np.load(dictionary).astype(kind)
    rows = [row for task in tasks for row in _code_once(X, D, lam, n_slow, task, tol)]
    return {"rows": [{"kind": kind} | row for row in rows]}


def _code_once(X, D, lam, n_slow, task, tol):
    """Return a row for each program, all of which code in turns."""
    if task == K_SPARSE:
        D = D / np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1e-9)  # SPAMS takes atoms of norm 1
    programs = [
        (who, X[:n_slow] if is_slow else X, encode)
        for who, is_slow, reference, encode in _programs(task, D, lam, tol)
        if not why_reference_is_absent(reference)
    ]
    calls = [partial(encode, samples) for _, samples, encode in programs]
    with others.without_warnings():
        codes = [call() for call in calls]
        seconds = timed(*calls, at_least_s=2.0)[1]
    rows = []
    for (who, samples, _), Z, spent in zip(programs, codes, seconds):
        row = {"who": who, "task": task} | _graded(spent, samples, D, Z, lam, task)
        rows.append(row | {"times_as_long": row["us_per_sample"] / rows[0]["us_per_sample"] if rows else 1.0})
    return rows


def _graded(seconds, X, D, Z, lam, task):
    """Return the cost and the objective of codes; for a given number of non-zeros half the squared rest."""
    if task != K_SPARSE:
        return graded_codes(seconds, X, D, Z, lam, positive=task == NONNEGATIVE)
    rest = float(objective(X.astype(np.float64), D, Z, 0.0).mean())
    return {"n": len(X), "us_per_sample": 1e6 * seconds / len(X), "objective": rest}


def _programs(task, D, lam, tol):
    """Yield the name of each program, whether it is slow, its reference, and its function of samples."""
    if task == K_SPARSE:
        yield "flyannot", False, "", partial(encode_omp, D=D, n_nonzeros=_N_NONZEROS, tol=0)
        yield "SPAMS", False, "spams", partial(others.spams_pursuit, D=D, n_nonzeros=_N_NONZEROS)
        options = {"dictionary": D, "algorithm": "omp", "n_nonzero_coefs": _N_NONZEROS}
        yield "scikit-learn", True, "", partial(sparse_encode, **options)
        return
    is_positive = task == NONNEGATIVE
    encode = find_coder("cd", is_nonnegative=is_positive)
    yield "flyannot", False, "", partial(encode, D=D, lam=lam, tol=tol)
    yield "SPAMS", False, "spams", partial(others.spams_codes, D=D, lam=lam, positive=is_positive)
    options = {"dictionary": D, "algorithm": "lasso_cd", "alpha": lam, "positive": is_positive}
    yield "scikit-learn", True, "", partial(sparse_encode, **options)
    if is_positive and lam <= _LAM_OF_CURVES:  # nnls has no penalty
        columns = D.T.astype(np.float64)
        yield "SciPy nnls, lam 0", True, "", lambda X: np.array([nnls(columns, x)[0] for x in np.float64(X)])

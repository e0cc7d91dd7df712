"""Lee et al., Table 1: time and error of solvers for the codes."""

import numpy as np

from benchmarks.compare_methods import Method, compare_methods
from benchmarks.findings import Comparison, Finding, Size, all_of
from benchmarks.inputs.signals import NATURAL, stimuli
from benchmarks.items import paper_values
from benchmarks.lee.claims import CD, CONJUGATE, GRAFTING, LARS, QP, QUASI_NEWTON, SIGN
from benchmarks.measures import graded_codes, normalised_patches, timed
from benchmarks.references import lasso_solvers as solvers
from benchmarks.references.usual_way import spams_codes
from benchmarks.rows import Rows
from benchmarks.scc.learning import learned_dictionaries
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import default_lam, random_patches
from flyannot.sparse.objective import objective

REFERENCES = {
    LARS: spams_codes,
    GRAFTING: solvers.grafting,
    CONJUGATE: solvers.conjugate_gradients,
    QP: solvers.quadratic_program,
    QUASI_NEWTON: solvers.bounded_quasi_newton,
}
NEEDS = {LARS: "spams", QP: "osqp"}  # of the references

_N_LEARN = 1_400  # a dictionary is learned from so many
_N_EPOCHS = 3
_N_FEW = {QP: 100, QUASI_NEWTON: 8}  # samples that the generic solvers are given
_TOL = 1e-10
_SOLVERS = (SIGN, LARS, GRAFTING, CONJUGATE, CD, *_N_FEW)


def measure_solvers(setup):
    """Microseconds of a code and relative error of every solver on every signal."""
    rows, sources = Rows(), []
    for name, (X, source) in stimuli(setup, _N_LEARN).items():
        sources.append(source)
        found = compare_methods(setup, list(_methods(setup, name, X)))
        rows += _relative_to_best([{"signal": name} | row for row in found])
    return Finding(
        source=all_of(sources),
        size=Size("samples of each signal", max(rows.column("n"))),
        variant=f"coders of flyannot.sparse.coders at tol {_TOL:g}, float64, cold start, "
        f"{setup.sizes['n_atoms']} atoms, lam 1.2/sqrt(p); lars is SPAMS's, compiled as ours are; "
        f"OSQP with |z| <= t, polished, and L-BFGS-B on z = u - v with u, v >= 0, for {_N_FEW[QP]} and "
        f"{_N_FEW[QUASI_NEWTON]} samples",
        comparisons=list(_comparisons(rows)),
        rows=rows,
        panels=[rows.panel("Time of a code", "who", "signal", "us_per_sample", "", "us", y_log=True)],
    )


def _methods(setup, name, X):
    """Return all solvers, on the last samples of a signal and a dictionary learned from all."""
    lam, D = float(default_lam(X.shape[1])), random_patches(X, setup.sizes["n_atoms"], setup.rng("lee"))
    files = setup.save(f"lee-{name.replace(' ', '-')}", patches=X, initial=D)
    learned = learned_dictionaries(setup, files | {"lam": lam}, len(X), _N_EPOCHS)
    problem = {"patches": files["patches"], "dictionary": learned["last"], "lam": lam, "tol": _TOL}
    for solver in _SOLVERS:
        n = _N_FEW.get(solver) or min(setup.sizes["n_samples"], len(X))
        given = problem | {"solver": solver, "n": n}
        yield Method(solver, "", encode_exactly, given, NEEDS.get(solver, ""))


def encoder(name):
    """Return the `encode` function of a coder of the table, or of a reference."""
    return REFERENCES.get(name) or CODERS[name]


def encode_exactly(patches, dictionary, lam, n, solver, tol):
    """Code the last n samples in float64, in a worker; the dictionary may have been learned from them."""
    X, D = (np.float64(A) for A in (normalised_patches(patches, slice(-n, None)), np.load(dictionary)))
    encode = encoder(solver)
    encode(X[:4], D, lam, tol=tol)
    Z, (seconds,) = timed(lambda: encode(X, D, lam, tol=tol))
    return graded_codes(seconds, X, D, Z, lam) | {"each_objective": objective(X, D, Z, lam).tolist()}


def _relative_to_best(rows):
    """Return the rows of one signal with their error, relative to the lowest objective of every sample."""
    each = [np.array(row.pop("each_objective", [])) for row in rows]
    best = np.min([values for values in each if len(values) > max(_N_FEW.values())], axis=0)
    errors = [float((v / best[-len(v) :] - 1).mean()) if len(v) else None for v in each]
    return [row | {"relative_error": error} for row, error in zip(rows, errors)]


def _comparisons(rows):
    paper, sign = paper_values("lee", "table-1"), rows.value("us_per_sample", signal=NATURAL, who=SIGN)
    for name, (theirs, *_) in paper["seconds"].items():
        who = QP if name == "qp" else name
        here = rows.value("us_per_sample", signal=NATURAL, who=who)
        if name != SIGN and here is not None:
            ratio = theirs / paper["seconds"][SIGN][0]
            yield Comparison(f"{who} over feature-sign, {NATURAL}", "x", ratio, here / sign)
            errors = paper["relative_error"][name][0], rows.value("relative_error", signal=NATURAL, who=who)
            yield Comparison(f"relative error of {who}, {NATURAL}", "", *errors)

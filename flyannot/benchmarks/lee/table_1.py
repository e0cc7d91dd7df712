"""Lee et al., Table 1: time and error of solvers for the codes."""

import numpy as np

from flyannot.benchmarks.compare_methods import Method, compare_methods
from flyannot.benchmarks.findings import Check, Comparison, Finding, Panel, Rows, Target, all_of, listed
from flyannot.benchmarks.inputs.signals import stimuli
from flyannot.benchmarks.items import Item, paper_values
from flyannot.benchmarks.lee.coding import encode_exactly, learn_dictionaries
from flyannot.sparse.fit import default_lam, random_patches

_N_LEARN = 1_400  # a dictionary is learned from so many
_N_EPOCHS = 3
_N_QP = 8  # samples that the generic solver is given
_TOL = 1e-10
_EXACT = 1e-8
_SIGN, _LARS, _CD, _QP = "feature-sign", "lars", "cd", "qp"
_NATURAL = "natural image"


def measure(setup):
    """Microseconds of a code and relative error of every solver on every signal."""
    rows, sources = Rows(), []
    for name, (X, source) in stimuli(setup, _N_LEARN).items():
        sources.append(source)
        found = compare_methods(setup, list(_methods(setup, name, X)))
        rows += _relative_to_best([{"signal": name} | row for row in found])
    return Finding(
        source=all_of(sources),
        variant=f"coders of flyannot.sparse.coders at tol {_TOL:g}, float64, cold start, "
        f"{setup.sizes['n_atoms']} atoms, lam 1.2/sqrt(p); lars is scikit-learn's, qp L-BFGS-B on z = u - v "
        f"with u, v >= 0, for {_N_QP} samples",
        why=_why(rows),
        checks=list(_checks(rows)),
        targets=[Target("LARS over our feature-sign search, the least", min(_over_sign(rows, _LARS)), 1)],
        comparisons=list(_comparisons(rows)),
        rows=rows,
        panels=[Panel("Time of a code", "", "us", rows.lines("who", "signal", "us_per_sample"), y_log=True)],
        notes=[
            "There are no signals of speech, stereo and video, no programs of grafting, Chen et al. and CVX.",
            "The error is relative to the lowest objective that any of the solvers reached.",
        ],
    )  # fmt: skip


def _methods(setup, name, X):
    """All solvers, on the last samples of a signal and a dictionary learned from all."""
    where, lam = setup.scratch / f"lee-{name.replace(' ', '-')}", float(default_lam(X.shape[1]))
    files = {key: f"{where}-{key}.npy" for key in ("patches", "initial", "last", "last_but_one")}
    np.save(files["patches"], X)
    np.save(files["initial"], random_patches(X, setup.sizes["n_atoms"], setup.rng("lee")))
    setup.run(learn_dictionaries, files | {"lam": lam, "n": len(X), "n_epochs": _N_EPOCHS})
    problem = {"patches": files["patches"], "dictionary": files["last"], "lam": lam, "tol": _TOL}
    for solver in (_SIGN, _LARS, _CD, _QP):
        n = _N_QP if solver == _QP else min(setup.sizes["n_samples"], len(X))
        yield Method(solver, "", encode_exactly, problem | {"coder_name": solver, "n": n})


def _relative_to_best(rows):
    """The rows of one signal with their error, relative to the lowest objective of every sample."""
    each = [np.array(row.pop("each_objective")) for row in rows]
    best = np.min([values for values in each if len(values) > _N_QP], axis=0)
    errors = [float((values / best[-len(values) :] - 1).mean()) for values in each]
    return [row | {"relative_error": error} for row, error in zip(rows, errors)]


def _over_sign(rows, solver, **wanted):
    """How many times as long as feature-sign search, on every signal."""
    return np.divide(*(rows.column("us_per_sample", who=who, **wanted) for who in (solver, _SIGN)))


def _checks(rows):
    for other, least in ((_LARS, 1.0), (_QP, 10.0)):
        ratios = _over_sign(rows, other)
        text = f"feature-sign is faster than {other}" + (f", {least:.0f} times or more" if least > 1 else "")
        yield Check(text, min(ratios) > least, listed(ratios, ".1f", " times"))
    for solver in (_SIGN, _LARS):
        errors = rows.column("relative_error", who=solver)
        text = f"the error of {solver} is 0 (below {_EXACT:g})"
        yield Check(text, max(errors) < _EXACT, listed(errors, ".0e"))


def _why(rows):
    cd = 1 / _over_sign(rows, _CD, signal=_NATURAL)[0]
    return (
        "The order of the paper holds where the solvers are the same; coordinate descent, which it did not "
        f"time, takes {'less' if cd > 1 else 'more'} time than feature-sign ({cd:.1f} times as fast)."
    )


def _comparisons(rows):
    paper, ours = paper_values("lee", "table-1"), (_SIGN, _LARS, _QP)
    seconds = {solver: paper["seconds"][solver][0] for solver in ours}
    for solver, value in seconds.items():
        here = rows.value("us_per_sample", signal=_NATURAL, who=solver) / 1000
        yield Comparison(f"time, {solver}, {_NATURAL}", "s", value, here, "ours of 1,000 samples")
    for solver in (_LARS, _QP):
        both = seconds[solver] / seconds[_SIGN], _over_sign(rows, solver, signal=_NATURAL)[0]
        yield Comparison(f"{solver} over feature-sign, {_NATURAL}", "x", *both)
    for name, of_signals in paper["seconds"].items():
        for signal, value in zip(paper["stimuli"], of_signals):
            if signal != _NATURAL or name not in ours:
                yield Comparison(f"time, {name}, {signal}", "s", value, None, "not available")


ITEM = Item(
    "lee-table-1", "Solvers for the codes: time and error", measure, "lee", "table-1",
    sizes={"n_samples": (400, 1000), "n_atoms": (256, 512)},
)  # fmt: skip

"""Lee et al., Table 1: time and error of solvers for the codes."""

import numpy as np
from scipy.optimize import minimize

from flyannot.benchmarks.papers.embryos import all_of
from flyannot.benchmarks.papers.findings import Claim, Compared, Finding, Panel, Series
from flyannot.benchmarks.papers.papers import stated
from flyannot.benchmarks.papers.signals import stimuli
from flyannot.benchmarks.references import coder_or_reference
from flyannot.benchmarks.speed.clocks import Stopwatch
from flyannot.sparse.fit import default_lam, learn, random_patches
from flyannot.sparse.learners.scc.learner import SCC
from flyannot.sparse.objective import objective

_N = (400, 1000)  # samples, quick and full
_N_LEARN = 1_400  # a dictionary is learned from so many
_N_ATOMS = 256
_N_QP = 8  # samples that the generic solver is given
_TOL = 1e-10
_CODERS = ("feature-sign", "lars", "cd")
_QP = "qp (L-BFGS-B)"
_EXACT = 1e-8
_SPEECH = "not at hand: speech, stereo and video (and grafting, Chen et al.'s program and CVX)"


def measure(setup):
    """Seconds per 1,000 codes and relative error of every solver on every signal."""
    rows, sources = [], []
    for name, (X, source) in stimuli(setup, _N_LEARN).items():
        D, lam = _dictionary(setup, X)
        sources.append(source)
        rows += [{"signal": name} | row for row in _race(X[: setup.pick(*_N)], D, lam)]
    source = all_of(sources)
    return Finding(
        data=source.text,
        kind=source.kind,
        variant=f"coders of flyannot.sparse.coders at tol {_TOL:g}, float64, cold start, {_N_ATOMS} atoms, "
        "lam 1.2/sqrt(p); LARS is scikit-learn's",
        why=_why(rows),
        claims=list(_claims(rows)),
        compared=list(_compared(rows)),
        rows=rows,
        panels=_panels(rows),
        notes=[
            f"Signals and programs that are {_SPEECH}. The generic solver is L-BFGS-B on z = u - v with "
            f"u, v >= 0, for {_N_QP} samples.",
            "The error is relative to the lowest objective that any of the solvers reached.",
        ],
    )


def _dictionary(setup, X):
    rng, lam = setup.rng("lee"), float(default_lam(X.shape[1]))
    learner = SCC(random_patches(X, _N_ATOMS, rng), len(X), lam=lam)
    for _ in learn(X, learner, n_epochs=3, rng=rng):
        pass
    return np.array(learner.D, np.float64), lam


def _race(X, D, lam):
    """One row for every solver."""
    values, seconds = {}, {}
    for name in _CODERS:
        coder_or_reference(name)(X[:4], D, lam, tol=_TOL)  # compiled, imported
        with Stopwatch() as watch:
            Z = coder_or_reference(name)(X, D, lam, tol=_TOL)
        values[name], seconds[name] = objective(X, D, Z, lam), watch.seconds / len(X)
    few = X[:_N_QP]
    with Stopwatch() as watch:
        Z = np.array([_quadratic_program(x, D, lam) for x in few])
    values[_QP], seconds[_QP] = objective(few, D, Z, lam), watch.seconds / len(few)
    best = np.min([values[name] for name in _CODERS], axis=0)
    return [
        {
            "solver": name, "seconds_per_1000": 1000 * seconds[name],
            "relative_error": float(np.mean(v / best[: len(v)] - 1)), "n_samples": len(v),
        }
        for name, v in values.items()
    ]  # fmt: skip


def _quadratic_program(x, D, lam):
    """The code of one sample by a generic solver with bounds."""
    gram, q, m = D @ D.T, D @ x, len(D)

    def value_and_slope(uv):
        z = uv[:m] - uv[m:]
        slope = gram @ z - q
        value = 0.5 * z @ (slope - q) + lam * uv.sum()
        return value, np.concatenate([slope + lam, lam - slope])

    options = {"maxiter": 5000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}
    found = minimize(
        value_and_slope, np.zeros(2 * m), jac=True, bounds=[(0, None)] * (2 * m), method="L-BFGS-B",
        options=options,
    )  # fmt: skip
    return found.x[:m] - found.x[m:]


def _seconds(rows, signal, solver):
    return next(r["seconds_per_1000"] for r in rows if (r["signal"], r["solver"]) == (signal, solver))


def _signals(rows):
    return list(dict.fromkeys(row["signal"] for row in rows))


def _claims(rows):
    for other, least in (("lars", 1.0), (_QP, 10.0)):
        ratios = [_seconds(rows, s, other) / _seconds(rows, s, "feature-sign") for s in _signals(rows)]
        text = f"feature-sign is faster than {other}" + (f", {least:.0f} times or more" if least > 1 else "")
        yield Claim(text, min(ratios) > least, ", ".join(f"{r:.1f}" for r in ratios) + " times")
    for solver in ("feature-sign", "lars"):
        errors = [r["relative_error"] for r in rows if r["solver"] == solver]
        text = f"the error of {solver} is 0 (below {_EXACT:g})"
        yield Claim(text, max(errors) < _EXACT, ", ".join(f"{e:.0e}" for e in errors))


def _why(rows):
    first = _signals(rows)[0]
    cd = _seconds(rows, first, "feature-sign") / _seconds(rows, first, "cd")
    return (
        "The order of the paper holds where the solvers are the same; coordinate descent, which it did not "
        f"time, takes {'less' if cd > 1 else 'more'} time than feature-sign ({cd:.1f} times as fast)."
    )


def _compared(rows):
    paper = stated("lee", "table-1")
    theirs = {name: paper["seconds"][name][0] for name in ("feature-sign", "lars", "qp")}
    for solver, key in (("feature-sign", "feature-sign"), ("lars", "lars"), (_QP, "qp")):
        ours = _seconds(rows, "natural image", solver)
        yield Compared(f"time, {solver}, natural image", "s", theirs[key], ours, "ours per 1,000 samples")
    for solver, key in (("lars", "lars"), (_QP, "qp")):
        ours = _seconds(rows, "natural image", solver) / _seconds(rows, "natural image", "feature-sign")
        what = f"{solver} over feature-sign, natural image"
        yield Compared(what, "x", theirs[key] / theirs["feature-sign"], ours)
    for name, seconds in paper["seconds"].items():
        for signal, value in zip(paper["stimuli"], seconds):
            if signal != "natural image" or name not in theirs:
                yield Compared(f"time, {name}, {signal}", "s", value, None, "not at hand")


def _panels(rows):
    signals, solvers = _signals(rows), (*_CODERS, _QP)
    times = [Series(s, signals, [_seconds(rows, x, s) for x in signals]) for s in solvers]
    return [Panel("Time of 1,000 codes", "", "seconds", times, y_log=True)]

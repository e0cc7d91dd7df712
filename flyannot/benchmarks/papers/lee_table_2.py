"""Lee et al., Table 2 and Figure 1: time to learn bases, by the Lagrange dual or by gradient descent."""

import numpy as np

from flyannot.benchmarks.papers.embryos import all_of
from flyannot.benchmarks.papers.findings import Claim, Compared, Finding, Panel, Series
from flyannot.benchmarks.papers.papers import stated
from flyannot.benchmarks.papers.signals import stimuli
from flyannot.benchmarks.references import coder_or_reference
from flyannot.benchmarks.speed.clocks import Stopwatch
from flyannot.sparse.fit import default_lam, random_patches
from flyannot.sparse.learners.lagrange_dual import primal_objective, solve_dual
from flyannot.sparse.objective import objective

_N = (1000, 4000)  # samples
_N_ATOMS = (200, 400)
_N_ITERATIONS = (6, 15)
_CODERS = ("feature-sign", "lars", "cd")
_BASES = ("dual", "gradient")
_TOL = 1e-8  # how near to the least value gradient descent must come; duality gap of the codes
_MOST_STEPS = 5_000


def measure(setup):
    """Alternate codes and bases, every way of one with every way of the other."""
    runs, sources = {}, []
    for name, (X, source) in stimuli(setup, setup.pick(*_N)).items():
        sources.append(source)
        for solver in _CODERS:
            for bases in _BASES:
                runs[name, solver, bases] = _learn(setup, X, solver, bases)
    names = list(dict.fromkeys(name for name, _, _ in runs))
    source = all_of(sources)
    return Finding(
        data=source.text,
        kind=source.kind,
        variant=f"{setup.pick(*_N_ATOMS)} atoms, {setup.pick(*_N_ITERATIONS)} alternations, float64, lam "
        "1.2/sqrt(p), codes to the same part of |x|^2 / 2, warm where the solver takes a start",
        why="Gradient descent must come as near to the minimum as 1e-8 of it here; how near it did in the "
        "paper, and the sizes, are not known, and decide the ratio.",
        claims=list(_claims(names, runs)),
        compared=list(_compared(runs)),
        rows=[_row(key, run) for key, run in runs.items()],
        panels=_panels(names, runs),
        notes=[
            "Not at hand: speech, stereo, video; grafting; the epsilon-L1 penalty with conjugate gradients. "
            f"Gradient descent ends within {_TOL:g} of the least value, relative to it, or after "
            f"{_MOST_STEPS:,} steps.",
        ],
    )  # fmt: skip


def _learn(setup, X, solver, bases):
    """Seconds of both halves and the objective after every alternation."""
    lam, Z, rng = float(default_lam(X.shape[1])), None, setup.rng("bases")
    D, seconds, trace = random_patches(X, setup.pick(*_N_ATOMS), rng), [0.0, 0.0], []
    coder_or_reference(solver)(X[:4], D, lam, tol=_TOL)
    for _ in range(setup.pick(*_N_ITERATIONS)):
        with Stopwatch() as watch:
            Z = coder_or_reference(solver)(X, D, lam, tol=_TOL, start=Z)
        seconds[0] += watch.seconds
        A, B = (Z.T @ Z).toarray(), Z.T @ X
        least = primal_objective(A, B, solve_dual(A, B)[0])  # what both must come close to
        with Stopwatch() as watch:
            new = _dual(A, B, D) if bases == "dual" else descend(A, B, D, least + _TOL * abs(least))
        seconds[1] += watch.seconds
        used = np.diag(A) > 0
        D = np.where(used[:, None], new, D)
        trace.append((sum(seconds), float(objective(X, D, Z, lam).mean())))
    return {"codes": seconds[0], "bases": seconds[1], "total": sum(seconds), "trace": trace}


def _dual(A, B, D):
    """The solution by the dual, begun from where D would be the solution."""
    return solve_dual(A, B, start=np.maximum(0.0, np.einsum("ij,ij->i", D, B - A @ D)))[0]


def descend(A, B, D, target, *, max_steps=_MOST_STEPS):
    """The dictionary in the unit ball for given codes, by projected gradient steps of 1/L, down to `target`.

    A and B as `flyannot.sparse.learners.lagrange_dual.solve_dual` takes them; D is where it begins, and
    `target` a value of `primal_objective`.
    """
    step = 1 / max(np.linalg.eigvalsh(A)[-1], 1e-300)
    for _ in range(max_steps):
        D = D - step * (A @ D - B)
        D /= np.maximum(1.0, np.linalg.norm(D, axis=1, keepdims=True))
        if primal_objective(A, B, D) <= target:
            break
    return D


def _claims(names, runs):
    for solver in _CODERS:
        ratios = [runs[n, solver, "gradient"]["bases"] / runs[n, solver, "dual"]["bases"] for n in names]
        text = f"the dual is faster than gradient descent for the bases ({solver} codes)"
        yield Claim(text, min(ratios) > 1, ", ".join(f"{r:.1f}" for r in ratios) + " times")
    ratios = [runs[n, "lars", "dual"]["total"] / runs[n, "feature-sign", "dual"]["total"] for n in names]
    here = ", ".join(f"{r:.1f}" for r in ratios) + " times"
    yield Claim(
        "feature-sign with the dual is faster in total than LARS with the dual", min(ratios) > 1, here
    )
    ends = [
        runs[n, s, "dual"]["trace"][-1][1] <= 1.001 * runs[n, s, "gradient"]["trace"][-1][1]
        for n in names for s in _CODERS
    ]  # fmt: skip
    here = f"{sum(ends)} of {len(ends)}"
    yield Claim("the dual ends no higher than gradient descent, to within 0.1 %", all(ends), here)


def _compared(runs):
    paper = stated("lee", "table-2")["seconds"]
    for solver in ("feature-sign", "lars"):
        for bases in _BASES:
            theirs, ours = paper[f"{solver}_{bases}"][0], runs["natural image", solver, bases]["total"]
            yield Compared(f"total time, {solver} / {bases}, natural image", "s", theirs, ours, "other sizes")
        theirs = paper[f"{solver}_gradient"][0] / paper[f"{solver}_dual"][0]
        gradient, dual = (runs["natural image", solver, bases]["total"] for bases in ("gradient", "dual"))
        yield Compared(f"gradient over dual, total, {solver}, natural image", "x", theirs, gradient / dual)
    theirs = paper["lars_dual"][0] / paper["feature-sign_dual"][0]
    lars, sign = (runs["natural image", solver, "dual"]["total"] for solver in ("lars", "feature-sign"))
    yield Compared("LARS over feature-sign, with the dual, natural image", "x", theirs, lars / sign)


def _row(key, run):
    name, solver, bases = key
    return {
        "signal": name, "codes_by": solver, "bases_by": bases, "seconds_codes": run["codes"],
        "seconds_bases": run["bases"], "seconds_total": run["total"], "objective": run["trace"][-1][1],
    }  # fmt: skip


def _panels(names, runs):
    curves = [
        Series(bases, [s for s, _ in run["trace"]], [o for _, o in run["trace"]])
        for bases in _BASES for run in [runs[names[0], "feature-sign", bases]]
    ]  # fmt: skip
    bars = [
        Series(f"{solver} / {bases}", names, [runs[n, solver, bases]["total"] for n in names])
        for solver in _CODERS for bases in _BASES
    ]  # fmt: skip
    return [
        Panel("Total time", "", "seconds", bars, y_log=True),
        Panel(f"Convergence, feature-sign codes, {names[0]}", "seconds", "objective", curves),
    ]

"""Lee et al., Table 2: alternating codes and bases, every way of one with every way of the other."""

from itertools import product

import numpy as np

from benchmarks.findings import Comparison, Finding, Size, all_of
from benchmarks.inputs.signals import NATURAL, stimuli
from benchmarks.items import paper_values
from benchmarks.lee import claims
from benchmarks.lee.claims import ACCELERATED, CD, CONJUGATE, DUAL, GRADIENT, GRAFTING, LARS, SIGN
from benchmarks.lee.codes import encoder
from benchmarks.measures import Stopwatch
from benchmarks.references import why_reference_is_absent
from benchmarks.rows import Panel, Rows, Series
from flyannot.sparse.fit import default_lam, random_patches
from flyannot.sparse.learners.lagrange_dual import dual_points, primal_objective, solve_dual
from flyannot.sparse.objective import objective

# How near to the least value the bases must come, as items.toml says, too; the duality gap of the codes.
_TOL = 1e-8
_MOST_STEPS = 5_000
_SOLVERS = (SIGN, LARS, GRAFTING, CONJUGATE, CD)
_BASES = (DUAL, GRADIENT, ACCELERATED)


def measure_alternations(setup):
    """Alternate codes and bases from the same bases, on every signal."""
    rows, sources = Rows(), []
    sizes = {name: setup.sizes[name] for name in ("n_atoms", "n_alternations")}
    solvers = [who for who in _SOLVERS if who != LARS or not why_reference_is_absent("spams")]
    for name, (X, source) in stimuli(setup, setup.sizes["n_samples"]).items():
        sources.append(source)
        problem = setup.save(f"bases-{name.replace(' ', '-')}", samples=X) | sizes
        problem |= {"lam": float(default_lam(X.shape[1])), "seed": setup.seed}
        for codes, bases in product(solvers, _BASES):
            found = setup.run(learn_bases, problem | {"solver": codes, "bases": bases})
            rows.append({"signal": name, "codes_by": codes, "bases_by": bases} | found)
    named = Rows(row | {"both": f"{row['codes_by']} / {row['bases_by']}"} for row in rows)
    again = [
        Series(f"{who}, {signal}", list(range(1, len(ratios) + 1)), ratios)
        for who in (LARS, GRAFTING)
        for signal, ratios in claims.over_sign(rows, who).items()
    ]
    traces = {b: rows.value("trace", signal=NATURAL, codes_by=SIGN, bases_by=b) for b in _BASES}
    return Finding(
        source=all_of(sources),
        size=Size("samples of each signal", setup.sizes["n_samples"]),
        variant=f"{sizes['n_atoms']} atoms, {sizes['n_alternations']} alternations, float64, lam "
        "1.2/sqrt(p), codes to the same part of |x|^2 / 2, warm where the solver takes a start; "
        "lars is SPAMS's",
        comparisons=list(_comparisons(rows)),
        rows=rows,
        panels=[
            named.panel("Total time", "both", "signal", "seconds", "", y_log=True),
            Panel(
                f"Convergence, feature-sign codes, {NATURAL}",
                "seconds",
                "objective",
                [Series(bases, *zip(*trace)) for bases, trace in traces.items()],
            ),
            Panel("Time of the codes over feature-sign's", "alternation", "times", again),  # Figure 1, right
        ],
    )


def learn_bases(samples, lam, n_atoms, n_alternations, solver, bases, seed):
    """Learn bases in a worker; return the seconds of both halves and `trace`.

    trace : (seconds, objective) after every alternation
    seconds_of_each_coding : seconds of the codes, alternation by alternation
    """
    X, encode, Z = np.load(samples), encoder(solver), None
    D = random_patches(X, n_atoms, np.random.default_rng(seed))
    codes, learning, trace, of_each = 0.0, 0.0, [], []
    encode(X[:4], D, lam, tol=_TOL)
    for _ in range(n_alternations):
        start = {} if solver == LARS or Z is None else {"start": Z}
        with Stopwatch() as watch:
            Z = encode(X, D, lam, tol=_TOL, **start)
        codes += watch.seconds
        of_each.append(watch.seconds)
        A, B = (Z.T @ Z).toarray(), Z.T @ X
        least = primal_objective(A, B, solve_dual(A, B)[0])  # what all must come close to
        new, seconds = reach(least + _TOL * abs(least), A, B, D, bases)
        learning += seconds
        D = np.where(np.diag(A)[:, None] > 0, new, D)
        trace.append((codes + learning, float(objective(X, D, Z, lam).mean())))
    times = {"seconds_of_codes": codes, "seconds_of_bases": learning, "seconds": codes + learning}
    return times | {"objective": trace[-1][1], "trace": trace, "seconds_of_each_coding": of_each}


def reach(target, A, B, D, bases):
    """Return the first dictionary at or below a value of `primal_objective`, and the steps' seconds.

    A and B are the parameters of `solve_dual`; D is the dictionary to begin from.
    """
    with Stopwatch() as watch:
        if bases == DUAL:  # from where D would be the solution
            start = np.maximum(0.0, np.einsum("ij,ij->i", D, B - A @ D))
            steps = (point.atoms_in_ball() for point in dual_points(A, B, start))
        else:
            steps = gradient_steps(A, B, D, accelerated=bases == ACCELERATED)
    seconds, found = watch.seconds, D
    for _ in range(_MOST_STEPS):
        with Stopwatch() as watch:
            nearer = next(steps, None)
        seconds += watch.seconds
        if nearer is None:
            break
        found = nearer
        if primal_objective(A, B, found) <= target:
            break
    return found, seconds


def _comparisons(rows):
    paper = paper_values("lee", "table-2")["seconds"]

    def both(codes, bases):
        ours = rows.value("seconds", signal=NATURAL, codes_by=codes, bases_by=bases)
        return np.array([paper[f"{codes}_{bases}"][0], np.nan if ours is None else ours])

    for solver in (SIGN, LARS, GRAFTING, CONJUGATE):
        ratio = both(solver, GRADIENT) / both(solver, DUAL)
        yield Comparison(f"gradient over dual, total, {solver}, {NATURAL}", "x", *ratio)
        ratio = both(solver, DUAL) / both(SIGN, DUAL)
        yield Comparison(f"{solver} over feature-sign, with the dual, {NATURAL}", "x", *ratio)


def gradient_steps(A, B, D, *, accelerated):
    """Yield the dictionaries (n_atoms, n_features) of successive steps of 1/L, atoms in the unit ball.

    The steps minimise 1/2 tr D^T A D - tr D^T B from D.  `accelerated` adds Nesterov's momentum, which
    restarts where it points uphill.

    Source
    ------
    Beck and Teboulle, SIAM J. Imaging Sciences 2(1), 2009; O'Donoghue and Candes, Foundations of
    Computational Mathematics 15, 2015.
    """
    step, ahead, t = 1 / max(np.linalg.eigvalsh(A)[-1], 1e-300), D, 1.0
    while True:
        new = ahead - step * (A @ ahead - B)
        new /= np.maximum(1.0, np.linalg.norm(new, axis=1, keepdims=True))
        if accelerated:
            if np.vdot(ahead - new, new - D) > 0:
                t = 1.0
            faster = (1 + np.sqrt(1 + 4 * t * t)) / 2
            ahead, t = new + (t - 1) / faster * (new - D), faster
        else:
            ahead = new
        D = new
        yield D

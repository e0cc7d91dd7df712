"""What one process does to measure SISO, hash-SISO and coordinate descent over very many atoms.

The atoms are real descriptors, drawn with repetition and perturbed; the queries are others, one at a time,
scaled so that `LAM` is the paper's 0.002 of the largest product.
"""

from functools import partial

import numpy as np

from flyannot.benchmarks.speed.clocks import Stopwatch
from flyannot.benchmarks.speed.full_cd import full_cd
from flyannot.benchmarks.speed.worker import peak_mb
from flyannot.descriptors.sift import normalise
from flyannot.sparse.coders.siso import encode as siso
from flyannot.sparse.coders.siso import hash_siso
from flyannot.sparse.coders.siso.hash_siso import HashSearch
from flyannot.sparse.coders.siso.lsh import Seen, build_index, candidates
from flyannot.sparse.coders.siso.screening import compare
from flyannot.sparse.objective import duality_gap, objective

LAM = 0.002
_NOISE = 0.02  # of every feature: four fifths of an atom's neighbourhood are no longer its copies
_BEST = 100  # of which the recall is taken
_BLOCK = 10_000
_SLOW = 3  # queries for coordinate descent
_MOST_SWEEPS = 300  # over all atoms: where they do not suffice, the gap tells


def compare_searches(patches, held, n_atoms, n_queries, tol, with_cd):
    """Every search over the same atoms, in turns, query by query: {name: numbers}."""
    D, X = _atoms(patches, n_atoms), _queries(held, n_queries + 1)
    X /= _largest(X, D)[:, None]
    with Stopwatch() as watch:
        index = build_index(D, np.random.default_rng(0))
    found = {name: [] for name in _searches(index, tol, with_cd)}
    for i, x in enumerate(X[:, None]):
        for name, search in _searches(index, tol, with_cd and i <= _SLOW).items():
            if i == 0 and name.startswith("coordinate descent"):
                search = partial(_by_cd, tol=0.5, n_support=1)  # compiles
            found[name].append(_one(search, x, D))
    first = [result["Z"] for result in found["siso, as published"]]
    numbers = {name: _summary(results[1:], first[1:]) for name, results in found.items()}
    numbers |= {f"hash cells, {n}": r for n, r in _recalls(index, X[1:], D, tol)}
    return {"numbers": numbers, "index_seconds": watch.seconds, "peak_mb": peak_mb()}


def time_a_batch(patches, held, n_atoms, n_queries, tol):
    """SISO as published and as it is here on many queries at once."""
    D, X = _atoms(patches, n_atoms), _queries(held, n_queries)
    X /= _largest(X, D)[:, None]
    searches = {"siso, as published": siso.solve_with_full_passes, "siso": siso.solve}
    numbers = {}
    for name, solve in searches.items():
        solve(X[:2], D, LAM, tol=tol)
        one = _one(partial(_by_siso, solve, tol=tol), X, D)
        numbers[name] = _summary([one], [one["Z"]]) | {"us_per_query": one["seconds"] * 1e6 / n_queries}
    return {"numbers": numbers}


def _searches(index, tol, with_cd):
    """{name: function of (X, D) to (Z, whole and partial looks)}."""
    searches = {
        "siso, as published": partial(_by_siso, siso.solve_with_full_passes, tol=tol),
        "siso": partial(_by_siso, siso.solve, tol=tol),
    }
    for ending in hash_siso.ENDINGS:
        search = HashSearch(index, ending=ending)
        searches[f"hash-siso, {ending}"] = partial(_by_siso, partial(hash_siso.solve, search=search), tol=tol)
    if with_cd:
        searches["coordinate descent, all atoms"] = partial(_by_cd, tol=tol, n_support=0)
        searches["coordinate descent, support too"] = partial(_by_cd, tol=tol, n_support=10_000)
    return searches


def _by_siso(solve, X, D, tol):
    solved = solve(X, D, LAM, tol=tol)
    return solved.Z, solved.n_passes.mean()


def _by_cd(X, D, tol, n_support):
    rules = {"tol": tol, "n_support": n_support, "max_sweeps": _MOST_SWEEPS}
    return np.array([full_cd(x, D, LAM, **rules) for x in X]), None


def _one(search, X, D):
    """Seconds, and the objective, gap and code of one search."""
    with Stopwatch() as watch:
        Z, looks = search(X, D)
    half = 0.5 * np.square(X, dtype=np.float64).sum(axis=1)
    gap = (duality_gap(X, D, Z, LAM) / half).max()
    Z = Z if isinstance(Z, np.ndarray) else Z.toarray()
    nonzero = {int(k): Z[0, k] for k in np.flatnonzero(Z[0])}
    value = (objective(X, D, Z, LAM) / half).mean()
    return {"seconds": watch.seconds, "objective": value, "gap": gap, "looks": looks, "Z": nonzero}


def _summary(results, first):
    """Median time, mean objective (a part of 1/2 |x|^2) and looks, and the largest of the rest."""
    apart = [_distance(result["Z"], z) for result, z in zip(results, first)]
    looks = [result["looks"] for result in results if result["looks"] is not None]
    return {
        "n": len(results),
        "us_per_query": 1e6 * float(np.median([result["seconds"] for result in results])),
        "objective": float(np.mean([result["objective"] for result in results])),
        "worst_relative_gap": float(max(result["gap"] for result in results)),
        "apart": float(max(apart)),
        "looks": float(np.mean(looks)) if looks else None,
        "each_us": [1e6 * result["seconds"] for result in results],
        "each_objective": [float(result["objective"]) for result in results],
    }


def _distance(code, other):
    """The largest difference of two codes, as part of the largest code."""
    atoms = code.keys() | other.keys()
    scale = max(map(abs, other.values()), default=1.0)
    return max((abs(code.get(k, 0.0) - other.get(k, 0.0)) / scale for k in atoms), default=0.0)


def _recalls(index, X, D, tol):
    """How many of the best atoms the cells hold, as SISO goes on: (name, numbers) after 0, 5 and 10 looks."""
    seen = Seen(index)
    for n_looks in (0, 5, 10):
        Z = siso.solve_with_full_passes(X, D, LAM, tol=tol, max_sweeps=n_looks + 1).Z
        R = X if n_looks == 0 else X - Z @ D
        best = compare(D, R.astype(np.float64), 0.0, _BEST)[1]
        chosen = [candidates(index, r, seen, n_probes=HashSearch(index).n_probes) for r in R]
        yield (
            f"after {n_looks} looks",
            {
                "n": len(X),
                "recall": float(np.mean([np.isin(b, c).mean() for b, c in zip(best, chosen)])),
                "looked_at": float(np.mean([len(c) for c in chosen]) / len(D)),
            },
        )


def _atoms(patches, n):
    rng = np.random.default_rng(0)
    X = normalise(np.load(patches, mmap_mode="r"))
    D = np.empty((n, X.shape[1]), np.float32)
    for start in range(0, n, _BLOCK):
        part = D[start : start + _BLOCK]
        noise = rng.standard_normal(part.shape, dtype=np.float32)
        part[:] = X[rng.integers(len(X), size=len(part))] + np.float32(_NOISE) * noise
        part /= np.linalg.norm(part, axis=1)[:, None]
    return D


def _queries(held, n):
    X = normalise(np.load(held))
    return X[np.linalg.norm(X, axis=1) > 0][:n].astype(np.float32)


def _largest(X, D):
    blocks = (np.abs(X @ D[start : start + _BLOCK].T).max(axis=1) for start in range(0, len(D), _BLOCK))
    return np.max(list(blocks), axis=0)

"""Difficult lasso problems: nearly singular dictionaries, values of any scale, and any lam.

`python -m tests.sparse.torture` prints the numbers of docs/dictionary-learning.md.
"""

import sys
import time
import warnings

import numpy as np
from scipy.special import eval_chebyt

from flyannot.sparse.coders import CODERS
from flyannot.sparse.coders.cd import encode_nonnegative
from flyannot.sparse.objective import duality_gap, objective
from tests.sparse.optimality import lam_max

FRACTIONS = (1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 0.999)  # of the largest lam at which a code is not zero
N_SAMPLES = 20


def _unit_rows(A):
    norms = np.linalg.norm(A, axis=1, keepdims=True)
    return A / np.where(norms > 0, norms, 1)


def _cauchy(rng, n_atoms):
    """Return a dictionary that once crashed the interpreter: 16 features, rows that repeat after 97."""
    return 1 / (1 + np.arange(n_atoms)[:, None] % 97 + np.arange(16))


def _t2_decays(rng):
    """Return sixty exponentials at 32 echoes, as in magnetic resonance."""
    return np.exp(-np.arange(10, 330, 10) / np.geomspace(10, 2000, 60)[:, None])


def _gaussian_peaks(rng):
    return np.exp(-0.5 * ((np.arange(64) - np.linspace(0, 63, 200)[:, None]) / 4) ** 2)


def _ricker(rng):
    t = (np.arange(64) - np.linspace(0, 63, 150)[:, None]) / 5
    return (1 - t**2) * np.exp(-0.5 * t**2)


def _polynomials(rng):
    return np.concatenate([np.linspace(0, 1, 40) ** np.arange(25)[:, None], _chebyshev()])


def _chebyshev():
    return np.array([eval_chebyt(k, np.linspace(-1, 1, 40)) for k in range(15)])


def _nearly_one(rng):
    """Return atoms whose correlations are 0.999."""
    return rng.normal(size=24) + np.sqrt(1e-3) * rng.normal(size=(80, 24))


def _duplicates(rng):
    A = rng.normal(size=(20, 16))
    return np.concatenate([A, A, -A, 2 * A, A + 1e-9 * rng.normal(size=A.shape)])


def _zero_atoms(rng):
    return rng.normal(size=(50, 20)) * (np.arange(50) % 3 > 0)[:, None]


def _rank_three(rng):
    return rng.normal(size=(60, 3)) @ rng.normal(size=(3, 30))


DICTIONARIES = {
    "Hilbert-like, 20 atoms": lambda rng: _cauchy(rng, 20),
    "Hilbert-like, 97 atoms": lambda rng: _cauchy(rng, 97),
    "Hilbert-like, 200 atoms": lambda rng: _cauchy(rng, 200),
    "T2 decays": _t2_decays,
    "Gaussian peaks": _gaussian_peaks,
    "Ricker wavelets": _ricker,
    "polynomials": _polynomials,
    "correlations of .999": _nearly_one,
    "duplicates": _duplicates,
    "zero atoms": _zero_atoms,
    "rank 3": _rank_three,
}


def problem(name, n_samples, dtype, rng):
    """Return samples of norm 1, and atoms of norm 1 or 0.

    Half of the samples are noise, and half are sums of a few atoms.
    """
    D = _unit_rows(DICTIONARIES[name](rng))
    noise = rng.normal(size=(n_samples - n_samples // 2, D.shape[1]))
    sums = rng.normal(size=(n_samples // 2, 5, 1)) * D[rng.integers(len(D), size=(n_samples // 2, 5))]
    return _unit_rows(np.concatenate([noise, sums.sum(axis=1)])).astype(dtype), D.astype(dtype)


def solved(encode, X, D, lam, *, tol=1e-4, positive=False):
    """Solve a problem, and return a dict of results.

    n_above_zero : codes above the objective of the zero code, beyond rounding
    n_missed : codes that miss tol
    warnings : the set of the categories of all warnings
    largest_gap : as a fraction of 1/2 |x|^2
    """
    begun = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Z = encode(X, D, lam, tol=tol)
    seconds = time.perf_counter() - begun
    half = 0.5 * np.square(X, dtype=np.float64).sum(axis=1)
    gaps = duality_gap(X, D, Z, lam, positive=positive) / half
    return {
        "n_above_zero": int((~(objective(X, D, Z, lam) <= half * (1 + 1e-12))).sum()),
        "n_missed": int((~(gaps <= tol)).sum()),
        "warnings": {one.category for one in caught},
        "largest_gap": float(gaps.max()),
        "seconds": seconds,
    }


def coders():
    """Return every coder by name, and whether its codes must not be negative."""
    return {name: (CODERS[name], False) for name in CODERS} | {"nonnegative": (encode_nonnegative, True)}


def measure(n_samples=N_SAMPLES):
    """Yield (dictionary, coder, type, fraction of the largest lam, results) one by one."""
    for name in DICTIONARIES:
        for coder, (encode, positive) in coders().items():
            for dtype in (np.float32, np.float64):
                for fraction in FRACTIONS:
                    X, D = problem(name, n_samples, dtype, np.random.default_rng(0))
                    row = solved(encode, X, D, fraction * lam_max(X, D), positive=positive)
                    yield name, coder, np.dtype(dtype).name, fraction, row


def table(rows):
    """Yield lines of Markdown: a row for every coder and type."""
    yield "| coder | numbers | codes | missed, all warned of | largest gap | worse than none | seconds |"
    yield "|---|---|---|---|---|---|---|"
    by_coder = {}
    for _, coder, dtype, _, row in rows:
        by_coder.setdefault((coder, dtype), []).append(row)
    for (coder, dtype), found in by_coder.items():
        n_missed, n_worse = (sum(row[key] for row in found) for key in ("n_missed", "n_above_zero"))
        cells = [coder, dtype, f"{len(found) * N_SAMPLES:,}", f"{n_missed:,}"]
        largest, seconds = (f([row[k] for row in found]) for f, k in ((max, "largest_gap"), (sum, "seconds")))
        cells += [f"{largest:.2g}", n_worse, f"{seconds:.1f}"]
        yield f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.stdout.write("\n".join(table(measure())) + "\n")

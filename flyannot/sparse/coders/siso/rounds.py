"""The rounds of SISO: small problems between full passes over the atoms, which a block of samples shares."""

from dataclasses import dataclass

import numpy as np

from flyannot.sparse.coders.cd.few_atoms import FewAtoms
from flyannot.sparse.coders.siso.screening import compare_correlations
from flyannot.sparse.simd.product import gram_of

TOP_K = 100  # atoms that join an active set in one round: Huang et al. took 100 or 200

# The part of a gap that a small problem may leave: of the gap that is asked for, and of the last gap.
_SMALL_PART = 0.25
_SMALL_DROP = 0.02


@dataclass(frozen=True)
class Problem:
    """What all samples share."""

    D: np.ndarray
    lam: float
    tol: float
    max_sweeps: int
    top_k: int = TOP_K
    gram: np.ndarray | None = None


def solve_block(X, codes, problem, small=None):
    """Codes, gaps, rounds and full passes of the samples of one block; small : FewAtoms of this thread."""
    small = small or FewAtoms(X.shape[1])
    gaps, n_rounds, n_passes = np.full(len(X), np.nan), np.zeros(len(X), int), np.zeros(len(X), int)
    polished = set()  # samples whose code is as good as it gets on its active set, with none to join
    open_rows = np.arange(len(X))
    for n_left in reversed(range(problem.max_sweeps)):
        R = np.array([residual_of_code(X[i], codes[i], problem.D) for i in open_rows])
        actives = [codes[i][0] for i in open_rows]
        largest, joining = compare_correlations(problem.D, R, problem.lam, problem.top_k, actives)
        n_passes[open_rows] += 1
        still_open = []
        for i, r, top, new in zip(open_rows, R, largest, joining):
            gaps[i] = gap_of(X[i], r, codes[i][1], top, problem.lam)
            if gaps[i] <= allowed_gap(X[i], problem) or not n_left or (not len(new) and i in polished):
                continue
            before, codes[i] = codes[i], solve_active(X[i], codes[i], new, gaps[i], problem, small)
            n_rounds[i] += 1
            if not is_same_code(before, codes[i]):  # else only rounding told the new atoms from others
                still_open.append(i)
            if not len(new):
                polished.add(i)
        open_rows = np.array(still_open, int)
        if not still_open:
            break
    return codes, gaps, n_rounds, n_passes


def is_same_code(code, other):
    """Whether two codes are the same to the bit."""
    return np.array_equal(code[0], other[0]) and np.array_equal(code[1], other[1])


def allowed_gap(x, problem):
    """The duality gap at which a sample is done."""
    return 0.5 * problem.tol * np.square(x, dtype=np.float64).sum()


def residual_of_code(x, code, D):
    """x - z D in float64, from the few atoms that are in the code."""
    atoms, values = code
    return x.astype(np.float64) - values @ D[atoms].astype(np.float64)


def gap_of(x, r, values, largest, lam):
    """The duality gap of one sample from its residual and the largest |d_k r|.

    With s = min(1, lam / largest) it is 1/2 |r|^2 (1 - s)^2 + lam |z|_1 - s z q, and z q = (x - r) r.
    """
    s = min(1.0, lam / largest) if largest > 0 else 1.0
    return 0.5 * (r @ r) * (1 - s) ** 2 + lam * np.abs(values).sum() - s * ((x - r) @ r)


def solve_active(x, code, joining, gap, problem, small):
    """The lasso on the active set and the atoms that join, from the code so far; shrunk to its support.

    Parameters
    ----------
    x : float array (n_features,)
    code : (atoms, values)
    joining : integer array, atoms outside the code; may be empty
    gap : float, the duality gap of the code over all atoms, or over those compared; it is solved to a part
        of that, and with no atoms to join to what is asked for
    small : FewAtoms of this thread

    Returns
    -------
    code : (atoms, values)
    """
    atoms, values = np.concatenate([code[0], joining]), np.concatenate([code[1], np.zeros(len(joining))])
    if not len(atoms):
        return code
    order = np.argsort(atoms)
    atoms, z = atoms[order], values[order]
    mine, x64 = problem.D[atoms].astype(np.float64), x.astype(np.float64)
    gram = gram_of(mine) if problem.gram is None else problem.gram[np.ix_(atoms, atoms)]
    target = max(_SMALL_PART * allowed_gap(x, problem), _SMALL_DROP * gap if len(joining) else 0.0)
    z = small.solve(gram, mine @ x64, float(x64 @ x64), z, lam=problem.lam, gap=target)
    return atoms[z != 0], z[z != 0]

"""Hash-accelerated SISO, for the paper's tables: atoms that join come from hash cells.

The rounds are those of SISO.  The atoms that join are the best of those in a few hash cells, by random
projections.  As in the paper, an empty answer of the hash ends the search, though hashing overlooks some
atoms.

How atoms are hashed
--------------------
A hash function is a Gaussian direction a (2-stable, as in the Euclidean hashing of Datar et al. 2004).  It
does not cut the line into cells of one width.  It keeps one cell: the `length` atoms with the largest |a u|.
A query probes the functions whose own |a v| is largest.  An atom with a large product must lie far along
these directions, too (Pham, KDD 2021).  One cell serves v and -v.

Why there are no cells of one width
-----------------------------------
Hashing sees angles, and the residual of a good code is nearly orthogonal to every atom.  This was measured
on 100,000 SIFT descriptors (data/results/siso-table-7.json).  Tables of p-stable functions (16 of 8) returned
4% of the atoms, with 5% of the atoms that should join: little more than chance.  The cells kept here
held 13% in 4.5%, and 11% in 2.7% among 300,000.

Why the coordinates are whitened
--------------------------------
At least half of that gain comes from hashing in other coordinates: d r = (d W) (r W^-T) for any W.  If W W^T
is the inverse of the atoms' second moments, the products stay the same.  The cosines of the largest products
grow, because a residual lies where the atoms vary little.  The first round pays for it: its residual is the
sample itself, whose nearest atoms are found no better than by chance.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.sparse.coders import siso
from flyannot.sparse.coders.blocks import validate_samples
from flyannot.sparse.coders.cd import SmallLassoSolver
from flyannot.sparse.kernels import track_gap

_FUNCTIONS = 64  # functions whose cells are filled at once
_RIDGE = 1e-4  # of the mean second moment: directions in which no atom varies stay finite
_MOST_ROUNDS = 1000
_MEASURED = 50_000  # atoms that the second moments are taken from


@dataclass(frozen=True)
class HashIndex:
    """The cells of one dictionary, which itself is not kept.

    directions : float32 (n_functions, n_features), to be multiplied with a query: they contain W^-T
    cells : int32 (n_functions, length), the atoms of every cell, rising; -1 fills up
    """

    directions: np.ndarray
    cells: np.ndarray


def build_index(D, rng, *, n_functions=None, length=None):
    """Hash the rows of D.

    Parameters
    ----------
    D : float array (n_atoms, n_features)
    rng : numpy Generator
    n_functions : int >= 1
        Time, memory and recall grow with it.  None for 2 sqrt(n_atoms), at least 64.
    length : int >= 1, atoms per cell; None for 3 sqrt(n_atoms), so that queries take sqrt(n_atoms) time

    Returns
    -------
    index : HashIndex
        4 n_functions length bytes: with the defaults 24 for every atom.
    """
    n_functions = max(64, int(2 * np.sqrt(len(D)))) if n_functions is None else n_functions
    length = cell_length(len(D)) if length is None else min(length, len(D))
    D = np.asarray(D, np.float32)
    whitener, unwhitener = _whitening(D, rng)
    A = rng.standard_normal((n_functions, D.shape[1]), dtype=np.float32)
    along = A @ whitener.T  # a (d W) = d (W a): the atoms themselves are never copied
    cells = np.full((n_functions, length), -1, np.int32)
    for start in range(0, n_functions, _FUNCTIONS):
        part = along[start : start + _FUNCTIONS]
        none_left_out = [np.zeros(0, np.int64)] * len(part)
        _, largest = siso.largest_correlations(D, part, 0.0, length, none_left_out)
        for i, atoms in enumerate(largest, start=start):
            cells[i, : len(atoms)] = np.sort(atoms)
    return HashIndex(A @ unwhitener.T, cells)


def cell_length(n_atoms):
    """Return the default number of atoms per cell."""
    return min(n_atoms, int(3 * np.sqrt(n_atoms)) + 1)


def candidates_of_query(index, r, *, n_probes=5):
    """Return the atoms of the cells that a query is likeliest to share with atoms of large |d r|.

    Parameters
    ----------
    index : HashIndex
    r : float array (n_features,), of any length other than zero
    n_probes : int >= 1, cells; with more the answer grows, and holds what fewer gave

    Returns
    -------
    atoms : int32 array, sorted, each once
    """
    along = np.abs(index.directions @ np.asarray(r, np.float32))
    n_probes = min(n_probes, len(along))
    best = np.argpartition(-along, n_probes - 1)[:n_probes]
    atoms = np.unique(index.cells[best])
    return atoms[atoms >= 0]  # -1 fills up a cell


def _whitening(D, rng):
    """W and W^-T with W W^T the inverse of the second moments of a sample of the atoms."""
    rows = np.sort(rng.permutation(len(D))[:_MEASURED])
    sample = D[rows].astype(np.float64)
    moments = sample.T @ sample / max(1, len(rows))
    ridge = _RIDGE * np.trace(moments) / len(moments) or 1.0
    values, vectors = np.linalg.eigh(moments + ridge * np.eye(len(moments)))
    return (vectors / np.sqrt(values)).astype(np.float32), (vectors * np.sqrt(values)).astype(np.float32)


def solve(X, D, lam, candidates, *, tol=1e-4):
    """Return codes of X over very many atoms, found through hash cells: CSR matrix (n_samples, n_atoms).

    candidates : function of a residual (n_features,) that returns the atoms of its cells

    Source
    ------
    Huang et al., ACM Multimedia 2013, algorithm 1.  They take an empty answer of the hash for the minimum.
    """
    X, D, _, _ = validate_samples(X, D, lam, norms=np.zeros(0))  # norms would take longer than the codes
    problem = siso.SISOProblem(D, float(lam), float(tol), _MOST_ROUNDS, siso.exact_gram(D))
    small = SmallLassoSolver(X.shape[1])
    codes = [_search_cells(x, problem, candidates, small) for x in X]
    return siso.codes_to_csr(codes, len(D), X.dtype)


def _search_cells(x, problem, candidates, small):
    """Return the code (atoms, values) of one sample when the cells give no more atoms."""
    code, best, n_stale = (np.zeros(0, np.int64), np.zeros(0)), np.inf, 0
    for _ in range(problem.max_sweeps):
        r = siso.code_residual(x, code, problem.D)
        if not r.any() or not len(problem.D):
            break
        chosen = candidates(r)
        largest, joining = largest_correlations_among(problem, r, code[0], chosen)
        gap = siso.residual_gap(x, r, code[1], largest, problem.lam)  # as far as the cells show it
        best, n_stale = track_gap(gap, best, n_stale)
        if not len(joining) or n_stale > siso.PATIENCE or gap <= siso.allowed_gap(x, problem):
            break
        code = siso.solve_active_set(x, code, joining, gap, problem, small)
    return code


def largest_correlations_among(problem, r, active, chosen):
    """Compare one residual with the chosen atoms: return the largest |d r|, and the best that may join."""
    q = np.abs(problem.D[chosen] @ r.astype(problem.D.dtype))
    joining = np.flatnonzero(q > problem.lam)
    joining = joining[~np.isin(chosen[joining], active)]
    order = np.lexsort((chosen[joining], -q[joining]))[: siso.TOP_K]
    return float(q.max(initial=0.0)), chosen[joining[order]]

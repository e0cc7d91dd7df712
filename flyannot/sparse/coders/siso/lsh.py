"""Hashing by random projections: the few atoms that may correlate most with a vector, without a full pass.

A hash function here is a Gaussian direction a (2-stable, as in the Euclidean hashing of Datar et al.
2004), but instead of cutting the line into cells of one width it keeps one cell only: the `length`
atoms with the largest |a u|.  A query probes the functions whose own |a v| is largest, for those are
the directions that an atom with a large product must have come far along too (Pham, KDD 2021).  One
cell serves v and -v.  What is found is compared exactly by the caller.

Why not cells of one width.  Hashing sees angles, and the residual of a good code is nearly orthogonal to
every atom.  `python -m benchmarks siso-table-7` measures both: of the atoms that should join, among 100,000
SIFT descriptors, tables of p-stable functions (16 of 8) held 5 % in the 4 % that they returned, little more
than chance; the cells kept here held 13 % in 4.5 %, and 11 % in 2.7 % among 300,000.

Half of that gain or more comes from hashing in other coordinates.  d r = (d W) (r W^-T) for any W; with
W W^T the inverse of the atoms' second moments the products stay as they are, and the cosines of the
largest of them grow, because a residual lies where the atoms vary little.  The price is paid in the
first round, where the residual is the sample itself: its nearest atoms are found no better than by chance.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.errors import InputError
from flyannot.runtime.compiled import compiled
from flyannot.sparse.coders.blocks import finite_squares, in_shares
from flyannot.sparse.coders.siso.screening import compare_correlations

_FUNCTIONS = 64  # whose cells are filled at once
_RIDGE = 1e-4  # of the mean second moment: directions in which no atom varies stay finite
_MEASURED = 50_000  # atoms that the second moments are taken from


@dataclass(frozen=True)
class Index:
    """The cells of one dictionary, which itself is not kept.

    directions : float32 (n_functions, n_features), to be multiplied with a query: they contain W^-T
    cells : int32 (n_functions, length), the atoms of every cell, rising; -1 fills up
    n_atoms : int
    """

    directions: np.ndarray
    cells: np.ndarray
    n_atoms: int


def build_index(D, rng, *, n_functions=None, length=None, n_threads=1):
    """Hash the rows of D.

    Parameters
    ----------
    D : float array (n_atoms, n_features)
    rng : numpy Generator; the same state gives the same index, for any `n_threads`
    n_functions : int >= 1; time and memory grow with it, and so does the recall.  None for
        2 sqrt(n_atoms), at least 64
    length : int >= 1, atoms per cell; None for 3 sqrt(n_atoms), so that queries take sqrt(n_atoms) time

    Returns
    -------
    index : Index
        4 n_functions length bytes: with the defaults 24 for every atom.

    Raises
    ------
    InputError
        If n_functions or length is below 1.
    DataError
        If an atom is not finite.
    """
    n_functions = max(64, int(2 * np.sqrt(len(D)))) if n_functions is None else n_functions
    length = cell_length(len(D)) if length is None else min(length, len(D))
    if n_functions < 1 or length < min(1, len(D)):
        raise InputError(
            f"cannot hash into {n_functions} cells of {length} atoms", fix="give at least 1 of both"
        )
    D = np.asarray(D, np.float32)
    finite_squares(D, "atom")
    whitener, unwhitener = _whitening(D, rng)
    A = rng.standard_normal((n_functions, D.shape[1]), dtype=np.float32)
    along = A @ whitener.T  # a (d W) = d (W a): the atoms themselves are never copied
    cells = np.full((n_functions, length), -1, np.int32)

    def fill(rows):
        found = compare_correlations(D, along[rows], 0.0, length)[
            1
        ]  # zero atoms, which no code needs, are in no cell
        for i, atoms in enumerate(found, start=rows.start):
            cells[i, : len(atoms)] = np.sort(atoms)

    in_shares(fill, n_functions, _FUNCTIONS, n_threads)
    return Index(A @ unwhitener.T, cells, len(D))


def cell_length(n_atoms):
    """The default number of atoms per cell."""
    return min(n_atoms, int(3 * np.sqrt(n_atoms)) + 1)


class Seen:
    """One thread's memory: the number of the last query that met each atom."""

    def __init__(self, index):
        self.stamps, self.now = np.zeros(index.n_atoms, np.int64), 0


def candidates_of_query(index, r, seen, *, n_probes=10):
    """The atoms of the cells that a query is likeliest to share with atoms of large |d r|.

    Parameters
    ----------
    index : Index
    r : float array (n_features,), of any length other than zero
    seen : Seen
    n_probes : int >= 1, cells; with more the answer grows, and holds what fewer gave

    Returns
    -------
    atoms : int32 array, each once
    """
    along = np.abs(index.directions @ np.asarray(r, np.float32))
    n_probes = min(n_probes, len(along))
    best = np.argpartition(-along, n_probes - 1)[:n_probes]
    best = best[np.lexsort((best, -along[best]))]
    found = np.empty(n_probes * index.cells.shape[1], np.int32)
    seen.now += 1
    return found[: _gather_cells(index.cells, best, seen.stamps, seen.now, found)]


def _whitening(D, rng):
    """W and W^-T with W W^T the inverse of the second moments of a sample of the atoms."""
    rows = np.sort(rng.permutation(len(D))[:_MEASURED])
    sample = D[rows].astype(np.float64)
    moments = sample.T @ sample / max(1, len(rows))
    ridge = _RIDGE * np.trace(moments) / len(moments) or 1.0
    values, vectors = np.linalg.eigh(moments + ridge * np.eye(len(moments)))
    return (vectors / np.sqrt(values)).astype(np.float32), (vectors * np.sqrt(values)).astype(np.float32)


@compiled
def _gather_cells(cells, chosen, stamps, now, found):
    """The atoms of the chosen cells, each once: those met are stamped with `now`.  Returns how many."""
    n = 0
    for c in chosen:
        for atom in cells[c]:
            if atom < 0:
                break
            if stamps[atom] != now:
                stamps[atom] = now
                found[n] = atom
                n += 1
    return n

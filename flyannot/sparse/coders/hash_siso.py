"""Hash-accelerated SISO, for the paper's tables: atoms join from hash cells first, from a full pass last.

The rounds are those of SISO, but the atoms that join are the best of those found in a few hash cells by
random projections.  Hashing overlooks some, so an empty answer proves nothing.  By default the code is then
handed to SISO, which passes over all atoms until the duality gap is what was asked for: the result is
SISO's to that gap; or it stays what hashing found.

Measured on a million descriptors (benchmark siso, single queries): hashing alone was 11 times as fast as SISO
with a full pass in every round, and its objective stood 12 % above the minimum.  With SISO to end, it was no
faster than SISO alone, which spares passes by itself (`flyannot.sparse.coders.siso_bounded`).

How atoms are hashed
--------------------
A hash function here is a Gaussian direction a (2-stable, as in the Euclidean hashing of Datar et al. 2004),
but instead of cutting the line into cells of one width it keeps one cell only: the `length` atoms with the
largest |a u|.  A query probes the functions whose own |a v| is largest, for those are the directions that an
atom with a large product must have come far along too (Pham, KDD 2021).  One cell serves v and -v.

Why not cells of one width.  Hashing sees angles, and the residual of a good code is nearly orthogonal to
every atom.  Measured (data/results/siso-table-7.json): of the atoms that should join, among 100,000
SIFT descriptors, tables of p-stable functions (16 of 8) held 5 % in the 4 % that they returned, little more
than chance; the cells kept here held 13 % in 4.5 %, and 11 % in 2.7 % among 300,000.

Half of that gain or more comes from hashing in other coordinates.  d r = (d W) (r W^-T) for any W; with W
W^T the inverse of the atoms' second moments the products stay as they are, and the cosines of the largest
of them grow, because a residual lies where the atoms vary little.  The price is paid in the first round,
where the residual is the sample itself: its nearest atoms are found no better than by chance.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from flyannot.base.errors import InputError
from flyannot.jobs.compiled import compiled
from flyannot.sparse.coders import siso, siso_rounds
from flyannot.sparse.coders.blocks import checked_samples, finite_squares, over_threads
from flyannot.sparse.coders.cd import FewAtoms
from flyannot.sparse.coders.siso_rounds import largest_correlations, largest_correlations_among
from flyannot.sparse.kernels import track_gap

ENDINGS = ("solve", "none")
_SAMPLES_AT_ONCE = 16  # that one thread takes
_FUNCTIONS = 64  # whose cells are filled at once
_RIDGE = 1e-4  # of the mean second moment: directions in which no atom varies stay finite
_MEASURED = 50_000  # atoms that the second moments are taken from


@dataclass(frozen=True)
class HashIndex:
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
    index : HashIndex
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
        _, largest = largest_correlations(D, along[rows], 0.0, length)  # zero atoms, which no code needs, not
        for i, atoms in enumerate(largest, start=rows.start):
            cells[i, : len(atoms)] = np.sort(atoms)

    over_threads(fill, n_functions, _FUNCTIONS, n_threads)
    return HashIndex(A @ unwhitener.T, cells, len(D))


def cell_length(n_atoms):
    """The default number of atoms per cell."""
    return min(n_atoms, int(3 * np.sqrt(n_atoms)) + 1)


class SeenAtoms:
    """One thread's memory: the number of the last query that met each atom."""

    def __init__(self, index):
        self.stamps, self.now = np.zeros(index.n_atoms, np.int64), 0


def candidates_of_query(index, r, seen, *, n_probes=10):
    """The atoms of the cells that a query is likeliest to share with atoms of large |d r|.

    Parameters
    ----------
    index : HashIndex
    r : float array (n_features,), of any length other than zero
    seen : SeenAtoms
    n_probes : int >= 1, cells; with more the answer grows, and holds what fewer gave

    Returns
    -------
    atoms : int32 array, each once
    """
    along = np.abs(index.directions @ np.asarray(r, np.float32))
    n_probes = min(n_probes, len(along))
    best = np.argpartition(-along, n_probes - 1)[:n_probes]
    best = best[np.lexsort((best, -along[best]))]
    atoms = np.empty(n_probes * index.cells.shape[1], np.int32)
    seen.now += 1
    return atoms[: _gather_cells(index.cells, best, seen.stamps, seen.now, atoms)]


def _whitening(D, rng):
    """W and W^-T with W W^T the inverse of the second moments of a sample of the atoms."""
    rows = np.sort(rng.permutation(len(D))[:_MEASURED])
    sample = D[rows].astype(np.float64)
    moments = sample.T @ sample / max(1, len(rows))
    ridge = _RIDGE * np.trace(moments) / len(moments) or 1.0
    values, vectors = np.linalg.eigh(moments + ridge * np.eye(len(moments)))
    return (vectors / np.sqrt(values)).astype(np.float32), (vectors * np.sqrt(values)).astype(np.float32)


@compiled
def _gather_cells(cells, chosen, stamps, now, atoms):
    """The atoms of the chosen cells, each once: those met are stamped with `now`.  Returns how many."""
    n = 0
    for c in chosen:
        for atom in cells[c]:
            if atom < 0:
                break
            if stamps[atom] != now:
                stamps[atom] = now
                atoms[n] = atom
                n += 1
    return n


@dataclass(frozen=True)
class HashSearch:
    """How the cells are searched.

    index : HashIndex over the atoms, or what `candidates` takes in its place
    n_probes : cells per round
    ending : of ENDINGS: "solve" completes the code by SISO, "none" compares with no other atoms than those of
        the cells
    candidates : the atoms of the cells, as `candidates_of_query`
    """

    index: Any
    n_probes: int = 5
    ending: str = "solve"
    candidates: Callable = candidates_of_query


def solve(X, D, lam, search, *, tol=1e-4, max_sweeps=1000, start=None, n_threads=1):
    """Codes of X over very many atoms, found through hash cells.

    Parameters and result are those of `flyannot.sparse.coders.siso.solve`; search : HashSearch.  With the
    ending "none" the gaps are nan, and the atoms are not checked.  The rounds are those of the search and of
    the ending.

    Raises
    ------
    InputError
        If the index is of another number of atoms, the ending is unknown, or lam is not positive.
    DataError
        As `flyannot.sparse.coders.siso.encode`.

    Source
    ------
    Huang et al., ACM Multimedia 2013, algorithm 1.  They take an empty answer of the hash for the
    minimum; we pass over all atoms before we believe it.
    """
    norms = np.zeros(0) if search.ending == "none" else None  # they would take longer than the codes
    samples = checked_samples(X, D, lam, norms=norms)
    X, D, _, _ = samples
    if search.ending not in ENDINGS:
        raise InputError(
            f'hash-siso cannot end with "{search.ending}"', fix=f"choose from: {', '.join(ENDINGS)}"
        )
    if search.index.n_atoms != len(D):
        raise InputError(
            f"the hash index is of {search.index.n_atoms} atoms, the dictionary has {len(D)}",
            fix="build the index from this dictionary",
        )
    gram = siso.exact_gram(D, None)
    problem = siso_rounds.SISOProblem(D, float(lam), float(tol), int(max_sweeps), gram=gram)
    codes = siso.siso_codes(start, len(X))

    def search_rows(rows):
        seen, small = SeenAtoms(search.index), FewAtoms(X.shape[1])
        return [_search_cells(x, code, problem, search, seen, small) for x, code in zip(X[rows], codes[rows])]

    blocks = over_threads(search_rows, len(X), _SAMPLES_AT_ONCE, n_threads)
    searched = [code for block in blocks for code in block]
    Z = siso.csr_of_codes([code for code, _ in searched], len(D), np.float64)
    n_rounds = np.array([n for _, n in searched], int)
    if search.ending == "none":
        return siso.SISOSolution(Z.astype(X.dtype), np.full(len(X), np.nan), n_rounds, np.zeros(len(X), int))
    rules = {"tol": tol, "max_sweeps": max_sweeps, "gram": gram, "n_threads": n_threads}
    ended = siso.solution_of(samples, lam, start=Z, **rules)
    return siso.SISOSolution(ended.Z, ended.gaps, ended.n_rounds + n_rounds, ended.n_passes)


def _search_cells(x, code, problem, search, seen, small):
    """The code of one sample when the cells give no more atoms, and the rounds that it took."""
    best, n_stale = np.inf, 0
    for n_rounds in range(problem.max_sweeps):
        r = siso_rounds.residual_of_code(x, code, problem.D)
        if not r.any() or not len(problem.D):
            return code, n_rounds
        chosen = search.candidates(search.index, r, seen, n_probes=search.n_probes)
        largest, joining = largest_correlations_among(
            problem.D, r, problem.lam, problem.top_k, code[0], chosen
        )
        gap = siso_rounds.gap_of_residual(x, r, code[1], largest, problem.lam)  # as far as the cells show it
        best, n_stale = track_gap(gap, best, n_stale)
        is_stuck = not len(joining) or n_stale > siso_rounds.PATIENCE
        if is_stuck or gap <= siso_rounds.allowed_gap(x, problem):
            return code, n_rounds
        code = siso_rounds.solve_active(x, code, joining, gap, problem, small)
    return code, problem.max_sweeps

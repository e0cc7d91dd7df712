"""The hash-accelerated SISO coder: atoms join from hash cells first, and from a full pass last.

The rounds are those of SISO, but the atoms that join are the best of those found in a few hash cells
(`flyannot.sparse.coders.siso.lsh`).  Hashing overlooks some, so an empty answer proves nothing.  By default
the code is then handed to SISO, which passes over all atoms until the duality gap is what was asked for: the
result is SISO's to that gap.  One pass that only certifies the gap of what hashing found, or none, may be
chosen instead.

What that is worth, measured on a million descriptors (128 features, lam =
0.002 of the largest product, single queries).  Hashing alone was 11 times as fast as SISO with a full pass in
every round, its time grew as n^0.4 from 10^4 atoms on, and its objective stood 12 % above the minimum.  With
SISO to end, it was 3 times as fast and no faster than SISO alone, which spares passes by itself
(`flyannot.sparse.coders.siso.bounded`).  64 samples at once share every pass: SISO then took no longer for
each than hashing alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from flyannot.errors import InputError
from flyannot.sparse.coders.blocks import checked_samples, in_shares
from flyannot.sparse.coders.cd.few_atoms import FewAtoms
from flyannot.sparse.coders.siso import encode as siso
from flyannot.sparse.coders.siso import rounds as siso_rounds
from flyannot.sparse.coders.siso.lsh import Seen, build_index, candidates_of_query
from flyannot.sparse.coders.siso.screening import compare_some

_SEED = 2013  # of an index that the caller did not bring
_SHARE = 16  # samples that one thread takes at a time


ENDINGS = ("solve", "certify", "none")


@dataclass(frozen=True)
class HashSearch:
    """How the cells are searched.

    index : flyannot.sparse.coders.siso.lsh.Index over the atoms, or what `candidates` takes in its place
    n_probes : cells per round
    ending : of ENDINGS: "solve" completes the code by SISO, "certify" finds its duality gap and leaves it
        as it is, "none" compares with no other atoms than those of the cells
    candidates : the atoms of the cells, as `flyannot.sparse.coders.siso.lsh.candidates_of_query`
    """

    index: Any
    n_probes: int = 5
    ending: str = "solve"
    candidates: Callable = candidates_of_query


def encode(X, D, lam, *, gram=None, n_threads=1, search=None, **rules):
    """Codes of X over very many atoms, found through hash cells and completed by SISO.

    Parameters
    ----------
    X, D, lam, gram, n_threads : as `flyannot.sparse.coders.siso.encode.encode`; gram is only checked
    search : HashSearch; None builds an index, which takes longer than many codes
    rules : tol, max_sweeps and start, as there

    Returns
    -------
    Z : CSR matrix (n_samples, n_atoms), in the type of X; the same bits for any `n_threads`.
        `solve` tells their gaps too.

    Source
    ------
    Huang et al., ACM Multimedia 2013, algorithm 1.  They take an empty answer of the hash for the
    minimum; we pass over all atoms before we believe it.
    """
    X, D, _ = checked_samples(X, D, lam, gram)
    search = search or HashSearch(build_index(D, np.random.default_rng(_SEED), n_threads=n_threads))
    return solve(X, D, lam, search, n_threads=n_threads, **rules).Z


def solve(X, D, lam, search, *, tol=1e-4, max_sweeps=1000, start=None, n_threads=1):
    """As `encode`; returns a `flyannot.sparse.coders.siso.encode.Solution`.

    With the ending "none" its gaps are nan and `is_certified` is false.  Its rounds are those of the
    search and of the ending.

    Raises
    ------
    InputError
        If the index is of another number of atoms, the ending is unknown, or lam is not positive.
    DataError
        As `flyannot.sparse.coders.siso.encode.encode`; with the ending "none" the atoms are not
        checked.
    """
    X, D, _ = checked_samples(X, D, lam)
    _check(search, D)
    gram = siso.exact_gram(D, None)
    problem = siso_rounds.Problem(D, float(lam), float(tol), int(max_sweeps), gram=gram)
    codes = siso.siso_codes(start, len(X))

    def search_share(rows):
        seen, small = Seen(search.index), FewAtoms(X.shape[1])
        return [_search_cells(x, code, problem, search, seen, small) for x, code in zip(X[rows], codes[rows])]

    found = [code for share in in_shares(search_share, len(X), _SHARE, n_threads) for code in share]
    Z = siso.code_matrix([code for code, _ in found], len(D), np.float64)
    n_rounds = np.array([n for _, n in found], int)
    if search.ending == "none":
        return siso.Solution(Z.astype(X.dtype), np.full(len(X), np.nan), n_rounds, np.zeros(len(X), int))
    n_sweeps = max_sweeps if search.ending == "solve" else 1
    ended = siso.solve(X, D, lam, tol=tol, max_sweeps=n_sweeps, start=Z, gram=gram, n_threads=n_threads)
    return siso.Solution(ended.Z, ended.gaps, ended.n_rounds + n_rounds, ended.n_passes)


def _check(search, D):
    if search.ending not in ENDINGS:
        raise InputError(
            f'hash-siso cannot end with "{search.ending}"', fix=f"choose from: {', '.join(ENDINGS)}"
        )
    if search.index.n_atoms != len(D):
        raise InputError(
            f"the hash index is of {search.index.n_atoms} atoms, the dictionary has {len(D)}",
            fix="build the index from this dictionary",
        )


def _search_cells(x, code, problem, search, seen, small):
    """The code of one sample when the cells give no more atoms, and the rounds that it took."""
    for n_rounds in range(problem.max_sweeps):
        r = siso_rounds.residual_of_code(x, code, problem.D)
        if not r.any() or not len(problem.D):
            return code, n_rounds
        chosen = search.candidates(search.index, r, seen, n_probes=search.n_probes)
        largest, joining = compare_some(problem.D, r, problem.lam, problem.top_k, code[0], chosen)
        gap = siso_rounds.gap_of(x, r, code[1], largest, problem.lam)  # as far as the cells show it
        if not len(joining) or gap <= siso_rounds.allowed_gap(x, problem):
            return code, n_rounds
        code = siso_rounds.solve_active(x, code, joining, gap, problem, small)
    return code, problem.max_sweeps

"""The SISO coder: the lasso over very many atoms, through a series of small ones.

Each sample keeps an active set of atoms.  The lasso on that set is solved from the codes so far; the
set shrinks to the support of the solution, and expands by the atoms outside it that violate the
optimality conditions most.  When none is left the small solution solves the whole problem.  The Gram
matrix of many atoms is never made: a full pass over them costs one product with the residuals.  For few
samples over very many atoms most of that is spared, with the same minimum
(`flyannot.sparse.coders.siso_bounded`).
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from flyannot.sparse.coders import siso_bounded
from flyannot.sparse.coders.blocks import (
    Codes,
    checked_samples,
    over_threads,
    rounding_of_products,
)
from flyannot.sparse.coders.siso_rounds import TOP_K, SISOProblem, solve_block
from flyannot.sparse.coders.verified import Coder
from flyannot.sparse.simd.product import gram_of

BLOCK = 64  # samples whose residuals share one pass over the atoms
# From so many atoms on full passes are what codes cost, and bounds pay; unless a block of samples shares
# every pass, which then costs a sample little.
MANY_ATOMS = 100_000
FEW_SAMPLES = 16

FEW_ATOMS = 3000  # up to here the Gram matrix of all atoms is made once: 72 MB at most


@dataclass(frozen=True)
class SISOSolution:
    """Codes, and how good they are.

    Z : CSR matrix (n_samples, n_atoms)
    gaps : float64 array (n_samples,), the duality gap of every code over all atoms; nan where the code
        was not compared with all of them
    n_rounds : int array (n_samples,), small problems solved
    n_passes : int array (n_samples,), full passes over the atoms, those that bounds made shorter among them
    """

    Z: sp.csr_matrix
    gaps: np.ndarray
    n_rounds: np.ndarray
    n_passes: np.ndarray


@Coder
def encode(samples, lam, *, gram, **rules):
    """Codes of X over very many atoms, each within a stated duality gap of its minimum.

    float32 atoms are compared with float32 residuals, all else in float64; the small problems are solved in
    float64 always.

    Parameters and result are those of every coder (`flyannot.sparse.coders`).  A `gram` of float32 is
    left aside: its roundings would be solved for.  From `MANY_ATOMS` on bits depend on whether X comes in one
    call or in several.

    Source
    ------
    Huang et al., ACM Multimedia 2013, algorithm 1 without the hashing.  Atoms join by |d_k r| > lam,
    strictly and outside the active set: their "at least" includes the set itself, and would never end.
    """
    return codes_of(solution_of(samples, lam, gram=exact_gram(samples.D, gram), **rules), samples)


def solve(X, D, lam, *, tol=1e-4, max_sweeps=1000, start=None, gram=None, n_threads=1):
    """As `encode`; returns a `SISOSolution`.  max_sweeps=1 changes no code of `start`, and finds its gap."""
    samples, gram = checked_samples(X, D, lam, gram), exact_gram(D, gram)
    rules = {"tol": tol, "max_sweeps": max_sweeps, "start": start, "gram": gram, "n_threads": n_threads}
    return solution_of(samples, lam, **rules)


def solution_of(samples, lam, *, tol, max_sweeps, start, gram, n_threads):
    """The `SISOSolution` of checked samples; gram : as `exact_gram` gives it."""
    X, D, _, norms = samples
    problem = SISOProblem(D, float(lam), float(tol), int(max_sweeps), gram=gram)
    if len(D) < MANY_ATOMS or len(X) > FEW_SAMPLES:
        return _solved(X, start, problem, n_threads, BLOCK, solve_block)
    levels, longest = siso_bounded.levels_of_lam(D), float(norms.max())
    solve_rows = partial(siso_bounded.solve_block, each_level=levels, longest=longest)
    return _solved(X, start, problem, n_threads, siso_bounded.block_length(D), solve_rows)


def codes_of(solution, samples):
    """The `Codes` of a solution, whose gaps allow for rounding of codes and products in their type."""
    X, _, squares, norms = samples
    mass = norms.max(initial=0) * np.asarray(abs(solution.Z).sum(axis=1), np.float64).ravel()
    rounding = rounding_of_products(X.shape[1], solution.Z.dtype)
    gaps = solution.gaps + rounding * mass * (np.sqrt(squares) + mass)
    return Codes(solution.Z, 2 * gaps / np.where(squares > 0, squares, 1))


def solve_with_full_passes(X, D, lam, *, tol=1e-4, top_k=TOP_K):
    """As `solve`, with a full pass in every round, as published, however many atoms there are.

    At most `top_k` atoms join an active set in one round.
    """
    X, D, _, _ = checked_samples(X, D, lam)
    problem = SISOProblem(D, float(lam), float(tol), 1000, int(top_k), exact_gram(D, None))
    return _solved(X, None, problem, 1, BLOCK, solve_block)


def _solved(X, start, problem, n_threads, length, solve_rows):
    """The `SISOSolution`, in blocks of `length` samples."""
    codes = siso_codes(start, len(X))
    blocks = over_threads(lambda rows: solve_rows(X[rows], codes[rows], problem), len(X), length, n_threads)
    solved = [code for block in blocks for code in block[0]]
    measured = [np.concatenate([b[i] for b in blocks]) if blocks else np.zeros(0, int) for i in (1, 2, 3)]
    return SISOSolution(csr_of_codes(solved, len(problem.D), X.dtype), *measured)


def exact_gram(D, gram):
    """D D^T in float64: the caller's where it is that, else made where the atoms are few, else None."""
    if gram is not None and gram.dtype == np.float64:
        return gram
    return gram_of(D.astype(np.float64, copy=False)) if len(D) <= FEW_ATOMS else None


def siso_codes(Z, n_samples):
    """The (atoms, values) of the non-zero codes of every sample; None stands for no code at all."""
    if Z is None:
        return [(np.zeros(0, np.int64), np.zeros(0)) for _ in range(n_samples)]
    Z = sp.csr_matrix(Z, dtype=np.float64, copy=True)
    Z.sum_duplicates()
    Z.eliminate_zeros()
    return [(Z.indices[a:b].astype(np.int64), Z.data[a:b]) for a, b in zip(Z.indptr[:-1], Z.indptr[1:])]


def csr_of_codes(codes, n_atoms, dtype):
    """The CSR matrix of a list of (atoms, values)."""
    first = np.concatenate([[0], np.cumsum([len(atoms) for atoms, _ in codes])]).astype(np.int64)
    atoms = np.concatenate([atoms for atoms, _ in codes]) if codes else np.zeros(0, np.int64)
    values = np.concatenate([values for _, values in codes]) if codes else np.zeros(0)
    return sp.csr_matrix((values.astype(dtype), atoms, first), shape=(len(codes), n_atoms))

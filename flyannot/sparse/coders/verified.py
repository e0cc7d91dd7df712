"""Every code that leaves a coder is verified: its duality gap, from its own residual, in float64.

A solver says of each code how large |D (x - z D)| is at most; the residual and the objective are made afresh.
Where the gap that follows is too wide, it is measured against all atoms.  What misses the tolerance then goes
on by plain coordinate descent in float64, from the best code known; a warning counts what misses it still.
"""

import warnings
from functools import update_wrapper

import numpy as np
import scipy.sparse as sp

from flyannot.errors import DataError
from flyannot.sparse.coders.blocks import Codes, LassoSamples, checked_samples, over_threads, replace_rows
from flyannot.sparse.kernels import (
    SUMS,
    add_multiple,
    copy,
    dot,
    gap_of_sums,
    inlined,
    kernel,
    soft_threshold,
)
from flyannot.sparse.objective import duality_gap, objective
from flyannot.sparse.simd.product import read_only

_FINEST_TOL = 32 * np.finfo(np.float64).eps  # a gap below that is rounding
_COMFORTABLE = 2.0**20  # norms from its inverse to it are left as they are
_PASSES = 200  # most over all atoms, in coordinate descent
_SUPPORT_PASSES = 50  # over the support, between two of those
_AT_REST = 1e-3  # of the largest change in a pass over all atoms: less in one over the support ends these
_ROWS_AT_ONCE = 64  # of a thread


class Coder:
    """A coder, which is called as `flyannot.sparse.coders` says; `codes` gives the duality gaps.

    solve : its function, (samples, lam, *, tol, max_sweeps, start, gram, n_threads) ->
        `flyannot.sparse.coders.blocks.Codes`; the samples are `flyannot.sparse.coders.blocks.LassoSamples`,
        with norms that float32 can square.
    """

    def __init__(self, solve, *, positive=False):
        self.solve, self._positive = solve, positive
        update_wrapper(self, solve)

    def __call__(self, X, D, lam, *, tol=1e-4, **options):
        """The codes Z; parameters, result, errors and warnings as in `flyannot.sparse.coders`."""
        Z, gaps = self.codes(X, D, lam, tol=tol, **options)
        warn_of_missed(gaps, tol)
        return Z

    def codes(
        self, X, D, lam, *, tol=1e-4, max_sweeps=1000, start=None, gram=None, n_threads=1, **of_the_solver
    ):
        """`Codes`: as a call, but with the duality gap of every code in the place of a warning."""
        samples = checked_samples(X, D, lam, gram)
        unit = comfortable_unit(np.sqrt(samples.squares.max(initial=0)))
        atom_unit = comfortable_unit(samples.norms.max(initial=0))
        if (unit, atom_unit) != (1.0, 1.0):
            X, D, squares, norms = samples
            X, D = read_only(X / X.dtype.type(unit)), read_only(D / D.dtype.type(atom_unit))
            samples = LassoSamples(X, D, squares / unit**2, norms / atom_unit)
            lam = lam / (unit * atom_unit)
            start = None if start is None else start * (atom_unit / unit)
            gram = None if gram is None else gram / gram.dtype.type(atom_unit**2)
        rules = {"tol": tol, "max_sweeps": max_sweeps, "n_threads": n_threads, "start": start, "gram": gram}
        found = self.solve(samples, float(lam), **rules, **of_the_solver)
        found = self._verified(found, samples, lam, tol, n_threads)
        if (unit, atom_unit) != (1.0, 1.0):
            found = Codes(_in_unit(found.Z, unit / atom_unit), found.gaps)
        return found

    def _verified(self, found, samples, lam, tol, n_threads):
        """The same with every gap known, and where it is too wide, with better codes if there are any."""
        is_positive = self._positive
        Z, gaps = measured(found, samples, lam, tol, positive=is_positive)
        rows = rows_to_mend(gaps, tol)
        if not len(rows):
            return Codes(Z, gaps)
        X, D, squares, _ = samples.chosen(rows)
        nothing = sp.csr_matrix((len(rows), len(D)), dtype=Z.dtype)
        begun, halves = _lower(Z[rows], nothing, X, D, lam), 0.5 * squares
        better = descend(X, D, lam, begun, tol * halves, positive=is_positive, n_threads=n_threads)
        better = _lower(better, begun, X, D, lam)
        exact = duality_gap(X, D, better, lam, positive=is_positive) / halves
        taken = ~(exact > 0.5 * gaps[rows])  # else it is the same but for rounding, and stays as it is
        gaps[rows[taken]] = exact[taken]
        return Codes(replace_rows(Z, rows[taken], better[np.flatnonzero(taken)]), gaps)


def rows_to_mend(gaps, tol):
    """The numbers of the codes whose gaps are above tol, or where tol is finer than rounding, above that."""
    return np.flatnonzero(~(gaps <= max(tol, _FINEST_TOL)))


def measured(found, samples, lam, tol, *, positive=False):
    """The `Codes` with gaps measured against all atoms, where they are not known to be within tol.

    The gap of a code that is not finite, or whose objective is above that of no code at all, is infinite.
    """
    gaps = np.full(len(samples.X), np.nan) if found.gaps is None else found.gaps.copy()
    rows = rows_to_mend(gaps, tol)
    if len(rows):
        X, D, squares, _ = samples.chosen(rows)
        Z, halves = found.Z[rows], 0.5 * squares
        with np.errstate(over="ignore", invalid="ignore"):
            exact = duality_gap(X, D, Z, lam, positive=positive) / np.where(halves > 0, halves, 1)
            is_sane = objective(X, D, Z, lam) <= halves
        gaps[rows] = np.where(is_sane, exact, np.inf)
    return Codes(found.Z, gaps)


def _lower(Z, other, X, D, lam):
    """Of two codes of every sample, that with the lower objective; one that is not finite has none."""
    with np.errstate(over="ignore", invalid="ignore"):
        is_lower = objective(X, D, Z, lam) <= objective(X, D, other, lam)
    rows = np.flatnonzero(~is_lower)
    return replace_rows(Z, rows, other[rows])


def descend(X, D, lam, start, allowed, *, positive=False, n_threads=1):
    """Codes by plain coordinate descent in float64, sample by sample, from the residual itself.

    Parameters
    ----------
    X : float array (n_samples, n_features)
    D : float array (n_atoms, n_features)
    lam : float > 0
    start : CSR matrix (n_samples, n_atoms)
    allowed : float64 array (n_samples,), the duality gaps at which samples are done
    positive : bool, whether codes may not be negative

    Returns
    -------
    Z : CSR matrix (n_samples, n_atoms), in the type of X

    Source
    ------
    Friedman et al., J. Stat. Softw. 33(1), 2010.
    """
    D = np.ascontiguousarray(D, np.float64)
    norms2 = np.einsum("ij,ij->i", D, D)

    def descend_some(rows):
        Z, residual = start[rows].astype(np.float64).toarray(), np.empty(D.shape[1])
        _descend_rows(X[rows].astype(np.float64), D, norms2, lam, allowed[rows], positive, Z, residual)
        return sp.csr_matrix(Z.astype(X.dtype))

    blocks = over_threads(descend_some, len(X), _ROWS_AT_ONCE, n_threads)
    return sp.vstack(blocks, format="csr")


@kernel
def _descend_rows(X, D, norms2, lam, allowed, positive, Z, r):
    for i in range(len(X)):
        _descend_row(X[i], D, norms2, lam, allowed[i], positive, Z[i], r)


@kernel
def _descend_row(x, D, norms2, lam, allowed, positive, z, r):
    """Passes over all atoms, and over the support until it is at rest, until the gap is allowed."""
    for _ in range(_PASSES):
        gap = _refresh_residual(x, D, lam, positive, z, r)
        if gap <= allowed:
            break
        moved = _pass_over(D, norms2, lam, positive, np.bool_(False), z, r)
        if moved == 0:
            break
        for _ in range(_SUPPORT_PASSES):
            if _pass_over(D, norms2, lam, positive, np.bool_(True), z, r) <= _AT_REST * moved:
                break


@inlined(fastmath=SUMS)
def _refresh_residual(x, D, lam, positive, z, r):
    """r = x - z D; returns the duality gap."""
    copy(r, x, len(x))
    mass, fit, largest = 0.0, 0.0, 0.0
    for j in range(len(z)):
        if z[j] != 0:
            add_multiple(r, -z[j], D[j], len(r))
            mass += abs(z[j])
    for j in range(len(z)):
        q = dot(D[j], r, len(r))
        fit += z[j] * q
        largest = max(largest, q if positive else abs(q))
    return gap_of_sums(dot(r, r, len(r)), mass, fit, largest, lam)


@inlined(fastmath=SUMS)
def _pass_over(D, norms2, lam, positive, of_support, z, r):
    """Minimise over one code after the other, and keep r; returns the farthest that x moved with one."""
    moved = 0.0
    for j in range(len(z)):
        if norms2[j] == 0 or (of_support and z[j] == 0):
            continue
        target = dot(D[j], r, len(r)) + norms2[j] * z[j]
        target = max(0.0, target) if positive else target
        change = soft_threshold(target, lam) / norms2[j] - z[j]
        if change != 0:
            add_multiple(r, -change, D[j], len(r))
            z[j] += change
            moved = max(moved, abs(change) * np.sqrt(norms2[j]))
    return moved


def warn_of_missed(gaps, tol):
    """Warn, once, if codes miss the tolerance; gaps (n_samples,) : of all, as parts of 1/2 |x|^2."""
    missed = gaps[rows_to_mend(gaps, tol)]
    if not len(missed):
        return
    from sklearn.exceptions import ConvergenceWarning  # here, since it takes as long as all else

    counts = f"{len(missed):,} of {len(gaps):,} codes"
    warnings.warn(
        f"{counts} miss tol = {tol:g}: their duality gaps are up to {missed.max():.2g} times 1/2 |x|^2",
        ConvergenceWarning,
        stacklevel=3,
    )


def comfortable_unit(largest_norm):
    """The power of two that brings rows of up to that norm to where float32 can square them; mostly 1."""
    if not largest_norm > 0 or 1 / _COMFORTABLE <= largest_norm <= _COMFORTABLE:
        return 1.0
    return 2.0 ** np.round(np.log2(largest_norm))


def _in_unit(Z, unit):
    """The codes in the caller's unit; DataError where their type cannot hold them."""
    scaled = Z.copy()
    with np.errstate(over="ignore", under="ignore"):
        scaled.data = (Z.data * np.float64(unit)).astype(Z.dtype)
    if not (np.isfinite(scaled.data) & ((scaled.data != 0) | (Z.data == 0))).all():
        raise DataError(
            f"{Z.dtype} cannot hold codes of the order of {unit:.0e}", fix="give samples in float64"
        )
    return scaled

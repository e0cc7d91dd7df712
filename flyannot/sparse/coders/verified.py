"""The verification of what a coder returns, outside the coder.

A coder returns codes, and duality gaps if it knows them.  Reported gaps are hints.

What is guaranteed
------------------
- Codes are finite and of atoms that there are, and not negative where they may not be.
- A gap that the coder does not report, or reports above the tolerance, is measured in float64.
- Of the gaps within the tolerance a share is checked: two samples of each call, and one
  more for every 256 samples.
- If one sample of the share contradicts its gap, the codes of the whole call are measured in float64.
- Codes that miss the tolerance continue by plain coordinate descent in float64, from the best code known.
- A `WrongCodesWarning` names a coder that was wrong.  One `ConvergenceWarning` counts codes that still miss.

Calls of fewer than 64 samples are checked less often, to stay quick: the first call, then one call each time
that 64 samples were coded in this process, and every call as long as the last check found wrong gaps.

What is not guaranteed
----------------------
A coder that reports a few wrong gaps among many right ones may be believed.  If a fraction p of its gaps is
wrong, a share of n samples shows none of them with a probability of (1 - p)^n.  With more than 32,768 atoms a
share is compared with an evenly spaced part of the atoms, which may not hold the one atom that a code lacks.
"""

import math
import warnings
from functools import lru_cache, update_wrapper

import numpy as np
import scipy.sparse as sp

from flyannot.base.errors import DataError, FlyannotError
from flyannot.sparse.coders.blocks import (
    Codes,
    LassoSamples,
    checked_samples,
    over_threads,
    replace_rows,
    rounding_of_products,
)
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
_SHARE_AT_LEAST = 2  # samples of a call whose gaps are checked
_SAMPLES_PER_CHECK = 256  # one more of so many samples is checked
_FEW_SAMPLES = 64  # calls of fewer samples are checked when they amount to so many
_SHARE_SPREAD = (5**0.5 - 1) / 2  # multiples of the golden ratio, modulo 1, spread evenly
_CHECKED_ATOMS = 2**15  # most that a checked sample is compared with
_GAP_ROUNDING = 1e-6  # relative difference of two gaps that counts as rounding


class WrongCodesWarning(UserWarning):
    """A coder returned wrong codes or wrong duality gaps, which were mended."""


class Coder:
    """A coder, which is called as `flyannot.sparse.coders` says; `codes` gives the duality gaps.

    solve : its function, (samples, lam, *, tol, max_sweeps, start, gram, n_threads) ->
        `Codes`; the samples are `LassoSamples`,
        with norms that float32 can square.
    """

    def __init__(self, solve, *, positive=False):
        self.solve, self._positive = solve, positive
        self._n_unchecked = _FEW_SAMPLES  # samples since the last check: so the first call is checked
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
        unit = power_of_two_scale(np.sqrt(samples.squares.max(initial=0)))
        atom_unit = power_of_two_scale(samples.norms.max(initial=0))
        if (unit, atom_unit) != (1.0, 1.0):
            X, D, squares, norms = samples
            X, D = read_only(X / X.dtype.type(unit)), read_only(D / D.dtype.type(atom_unit))
            samples = LassoSamples(X, D, squares / unit**2, norms / atom_unit)
            lam = lam / (unit * atom_unit)
            start = None if start is None else start * (atom_unit / unit)
            gram = None if gram is None else gram / gram.dtype.type(atom_unit**2)
        rules = {"tol": tol, "max_sweeps": max_sweeps, "n_threads": n_threads, "start": start, "gram": gram}
        own = samples._replace(squares=samples.squares.copy(), norms=samples.norms.copy())
        found = self.solve(own, float(lam), **rules, **of_the_solver)  # which may change its own arrays
        found = self._verified(self._checked(found, samples, lam, tol), samples, lam, tol, n_threads)
        if (unit, atom_unit) != (1.0, 1.0):
            found = Codes(_in_unit(found.Z, unit / atom_unit), found.gaps)
        return found

    def _checked(self, found, samples, lam, tol):
        """Return valid `Codes`; their gaps are nan if the coder does not report them or was wrong.

        Raises
        ------
        FlyannotError
            If the answer cannot be read as codes of these samples.

        Warns
        -----
        WrongCodesWarning
            If codes or gaps are wrong.
        """
        self._require_readable(found, samples)
        Z, fault = found.Z, ""
        if not Z.has_canonical_format:
            Z = Z.copy()
            Z.sum_duplicates()
        gaps = np.full(len(samples.X), np.nan)
        if found.gaps is not None:
            gaps[:] = found.gaps
        is_valid = np.isfinite(Z.data) & (Z.data >= 0) if self._positive else np.isfinite(Z.data)
        if not is_valid.all():
            rows = np.repeat(np.arange(len(gaps)), np.diff(Z.indptr))[~is_valid]
            if found.gaps is None or np.isfinite(gaps[rows]).any():
                fault = f"codes that are not finite{' or are negative' * self._positive}"
            gaps[rows] = np.nan
            Z = Z.copy()
            Z.data[~is_valid] = 0
            Z.eliminate_zeros()
        if not fault and self._are_wrong(Codes(Z, gaps), samples, lam, tol):
            fault = "wrong duality gaps"
        if fault:
            gaps[:] = np.nan
            warnings.warn(
                f"the coder {self._name} returned {fault}: all {len(gaps):,} codes of a call "
                "were measured, and solved again where they miss the tolerance",
                WrongCodesWarning,
                stacklevel=4,
            )
        return Codes(Z, gaps)

    def _require_readable(self, found, samples):
        """Raise FlyannotError unless the answer is codes of these samples, each atom of the dictionary."""
        n, n_atoms, dtype = len(samples.X), len(samples.D), samples.X.dtype
        Z = getattr(found, "Z", found)
        if not isinstance(found, Codes) or not sp.issparse(Z) or Z.format != "csr" or Z.dtype != dtype:
            raise self._unreadable(f"returned no Codes of a CSR matrix in {dtype} ({type(Z).__name__})")
        if Z.shape != (n, n_atoms):
            raise self._unreadable(f"returned codes of shape {Z.shape}, and {(n, n_atoms)} was needed")
        if _is_out_of_place(Z):
            raise self._unreadable(f"returned a matrix whose indices are not among {n_atoms} atoms")
        if found.gaps is not None and np.shape(found.gaps) != (n,):
            raise self._unreadable(f"returned duality gaps of shape {np.shape(found.gaps)} for {n} samples")

    def _are_wrong(self, found, samples, lam, tol):
        """Return whether a gap is negative, or too small in the share where a check is due."""
        if (found.gaps < -_GAP_ROUNDING).any():
            return True
        self._n_unchecked += len(found.gaps)
        if self._n_unchecked < _FEW_SAMPLES:
            return False
        if _is_contradicted(found, samples, lam, tol, positive=self._positive):
            return True  # and the next call is checked, however short it is
        self._n_unchecked = 0
        return False

    @property
    def _name(self):
        return f"{self.solve.__module__}:{self.solve.__qualname__}"

    def _unreadable(self, fault):
        return FlyannotError(f"the coder {self._name} {fault}", fix="correct the coder, or choose another")

    def _verified(self, found, samples, lam, tol, n_threads):
        """Return the codes with every gap known, and better codes where a gap was too wide."""
        is_positive = self._positive
        Z, gaps = measured(found, samples, lam, tol, positive=is_positive)
        rows = unconverged_rows(gaps, tol)
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


def unconverged_rows(gaps, tol):
    """The numbers of the codes whose gaps are above tol, or where tol is finer than rounding, above that."""
    return np.flatnonzero(~(gaps <= max(tol, _FINEST_TOL)))


def measured(found, samples, lam, tol, *, positive=False):
    """The `Codes` with gaps measured against all atoms, where they are not known to be within tol.

    The gap of a code that is not finite, or whose objective is above that of no code at all, is infinite.
    """
    gaps = found.gaps.copy()
    rows = unconverged_rows(gaps, tol)
    if len(rows):
        X, D, squares, _ = samples.chosen(rows)
        Z, halves = found.Z[rows], 0.5 * squares
        with np.errstate(over="ignore", invalid="ignore"):
            exact = duality_gap(X, D, Z, lam, positive=positive) / np.where(halves > 0, halves, 1)
            is_sane = objective(X, D, Z, lam) <= halves
        gaps[rows] = np.where(is_sane, exact, np.inf)
    return Codes(found.Z, gaps)


def _is_out_of_place(Z):
    """Whether the index arrays of a CSR matrix point outside its shape or its data."""
    first, atoms = Z.indptr, Z.indices
    if len(first) != Z.shape[0] + 1 or first[0] != 0 or first[-1] != len(atoms) or len(atoms) != len(Z.data):
        return True
    is_falling = (first[1:] < first[:-1]).any()
    return is_falling or (len(atoms) > 0 and (atoms.min() < 0 or atoms.max() >= Z.shape[1]))


@lru_cache
def checked_share(n_samples):
    """Return the numbers of the samples of a call whose gaps are checked: evenly spread, always the same."""
    n = min(n_samples, _SHARE_AT_LEAST + n_samples // _SAMPLES_PER_CHECK)
    if n == n_samples:
        return range(n)
    return tuple(int((0.5 + _SHARE_SPREAD * k) % 1 * n_samples) for k in range(n))


def _is_contradicted(found, samples, lam, tol, *, positive):
    """Return whether a gap within tol, reported for a sample of the share, is too small.

    The residual is made in float64, and correlations in the type of D.  Rounding counts for the coder.
    """
    (Z, gaps), (X, D, squares, norms) = found, samples
    atoms, longest = D[:: 1 + len(D) // _CHECKED_ATOMS], float(norms.max(initial=0))
    rounding = rounding_of_products(X.shape[1], D.dtype) * longest
    for i in checked_share(len(X)):
        if not gaps[i] <= max(tol, _FINEST_TOL):
            continue
        code, half = slice(Z.indptr[i], Z.indptr[i + 1]), 0.5 * float(squares[i])
        values = Z.data[code].astype(np.float64)
        r = X[i] - values @ D[Z.indices[code]]
        q = atoms @ r.astype(D.dtype)
        largest = max(float(q.max(initial=0)), 0.0 if positive else -float(q.min(initial=0)))
        l1, rest = float(np.abs(values).sum()), float(r @ r)
        mass = l1 * longest
        largest = max(lam, largest - rounding * (math.sqrt(2 * half) + mass))
        least = _least_gap(rest, float(r @ X[i]), l1, largest, lam)
        most = (1 + _GAP_ROUNDING) * gaps[i] * half + _FINEST_TOL * (half + mass * mass)
        is_no_worse_than_none = 0.5 * rest + lam * l1 <= (1 + _GAP_ROUNDING) * half
        if not (is_no_worse_than_none and least <= most):
            return True
    return False


def _least_gap(rest, along, l1, largest, lam):
    """Return a lower bound of the duality gap: `largest` may be the largest |d r| of some of the atoms.

    rest : |r|^2, along : x r.  The dual value of c r rises with c as far as along / rest.
    """
    c = min(lam / largest, along / rest) if rest > 0 else 1.0
    return 0.5 * rest * (1 - c) * (1 - c) + lam * l1 - c * (along - rest)


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
    """Make passes over all atoms, and over the support until it is at rest, until the gap is allowed."""
    for i in range(len(X)):
        z = Z[i]
        for _ in range(_PASSES):
            if _refresh_residual(X[i], D, lam, positive, z, r) <= allowed[i]:
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
    missed = gaps[unconverged_rows(gaps, tol)]
    if not len(missed):
        return
    from sklearn.exceptions import ConvergenceWarning  # here, since it takes as long as all else

    counts = f"{len(missed):,} of {len(gaps):,} codes"
    warnings.warn(
        f"{counts} miss tol = {tol:g}: their duality gaps are up to {missed.max():.2g} times 1/2 |x|^2",
        ConvergenceWarning,
        stacklevel=3,
    )


def power_of_two_scale(largest_norm):
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

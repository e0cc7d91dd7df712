"""The verification of the results of every coder, outside the coder.

A coder returns the codes z that minimise P(z) = 1/2 |x - z D|^2 + lam |z|_1, and duality gaps if it knows
them.  Reported gaps are hints.  A trusted coder is defined in one of the TRUSTED_MODULES, whose gaps the
tests compare with measured gaps.  A copy of its file is not trusted, and a partial or wrapper is not.

Guarantees
----------
- Codes are finite, their atoms exist, and they are not negative if they must not be.
- A gap that the coder does not report, or reports above the tolerance, is measured in float64.
- All gaps within the tolerance are checked.  For a trusted coder a share is checked: two samples of each
  call, and one more for every 256 samples.
- If one checked sample contradicts its gap, the codes of the whole call are measured in float64.
- Codes that miss the tolerance continue by plain coordinate descent in float64, from the best known code.
- A `WrongCodesWarning` names a coder that was wrong.  One `ConvergenceWarning` counts codes that still miss.

Calls of a trusted coder with fewer than 64 samples are checked less often, to stay quick.  The first call is
checked, then one call for every 64 samples coded in this process, and every call after a check that found
wrong gaps.

No guarantees
-------------
A trusted coder that reports a few wrong gaps among many right ones may be believed.  If a fraction p of its
gaps is wrong, n checked samples show none of them with a probability of (1 - p)^n.  With more than 32,768
atoms a checked sample is compared with evenly spaced atoms only, and may miss the one atom that its code
lacks.
"""

import math
import warnings
from functools import lru_cache, update_wrapper

import numpy as np
import scipy.sparse as sp

from flyannot.base.errors import ArrayError, DataError, FlyannotError
from flyannot.base.options import FloatType, IntegerType, require_number
from flyannot.sparse.coders.blocks import (
    Codes,
    LassoInputs,
    map_slices,
    product_rounding_error,
    replace_rows,
    validate_samples,
)
from flyannot.sparse.kernels import (
    SUMS,
    add_multiple,
    copy,
    dot,
    duality_gap_from_sums,
    inlined,
    kernel,
    soft_threshold,
)
from flyannot.sparse.objective import FINEST_TOL, duality_gap, objective, unconverged_rows
from flyannot.sparse.simd.product import as_read_only

TRUSTED_MODULES = {f"flyannot.sparse.coders.{name}" for name in ("cd", "feature_sign", "siso")}
_SCALE_BITS = 40  # norms are scaled by powers of 2**40, so those from 2**-20 to 2**20 by 1
_PASSES = 200  # most passes over all atoms in coordinate descent
_SUPPORT_PASSES = 50  # most passes over the support between two passes over all atoms
_AT_REST = 1e-3  # fraction of the last full pass's largest change below which the support is at rest
_ROWS_AT_ONCE = 64  # samples that a thread solves at once
_SHARE_AT_LEAST = 2  # fewest checked samples of a call
_SAMPLES_PER_CHECK = 256  # samples per additional checked sample
_FEW_SAMPLES = 64  # samples after which short calls are checked again
_SHARE_SPREAD = (5**0.5 - 1) / 2  # multiples of the golden ratio, modulo 1, spread evenly
_CHECKED_ATOMS = 2**15  # most atoms that a checked sample is compared with
_GAP_ROUNDING = 1e-6  # relative difference of two gaps that counts as rounding
_GIVEN = {"tol", "max_sweeps", "start", "gram", "n_threads"}  # what every call gives a coder's function


class WrongCodesWarning(UserWarning):
    """The warning that a coder returned wrong codes or duality gaps, which were measured and solved again."""


class Coder:
    """A function that computes sparse codes, wrapped so that its results are verified.

    The package `coders` describes how to call it.

    Parameters
    ----------
    solve : function (samples, lam, *, tol, max_sweeps, start, gram, n_threads) -> Codes
        The samples are `LassoInputs`, with norms that float32 can square.
    positive : bool
        True if codes must not be negative.

    Raises
    ------
    ValueError
        If `solve` is a partial with a parameter that every call gives, which would be ignored.
    """

    def __init__(self, solve, *, positive=False):
        if ignored := sorted(_GIVEN & getattr(solve, "keywords", {}).keys()):
            raise ValueError(f"a partial cannot set {', '.join(ignored)} of a coder: every call gives it")
        update_wrapper(self, solve, updated=())  # attributes of `solve` would hide those of the coder
        self.solve = solve
        self._positive = positive
        self._is_trusted = getattr(solve, "__globals__", {}).get("__name__") in TRUSTED_MODULES
        self._name = getattr(getattr(solve, "func", solve), "__qualname__", solve)  # `func` is of a partial
        self._n_unchecked = _FEW_SAMPLES  # samples since the last check; the first call is checked

    def __call__(self, X, D, lam, *, tol=1e-4, **options):
        """Compute the sparse codes of samples X over the dictionary D: a CSR matrix (n_samples, n_atoms).

        Parameters, result, errors and warnings are described in the package `coders`.
        """
        Z, gaps = self.codes(X, D, lam, tol=tol, **options)
        warn_unconverged(gaps, tol)
        return Z

    def codes(self, X, D, lam, *, tol=1e-4, max_sweeps=1000, start=None, gram=None, n_threads=1):
        """Compute the sparse codes of samples X over the dictionary D, and return `Codes` with their gaps.

        Parameters and errors are described in the package `coders`. Codes that miss `tol` cause no warning.
        """
        tol = require_number("tol", tol, FloatType(least=0))
        max_sweeps = require_number("max_sweeps", max_sweeps, IntegerType(most=2**31 - 1))
        n_threads = require_number("n_threads", n_threads, IntegerType())
        samples = validate_samples(X, D, lam, gram)
        gram = None if gram is None else np.ascontiguousarray(gram, np.result_type(gram, np.float32))
        start = None if start is None else self._validate_start(start, samples)
        atom_unit = power_of_two_scale(samples.norms.max(initial=0))
        units = power_of_two_scale(np.sqrt(samples.squares))
        gram = gram if atom_unit == 1 else None  # numbers of another scale may not fit in its type
        rules = {"tol": tol, "max_sweeps": max_sweeps, "n_threads": n_threads, "gram": gram}
        Z = sp.csr_matrix((len(units), len(D)), dtype=samples.X.dtype)
        gaps = np.zeros(len(units))
        for unit in (found_units := np.unique(units)):
            rows = np.flatnonzero(units == unit) if len(found_units) > 1 else slice(None)
            begun = None if start is None else start[rows]
            found = self._solve_scaled(samples.subset(rows), lam, (unit, atom_unit), start=begun, **rules)
            if len(found_units) == 1:
                return found
            Z = replace_rows(Z, rows, found.Z)
            gaps[rows] = found.gaps
        return Codes(Z, gaps)

    def _solve_scaled(self, samples, lam, scales, *, start, gram, **rules):
        """Solve samples after scaling them, so that their squares do not overflow; return verified `Codes`.

        Parameters
        ----------
        samples : LassoInputs
        lam : float, weight of the L1 norm
        scales : (unit, atom_unit), powers of two by which samples and atoms are divided
        start, gram, rules : as in `codes`, validated
        """
        (unit, atom_unit) = scales
        tol = rules["tol"]
        if scales != (1.0, 1.0):
            X, D, squares, norms = samples
            X, D = (as_read_only(A / np.float64(scale), A.dtype) for A, scale in zip((X, D), scales))
            samples = LassoInputs(X, D, squares / unit**2, norms / atom_unit)
            lam = lam / (unit * atom_unit)
            start = None if start is None else start * (atom_unit / unit)
        own = samples._replace(squares=samples.squares.copy(), norms=samples.norms.copy())
        if not self._is_trusted:  # a coder may change only its own arrays
            start = start if start is None else start.copy()
            gram = gram if gram is None else as_read_only(gram)
        found = self.solve(own, float(lam), start=start, gram=gram, **rules)  # it may change these copies
        found = self._verify(self._check(found, samples, lam, tol), samples, lam, tol, rules["n_threads"])
        return found if scales == (1.0, 1.0) else Codes(_scale_codes(found.Z, unit / atom_unit), found.gaps)

    def _validate_start(self, start, samples):
        """Return start codes that a user gave as a CSR matrix of the right shape and with valid indices.

        Kernels would read outside of another matrix.

        samples : LassoInputs; raises ArrayError unless the codes are finite and fit these samples and atoms
        """
        shape = len(samples.X), len(samples.D)
        start = sp.csr_matrix(start)
        is_usable = start.shape == shape and start.dtype.kind in "biuf" and not _has_bad_indices(start)
        if not is_usable or not np.isfinite(start.data).all():
            raise ArrayError(f"start codes must be finite numbers of shape {shape}, in a CSR matrix")
        return start

    def _check(self, found, samples, lam, tol):
        """Check the result of a coder, and return it as `Codes` with finite codes.

        Parameters
        ----------
        found : the result of the coder, which should be Codes
        samples : LassoInputs
        lam, tol : floats, weight of the L1 norm and tolerance of the gaps

        Returns
        -------
        codes : Codes, in which gaps that are unknown or were wrong are nan

        Raises
        ------
        FlyannotError
            If the result cannot be read as codes of these samples.

        Warns
        -----
        WrongCodesWarning
            If codes or gaps are wrong.
        """
        self._require_readable(found, samples)
        Z = found.Z if self._is_trusted else found.Z.copy()  # a coder may use its arrays again
        fault = ""
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
        if not fault and self._has_wrong_gaps(Codes(Z, gaps), samples, lam, tol):
            fault = "wrong duality gaps"
        if fault:
            gaps[:] = np.nan
            what = f"the coder {self._name} returned {fault}: all {len(gaps):,} codes of a call were measured"
            what += ", and solved again where they miss the tolerance"
            warnings.warn(what, WrongCodesWarning, stacklevel=5)
        return Codes(Z, gaps)

    def _require_readable(self, found, samples):
        """Raise a FlyannotError unless the result of a coder is Codes of the given samples.

        found : the result of the coder; samples : LassoInputs
        """
        n, n_atoms, dtype = len(samples.X), len(samples.D), samples.X.dtype
        Z = getattr(found, "Z", found)
        if not isinstance(found, Codes) or not sp.issparse(Z) or Z.format != "csr" or Z.dtype != dtype:
            raise self._unusable(f"returned no Codes of a CSR matrix in {dtype} ({type(Z).__name__})")
        if Z.shape != (n, n_atoms):
            raise self._unusable(f"returned codes of shape {Z.shape}, and {(n, n_atoms)} was needed")
        if _has_bad_indices(Z):
            raise self._unusable(f"returned a matrix whose indices are not among {n_atoms} atoms")
        if found.gaps is not None and np.asarray(found.gaps).dtype.kind != "f":
            raise self._unusable("returned duality gaps that are no floats")
        if found.gaps is not None and np.shape(found.gaps) != (n,):
            raise self._unusable(f"returned duality gaps of shape {np.shape(found.gaps)} for {n} samples")

    def _has_wrong_gaps(self, found, samples, lam, tol):
        """Return True if a duality gap of a coder is negative, or too small for one of the checked samples.

        found : Codes; samples : LassoInputs; lam, tol : weight of the L1 norm and tolerance of the gaps
        """
        if (found.gaps < -_GAP_ROUNDING).any():
            return True
        rows = range(len(found.gaps))
        if self._is_trusted:
            self._n_unchecked += len(rows)
            if self._n_unchecked < _FEW_SAMPLES:
                return False
            rows = choose_checked_rows(len(rows))
        if _is_contradicted(found, samples, lam, tol, rows, positive=self._positive):
            return True  # the next call is checked, too, even if it is short
        self._n_unchecked = 0
        return False

    def _unusable(self, fault):
        return FlyannotError(f"the coder {self._name} {fault}", fix="correct the coder, or choose another")

    def _verify(self, found, samples, lam, tol, n_threads):
        """Measure all unknown duality gaps of some codes, and improve codes whose gap is above the tolerance.

        Parameters
        ----------
        found : Codes, in which unknown gaps are nan
        samples : LassoInputs
        lam, tol : floats, weight of the L1 norm and tolerance of the gaps
        n_threads : int

        Returns
        -------
        codes : Codes with every gap known
        """
        is_positive = self._positive
        Z, gaps = compute_gaps(found, samples, lam, tol, positive=is_positive)
        rows = unconverged_rows(gaps, tol)
        if not len(rows):
            return Codes(Z, gaps)
        X, D, squares, _ = samples.subset(rows)
        nothing = sp.csr_matrix((len(rows), len(D)), dtype=Z.dtype)
        begun = _pick_lower(Z[rows], nothing, X, D, lam)
        halves = 0.5 * squares
        better = descend(X, D, lam, begun, tol * halves, positive=is_positive, n_threads=n_threads)
        better = _pick_lower(better, begun, X, D, lam)
        exact = duality_gap(X, D, better, lam, positive=is_positive) / halves
        taken = ~(exact > 0.5 * gaps[rows])  # otherwise the codes differ by rounding only
        gaps[rows[taken]] = exact[taken]
        return Codes(replace_rows(Z, rows[taken], better[np.flatnonzero(taken)]), gaps)


def compute_gaps(found, samples, lam, tol, *, positive=False):
    """Measure the duality gaps of the codes whose gaps are unknown or above `tol`, and return Codes.

    The gap is inf if a code is not finite, or worse than the zero code.

    Parameters
    ----------
    found : Codes, in which unknown gaps are nan
    samples : LassoInputs
    lam, tol : floats, weight of the L1 norm and tolerance of the gaps
    positive : bool, True if codes must not be negative
    """
    gaps = found.gaps.copy()
    rows = unconverged_rows(gaps, tol)
    if len(rows):
        X, D, squares, _ = samples.subset(rows)
        Z = found.Z[rows]
        halves = 0.5 * squares
        with np.errstate(over="ignore", invalid="ignore"):
            exact = duality_gap(X, D, Z, lam, positive=positive) / np.where(halves > 0, halves, 1)
            is_sane = objective(X, D, Z, lam) <= halves
        gaps[rows] = np.where(is_sane, exact, np.inf)
    return Codes(found.Z, gaps)


def _has_bad_indices(Z):
    """Return True if the index arrays of a CSR matrix Z point outside its shape or its data."""
    first, atoms = Z.indptr, Z.indices
    if len(first) != Z.shape[0] + 1 or first[0] != 0 or first[-1] != len(atoms) or len(atoms) != len(Z.data):
        return True
    is_falling = (first[1:] < first[:-1]).any()
    return is_falling or (len(atoms) > 0 and (atoms.min() < 0 or atoms.max() >= Z.shape[1]))


@lru_cache
def choose_checked_rows(n_samples):
    """Return the indices of the samples of a call whose duality gaps are checked (range or tuple of ints).

    The samples are evenly spread, and the same in every call of `n_samples` samples.
    """
    n = min(n_samples, _SHARE_AT_LEAST + n_samples // _SAMPLES_PER_CHECK)
    if n == n_samples:
        return range(n)
    return tuple(int((0.5 + _SHARE_SPREAD * k) % 1 * n_samples) for k in range(n))


def _is_contradicted(found, samples, lam, tol, rows, *, positive):
    """Return True if the duality gap that a coder reported is too small for one of the checked samples.

    The true gap of the sample is larger, or its code is worse than the zero code.  Residuals are computed in
    float64, and correlations in the type of D.  Rounding errors are allowed for.

    Parameters
    ----------
    found : Codes
    samples : LassoInputs
    lam, tol : floats, weight of the L1 norm and tolerance of the gaps
    rows : range or tuple of ints, the samples to check; only gaps within tol are checked
    positive : bool, True if codes must not be negative
    """
    Z, gaps = found
    X, D, squares, norms = samples
    atoms = D[:: 1 + len(D) // _CHECKED_ATOMS]
    longest = float(norms.max(initial=0))
    rounding = product_rounding_error(X.shape[1], D.dtype) * longest
    for i in rows:
        if not gaps[i] <= max(tol, FINEST_TOL):
            continue
        code = slice(Z.indptr[i], Z.indptr[i + 1])
        half = 0.5 * float(squares[i])
        values = Z.data[code].astype(np.float64)
        r = X[i] - values @ D[Z.indices[code]]
        q = atoms @ r.astype(D.dtype)
        largest = max(float(q.max(initial=0)), 0.0 if positive else -float(q.min(initial=0)))
        l1 = float(np.abs(values).sum())
        rest = float(r @ r)
        mass = l1 * longest
        largest = max(lam, largest - rounding * (math.sqrt(2 * half) + mass))
        along = float(r @ X[i])
        c = min(lam / largest, along / rest) if rest > 0 else 1.0  # up to it the dual value of c r rises
        least = 0.5 * rest * (1 - c) * (1 - c) + lam * l1 - c * (along - rest)
        most = (1 + _GAP_ROUNDING) * gaps[i] * half + FINEST_TOL * (half + mass * mass)
        is_no_worse_than_none = 0.5 * rest + lam * l1 <= (1 + _GAP_ROUNDING) * half
        if positive and least > most:  # another dual value may be better
            least = duality_gap(X[i : i + 1], D, Z[i], lam, positive=True)[0]
        if not (is_no_worse_than_none and least <= most):
            return True
    return False


def _pick_lower(Z, other, X, D, lam):
    """Choose for every sample the code with the lower objective from two CSR matrices Z and `other`.

    If the code in Z is not finite, the code in `other` is chosen.

    X, D : float arrays of samples and atoms; lam : float, weight of the L1 norm
    """
    with np.errstate(over="ignore", invalid="ignore"):
        is_lower = objective(X, D, Z, lam) <= objective(X, D, other, lam)
    rows = np.flatnonzero(~is_lower)
    return replace_rows(Z, rows, other[rows])


def descend(X, D, lam, start, allowed, *, positive=False, n_threads=1):
    """Solve the lasso of every sample by plain coordinate descent in float64, without a Gram matrix.

    Parameters
    ----------
    X : float array (n_samples, n_features)
    D : float array (n_atoms, n_features)
    lam : float > 0
    start : CSR matrix (n_samples, n_atoms), codes to begin from
    allowed : float64 array (n_samples,), the duality gaps at which samples are done
    positive : bool, whether codes must not be negative

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
        Z = start[rows].astype(np.float64).toarray()
        residual = np.empty(D.shape[1])
        _descend_rows(X[rows].astype(np.float64), D, norms2, lam, allowed[rows], positive, Z, residual)
        return sp.csr_matrix(Z.astype(X.dtype))

    blocks = map_slices(descend_some, len(X), _ROWS_AT_ONCE, n_threads)
    return sp.vstack(blocks, format="csr")


@kernel
def _descend_rows(X, D, norms2, lam, allowed, positive, Z, r):
    """Improve the codes of some samples by coordinate descent until their gaps are allowed.

    A pass over all atoms alternates with passes over the support.  A sample also ends if a pass over all
    atoms changes nothing, or after 200 of these passes.

    Parameters
    ----------
    X : float64 array (n, n_features)
    D : float64 array (n_atoms, n_features)
    norms2 : float64 array (n_atoms,), |d|^2 of each atom d
    lam : float, weight of the L1 norm
    allowed : float64 array (n,), the duality gaps to reach
    positive : bool, True if codes must not be negative
    Z : float64 array (n, n_atoms), the start codes; overwritten by the codes
    r : float64 array (n_features,), overwritten by residuals
    """
    for i in range(len(X)):
        z = Z[i]
        for _ in range(_PASSES):
            if _refresh_residual(X[i], D, lam, positive, z, r) <= allowed[i]:
                break
            moved = _sweep(D, norms2, lam, positive, np.bool_(False), z, r)
            if moved == 0:
                break
            for _ in range(_SUPPORT_PASSES):
                if _sweep(D, norms2, lam, positive, np.bool_(True), z, r) <= _AT_REST * moved:
                    break


@inlined(fastmath=SUMS)
def _refresh_residual(x, D, lam, positive, z, r):
    """Compute the residual r = x - z D of a sample x with the code z, and return the duality gap of z.

    D : array of atoms; lam : weight of the L1 norm; positive : bool, True if codes must not be negative
    r : float64 array (n_features,), overwritten
    """
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
    return duality_gap_from_sums(dot(r, r, len(r)), mass, fit, largest, lam)


@inlined(fastmath=SUMS)
def _sweep(D, norms2, lam, positive, of_support, z, r):
    """Minimise the objective of a sample over one entry of its code after the other.

    Parameters
    ----------
    D, norms2, lam, positive : as in `_descend_rows`
    of_support : bool, True to pass over the non-zeros of z only
    z, r : float64 arrays (n_atoms,) and (n_features,), the code and its residual, updated

    Returns
    -------
    moved : float, the largest distance that one entry moved z D
    """
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


def warn_unconverged(gaps, tol):
    """Issue one ConvergenceWarning if some duality gaps are above the tolerance `tol`.

    gaps : float64 array (n_samples,), the duality gaps of all codes as fractions of 1/2 |x|^2
    """
    missed = gaps[unconverged_rows(gaps, tol)]
    if not len(missed):
        return
    from sklearn.exceptions import ConvergenceWarning  # imported here because it is slow

    counts = f"{len(missed):,} of {len(gaps):,} codes"
    what = f"{counts} miss tol = {tol:g}: their duality gaps are up to {missed.max():.2g} times 1/2 |x|^2"
    warnings.warn(what, ConvergenceWarning, stacklevel=3)


def power_of_two_scale(norms):
    """Return the power of two by which rows must be divided so that float32 can square them; mostly 1.

    norms : float or array, the norms of the rows; the result has its shape
    """
    return 2.0 ** (_SCALE_BITS * np.round(np.log2(np.where(norms > 0, norms, 1)) / _SCALE_BITS))


def _scale_codes(Z, unit):
    """Multiply codes, a CSR matrix Z, by the number `unit`, and return them in the type of Z.

    unit : float, the scale of the samples divided by the scale of the atoms

    Raises
    ------
    DataError
        If the products do not fit in this type.
    """
    scaled = Z.copy()
    with np.errstate(over="ignore", under="ignore"):
        scaled.data = (Z.data * np.float64(unit)).astype(Z.dtype)
    if not (np.isfinite(scaled.data) & ((scaled.data != 0) | (Z.data == 0))).all():
        what = f"{Z.dtype} cannot hold codes of the order of {unit:.0e}"
        raise DataError(what, fix="give samples in float64")
    return scaled

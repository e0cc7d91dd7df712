"""Orthogonal matching pursuit: codes with a given number of non-zeros.

For a sample x it adds one atom d after the other: that with the largest |d r| / |d|, for the residual
r = x - z D.  After each atom the whole code z becomes the least-squares fit of x on the atoms so far.
"""

import warnings
from functools import partial

import numpy as np

from flyannot.base.errors import InputError
from flyannot.sparse.coders.blocks import (
    LassoProblem,
    replace_rows,
    solve_in_blocks,
    subtract_atoms,
    validate_samples,
)
from flyannot.sparse.coders.feature_sign import (
    SLACK,
    find_largest_atom,
    make_scratch,
    refresh_correlations,
    store_maxima,
)
from flyannot.sparse.kernels import SUMS, add_multiple, copy, dot, inlined, kernel
from flyannot.sparse.simd.product import gram_matrix, pack_columns

_ORTHOGONAL = {4: 1e-5, 8: 1e-10}  # by bytes of a number: largest |d r| / |d| |x| left on the support
_DEPENDENT = 32.0  # an atom depends on others if |rest|^2 / |d|^2 is below this many roundings


def encode_omp(X, D, n_nonzeros, *, tol=1e-4, n_threads=1):
    """Compute codes of samples X with at most `n_nonzeros` non-zeros, by orthogonal matching pursuit.

    The least-squares fit of every code is verified with its own residual in float64, and solved again by
    LAPACK if the atoms of the code nearly depend on one another.

    The package `coders` describes X, D, `n_threads` and the returned CSR matrix (n_samples, n_atoms).

    Parameters
    ----------
    n_nonzeros : int, 1 or more
        A code ends sooner if no atom can explain more, or by `tol`.
    tol : float
        A sample is done when |x - z D|^2 is at most tol |x|^2.

    Raises
    ------
    DataError
        If shapes do not fit, or a sample or atom is not finite.
    InputError
        If `n_nonzeros` is less than 1.

    Warns
    -----
    RuntimeWarning
        If codes end because the next atom depends on theirs, up to rounding in float64.

    Source
    ------
    Pati, Rezaiifar and Krishnaprasad, Asilomar 1993.  By the Gram matrix: Rubinstein, Zibulevsky and Elad,
    Technion CS-2008-08.
    """
    if n_nonzeros < 1:
        raise InputError(f"n_nonzeros is {n_nonzeros}, and must be at least 1", fix="choose a larger number")
    samples = validate_samples(X, D, 1.0)  # lam is not used
    sizes = np.sqrt(samples.squares)
    norms = samples.norms
    dtype = samples.X.dtype
    X, D = (A / np.where(size > 0, size, 1)[:, None] for A, size in zip(samples, (sizes, norms)))
    unit = validate_samples(X.astype(dtype), D, 1.0)
    limits = 0.5 * tol, min(int(n_nonzeros), *D.shape)
    Z, early = _pursue_samples(unit, limits, n_threads)
    if len(early) and dtype == np.float32:
        exact, still = _pursue_samples(validate_samples(X[early], D, 1.0), limits, n_threads)
        Z = replace_rows(Z, early, exact.astype(dtype))
        early = early[still]
    if len(early):
        what = f"{len(early):,} of {len(X):,} codes end early: the next atom depends on those of the code"
        warnings.warn(what, RuntimeWarning, stacklevel=2)
    pull = np.empty(len(X))
    _measure_pulls(unit.X, unit.D, (Z.indptr, Z.indices, Z.data), np.empty(X.shape[1]), pull)
    for i in np.flatnonzero(pull > _ORTHOGONAL[dtype.itemsize]):
        code = slice(*Z.indptr[i : i + 2])
        Z.data[code] = np.linalg.lstsq(D[Z.indices[code]].T, X[i])[0]
    Z.data = (Z.data * np.repeat(sizes, np.diff(Z.indptr)) / norms[Z.indices]).astype(dtype)
    Z.sort_indices()
    return Z


def _pursue_samples(samples, limits, n_threads):
    """Code samples by orthogonal matching pursuit: return the codes, and which samples end early.

    samples : LassoInputs, with samples of norm 1, and atoms of norm 1 or 0
    limits : `goal` and `max_sweeps` of a LassoProblem: the residual to reach, and the most non-zeros

    Returns
    -------
    Z : CSR matrix (n_samples, n_atoms)
    early : int array, indices of the samples whose next atom depends on those of the code
    """
    problem = LassoProblem(gram_matrix(samples.D), 0.0, *limits)
    new_scratch = partial(make_scratch, len(samples.D), problem.max_sweeps, samples.X.dtype)
    panels = pack_columns(samples.D)
    Z = solve_in_blocks(samples, panels, None, encode_rows, problem, new_scratch, n_threads).Z
    rows = np.flatnonzero(np.diff(Z.indptr) < problem.max_sweeps)
    R = samples.X[rows].astype(np.float64) - Z[rows] @ samples.D.astype(np.float64)
    is_left = np.einsum("ij,ij->i", R, R) > max(2 * problem.goal, np.finfo(samples.X.dtype).eps)
    rows, R = rows[is_left], R[is_left]
    pull = np.abs(R @ samples.D.T).max(axis=1, initial=0)
    return Z, rows[pull > _ORTHOGONAL[samples.X.itemsize]]


@kernel
def encode_rows(Q, squares, start, problem, scratch, codes, largest):
    """Code one sample after the other by orthogonal matching pursuit.

    The kernel is called by `solve_in_blocks`, which describes its arguments.  There is no start code.
    """
    first, atom, value = codes
    for i in range(len(squares)):
        n = _pursue_one(Q[i, : len(problem.gram)], squares[i], problem, scratch)
        first[i + 1] = first[i] + n
        largest[i] = np.inf
        for j in range(n):
            atom[first[i] + j] = scratch.atoms[j]
            value[first[i] + j] = scratch.z[j]


@inlined()
def _pursue_one(q0, square, problem, scratch):
    """Add atoms to the code of one sample until `problem` allows no more, and return the number of atoms.

    Let L be the Cholesky factor of the Gram matrix of the atoms so far, and y = L^-1 q0 on them.  The code is
    L^-T y, and |x - z D|^2 = |x|^2 - |y|^2.  An atom appends a row to L and a number to y.

    Parameters
    ----------
    q0 : float array (n_atoms,), D x
    square : float, |x|^2
    problem : LassoProblem, with the Gram matrix of atoms of norm 1 or 0, and with `max_sweeps` atoms
    scratch : SignScratch, which gets the atoms and their codes
    """
    gram, _, goal, most = problem
    q, maxima, atoms, z, y, _, factor = scratch
    eps = np.finfo(q.dtype).eps
    rest = square
    n = np.int64(0)  # a literal 0 would compile the called kernels twice
    copy(q, q0, len(q))
    while n < most and 0.5 * rest > goal * square:
        largest = store_maxima(q, maxima)
        if largest <= SLACK * eps:
            break
        k = find_largest_atom(q, maxima, largest)
        row = factor[n * (n + 1) // 2 :]
        for j in range(n):
            earlier = factor[j * (j + 1) // 2 :]
            row[j] = (gram[k, atoms[j]] - dot(row, earlier, j)) / earlier[j]
        pivot = gram[k, k] - dot(row, row, n)
        if not pivot > _DEPENDENT * eps:
            break  # this atom is nearly a sum of the others, and none explains more than it
        row[n] = np.sqrt(pivot)
        y[n] = (q0[k] - dot(row, y, n)) / row[n]
        rest -= y[n] * y[n]
        atoms[n] = k
        n += 1
        copy(z, y, n)
        for i in range(n - 1, -1, -1):
            row = factor[i * (i + 1) // 2 :]
            z[i] /= row[i]
            add_multiple(z, -z[i], row, i)
        if n < most:
            refresh_correlations(q0, gram, atoms, z, n, q)
        for j in range(n):
            q[atoms[j]] = 0.0
    return n


@kernel(fastmath=SUMS)
def _measure_pulls(X, D, codes, residual, pull):
    """Compute the largest |d r| over the atoms d of every code z, where r = x - z D is its residual.

    Parameters
    ----------
    X, D : float arrays (n_samples, n_features) and (n_atoms, n_features)
    codes : (first, atom, value), the arrays of a CSR matrix
    residual : float64 array (n_features,), overwritten
    pull : float64 array (n_samples,), overwritten with the result
    """
    first, atom, value = codes
    for i in range(len(X)):
        subtract_atoms(residual, X[i], D, atom, value, first[i], first[i + 1])
        pull[i] = 0.0
        for k in range(first[i], first[i + 1]):
            pull[i] = max(pull[i], abs(dot(D[atom[k]], residual, len(residual))))

"""Feature-sign search (Lee et al. 2006): the lasso of one sample by guessing the signs of its code.

For every sample x it minimises 1/2 |x - z D|^2 + lam |z|_1 over z.  With the signs known the minimum has a
closed form.  A step solves it on the active set and walks towards it.  It stops at the best of the solution
and of the points at which a code changes its sign.  The objective falls at every step, so no set of signs
occurs twice, and the search ends.

In the kernels q = D (x - z D) = q0 - z gram, and n is the size of the active set.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from flyannot.sparse.coders.blocks import Codes, LassoProblem, replace_rows, solve_in_blocks
from flyannot.sparse.coders.cd import encode as encode_by_cd
from flyannot.sparse.coders.verified import Coder
from flyannot.sparse.kernels import (
    MAXIMA,
    SUMS,
    add_multiple,
    copy,
    dot,
    duality_gap_from_correlations,
    inlined,
    kernel,
    read_start_code,
)
from flyannot.sparse.objective import unconverged_rows
from flyannot.sparse.simd.product import gram_matrix, pack_columns

CHUNK = 64  # atoms whose largest |q| is stored, so that a search for the largest skips most of q
SLACK = 16.0  # violations up to this many roundings of the largest |q0| count as rounding
AT_REST = 0.9  # fraction of tol and SLACK to reach; a start code within all of it does not change
NEGLIGIBLE = 1e-6  # allowed violation on the active set, as a fraction of the worst outside it
RIDGE = 1e-12  # smallest pivot of the Cholesky factor, as a fraction of |d_k|^2
N_REFINED = 3  # full steps in a row that may fail to reach the minimum on the active set
_STUCK, _CROSSED, _FULL = 0, 1, 2  # outcomes of a step


@Coder
def encode(samples, lam, *, tol, max_sweeps, start, gram, n_threads):
    """Compute the sparse codes of samples X over a fixed dictionary by feature-sign search, in float64.

    A sample whose search does not end continues by coordinate descent.  This happens if its
    active atoms depend on one another, or if it needs more steps.

    Parameters and result are those of every coder (`coders`).  `max_sweeps` counts steps.
    Each step passes over all atoms once.  A code from zero takes one step per atom, and some more.  `gram`
    is computed afresh if it is not float64.

    Source
    ------
    Lee, Battle, Raina and Ng, "Efficient sparse coding algorithms", NIPS 2006, Algorithm 1, with 1/2 before
    the square.  It activates an atom only if all active codes are optimal; here, if their violation is
    negligible.  The paper does not treat dependent atoms.
    """
    dtype = samples.X.dtype
    samples = samples.to_float64()
    is_exact = gram is not None and np.asarray(gram).dtype == np.float64
    gram = np.ascontiguousarray(gram if is_exact else gram_matrix(samples.D))
    problem = LassoProblem(gram, lam, 0.5 * float(tol), int(max_sweeps))
    panels = pack_columns(samples.D)
    new_scratch = partial(make_scratch, len(gram), len(gram))
    found = solve_in_blocks(samples, panels, start, encode_rows, problem, new_scratch, n_threads, dtype)
    found.Z.sort_indices()
    Z, gaps = found.Z, found.gaps
    rows = unconverged_rows(gaps, tol)
    if len(rows):  # by coordinate descent, from the codes so far
        rules = {"tol": tol, "max_sweeps": max_sweeps, "start": Z[rows], "gram": gram, "n_threads": n_threads}
        solved = encode_by_cd.solve(samples.subset(rows), lam, **rules)
        Z = replace_rows(Z, rows, solved.Z.astype(dtype))
        gaps[rows] = np.nan
    return Codes(Z, gaps)


class SignScratch(NamedTuple):
    """The memory that one thread of the feature-sign search overwrites, for one sample at a time.

    Arrays have n_atoms entries unless stated; entries for the active set come first.

    q : D (x - z D) for all atoms
    maxima : (n_chunks,), the largest |q| of each chunk of atoms
    atoms : int, the active set in the order in which it grew
    z : the codes of the active set; only the last activated atom may have the code 0
    pull : q - lam sign(z) on the active set, which is zero at the minimum for these signs
    move : the way from z to that minimum
    factor : Cholesky factor of the Gram matrix of the active set, row after row of its triangle
    """

    q: np.ndarray
    maxima: np.ndarray  # (n_chunks,) largest |q| of each chunk
    atoms: np.ndarray  # integer, the active set in the order in which it grew
    z: np.ndarray  # its codes; only the last activated atom may be at zero
    pull: np.ndarray  # q - lam sign(z) on the active set, zero at its minimum
    move: np.ndarray  # from z to the minimum for these signs
    factor: np.ndarray  # Cholesky factor of gram on the active set, row after row of its triangle


def make_scratch(n_atoms, n_active, dtype=np.float64):
    """Allocate a SignScratch for a dictionary of n_atoms, and codes of at most n_active atoms, in `dtype`."""
    q, z, pull, move = (np.empty(n_atoms, dtype) for _ in range(4))
    maxima = np.empty(-(-n_atoms // CHUNK), dtype)
    factor = np.empty(n_active * (n_active + 1) // 2, dtype)
    return SignScratch(q, maxima, np.empty(n_atoms, np.uint32), z, pull, move, factor)


@kernel
def encode_rows(Q, squares, start, problem, scratch, codes, largest):
    """Solve the lasso of one sample after the other by feature-sign search, and store the codes.

    The kernel is called by `solve_in_blocks`, which describes its arguments.
    """
    first, atom, value = codes
    for i in range(len(squares)):
        n = read_start_code(start, i, problem.gram, scratch.atoms, scratch.z)
        n, largest[i] = search_signs(Q[i, : len(problem.gram)], squares[i], n, problem, scratch)
        first[i + 1] = first[i] + n
        for j in range(n):
            atom[first[i] + j], value[first[i] + j] = scratch.atoms[j], scratch.z[j]


@inlined()
def search_signs(q0, square, n, problem, scratch):
    """Improve the code of one sample by feature-sign steps until its duality gap is small enough.

    No code of the active set is zero, on entry and on exit.

    Parameters
    ----------
    q0 : float64 array (n_atoms,), D x
    square : float, |x|^2
    n : int, the size of the active set, whose atoms and codes are in the scratch memory
    problem : LassoProblem
    scratch : SignScratch

    Returns
    -------
    n : int, the new size of the active set
    largest : float, the largest |q|; inf if the search did not end
    """
    gram, lam, _, _ = problem
    q, maxima, atoms, z, _, _, factor = scratch
    slack = SLACK * np.finfo(np.float64).eps * store_maxima(q0, maxima)
    part = 1.0
    n_refined = 0
    factorise_gram(gram, atoms[:n], np.int64(0), factor)
    for _ in range(problem.max_sweeps):
        refresh_correlations(q0, gram, atoms, z, n, q)
        largest = store_maxima(q, maxima)
        violation = _find_pull(q, lam, atoms, z, n, scratch.pull)
        if (
            duality_gap_from_correlations(square, q0, q, atoms, z, n, lam, largest)
            <= part * problem.goal * square
        ):
            return n, largest
        if max(largest - lam, violation) <= part * slack:
            return n, largest
        part = AT_REST
        if n < len(q) and largest - lam > slack and violation <= max(slack, NEGLIGIBLE * (largest - lam)):
            n = _activate_atom(q, maxima, largest, gram, lam, scratch, n)
            n_refined = 0
        n, outcome = _feature_sign_step(gram, lam, n, scratch)
        n_refined = n_refined + 1 if outcome == _FULL else 0
        if outcome == _STUCK or n_refined > N_REFINED:
            break
    return n, np.inf


@inlined()
def _feature_sign_step(gram, lam, n, scratch):
    """Move a code z towards the minimum for the current signs, to the best point on the way.

    Parameters
    ----------
    gram : float64 array (n_atoms, n_atoms)
    lam : float, weight of the L1 norm
    n : int, the number of active atoms
    scratch : SignScratch, with the code

    Returns
    -------
    n : int, the new size of the active set
    outcome : int; the objective falls unless it is `_STUCK`
    """
    z = scratch.z
    pull = scratch.pull
    move = scratch.move
    slope = 0.0
    copy(move, pull, n)
    solve_cholesky(scratch.factor, move[:n])
    for i in range(n):
        slope += pull[i] * move[i]
    length, crossing, is_lower = _choose_length(scratch, n, lam, slope)
    if not is_lower:
        return _drop_zeros(gram, n, scratch), _STUCK
    is_crossed = crossing >= 0
    for i in range(n):
        end = z[i] + length * move[i]
        is_crossed |= z[i] * end < 0
        z[i] = end
    if crossing >= 0:
        z[crossing] = 0.0
    return _drop_zeros(gram, n, scratch), _CROSSED if is_crossed else _FULL


@inlined()
def _choose_length(scratch, n, lam, slope):
    """Choose the length of a step along `scratch.move`: 1, or a length at which a code becomes zero.

    Parameters
    ----------
    scratch : SignScratch, with the code z and the step `move`
    n : int, the size of the active set
    lam : float
    slope : float, pull move; the derivative of the objective at length 0 is -slope

    Returns
    -------
    length : float, with the lowest objective of these
    place : int, the place in the active set of the code that becomes zero, or -1
    helps : bool, True if the objective falls
    """
    z = scratch.z
    move = scratch.move
    length = 1.0
    crossing = -1
    lowest = _objective_change(1.0, scratch, n, lam, slope)
    for i in range(n):
        if z[i] * (z[i] + move[i]) < 0:
            change = _objective_change(-z[i] / move[i], scratch, n, lam, slope)
            if change < lowest:
                length, crossing, lowest = -z[i] / move[i], i, change
    return length, crossing, lowest < 0


@inlined()
def _objective_change(length, scratch, n, lam, slope):
    """Return the change of the objective (float) if the code z moves to z + length * move.

    It is (1/2 length^2 - length) slope for the current signs, and larger if a code changes its sign.  The
    factor of 1/2 length^2 is the slope because `move` solves gram move = pull.  Under a ridge it is smaller,
    and the true change is a little lower.

    Parameters
    ----------
    length : float
    scratch : SignScratch, with z, pull and move
    n : int, the size of the active set
    lam : float
    slope : float, pull move; the derivative of the objective at length 0 is -slope
    """
    z, pull, move = scratch.z, scratch.pull, scratch.move
    flipped = 0.0
    for i in range(n):
        end = z[i] + length * move[i]
        # The atom just activated has a code of zero and the sign of its pull.
        if (z[i] if z[i] != 0 else pull[i]) * end < 0:
            flipped += abs(end)
    return (0.5 * length**2 - length) * slope + 2 * lam * flipped


@inlined()
def find_largest_atom(q, maxima, largest):
    """Return the number of the first atom whose |q| equals `largest`, with the help of the maxima of chunks.

    q : correlations of all atoms; maxima : the largest |q| of each chunk; largest : the largest of all
    """
    atom = 0
    while maxima[atom // CHUNK] < largest:
        atom += CHUNK
    while abs(q[atom]) < largest:
        atom += 1
    return atom


@inlined()
def _activate_atom(q, maxima, largest, gram, lam, scratch, n):
    """Append the atom with the largest |q| to the active set, with the sign of its q; its code is still 0.

    Parameters
    ----------
    q, maxima : arrays, D (x - z D) and its largest magnitude in each chunk of atoms
    largest : float, the largest |q|
    gram : float64 array (n_atoms, n_atoms)
    lam : float, weight of the L1 norm
    scratch : SignScratch
    n : int, the size of the active set
    """
    atom = find_largest_atom(q, maxima, largest)
    scratch.atoms[n], scratch.z[n] = atom, 0.0
    scratch.pull[n] = q[atom] - lam * np.sign(q[atom])
    factorise_gram(gram, scratch.atoms[: n + 1], n, scratch.factor)
    return n + 1


@inlined()
def _drop_zeros(gram, n, scratch):
    """Remove atoms with the code 0 from the active set, update its Cholesky factor, and return its new size.

    gram : float64 array (n_atoms, n_atoms); n : int, number of active atoms; scratch : SignScratch
    """
    atoms, z = scratch.atoms, scratch.z
    kept, first = 0, n
    for i in range(n):
        if z[i] != 0:
            atoms[kept], z[kept] = atoms[i], z[i]
            kept += 1
        else:
            first = min(first, i)
    factorise_gram(gram, atoms[:kept], first, scratch.factor)
    return kept


@inlined(fastmath=SUMS)
def factorise_gram(gram, atoms, first, factor):
    """Compute the Cholesky factor of the Gram matrix of the active set, from row `first` on, in place.

    If an atom depends linearly on earlier atoms of the set, a tiny ridge keeps the factor finite.  The step
    towards the minimum is then very long, and the search stops it where a code becomes zero.

    Parameters
    ----------
    gram : float64 array (n_atoms, n_atoms)
    atoms : int array, the active set
    first : int, the first row to compute; earlier rows are unchanged
    factor : float64 array, the triangle of the factor, row after row
    """
    for i in range(first, len(atoms)):
        row, column = factor[i * (i + 1) // 2 :], gram[atoms[i]]
        for j in range(i + 1):
            earlier = factor[j * (j + 1) // 2 :]
            rest = column[atoms[j]] - dot(row, earlier, j)
            if j < i:
                row[j] = rest / earlier[j]
            else:
                row[i] = np.sqrt(max(rest, RIDGE * column[atoms[i]]))


@inlined(fastmath=SUMS)
def solve_cholesky(factor, move):
    """Solve L L^T y = b for a Cholesky factor L, by two substitutions.

    factor : float64 array, the triangle of L, row after row; move : float64 array, b, overwritten by y
    """
    n = len(move)
    for i in range(n):
        row = factor[i * (i + 1) // 2 :]
        move[i] = (move[i] - dot(row, move, i)) / row[i]
    for i in range(n - 1, -1, -1):
        row = factor[i * (i + 1) // 2 :]
        move[i] /= row[i]
        add_multiple(move, -move[i], row, i)


@inlined(fastmath=SUMS)
def refresh_correlations(q0, gram, atoms, z, n, q):
    """Compute the correlations q = D (x - z D) = q0 - z gram of all atoms, four rows of gram at a time.

    Parameters
    ----------
    q0 : float64 array (n_atoms,), D x
    gram : float64 array (n_atoms, n_atoms), D D^T
    atoms, z : arrays whose first n entries are the atoms of the code, and their values
    n : int, number of non-zeros of the code
    q : float64 array (n_atoms,), overwritten with the result
    """
    m = len(q)
    last = n - n % 4
    copy(q, q0, m)
    for i in range(0, last, 4):
        a, b, c, d = gram[atoms[i]], gram[atoms[i + 1]], gram[atoms[i + 2]], gram[atoms[i + 3]]
        za, zb, zc, zd = z[i], z[i + 1], z[i + 2], z[i + 3]
        for j in range(m):
            q[j] -= (za * a[j] + zb * b[j]) + (zc * c[j] + zd * d[j])
    for i in range(last, n):
        add_multiple(q, -z[i], gram[atoms[i]], m)


@kernel(fastmath=MAXIMA)
def store_maxima(q, maxima):
    """Store the largest |q| of every chunk of atoms in `maxima`, and return the largest of all."""
    largest = 0.0
    for c in range(len(maxima)):
        top = 0.0
        for j in range(c * CHUNK, min((c + 1) * CHUNK, len(q))):
            top = max(top, abs(q[j]))
        maxima[c] = top
        largest = max(largest, top)
    return largest


@inlined()
def _find_pull(q, lam, atoms, z, n, pull):
    """Compute the gradient q - lam sign(z) of each of n active atoms, and return its largest magnitude.

    q : array, correlations of all atoms; lam : float, weight of the L1 norm
    atoms, z : arrays of the active atoms and their codes; pull : array, overwritten with the gradient
    """
    violation = 0.0
    for i in range(n):
        pull[i] = q[atoms[i]] - lam * np.sign(z[i])
        violation = max(violation, abs(pull[i]))
    return violation

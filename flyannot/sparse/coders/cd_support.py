"""The lasso of one sample on a working set of atoms, solved one atom after the other.

The *support* holds the atoms whose code is not zero and at its minimum: q_k = lam sign(z_k) on it, for
q = D (x - z D).  An atom that joins moves to its own minimum while the codes of the support follow.  So every
step is exact, and the objective falls all along it.
"""

from typing import NamedTuple

import numpy as np

from flyannot.sparse.kernels import SUMS, add_multiple, copy, inlined
from flyannot.sparse.simd.gram_rows import add_outer, add_rows, gather_row, inner_product
from flyannot.sparse.simd.vectors import LANES

DEPENDENT = 32.0  # an atom depends on the support if its remainder is below this many roundings


class Support(NamedTuple):
    """The support of one sample (the atoms with non-zero codes), and the inverse of its Gram matrix.

    Arrays have room for s = min(n_atoms, n_features) atoms, padded; comments at the fields say more.

    capacity : int, s
    atoms : int (s,), the atoms in the order in which they joined
    place : int (s,), their places in the working set
    z : (s,), their codes
    inverse : (s, s), the inverse of the Gram matrix of the support, zero outside
    column : (s,), Gram entries between the support and one atom
    direction : (s,), inverse times column
    zeros : (s,), zeros
    """

    capacity: int  # s = min(n_atoms, n_features)
    atoms: np.ndarray  # integer (s padded), in the order of arrival; arbitrary padding
    place: np.ndarray  # integer (s padded): their places in the working set; arbitrary padding
    z: np.ndarray  # (s padded): their codes; not zero in the padding
    inverse: np.ndarray  # (s padded, s padded): inverse of gram on the support, zero outside
    column: np.ndarray  # (s padded): gram between the support and one atom
    direction: np.ndarray  # (s padded): inverse times column, zero outside
    zeros: np.ndarray  # (s padded)


class WorkingSet(NamedTuple):
    """The working set of one sample: its support, and atoms that may join the support.

    Arrays have room for all atoms, padded; s is the capacity of the support.

    atoms : int (n_atoms,), the numbers of its atoms
    q0 : (n_atoms,), D x
    q : (n_atoms,), D (x - z D)
    q_bits : the memory of q as integers; the bits of positive floats compare like the floats
    masks : int (n_atoms,), `compared` if the atom may join, otherwise 0
    compared : int, the bits of q by which the next atom is chosen: all except the sign; or all if codes must
        not be negative, so that a negative q is never the largest
    rows : (s, n_atoms), Gram entries between the support and the working set
    row : (n_atoms,), Gram entries between the atom that joins next and the working set
    """

    atoms: np.ndarray  # integer (n_atoms, padded)
    q0: np.ndarray  # (n_atoms, padded): D x
    q: np.ndarray  # (n_atoms, padded)
    q_bits: np.ndarray  # the same memory as integers; the bits of positive floats compare as integers
    masks: np.ndarray  # integer (n_atoms, padded): `compared` if the atom may join, or 0
    compared: int  # all bits except the sign; or all bits if codes must not be negative
    rows: np.ndarray  # (s padded, n_atoms padded): gram of support and set; padding is finite
    row: np.ndarray  # (n_atoms, padded): the row of the atom that joins next


@inlined()
def round_up_to_lanes(n):
    """Round the integer n up to a multiple of LANES, the numbers in a vector."""
    return (n + LANES - 1) // LANES * LANES


@inlined()
def finish_working_set(before, size, work):
    """Allow the atoms that were added last to a working set to join the support, and fill its padding.

    Parameters
    ----------
    before : int, the size of the working set before these atoms were added
    size : int, its present size
    work : WorkingSet
        Its padding gets the first atom, or zeros if the set is empty.
    """
    for j in range(before, size):
        work.masks[j] = work.compared
    for j in range(size, round_up_to_lanes(max(size, 1))):
        work.atoms[j], work.masks[j] = work.atoms[0], 0
        work.q0[j] = work.q0[0] if size > 0 else 0


@inlined()
def copy_gram_rows(gram, first, n, size, work, support):
    """Copy the Gram entries between the n atoms of the support and the working set to `work.rows`.

    Parameters
    ----------
    gram : float array (n_atoms, n_atoms)
    first, size : ints; only the columns of the atoms from `first` to `size` of the working set are copied
    n : int, the number of atoms in the support
    work, support : WorkingSet and Support
    """
    for i in range(n):
        gather_row(work.rows[i], gram, support.atoms[i], work.atoms, first, round_up_to_lanes(size))


@inlined()
def copy_gram_row(gram, k, size, work):
    """Copy the Gram entries between one atom of the working set and all its atoms to `work.row`.

    gram : float array (n_atoms, n_atoms); k : int, place of the atom in the set; size : int, size of the set
    """
    gather_row(work.row, gram, work.atoms[k], work.atoms, 0, round_up_to_lanes(size))


@inlined()
def compute_correlations(n, size, work, support):
    """Compute q = D (x - z D), the correlations with the residual, of the atoms of the working set.

    n : int, number of codes in the support; size : int, size of the set; work, support : WorkingSet, Support
    """
    column = support.column
    for i in range(round_up_to_lanes(max(n, 1))):
        column[i] = support.z[i] if i < n else 0
    add_rows(work.q, work.q0, -1.0, column, work.rows, work.rows.shape[1], n, round_up_to_lanes(max(size, 1)))


@inlined()
def restore_atom(k, code, n, size, gram, work, support):
    """Put an atom back into the support with its present code, optimal or not; return the support's new size.

    The size is unchanged if the atom depends linearly on the support.

    Parameters
    ----------
    k : int, the place of the atom in the working set
    code : float, its present code
    n, size : ints, the sizes of the support and of the working set
    gram : float array (n_atoms, n_atoms)
    work, support : WorkingSet and Support
    """
    row = work.row
    copy_gram_row(gram, k, size, work)
    curvature = _project_atom(k, n, row, support)
    if n == support.capacity or not curvature > _negligible_remainder(row[k]):
        return n
    return _join_support(k, code, curvature, n, size, work, support)


@inlined()
def _negligible_remainder(norm2):
    """Return the squared norm below which the part of an atom outside the span of others is rounding error.

    norm2 : float, the squared norm of the atom
    """
    return norm2 * type(norm2)(DEPENDENT * np.finfo(type(norm2)).eps)


@inlined()
def _project_atom(k, n, row, support):
    """Project an atom onto the span of the support.

    Parameters
    ----------
    k : int, the place of the atom in the working set
    n : int, the size of the support
    row : float array, Gram entries between the atom and the working set
    support : Support, whose `direction` gets the coefficients of the projection

    Returns
    -------
    norm2 : float, the squared norm of the part of the atom outside the span
    """
    for i in range(round_up_to_lanes(n)):
        support.column[i] = row[support.place[i]]
    _apply_inverse(n, support)
    return row[k] - inner_product(support.column, support.direction, round_up_to_lanes(n))


@inlined()
def polish_code(lam, n, size, work, support):
    """Move the n codes of the support to their common minimum, and return the new size of the support.

    A code that would change its sign on the way becomes zero and leaves the support.

    lam : float, weight of the L1 norm; n, size : ints, the sizes of the support and of the working set
    work, support : WorkingSet and Support
    """
    for _ in range(n):
        for i in range(n):
            support.column[i] = lam * np.sign(support.z[i]) - work.q[support.place[i]]
        _apply_inverse(n, support)
        length, first = _first_zero(support.z, support.direction, n, support.z.dtype.type(1))
        _step_along(length, n, size, work, support)
        if first < 0:
            break
        n = _leave_support(first, n, size, work, support)
    return n


@inlined()
def add_atom(k, code, n, size, lam, gram, work, support):
    """Move the code of an atom to its minimum, while the codes of the support follow at their optimum.

    Codes of the support that reach zero on the way leave it.  The atom joins the support unless its own code
    reaches zero.

    Parameters
    ----------
    k : int, the place of the atom in the working set
    code : float, its present code
    n : int, the size of the support
    size : int, the size of the working set
    lam : float, weight of the L1 norm
    gram : float array (n_atoms, n_atoms)
    work : WorkingSet
    support : Support

    Returns
    -------
    n : int, the new size of the support
    """
    row = work.row
    kind = work.row.dtype.type
    copy_gram_row(gram, k, size, work)
    while True:
        curvature = _project_atom(k, n, row, support)
        missing = work.q[k] - lam * np.sign(code if code != 0 else work.q[k])
        may_join = n < support.capacity and curvature > _negligible_remainder(row[k])  # not if nan
        # If it may not join, the objective falls or is flat until some code reaches zero.
        endless = kind(np.inf) * (missing if missing != 0 else -code)
        length = missing / curvature if may_join else endless
        length, first = _first_zero(support.z, support.direction, n, length)
        ends = not abs(length) < np.inf or (code != 0 and code * (code + length) <= 0)
        if ends:
            length, first = -code, -1
        _step_along(length, n, size, work, support)
        add_multiple(work.q, -length, row, round_up_to_lanes(size))
        code += length
        if first < 0:
            break
        n = _leave_support(first, n, size, work, support)
    work.masks[k] = 0
    if ends or not may_join:
        return n
    return _join_support(k, code, curvature, n, size, work, support)


@inlined()
def _apply_inverse(n, support):
    """Compute `support.direction`, the inverse Gram matrix of the support times `support.column`.

    The result is zero in the padding.

    n : int, the number of atoms in the support
    """
    inverse = support.inverse
    size = round_up_to_lanes(n)
    add_rows(support.direction, support.zeros, 1.0, support.column, inverse, inverse.shape[1], n, size)


@inlined()
def _first_zero(z, direction, n, length):
    """Find the first of n entries of the code z that becomes zero in z - t direction, for t up to `length`.

    Returns
    -------
    t : float, the t at which it becomes zero, or `length`
    i : int, the index of the entry, or -1 if none becomes zero
    """
    first = -1
    crosses = False
    for i in range(round_up_to_lanes(n)):  # the padding of z is not zero, to avoid false alarms
        crosses |= z[i] * (z[i] - length * direction[i]) <= 0
    if crosses:
        for i in range(n):
            if z[i] * (z[i] - length * direction[i]) <= 0 and direction[i] != 0:
                length, first = z[i] / direction[i], i
    return length, first


@inlined()
def _step_along(length, n, size, work, support):
    """Subtract `length` times `support.direction` from the codes of the support, and update q = D (x - z D).

    n, size : ints, the sizes of the support and of the working set; work, support : WorkingSet and Support
    """
    add_multiple(support.z, -length, support.direction, round_up_to_lanes(n))
    if work.compared < 0:  # of two codes that reach zero together, rounding can take one below it
        for i in range(n):
            support.z[i] = max(support.z[i], support.z[i] - support.z[i])
    add_rows(
        work.q, work.q, length, support.direction, work.rows, work.rows.shape[1], n, round_up_to_lanes(size)
    )


@inlined(fastmath=SUMS)
def _join_support(k, code, curvature, n, size, work, support):
    """Append an atom to the support, and extend the inverse of its Gram matrix by one row and column.

    Parameters
    ----------
    k : int, the place of the atom in the working set
    code : float, its code
    curvature : float, the squared norm of its part outside the span of the support
    n : int, the size of the support
    size : int, the size of the working set
    work : WorkingSet, whose `row` has the Gram entries of the atom
    support : Support, whose `direction` has the result of `_project_atom`
    """
    inverse, direction, column = support.inverse, support.direction, support.column
    scale = inverse.dtype.type(1) / curvature
    for j in range(round_up_to_lanes(n)):
        column[j] = -scale * direction[j]
    add_outer(inverse, inverse.shape[1], scale, direction, direction, n, round_up_to_lanes(n))
    for i in range(n):
        inverse[i, n] = column[i]
    copy(inverse[n], column, n)
    inverse[n, n] = scale
    copy(work.rows[n], work.row, round_up_to_lanes(size))
    support.atoms[n], support.place[n], support.z[n] = work.atoms[k], k, code
    return n + 1


@inlined(fastmath=SUMS)
def _leave_support(i, n, size, work, support):
    """Remove one of the n atoms of the support, at index i; the last one takes its place. Return n - 1.

    size : int, the size of the working set; work, support : WorkingSet and Support
    """
    inverse, column, last = support.inverse, support.column, n - 1
    copy(column, inverse[i], round_up_to_lanes(n))
    add_outer(inverse, inverse.shape[1], -1 / column[i], column, column, n, round_up_to_lanes(n))
    copy(inverse[i], inverse[last], round_up_to_lanes(n))
    for a in range(n):
        inverse[a, i], inverse[a, last] = inverse[a, last], 0
    for a in range(round_up_to_lanes(n)):
        inverse[last, a] = 0
    work.masks[support.place[i]] = work.compared
    copy(work.rows[i], work.rows[last], round_up_to_lanes(size))
    for entries in (support.atoms, support.place):
        entries[i] = entries[last]
    support.z[i] = support.z[last]
    return last

"""The lasso of one sample on a working set of atoms, solved one atom after the other.

The *support* holds the atoms whose code is not zero and is kept at its minimum: q_k = lam sign(z_k)
on it, for q = D (x - z D).  An atom that joins moves to its own minimum while the support gives way,
so every step is exact and the objective falls all along it.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from flyannot.runtime.compiled import compiled
from flyannot.sparse.simd.gram_rows import add_outer, add_rows, gather_row, inner_product, place_of_largest

LANES = 16  # rows are padded to this multiple, so that loops over them have no remainder
DEPENDENT = 32.0  # roundings of |d_k|^2 below which what the support leaves of d_k counts as nothing

# Sums may be reordered: bits depend on the processor, never on what else is coded.
FAST = {"nnan", "nsz", "contract", "reassoc"}

# numba counts the references to every array it takes out of a tuple, with locked instructions that
# cost more than the arithmetic here.  These kernels make no arrays, so the counting is switched off.
lean = partial(compiled, _nrt=False, error_model="numpy")
inlined = partial(lean, forceinline=True)


class Support(NamedTuple):
    """The support of one sample, with room for s atoms, and its inverse."""

    room: int  # s = min(n_atoms, n_features)
    atoms: np.ndarray  # integer (s padded), in the order of arrival; beyond them any atoms
    place: np.ndarray  # integer (s padded): where in the working set they are; beyond them any places
    z: np.ndarray  # (s padded): their codes; not zero beyond them
    inverse: np.ndarray  # (s padded, s padded): inverse of gram on the support, zero outside
    column: np.ndarray  # (s padded): gram between the support and one atom
    give: np.ndarray  # (s padded): inverse times column, zero outside
    zeros: np.ndarray  # (s padded)


class WorkingSet(NamedTuple):
    """The support and the atoms that may join it; room for all atoms."""

    atoms: np.ndarray  # integer (n_atoms, padded)
    q0: np.ndarray  # (n_atoms, padded): D x
    q: np.ndarray  # (n_atoms, padded)
    q_bits: np.ndarray  # the same memory as integers: without its sign a float compares as they do
    masks: np.ndarray  # integer (n_atoms, padded): all bits but the sign for atoms that may join, else 0
    rows: np.ndarray  # (s padded, n_atoms padded): gram between the support and the set, finite beyond
    row: np.ndarray  # (n_atoms, padded): the row of the atom that is about to join


@lean(fastmath={"contract", "reassoc"})  # and NaN stays NaN
def sum_squares(X, squares):
    """squares[i] = |X[i]|^2 in float64."""
    for i in range(len(X)):
        total = 0.0
        for j in range(X.shape[1]):
            total += np.float64(X[i, j]) * np.float64(X[i, j])
        squares[i] = total


@inlined()
def padded(n):
    """The multiple of LANES that n fits into."""
    return (n + LANES - 1) // LANES * LANES


@inlined()
def place_atom(atom, q0, may_join, size, work):
    """Append an atom to the working set; returns its new size."""
    work.atoms[size], work.q0[size] = atom, q0
    work.masks[size] = np.iinfo(work.masks.dtype).max if may_join else 0
    return size + 1


@inlined()
def end_set(size, work):
    """Repeat the first member in the padding, and zeros where there is none."""
    for j in range(size, padded(max(size, 1))):
        work.atoms[j], work.masks[j] = work.atoms[0], 0
        work.q0[j] = work.q0[0] if size > 0 else 0


@inlined()
def read_rows(gram, first, n, size, work, support):
    """Fetch gram between the n atoms of the support and the members of the set from `first` on."""
    for i in range(n):
        gather_row(work.rows[i], gram, support.atoms[i], work.atoms, first, padded(size))


@inlined()
def read_row(gram, k, size, work):
    """Fetch gram between member k and the set, and its padding."""
    gather_row(work.row, gram, work.atoms[k], work.atoms, 0, padded(size))


@inlined()
def correlate(n, size, work, support):
    """Make q afresh on the working set."""
    column = support.column
    for i in range(padded(max(n, 1))):
        column[i] = support.z[i] if i < n else 0
    add_rows(work.q, work.q0, -1.0, column, work.rows, work.rows.shape[1], n, padded(max(size, 1)))


@inlined()
def worst_member(size, work):
    """The place of the largest |q| among the atoms that may join; -1 where all are zero."""
    return place_of_largest(work.q_bits, work.masks, padded(size))


@inlined()
def adopt(k, code, n, size, gram, work, support):
    """Let member k join the support with its code as it is, which need not be at its minimum.

    Returns the size of the support: as it was, where the atom depends on those that are in it.
    """
    row = work.row
    read_row(gram, k, size, work)
    curvature = project(k, n, row, support)
    if n == support.room or not curvature > negligible(row[k]):
        return n
    return join(k, code, curvature, n, size, work, support)


@inlined()
def negligible(norm2):
    return norm2 * type(norm2)(DEPENDENT * np.finfo(type(norm2)).eps)


@inlined()
def project(k, n, row, support):
    """Leave in `give` the member of the given row as a combination of the support.

    Returns the squared norm of what the support leaves of it.
    """
    for i in range(padded(n)):
        support.column[i] = row[support.place[i]]
    times_inverse(n, support)
    return row[k] - inner_product(support.column, support.give, padded(n))


@inlined()
def settle(lam, n, size, work, support):
    """Bring the support to its minimum, or to fewer codes on the way; returns its size."""
    for _ in range(n):
        for i in range(n):
            support.column[i] = lam * np.sign(support.z[i]) - work.q[support.place[i]]
        times_inverse(n, support)
        length, first = first_zero(support.z, support.give, n, support.z.dtype.type(1))
        give_way(length, n, size, work, support)
        if first < 0:
            break
        n = drop(first, n, size, work, support)
    return n


@inlined()
def admit(k, code, n, size, lam, gram, work, support):
    """Bring the code of member k, now `code`, to its minimum while the support gives way.

    Codes of the support that reach zero on the way leave it.  Member k joins unless its own code
    does.  Returns the size of the support.
    """
    row, kind = work.row, work.row.dtype.type
    read_row(gram, k, size, work)
    while True:
        curvature = project(k, n, row, support)
        missing = work.q[k] - lam * np.sign(code if code != 0 else work.q[k])
        if n < support.room and curvature > negligible(row[k]):
            length = missing / curvature
        else:  # the objective falls, or is flat, until some code reaches zero
            length = kind(np.inf) * (missing if missing != 0 else -code)
        length, first = first_zero(support.z, support.give, n, length)
        ends = np.isinf(length) or (code != 0 and code * (code + length) <= 0)
        if ends:
            length, first = -code, -1
        give_way(length, n, size, work, support)
        subtract(work.q, length, row, padded(size))
        code += length
        if first < 0:
            break
        n = drop(first, n, size, work, support)
    work.masks[k] = 0
    if ends:
        return n
    return join(k, code, curvature, n, size, work, support)


@inlined()
def times_inverse(n, support):
    """give = inverse column; zero in the padding, where the inverse is."""
    inverse = support.inverse
    add_rows(support.give, support.zeros, 1.0, support.column, inverse, inverse.shape[1], n, padded(n))


@inlined()
def first_zero(z, give, n, length):
    """How far z - length give can go, up to `length`, before a code is zero, and which (-1: none)."""
    first, crosses = -1, False
    for i in range(padded(n)):  # the padding of z is not zero, or this is a false alarm
        crosses |= z[i] * (z[i] - length * give[i]) <= 0
    if crosses:
        for i in range(n):
            if z[i] * (z[i] - length * give[i]) <= 0 and give[i] != 0:
                length, first = z[i] / give[i], i
    return length, first


@inlined(fastmath=FAST)
def give_way(length, n, size, work, support):
    """z -= length give on the support, and q after it."""
    for i in range(padded(n)):
        support.z[i] -= length * support.give[i]
    add_rows(work.q, work.q, length, support.give, work.rows, work.rows.shape[1], n, padded(size))


@inlined(fastmath=FAST)
def subtract(q, factor, row, width):
    """q -= factor row."""
    for j in range(width):
        q[j] -= factor * row[j]


@inlined()
def copy_row(source, target, width):
    """target = source; array assignment would make a temporary copy."""
    for j in range(width):
        target[j] = source[j]


@inlined(fastmath=FAST)
def join(k, code, curvature, n, size, work, support):
    """Append member k to the support, whose inverse grows by one row and column.

    `work.row` is its row, and `give` what `project` left there.
    """
    inverse, give, column = support.inverse, support.give, support.column
    scale = inverse.dtype.type(1) / curvature
    for j in range(padded(n)):
        column[j] = -scale * give[j]
    add_outer(inverse, inverse.shape[1], scale, give, give, n, padded(n))
    for i in range(n):
        inverse[i, n] = column[i]
    copy_row(column, inverse[n], n)
    inverse[n, n] = scale
    copy_row(work.row, work.rows[n], padded(size))
    support.atoms[n], support.place[n], support.z[n] = work.atoms[k], k, code
    return n + 1


@inlined(fastmath=FAST)
def drop(i, n, size, work, support):
    """Take entry i out of the support, whose last entry moves to its place; returns the new size."""
    inverse, column, last = support.inverse, support.column, n - 1
    copy_row(inverse[i], column, padded(n))
    add_outer(inverse, inverse.shape[1], -1 / column[i], column, column, n, padded(n))
    copy_row(inverse[last], inverse[i], padded(n))
    for a in range(n):
        inverse[a, i], inverse[a, last] = inverse[a, last], 0
    for a in range(padded(n)):
        inverse[last, a] = 0
    work.masks[support.place[i]] = np.iinfo(work.masks.dtype).max
    copy_row(work.rows[last], work.rows[i], padded(size))
    support.atoms[i], support.place[i], support.z[i] = (
        support.atoms[last],
        support.place[last],
        support.z[last],
    )
    return last

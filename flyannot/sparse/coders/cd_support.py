"""The lasso of one sample on a working set of atoms, solved one atom after the other.

The *support* holds the atoms whose code is not zero and is kept at its minimum: q_k = lam sign(z_k)
on it, for q = D (x - z D).  An atom that joins moves to its own minimum while the support gives way,
so every step is exact and the objective falls all along it.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from flyannot.compiled import compiled

LANES = 16  # rows are padded to this multiple, so that loops over them have no remainder
DEPENDENT = 32.0  # roundings of |d_k|^2 below which what the support leaves of d_k counts as nothing

# Sums may be reordered: bits depend on the processor, never on what else is coded.
FAST = {"nnan", "nsz", "contract", "reassoc"}

# numba counts the references to every array it takes out of a tuple, with locked instructions that
# cost more than the arithmetic here.  These kernels make no arrays, so the counting is switched off.
lean = partial(compiled, _nrt=False, error_model="numpy")
inlined = partial(lean, forceinline=True)


class Support(NamedTuple):
    """The support of one sample, with room for s = min(n_atoms, n_features) atoms, and its inverse."""

    atoms: np.ndarray  # integer (s,), in the order of arrival
    place: np.ndarray  # integer (s padded): where in the working set they are
    z: np.ndarray  # (s padded): their codes
    inverse: np.ndarray  # (s padded, s padded): inverse of gram on the support, zero outside
    column: np.ndarray  # (s padded): gram between the support and one atom
    give: np.ndarray  # (s padded): inverse times column, zero outside


class WorkingSet(NamedTuple):
    """The support and the atoms that may join it; room for all atoms."""

    atoms: np.ndarray  # integer (n_atoms,)
    q: np.ndarray  # (n_atoms, padded)
    q_bits: np.ndarray  # the same memory as integers: without its sign a float compares as they do
    masks: np.ndarray  # integer (n_atoms, padded): all bits but the sign for atoms that may join, else 0
    rows: np.ndarray  # flat: gram between the support and the working set, row after padded row, finite
    row: np.ndarray  # (n_atoms, padded): the row of the atom that is about to join


@inlined()
def padded(n):
    """The multiple of LANES that n fits into."""
    return (n + LANES - 1) // LANES * LANES


@inlined()
def place_atom(atom, q, may_join, size, work):
    """Append an atom to the working set; returns its new size.  Its q is set to zero outside."""
    work.atoms[size], work.q[size], q[atom] = atom, q[atom], 0
    work.masks[size] = np.iinfo(work.masks.dtype).max if may_join else 0
    return size + 1


@inlined()
def read_rows(gram, n, size, work, support):
    """Fetch gram between the support, whose n atoms lead the working set, and the set."""
    width = padded(size)
    for j in range(size, width):
        work.q[j], work.masks[j] = 0, 0
    for i in range(n):
        support.place[i] = i
        read_row(gram, support.atoms[i], work.atoms, work.rows[i * width : (i + 1) * width])


@inlined()
def read_row(gram, atom, atoms, row):
    """gram between an atom and the working set; in the padding, whatever finite value comes."""
    source = gram[atom]
    for j in range(len(row)):
        row[j] = source[atoms[j]]


@inlined()
def worst_member(work, width):
    """The place of the largest |q| among the atoms that may join; -1 where all are zero."""
    bits, masks = work.q_bits, work.masks
    kind = bits.dtype.type
    top, place = kind(0), kind(-1)
    for j in range(width):
        top = max(top, kind(bits[j] & masks[j]))
    for j in range(width):  # two passes without branches beat one with them
        place = max(place, kind(j) if kind(bits[j] & masks[j]) == top else kind(-1))
    return place if top > 0 else kind(-1)


@inlined()
def settle(lam, n, width, work, support):
    """Bring the support back to its minimum after rounding; returns its size."""
    for _ in range(n):
        for i in range(n):
            support.column[i] = lam * np.sign(support.z[i]) - work.q[support.place[i]]
        times_inverse(n, support)
        length, first = first_zero(support.z, support.give, n, support.z.dtype.type(1))
        give_way(length, n, width, work, support)
        if first < 0:
            break
        n = drop(first, n, width, work, support)
    return n


@inlined()
def admit(k, code, n, size, lam, gram, work, support):
    """Bring the code of member k, now `code`, to its minimum while the support gives way.

    Codes of the support that reach zero on the way leave it.  Member k joins unless its own code
    does.  Returns the size of the support.
    """
    width, kind = padded(size), work.row.dtype.type
    row = work.row[:width]
    negligible = kind(DEPENDENT * np.finfo(row.dtype).eps)
    read_row(gram, work.atoms[k], work.atoms, row)
    while True:
        for i in range(padded(n)):
            support.column[i] = row[support.place[i]]
        times_inverse(n, support)
        curvature = row[k] - dot(support.column, support.give, padded(n))
        missing = work.q[k] - lam * np.sign(code if code != 0 else work.q[k])
        if n < len(support.atoms) and curvature > negligible * row[k]:
            length = missing / curvature
        else:  # the objective falls, or is flat, until some code reaches zero
            length = kind(np.inf) * (missing if missing != 0 else -code)
        length, first = first_zero(support.z, support.give, n, length)
        ends = np.isinf(length) or (code != 0 and code * (code + length) <= 0)
        if ends:
            length, first = -code, -1
        give_way(length, n, width, work, support)
        subtract(work.q, length, row)
        code += length
        if first < 0:
            break
        n = drop(first, n, width, work, support)
    work.masks[k] = 0
    if ends:
        return n
    copy_row(row, work.rows[n * width : (n + 1) * width])
    return join(k, code, curvature, n, work, support)


@inlined(fastmath=FAST)
def dot(a, b, width):
    """The inner product of the first entries."""
    total = a[0] - a[0]
    for j in range(width):
        total += a[j] * b[j]
    return total


@inlined()
def times_inverse(n, support):
    """give = inverse column; zero in the padding, where the inverse is."""
    for i in range(padded(n)):
        support.give[i] = dot(support.inverse[i], support.column, padded(n))


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
def give_way(length, n, width, work, support):
    """z -= length give on the support, and q after it, four atoms at a time."""
    z, give, rows, q = support.z, support.give, work.rows, work.q
    for i in range(padded(n)):
        z[i] -= length * give[i]
    for i in range(0, n, 4):  # beyond n the rows are finite and `give` is zero
        ga, gb, gc, gd = length * give[i], length * give[i + 1], length * give[i + 2], length * give[i + 3]
        a, b = rows[i * width : (i + 1) * width], rows[(i + 1) * width : (i + 2) * width]
        c, d = rows[(i + 2) * width : (i + 3) * width], rows[(i + 3) * width : (i + 4) * width]
        for j in range(width):
            q[j] += (ga * a[j] + gb * b[j]) + (gc * c[j] + gd * d[j])


@inlined(fastmath=FAST)
def subtract(q, factor, row):
    """q -= factor row."""
    for j in range(len(row)):
        q[j] -= factor * row[j]


@inlined()
def copy_row(source, target):
    """target = source; array assignment would make a temporary copy."""
    for j in range(len(source)):
        target[j] = source[j]


@inlined(fastmath=FAST)
def join(k, code, curvature, n, work, support):
    """Append member k to the support, whose inverse grows by one row and column."""
    inverse, give, column = support.inverse, support.give, support.column
    scale = inverse.dtype.type(1) / curvature
    for j in range(padded(n)):
        column[j] = -scale * give[j]
    for i in range(padded(n)):
        row, factor = inverse[i], -column[i]
        for j in range(padded(n)):
            row[j] += factor * give[j]
    for i in range(n):
        inverse[i, n] = column[i]
    copy_row(column[:n], inverse[n])
    inverse[n, n] = scale
    support.atoms[n], support.place[n], support.z[n] = work.atoms[k], k, code
    return n + 1


@inlined(fastmath=FAST)
def drop(i, n, width, work, support):
    """Take entry i out of the support, whose last entry moves to its place; returns the new size."""
    inverse, column, last = support.inverse, support.column, n - 1
    copy_row(inverse[i], column)
    scale = column.dtype.type(1) / column[i]
    for a in range(padded(n)):
        row, factor = inverse[a], column[a] * scale
        for j in range(padded(n)):
            row[j] -= factor * column[j]
    copy_row(inverse[last], inverse[i])
    for a in range(n):
        inverse[a, i], inverse[a, last] = inverse[a, last], 0
    inverse[last] = 0
    work.masks[support.place[i]] = np.iinfo(work.masks.dtype).max
    copy_row(work.rows[last * width : (last + 1) * width], work.rows[i * width : (i + 1) * width])
    support.atoms[i], support.place[i], support.z[i] = (
        support.atoms[last],
        support.place[last],
        support.z[last],
    )
    return last

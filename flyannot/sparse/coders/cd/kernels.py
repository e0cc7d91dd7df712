"""Kernels of the coordinate-descent coder: rounds over all atoms until the duality gap closes.

Each round makes q = D (x - z D) = q0 - z gram for all atoms, puts those that violate the optimality
conditions most into the working set, and solves that (`cd_support`).

For all atoms q is made from a copy of gram in bytes, which the cache holds.  That errs by at most
`error`, so the atoms with |q| > lam - error join the working set, where q is exact, and none of the
others can violate: the duality gap is as sharp as if q were exact everywhere.
"""

from typing import NamedTuple

import numpy as np

from flyannot.sparse.coders.cd.gram_bytes import correlate_all, mirrored
from flyannot.sparse.coders.cd.support import (
    LANES,
    Support,
    WorkingSet,
    admit,
    adopt,
    correlate,
    end_set,
    inlined,
    lean,
    padded,
    place_atom,
    read_row,
    read_rows,
    settle,
    subtract,
    worst_member,
)
from flyannot.sparse.simd.aligned import aligned_zeros
from flyannot.sparse.simd.atom_rows import lowest_bit
from flyannot.sparse.simd.gram_rows import CHUNK, above, largest_magnitude

ENTRANTS = 0.7  # atoms join the working set when |q| is at least this part of the largest
SLACK = 16.0  # roundings of |x| |d| that do not count as a violation
REBUILD = 8  # rounds after which the support is built afresh
AT_REST = 0.9  # part of the allowed gap to reach; a code to begin from may use a little more of it, so
AT_START = 0.95  # that a code that comes back is left as it is


class Problem(NamedTuple):
    """What all samples share."""

    gram: np.ndarray  # (n_atoms, n_atoms)
    bytes_: np.ndarray  # (n_atoms, n_atoms padded) unsigned: 128 + gram / scales, to the nearest
    scales: np.ndarray  # (n_atoms,) of the rows of `bytes_`
    norms: np.ndarray  # (n_atoms,)
    lam: float
    goal: float  # the allowed gap, as a part of |x|^2
    slack: float  # the largest violation that may be rounding, as a part of |x|
    max_sweeps: int


class Scratch(NamedTuple):
    """Room for one sample at a time."""

    q: np.ndarray  # (n_atoms, padded to whole chunks), in mirrored order
    q_bits: np.ndarray  # the same memory as integers: without its sign a float compares as they do
    high: np.ndarray  # signed bytes (n_atoms, padded): upper digits of a rounded code
    low: np.ndarray
    loads: np.ndarray  # integer (n_atoms, padded): atoms of a code that is to be built into the support
    load_codes: np.ndarray  # (n_atoms,)
    support: Support
    work: WorkingSet


def make_scratch(n_atoms, n_features, dtype):
    """Scratch for samples of one dictionary."""
    bits = np.int32 if dtype == np.float32 else np.int64
    q = aligned_zeros(-(-n_atoms // CHUNK) * CHUNK, dtype)
    n_support = min(n_atoms, n_features)
    width, n_padded = _padded(n_atoms), _padded(n_support)
    z = aligned_zeros(n_padded, dtype)
    support = Support(
        room=n_support,
        atoms=np.zeros(n_padded, np.uint32),
        place=np.zeros(n_padded, np.uint32),
        z=z + 1,
        inverse=aligned_zeros((n_padded, n_padded), dtype),
        column=aligned_zeros(n_padded, dtype),
        give=aligned_zeros(n_padded, dtype),
        zeros=aligned_zeros(n_padded, dtype),
    )
    # A loop that has nothing to gather does so once; and rows a page apart would share cache lines, as
    # those an odd number of lines apart do not.
    n_columns = (width + LANES) // (2 * LANES) * (2 * LANES) + LANES
    q_set = aligned_zeros(width, dtype)
    work = WorkingSet(
        atoms=np.zeros(n_columns, np.uint32),
        q0=aligned_zeros(width, dtype),
        q=q_set,
        q_bits=q_set.view(bits),
        masks=np.zeros(width, bits),
        rows=aligned_zeros((n_padded, n_columns), dtype),
        row=aligned_zeros(width, dtype),
    )
    high, low = np.zeros(width, np.int8), np.zeros(width, np.int8)
    loads, load_codes = np.zeros(width, np.uint32), np.zeros(n_atoms, dtype)
    return Scratch(q, q.view(bits), high, low, loads, load_codes, support, work)


def _padded(n):
    return -(-n // LANES) * LANES


@lean()
def encode_rows(Q, squares, start, problem, scratch, codes, is_solved):
    """Solve one sample after the other, and say which reached the allowed gap.

    Q holds D x of every sample in mirrored order, `squares` |x|^2, `start` the CSR arrays (first, atom,
    value) of the codes to begin from.  `codes` is (first, atom, value) too, with room for every possible
    code.
    """
    first, atom, value = codes
    first[0] = 0
    for i in range(len(squares)):
        n_loads = load_start(start, i, problem.gram, scratch)
        at = first[i]
        n, is_solved[i] = encode_row(Q[i], squares[i], n_loads, problem, scratch, atom[at:], value[at:])
        first[i + 1] = at + n


@lean()
def load_start(start, row, gram, scratch):
    """Read the starting code of a sample; what lies on a zero atom is left out."""
    first, atom, value = start
    n = 0
    for j in range(first[row], first[row + 1]):
        if value[j] != 0 and gram[atom[j], atom[j]] > 0:
            scratch.loads[n], scratch.load_codes[n] = atom[j], value[j]
            n += 1
    return n


@lean()
def encode_row(q0, square, n_loads, problem, scratch, atoms, codes):
    """Lower the objective from the loaded code until the gap closes.

    Ends early when no violation stands out from rounding.  Writes the code to `atoms` and `codes`, in
    the order of atoms, and returns its size and whether the gap is closed beyond doubt.
    """
    gram, lam, s, support, work = problem.gram, problem.lam, scratch, scratch.support, scratch.work
    slack, n, size = s.q.dtype.type(problem.slack * np.sqrt(square)), 0, 0
    solved = False
    for sweep in range(problem.max_sweeps):
        if n_loads > 0:
            bound, error = correlate_all(q0, s.loads, s.load_codes, n_loads, slack, problem, s)
        else:
            bound, error = correlate_all(q0, support.atoms, support.z, n, slack, problem, s)
        largest = mask_members(size, s)
        bar = max(bound, s.q.dtype.type(ENTRANTS) * largest)
        n_old, size = size, join_set(bar, q0, size, n_loads, s)
        if n_loads > 0:
            n, n_loads = adopt_loads(n_loads, size, gram, s)
        else:
            read_rows(gram, n_old, n, size, work, support)
            correlate(n, size, work, support)
        if bar <= bound and n_loads == 0:  # then all that may violate is in the set
            top = max(largest_magnitude(work.q, padded(size)), min(largest, bound) + error)
            allowed = (AT_REST if sweep else AT_START) * problem.goal * square
            doubt = rounding_of_gap(square, n, support, problem.norms)
            solved = gap_of(square, n, work, support, lam, top) + doubt <= allowed
            if solved or max(top - lam, breach_on(n, work, support, lam)) <= slack:
                break
        n = solve_set(n, n_loads, size, slack, problem, s)
        n_loads = 0
        if sweep % REBUILD == REBUILD - 1:
            n_loads, n, size = unload(n, s), 0, 0
    if n_loads == 0:
        n_loads = unload(n, s)
    return write_sorted(s.loads, s.load_codes, n_loads, atoms, codes), solved


@inlined()
def mask_members(size, s):
    """Set q to zero on the working set, where it is known better; returns the largest |q| of the others."""
    for i in range(size):
        s.q[mirrored(s.work.atoms[i])] = 0
    return largest_magnitude(s.q, len(s.q))


@lean()
def gap_of(square, n, work, support, lam, largest):
    """The duality gap of one sample, from its correlations.

    With c = min(1, lam / |q|_inf) it is 1/2 |r|^2 (1 - c)^2 + sum of lam |z_k| - c z_k q_k, because
    x r = |r|^2 + z q.  Near the minimum every term is small: no large ones cancel.
    """
    c = lam / largest if largest > lam else 1.0
    residual_square, mismatch = float(square), 0.0
    for i in range(n):
        k, z = support.place[i], support.z[i]
        residual_square -= z * (work.q0[k] + work.q[k])
        mismatch += lam * abs(z) - c * z * work.q[k]
    return 0.5 * max(residual_square, 0.0) * (1.0 - c) ** 2 + mismatch


@lean()
def rounding_of_gap(square, n, support, norms):
    """What rounding in q may hide of the gap: eps times the largest terms that cancel in z q."""
    mass = 0.0
    for i in range(n):
        mass += abs(support.z[i]) * norms[support.atoms[i]]
    return 2 * np.finfo(support.z.dtype).eps * mass * (np.sqrt(square) + mass)


@lean()
def breach_on(n, work, support, lam):
    """The largest |q_k - lam sign(z_k)| of the codes that are not zero."""
    breach = 0.0
    for i in range(n):
        breach = max(breach, abs(work.q[support.place[i]] - lam * np.sign(support.z[i])))
    return breach


@inlined()
def join_set(bar, q0, size, n_loads, s):
    """Let the loaded atoms and all with |q| > bar join the working set; returns its size."""
    for i in range(n_loads):
        place = mirrored(s.loads[i])
        s.q[place] = 0
        size = place_atom(s.loads[i], q0[place], True, size, s.work)
    for k in range(0, len(s.q), CHUNK):
        found = above(s.q, k, bar)
        while found:
            place = k + lowest_bit(found)
            found &= found - np.uint64(1)
            size = place_atom(mirrored(place), q0[place], True, size, s.work)
    end_set(size, s.work)
    return size


@inlined()
def adopt_loads(n_loads, size, gram, s):
    """Make the loaded code the support, and q exact on the working set.

    Returns the size of the support and the number of loads left over: atoms that depend on others.
    """
    work, n, n_left = s.work, 0, 0
    for i in range(n_loads):
        before = n
        n = adopt(i, s.load_codes[i], n, size, gram, work, s.support)
        if n > before:
            work.masks[i] = 0
        else:
            s.loads[n_left], s.load_codes[n_left] = i, s.load_codes[i]  # now its place in the set
            n_left += 1
    correlate(n, size, work, s.support)
    for i in range(n_left):
        read_row(gram, s.loads[i], size, work)
        subtract(work.q, s.load_codes[i], work.row, padded(size))
    return n, n_left


@inlined()
def solve_set(n, n_left, size, slack, problem, s):
    """Solve the working set, left-over loads first; returns the size of the support."""
    lam, work = problem.lam, s.work
    n = settle(lam, n, size, work, s.support)
    for step in range(n_left + 4 * size):
        if step < n_left:
            k, code = np.int64(s.loads[step]), s.load_codes[step]
        else:
            k, code = worst_member(size, work), lam - lam
            if k < 0 or abs(work.q[k]) <= lam + slack:
                break
        n = admit(k, code, n, size, lam, problem.gram, work, s.support)
    return n


@lean()
def unload(n, scratch):
    """Make the support a loaded code, and clear it; returns its size."""
    support = scratch.support
    for i in range(n):
        scratch.loads[i], scratch.load_codes[i] = support.atoms[i], support.z[i]
        for j in range(padded(n)):
            support.inverse[i, j] = 0
    return n


@lean()
def write_sorted(loads, load_codes, n, atoms, codes):
    """Write a code in the order of its atoms; returns its size."""
    for i in range(n):
        j = i
        while j > 0 and atoms[j - 1] > loads[i]:
            atoms[j], codes[j] = atoms[j - 1], codes[j - 1]
            j -= 1
        atoms[j], codes[j] = loads[i], load_codes[i]
    return n

"""Kernels of the coordinate-descent coder: rounds over all atoms until the duality gap closes.

Each round puts the atoms that violate the optimality conditions most into the working set, solves
that (`cd_support`), and makes q = D (x - z D) = q0 - z gram afresh for all atoms.
"""

from typing import NamedTuple

import numpy as np

from flyannot.sparse.coders.cd_support import (
    FAST,
    LANES,
    Support,
    WorkingSet,
    admit,
    lean,
    padded,
    place_atom,
    read_rows,
    settle,
    worst_member,
)

N_LANES = 128  # the largest |q| of each is kept, so that the search for violators skips most of q
ENTRANTS = 0.7  # atoms join the working set when |q| is at least this part of the largest
SLACK = 16.0  # roundings of |x| |d| that do not count as a violation
REBUILD = 8  # rounds after which the support is built afresh
AT_REST = 0.9  # part of the allowed gap to reach; a code to begin from may use a little more of it, so
AT_START = 0.95  # that a code that comes back is left as it is


class Problem(NamedTuple):
    """What all samples share."""

    gram: np.ndarray  # (n_atoms, n_atoms)
    norms: np.ndarray  # (n_atoms,)
    lam: float
    goal: float  # the allowed gap, as a part of |x|^2
    slack: float  # the largest violation that may be rounding, as a part of |x|
    max_sweeps: int


class Scratch(NamedTuple):
    """Room for one sample at a time."""

    q: np.ndarray  # (n_atoms, padded with zeros to a multiple of N_LANES)
    q_bits: np.ndarray  # the same memory as integers (n_rows, N_LANES): without its sign a float
    # compares as they do
    maxima: np.ndarray  # (N_LANES + 1,) largest |q| of each lane, and of all
    maxima_bits: np.ndarray
    found: np.ndarray  # integer (n_atoms + 1,): violators
    loads: np.ndarray  # integer (n_atoms,): atoms of a code that is to be built into the support
    load_codes: np.ndarray  # (n_atoms,)
    support: Support
    work: WorkingSet


def make_scratch(n_atoms, n_features, dtype):
    """Scratch for samples of one dictionary."""
    bits = np.int32 if dtype == np.float32 else np.int64
    q, maxima = _whole(n_atoms, N_LANES, dtype), np.zeros(N_LANES + 1, dtype)
    q_set = _whole(n_atoms, LANES, dtype)
    n_support, width = min(n_atoms, n_features), len(q_set)
    z = _whole(n_support, LANES, dtype)
    support = Support(
        atoms=np.zeros(n_support, np.uint32),
        place=np.zeros(len(z), np.uint32),
        z=z + 1,
        inverse=np.zeros((len(z), len(z)), dtype),
        column=np.zeros_like(z),
        give=np.zeros_like(z),
    )
    work = WorkingSet(
        atoms=np.zeros(width, np.uint32),
        q=q_set,
        q_bits=q_set.view(bits),
        masks=np.zeros(width, bits),
        rows=np.zeros(len(z) * width, dtype),
        row=np.zeros(width, dtype),
    )
    lanes = q.view(bits).reshape(-1, N_LANES)
    found, loads = np.zeros(len(q) + 1, np.uint32), np.zeros(n_atoms, np.uint32)
    load_codes = np.zeros(n_atoms, dtype)
    return Scratch(q, lanes, maxima, maxima.view(bits), found, loads, load_codes, support, work)


def _whole(n, multiple, dtype):
    return np.zeros(-(-n // multiple) * multiple, dtype)


@lean()
def encode_rows(Q, squares, start, problem, scratch, codes, is_solved):
    """Solve one sample after the other, and say which reached the allowed gap.

    Q holds D x of every sample, `squares` |x|^2, `start` the CSR arrays (first, atom, value) of the
    codes to begin from.  `codes` is (first, atom, value) too, with room for every possible code.
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
    gram, lam, s, support = problem.gram, problem.lam, scratch, scratch.support
    slack, n = s.q.dtype.type(problem.slack * np.sqrt(square)), 0
    solved = False
    for sweep in range(problem.max_sweeps):
        if n_loads > 0:
            held, z, size = s.loads, s.load_codes, n_loads
        else:
            held, z, size = support.atoms, support.z, n
        refresh_correlations(q0, gram, held, z, size, s.q)
        largest = lane_maxima(s.q_bits, s.maxima, s.maxima_bits)
        allowed = (AT_REST if sweep else AT_START) * problem.goal * square
        doubt = rounding_of_gap(square, held, z, size, problem.norms)
        solved = gap_of(square, q0, s.q, held, z, size, lam, largest) + doubt <= allowed
        if solved:
            break
        if max(largest - lam, breach_on(held, z, size, s.q, lam)) <= slack:
            break
        n = solve_round(max(lam + slack, s.q.dtype.type(ENTRANTS) * largest), n, n_loads, slack, problem, s)
        n_loads = 0
        if sweep % REBUILD == REBUILD - 1:
            n_loads = unload(n, s)
            n = 0
    if n_loads == 0:
        n_loads = unload(n, s)
    return write_sorted(s.loads, s.load_codes, n_loads, atoms, codes), solved


@lean(fastmath=FAST)
def refresh_correlations(q0, gram, atoms, z, n, q):
    """q = q0 - z gram, four rows of gram at a time."""
    last = n - n % 4
    if last > 0:
        a, b, c, d = gram[atoms[0]], gram[atoms[1]], gram[atoms[2]], gram[atoms[3]]
        za, zb, zc, zd = z[0], z[1], z[2], z[3]
        for j in range(len(gram)):
            q[j] = q0[j] - ((za * a[j] + zb * b[j]) + (zc * c[j] + zd * d[j]))
    else:
        for j in range(len(gram)):
            q[j] = q0[j]
    for i in range(4, last, 4):
        a, b, c, d = gram[atoms[i]], gram[atoms[i + 1]], gram[atoms[i + 2]], gram[atoms[i + 3]]
        za, zb, zc, zd = z[i], z[i + 1], z[i + 2], z[i + 3]
        for j in range(len(gram)):
            q[j] -= (za * a[j] + zb * b[j]) + (zc * c[j] + zd * d[j])
    for i in range(last, n):
        a, za = gram[atoms[i]], z[i]
        for j in range(len(gram)):
            q[j] -= za * a[j]


@lean()
def lane_maxima(q_bits, maxima, maxima_bits):
    """Store the largest |q| of every lane; returns the largest of all."""
    n_rows, n_lanes = q_bits.shape
    kind = q_bits.dtype.type
    unsigned = kind(np.iinfo(q_bits.dtype).max)
    for i in range(n_lanes):
        maxima_bits[i] = 0
    for row in range(n_rows):
        for i in range(n_lanes):
            maxima_bits[i] = max(maxima_bits[i], kind(q_bits[row, i] & unsigned))
    largest = kind(0)
    for i in range(n_lanes):
        largest = max(largest, maxima_bits[i])
    maxima_bits[n_lanes] = largest
    return maxima[n_lanes]


@lean()
def gap_of(square, q0, q, atoms, z, n, lam, largest):
    """The duality gap of one sample, from its correlations.

    With c = min(1, lam / |q|_inf) it is 1/2 |r|^2 (1 - c)^2 + sum of lam |z_k| - c z_k q_k, because
    x r = |r|^2 + z q.  Near the minimum every term is small: no large ones cancel.
    """
    c = lam / largest if largest > lam else 1.0
    residual_square, mismatch = float(square), 0.0
    for i in range(n):
        k = atoms[i]
        residual_square -= z[i] * (q0[k] + q[k])
        mismatch += lam * abs(z[i]) - c * z[i] * q[k]
    return 0.5 * max(residual_square, 0.0) * (1.0 - c) ** 2 + mismatch


@lean()
def rounding_of_gap(square, atoms, z, n, norms):
    """What rounding in q may hide of the gap: eps times the largest terms that cancel in z q."""
    mass = 0.0
    for i in range(n):
        mass += abs(z[i]) * norms[atoms[i]]
    return 2 * np.finfo(z.dtype).eps * mass * (np.sqrt(square) + mass)


@lean()
def breach_on(atoms, z, n, q, lam):
    """The largest |q_k - lam sign(z_k)| of the codes that are not zero."""
    breach = 0.0
    for i in range(n):
        breach = max(breach, abs(q[atoms[i]] - lam * np.sign(z[i])))
    return breach


@lean()
def solve_round(bar, n, n_loads, slack, problem, scratch):
    """Solve the working set: the support or the loaded code, and the atoms with |q| > bar.

    Returns the size of the support.
    """
    gram, lam, work, support = problem.gram, problem.lam, scratch.work, scratch.support
    size = fill_working_set(bar, n, n_loads, scratch)
    read_rows(gram, n, size, work, support)
    n = settle(lam, n, padded(size), work, support)
    for step in range(n_loads + 4 * size):
        if step < n_loads:
            k, code = step, scratch.load_codes[step]
        else:
            k, code = worst_member(work, padded(size)), lam - lam
            if k < 0 or abs(work.q[k]) <= lam + slack:
                break
        n = admit(k, code, n, size, lam, gram, work, support)
    return n


@lean()
def fill_working_set(bar, n, n_loads, scratch):
    """List the support, the loaded atoms and the violators; returns how many."""
    q, q_bits, work = scratch.q, scratch.q_bits, scratch.work
    maxima, maxima_bits = scratch.maxima, scratch.maxima_bits
    size, n_lanes = 0, len(maxima) - 1
    for i in range(n):
        size = place_atom(scratch.support.atoms[i], q, False, size, work)
    for i in range(n_loads):
        size = place_atom(scratch.loads[i], q, True, size, work)
    maxima[n_lanes] = bar  # read back as an integer
    bar_bits, unsigned = maxima_bits[n_lanes], np.iinfo(q_bits.dtype).max
    n_found = 0
    for lane in range(n_lanes):
        if maxima_bits[lane] > bar_bits:
            for row in range(len(q_bits)):  # without a branch that would often be mispredicted
                scratch.found[n_found] = row * n_lanes + lane
                n_found += q_bits[row, lane] & unsigned > bar_bits
    for i in range(n_found):
        size = place_atom(scratch.found[i], q, True, size, work)
    return size


@lean()
def unload(n, scratch):
    """Make the support a loaded code, and clear it; returns its size."""
    support = scratch.support
    for i in range(n):
        scratch.loads[i], scratch.load_codes[i] = support.atoms[i], support.z[i]
        support.inverse[i] = 0
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

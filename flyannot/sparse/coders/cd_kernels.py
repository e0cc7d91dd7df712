"""Kernels of the coordinate-descent coder: the lasso of one sample, on a working set of atoms.

Throughout, q = D (x - z D) = q0 - z gram.  The working set is `atoms[:n]`, in rising order, with
codes `z[:n]`; every other code is zero.
"""

from typing import NamedTuple

import numpy as np

from flyannot.compiled import compiled
from flyannot.sparse.kernels import shrink

CHUNK = 64  # atoms whose largest |q| is kept, so that the search for violators skips most of q
ENTRANTS = 0.75  # atoms join the working set when |q| is at least this part of the largest
N_SWEEPS = 3  # of coordinate descent before the closed form
N_TRIES = 50  # of both before q is made afresh
PIVOT = 16.0  # roundings below which a pivot of the Cholesky factor counts as zero
SLACK = 16.0  # roundings of the largest |q0| that do not count as a violation

# Only the order of a maximum, and the fusing of multiply and add, are left to the compiler.
_FAST = {"nnan", "nsz", "contract"}


class Problem(NamedTuple):
    """What all samples share."""

    gram: np.ndarray  # (n_atoms, n_atoms)
    lam: float
    tol: float
    max_sweeps: int
    n_features: int


class Scratch(NamedTuple):
    """Room for one sample at a time; n_atoms long unless said."""

    q: np.ndarray
    maxima: np.ndarray  # (n_chunks,) largest |q| of each chunk
    atoms: np.ndarray  # integer
    z: np.ndarray
    q_set: np.ndarray  # q on the working set
    gram_set: np.ndarray  # (n_atoms**2,): gram on the working set, n by n at its start
    factor: np.ndarray  # (n_atoms**2,): its Cholesky factor on the support
    move: np.ndarray  # the change of the codes on the support
    support: np.ndarray  # integer: places in the working set whose code is not zero


@compiled
def encode_rows(Q, squares, start, problem, scratch, codes):
    """Solve one sample after the other.

    Q holds D x of every sample, `squares` |x|^2, `start` the CSR arrays (first, atom, value) of the
    codes to begin from.  `codes` is (first, atom, value) too, and has room for every possible code.
    """
    first, atom, value = codes
    first[0] = 0
    for i in range(len(squares)):
        n = recall_code(start, i, problem.gram, scratch)
        n = encode_row(Q[i], squares[i], n, problem, scratch)
        first[i + 1] = first[i] + n
        for j in range(n):
            atom[first[i] + j], value[first[i] + j] = scratch.atoms[j], scratch.z[j]


@compiled
def recall_code(start, row, gram, scratch):
    """Make the starting code of a row the working set; a code on a zero atom is dropped."""
    first, atom, value = start
    n = 0
    for j in range(first[row], first[row + 1]):
        if value[j] != 0 and gram[atom[j], atom[j]] > 0:
            scratch.atoms[n], scratch.z[n] = atom[j], value[j]
            n += 1
    return n


@compiled
def encode_row(q0, square, n, problem, scratch):
    """Lower the objective from the codes of the working set until the gap closes; returns its size.

    Every code that is left is not zero.  Ends early when no violation stands out from rounding.
    """
    gram, lam, q, atoms, z = problem.gram, problem.lam, scratch.q, scratch.atoms, scratch.z
    slack = SLACK * np.finfo(q0.dtype).eps * chunk_maxima(q0, scratch.maxima)
    for _ in range(problem.max_sweeps):
        refresh_correlations(q0, gram, atoms, z, n, q)
        largest = chunk_maxima(q, scratch.maxima)
        if gap_of(square, q0, q, atoms, z, n, lam, largest) <= 0.5 * problem.tol * square:
            break
        if max(largest - lam, breach_on_support(q, atoms, z, n, lam)) <= slack:
            break
        n = add_violators(q, scratch.maxima, max(lam + slack, ENTRANTS * largest), scratch, n)
        n = solve_working_set(q, n, problem, slack, scratch)
    return n


@compiled(fastmath=_FAST)
def refresh_correlations(q0, gram, atoms, z, n, q):
    """q = q0 - z gram, four rows of gram at a time."""
    m = len(q)
    for j in range(m):
        q[j] = q0[j]
    last = n - n % 4
    for i in range(0, last, 4):
        a, b, c, d = gram[atoms[i]], gram[atoms[i + 1]], gram[atoms[i + 2]], gram[atoms[i + 3]]
        za, zb, zc, zd = z[i], z[i + 1], z[i + 2], z[i + 3]
        for j in range(m):
            q[j] -= za * a[j] + zb * b[j] + zc * c[j] + zd * d[j]
    for i in range(last, n):
        a, za = gram[atoms[i]], z[i]
        for j in range(m):
            q[j] -= za * a[j]


@compiled(fastmath=_FAST)
def chunk_maxima(q, maxima):
    """Store the largest |q| of every chunk of atoms; returns the largest of all."""
    largest = abs(q[0])
    for c in range(len(maxima)):
        top = abs(q[c * CHUNK])
        for j in range(c * CHUNK, min((c + 1) * CHUNK, len(q))):
            top = max(top, abs(q[j]))
        maxima[c] = top
        largest = max(largest, top)
    return largest


@compiled
def gap_of(square, q0, q, atoms, z, n, lam, largest):
    """The duality gap of one sample, from its correlations.

    With s = min(1, lam / |q|_inf) it is 1/2 |r|^2 (1 - s)^2 + sum of lam |z_k| - s z_k q_k, because
    x r = |r|^2 + z q.  Near the minimum every term is small: no large ones cancel.
    """
    s = lam / largest if largest > lam else 1.0
    residual_square, mismatch = float(square), 0.0
    for i in range(n):
        k = atoms[i]
        residual_square -= z[i] * (q0[k] + q[k])
        mismatch += lam * abs(z[i]) - s * z[i] * q[k]
    return 0.5 * max(residual_square, 0.0) * (1.0 - s) ** 2 + mismatch


@compiled
def breach_on_support(q, atoms, z, n, lam):
    """The largest |q_k - lam sign(z_k)| of the codes that are not zero."""
    breach = 0.0
    for i in range(n):
        breach = max(breach, abs(q[atoms[i]] - lam * np.sign(z[i])))
    return breach


@compiled
def add_violators(q, maxima, bar, scratch, n):
    """Put every atom with |q| >= bar into the working set, at code zero; returns the new size."""
    for c in range(len(maxima)):
        if maxima[c] >= bar:
            for j in range(c * CHUNK, min((c + 1) * CHUNK, len(q))):
                if abs(q[j]) >= bar:
                    n = insert_atom(j, scratch.atoms, scratch.z, n)
    return n


@compiled
def insert_atom(atom, atoms, z, n):
    """Keep atoms[:n] rising; an atom that is there already stays as it is."""
    place = n
    while place > 0 and atoms[place - 1] >= atom:
        place -= 1
    if place < n and atoms[place] == atom:
        return n
    for j in range(n, place, -1):
        atoms[j], z[j] = atoms[j - 1], z[j - 1]
    atoms[place], z[place] = atom, 0
    return n + 1


@compiled
def solve_working_set(q, n, problem, slack, scratch):
    """Solve the lasso on the working set; what ends at zero leaves it.  Returns its new size."""
    lam, z, q_set = problem.lam, scratch.z, scratch.q_set
    gram_set = scratch.gram_set[: n * n].reshape(n, n)
    gather_working_set(q, problem.gram, scratch.atoms[:n], q_set, gram_set)
    for _ in range(N_TRIES):
        for _ in range(N_SWEEPS):
            sweep(gram_set, q_set, z, lam)
        n_support = find_support(z, n, scratch.support)
        if n_support <= problem.n_features:
            step_to_minimum(gram_set, lam, n_support, scratch)
        if breach_of_set(q_set, z, n, lam) <= slack:
            break
    return drop_zeros(scratch.atoms, z, n)


@compiled
def gather_working_set(q, gram, atoms, q_set, gram_set):
    """Copy q and gram on the working set."""
    for i in range(len(atoms)):
        row = gram[atoms[i]]
        q_set[i] = q[atoms[i]]
        for j in range(len(atoms)):
            gram_set[i, j] = row[atoms[j]]


@compiled
def sweep(gram_set, q_set, z, lam):
    """Re-solve every code of the working set in turn; the invariant is that of q."""
    n = len(gram_set)
    for i in range(n):
        curvature = gram_set[i, i]
        change = shrink(q_set[i] + curvature * z[i], lam) / curvature - z[i]
        if change != 0:
            z[i] += change
            for j in range(n):
                q_set[j] -= change * gram_set[i, j]


@compiled
def find_support(z, n, support):
    """List the places of the codes that are not zero; returns how many."""
    n_support = 0
    for i in range(n):
        if z[i] != 0:
            support[n_support] = i
            n_support += 1
    return n_support


@compiled
def step_to_minimum(gram_set, lam, n_support, scratch):
    """Move the support to its minimum for fixed signs, or as far as the first code to reach zero.

    The objective is quadratic along the way and falls all along it.
    """
    z, q_set, move, support = scratch.z, scratch.q_set, scratch.move, scratch.support
    factor = scratch.factor[: n_support * n_support].reshape(n_support, n_support)
    factorise(gram_set, support, factor)
    for i in range(n_support):
        move[i] = q_set[support[i]] - lam * np.sign(z[support[i]])
    substitute(factor, move)
    length, first = 1.0, -1
    for i in range(n_support):
        code = z[support[i]]
        if code * (code + move[i]) <= 0 and -code / move[i] <= length:
            length, first = -code / move[i], i
    for i in range(n_support):
        change = length * move[i]
        z[support[i]] += change
        for j in range(len(gram_set)):
            q_set[j] -= change * gram_set[support[i], j]
    if first >= 0:
        z[support[first]] = 0


@compiled
def factorise(gram_set, support, factor):
    """The Cholesky factor of gram on the support, in the lower triangle.

    An atom that depends on those before it gets an infinite pivot, and so a move of zero.
    """
    eps = np.finfo(gram_set.dtype).eps
    for i in range(len(factor)):
        for j in range(i + 1):
            rest = gram_set[support[i], support[j]]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = rest / factor[j, j]
            elif rest > PIVOT * eps * gram_set[support[i], support[i]]:
                factor[i, i] = np.sqrt(rest)
            else:
                factor[i, i] = np.inf


@compiled
def substitute(factor, move):
    """Solve factor factor^T move' = move in place."""
    n = len(factor)
    for i in range(n):
        for k in range(i):
            move[i] -= factor[i, k] * move[k]
        move[i] /= factor[i, i]
    for i in range(n - 1, -1, -1):
        move[i] /= factor[i, i]
        for k in range(i):
            move[k] -= factor[i, k] * move[i]


@compiled
def breach_of_set(q_set, z, n, lam):
    """The largest breach of the optimality conditions on the working set."""
    breach = 0.0
    for i in range(n):
        if z[i] != 0:
            breach = max(breach, abs(q_set[i] - lam * np.sign(z[i])))
        else:
            breach = max(breach, abs(q_set[i]) - lam)
    return breach


@compiled
def drop_zeros(atoms, z, n):
    """Close the gaps that codes of zero leave; returns the new size."""
    kept = 0
    for i in range(n):
        if z[i] != 0:
            atoms[kept], z[kept] = atoms[i], z[i]
            kept += 1
    return kept

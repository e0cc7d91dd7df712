"""Kernels of the coordinate-descent coder: rounds over all atoms until the duality gap closes.

Each round makes q = D (x - z D) = q0 - z gram for all atoms, puts those that violate the optimality
conditions most into the working set, and solves that (`flyannot.sparse.coders.cd.support`).

For all atoms q is made from a copy of gram in bytes, which the cache holds.  That errs by at most
`error`, so the atoms with |q| > lam - error join the working set, where q is exact, and none of the
others can violate: the duality gap is as sharp as if q were exact everywhere.

The Gram matrix of 1,000 atoms does not fit into the cache of a core.  What a round will read of it is asked
for in advance, all atoms at once, since each step would wait for its own.
"""

import numpy as np

from flyannot.sparse.coders.cd.gram_bytes import correlate_all, mirrored
from flyannot.sparse.coders.cd.support import (
    add_atom,
    correlate,
    end_set,
    padded,
    polish_code,
    read_row,
    read_rows,
    restore_atom,
    take_inverted,
    worst_member,
)
from flyannot.sparse.kernels import add_multiple, gap_of, inlined, kernel, read_start
from flyannot.sparse.simd.gram_rows import (
    append_above,
    fetch_bytes,
    fetch_entries,
    largest_magnitude,
    largest_of_all,
)

ENTRANTS = 0.7  # atoms join the working set when |q| is at least this part of the largest
REBUILD = 8  # rounds after which the support is built afresh
AT_REST = 0.9  # part of the allowed gap to reach; a code to begin from may use a little more of it, so
AT_START = 0.95  # that a code that comes back is left as it is


@kernel
def encode_rows(Q, squares, start, problem, scratch, codes, is_solved):
    """Solve one sample after the other, and say which reached the allowed gap.

    `flyannot.sparse.coders.blocks.codes_in_blocks` says from what; Q is in mirrored order.
    """
    first, atom, value = codes
    first[0] = 0
    for i in range(len(squares)):
        n_pending = read_start(start, i, problem.gram, scratch.pending, scratch.pending_codes)
        at = first[i]
        n, is_solved[i] = _encode_row(Q[i], squares[i], n_pending, problem, scratch, atom[at:], value[at:])
        first[i + 1] = at + n


@kernel
def _encode_row(q0, square, n_pending, problem, scratch, atoms, codes):
    """Lower the objective from the pending code until the gap closes.

    Ends early when no violation stands out from rounding.  Writes the code to `atoms` and `codes`, in
    the order of atoms, and returns its size and whether the gap is closed beyond doubt.
    """
    gram, lam, s, support, work = problem.gram, problem.lam, scratch, scratch.support, scratch.work
    slack, n, size = s.q.dtype.type(problem.slack * np.sqrt(square)), 0, 0
    solved = False
    for sweep in range(problem.max_sweeps):
        if n_pending > 0:
            bound, error = correlate_all(q0, s.pending, s.pending_codes, n_pending, slack, problem, s)
        else:
            bound, error = correlate_all(q0, support.atoms, support.z, n, slack, problem, s)
        largest = _mask_members(size, s)
        bar = max(bound, s.q.dtype.type(ENTRANTS) * largest)
        n_old, size = size, _join_set(bar, q0, size, n_pending, s)
        if n_pending > 0:
            n, n_pending = _restore_pending(n_pending, size, gram, s)
        else:
            read_rows(gram, n_old, n, size, work, support)
            correlate(n, size, work, support)
        if bar <= bound and n_pending == 0:  # then all that may violate is in the set
            top = max(largest_magnitude(work.q, padded(size)), min(largest, bound) + error)
            allowed = (AT_REST if sweep else AT_START) * problem.goal * square
            doubt = _rounding_of_gap(square, n, support, problem.norms)
            solved = gap_of(square, work.q0, work.q, support.place, support.z, n, lam, top) + doubt <= allowed
            if solved or max(top - lam, _violation_on(n, work, support, lam)) <= slack:
                break
        n = _solve_set(n, n_pending, size, slack, problem, s)
        n_pending = 0
        if sweep % REBUILD == REBUILD - 1:
            n_pending, n, size = _set_aside(n, s), 0, 0
    if n_pending == 0:
        n_pending = _set_aside(n, s)
    return _write_sorted(s.pending, s.pending_codes, n_pending, atoms, codes), solved


@inlined()
def _mask_members(size, s):
    """Set q to zero on the working set, where it is known better; returns the largest |q| of the others."""
    for i in range(size):
        s.q[mirrored(s.work.atoms[i])] = 0
    return largest_of_all(s.q)


@kernel
def _rounding_of_gap(square, n, support, norms):
    """What rounding in q may hide of the gap: eps times the largest terms that cancel in z q."""
    mass = 0.0
    for i in range(n):
        mass += abs(support.z[i]) * norms[support.atoms[i]]
    return 2 * np.finfo(support.z.dtype).eps * mass * (np.sqrt(square) + mass)


@kernel
def _violation_on(n, work, support, lam):
    """The largest |q_k - lam sign(z_k)| of the codes that are not zero."""
    violation = 0.0
    for i in range(n):
        violation = max(violation, abs(work.q[support.place[i]] - lam * np.sign(support.z[i])))
    return violation


@inlined()
def _join_set(bar, q0, size, n_pending, s):
    """Let the pending atoms and all with |q| > bar join the working set; returns its size."""
    for i in range(n_pending):
        place = mirrored(s.pending[i])
        s.q[place] = 0
        s.work.atoms[size + i], s.work.q0[size + i] = s.pending[i], q0[place]
    before, size = size, append_above(s.q, q0, bar, s.work.atoms, s.work.q0, size + n_pending)
    end_set(before, size, s.work)
    return size


@inlined()
def _restore_pending(n_pending, size, gram, s):
    """Make the pending code the support, and q exact on the working set.

    Returns the size of the support and the number of pending atoms left over, which depend on others.
    """
    work, n, n_left = s.work, 0, 0
    if s.n_inverted[0] == n_pending:
        n, s.n_inverted[0] = take_inverted(n_pending, s.pending_codes, size, gram, work, s.support), 0
    for i in range(n, n_pending):
        before = n
        n = restore_atom(i, s.pending_codes[i], n, size, gram, work, s.support)
        if n > before:
            work.masks[i] = 0
        else:
            s.pending[n_left], s.pending_codes[n_left] = i, s.pending_codes[i]  # now its place in the set
            n_left += 1
    correlate(n, size, work, s.support)
    for i in range(n_left):
        read_row(gram, s.pending[i], size, work)
        add_multiple(work.q, -s.pending_codes[i], work.row, padded(size))
    return n, n_left


@inlined()
def _solve_set(n, n_left, size, slack, problem, s):
    """Solve the working set, atoms left over first; returns the size of the support."""
    lam, work = problem.lam, s.work
    for k in range(size):
        if work.masks[k] != 0 and abs(work.q[k]) > lam:
            fetch_entries(problem.gram, work.atoms[k], work.atoms, size)
    n = polish_code(lam, n, size, work, s.support)
    for step in range(n_left + 4 * size):
        if step < n_left:
            k, code = np.int64(s.pending[step]), s.pending_codes[step]
        else:
            k, code = worst_member(size, work), lam - lam
            if k < 0 or abs(work.q[k]) <= lam + slack:
                break
        fetch_bytes(problem.bytes_, work.atoms[k])
        n = add_atom(k, code, n, size, lam, problem.gram, work, s.support)
    return n


@kernel
def _set_aside(n, scratch):
    """Make the support a pending code, and clear it; returns its size."""
    support = scratch.support
    for i in range(n):
        scratch.pending[i], scratch.pending_codes[i] = support.atoms[i], support.z[i]
        for j in range(padded(n)):
            support.inverse[i, j] = 0
    return n


@kernel
def _write_sorted(pending, pending_codes, n, atoms, codes):
    """Write a code in the order of its atoms; returns its size."""
    for i in range(n):
        j = i
        while j > 0 and atoms[j - 1] > pending[i]:
            atoms[j], codes[j] = atoms[j - 1], codes[j - 1]
            j -= 1
        atoms[j], codes[j] = pending[i], pending_codes[i]
    return n

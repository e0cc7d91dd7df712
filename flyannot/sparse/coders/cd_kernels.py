"""Kernels of the coordinate-descent coder: rounds over all atoms until the duality gap closes.

Each round computes q = D (x - z D) = q0 - z gram for all atoms.  The atoms that violate the optimality
conditions most join the working set, and that is solved (`cd_support`).

For all atoms q is computed from a copy of gram in bytes.  The bytes of 1,000 atoms fit in the cache of a
core, but gram itself does not.  The error of q is at most `error`.  So the atoms with |q| > lam - error join
the working set, where q is exact, and no other atom can violate the conditions.  The duality gap is as sharp
as if q were exact everywhere.  Rows of 64 atoms are interleaved on the way, which leaves q in a permuted
order, called mirrored order (`mirrored_index`).

A code is pending while its atoms are not in the working set: at the start, and when a support is built
afresh.
"""

import numpy as np

from flyannot.sparse.coders.cd_support import (
    add_atom,
    compute_correlations,
    copy_gram_row,
    copy_gram_rows,
    finish_working_set,
    polish_code,
    restore_atom,
    round_up_to_lanes,
)
from flyannot.sparse.kernels import (
    add_multiple,
    copy,
    duality_gap_from_correlations,
    inlined,
    kernel,
    read_start_code,
    track_gap,
)
from flyannot.sparse.simd.gram_rows import (
    DIGIT,
    FOUR,
    append_above,
    find_largest,
    largest_magnitude,
    max_magnitude_of_chunks,
    mirrored_index,
    subtract_weighted_rows,
)

ENTRANTS = 0.7  # atoms join the working set if |q| is at least this fraction of the largest
REBUILD = 8  # rounds after which the support is built afresh
AT_REST = 0.9  # fraction of the allowed gap to reach
AT_START = 0.95  # the same for a start code, so that a result given as start does not change
COARSE = 0.2  # fraction of lam above which the error of bytes adds too many atoms
HALF = 0.5005  # the error of a rounded number, with a margin
LARGEST = 127 << DIGIT  # the largest number of two signed digits
LARGEST_SUM = 1 << 23  # the largest sum of numbers whose products with bytes fit in 32 bits

mirrored = inlined()(mirrored_index)


@kernel
def encode_rows(Q, squares, start, problem, scratch, codes, largest):
    """Solve one sample after the other by coordinate descent.

    Parameters
    ----------
    Q : float array (n, n_atoms padded), D x of each sample, in mirrored order (module docstring)
    problem : CDProblem
    scratch : CDScratch
    squares, start, codes, largest : as `solve_in_blocks` describes for a kernel
    """
    first, atom, value = codes
    first[0] = 0
    for i in range(len(squares)):
        n_pending = read_start_code(start, i, problem.gram, scratch.pending, scratch.pending_codes)
        at = first[i]
        n, largest[i] = _encode_row(Q[i], squares[i], n_pending, problem, scratch, atom[at:], value[at:])
        first[i + 1] = at + n


@kernel
def _encode_row(q0, square, n_pending, problem, scratch, atoms, codes):
    """Solve the lasso of one sample in rounds over all atoms, until its duality gap is small enough.

    The rounds begin at the start code, which `scratch.pending` and `scratch.pending_codes` contain.  They
    also end if only rounding is left to violate the optimality conditions.

    Parameters
    ----------
    q0 : float array (n_atoms padded), D x, in mirrored order (module docstring)
    square : float, |x|^2
    n_pending : int, the number of non-zeros of the start code
    problem : CDProblem
    scratch : CDScratch
    atoms, codes : arrays that get the code, sorted by atom

    Returns
    -------
    n : int, the number of non-zeros
    largest : float, the largest |q|; inf if the code has moved since q was computed
    """
    gram, lam, s, support, work = problem.gram, problem.lam, scratch, scratch.support, scratch.work
    slack = s.q.dtype.type(problem.slack * np.sqrt(square))
    n = size = n_stale = np.int64(0)  # a literal 0 would compile the called kernels twice
    top = s.q.dtype.type(np.inf)
    is_at_rest = False
    best = np.inf
    for sweep in range(problem.max_sweeps):
        if n_pending > 0:
            bound, error = correlate_all(q0, s.pending, s.pending_codes, n_pending, slack, problem, s)
        else:
            bound, error = correlate_all(q0, support.atoms, support.z, n, slack, problem, s)
        for i in range(size):  # q is known exactly on the working set
            s.q[mirrored(s.work.atoms[i])] = 0
        if problem.positive:  # no atom joins for a negative q
            for j in range(len(s.q)):
                s.q[j] = max(s.q[j], s.q[j] - s.q[j])
        largest = max_magnitude_of_chunks(s.q)
        bar = max(bound, s.q.dtype.type(ENTRANTS) * largest)
        n_old = size
        size = _grow_working_set(bar, q0, size, n_pending, s)
        if n_pending > 0:
            n, n_pending = _restore_pending(n_pending, size, gram, s)
        else:
            copy_gram_rows(gram, n_old, n, size, work, support)
            compute_correlations(n, size, work, support)
        if bar <= bound and n_pending == 0:  # the set then has all atoms that may violate
            top = max(_largest_correlation(size, problem.positive, work), min(largest, bound) + error)
            allowed = (AT_REST if sweep else AT_START) * problem.goal * square
            doubt, violation = _measure_accuracy(square, n, support, problem.norms, work, lam)
            gap = duality_gap_from_correlations(
                square, work.q0, work.q, support.place, support.z, n, lam, top
            )
            best, n_stale = track_gap(gap, best, n_stale)
            is_at_rest = (
                gap + doubt <= allowed or n_stale > problem.patience or max(top - lam, violation) <= slack
            )
            if is_at_rest:
                break
        n = _solve_working_set(n, n_pending, size, slack, problem, s)
        n_pending = 0
        if sweep % REBUILD == REBUILD - 1:
            n_pending = _store_pending(n, s)
            n = size = np.int64(0)
    if n_pending == 0:
        n_pending = _store_pending(n, s)
    largest = float(top) if is_at_rest else np.inf
    return _write_sorted(s.pending, s.pending_codes, n_pending, atoms, codes), largest


@kernel
def _measure_accuracy(square, n, support, norms, work, lam):
    """Bound how much rounding can falsify the duality gap of a sample, and measure how optimal its code z is.

    Parameters
    ----------
    square : float, |x|^2 of the sample x
    n : int, the number of atoms in the support
    support : Support, with the code
    norms : (n_atoms,), |d| of each atom d
    work : WorkingSet, with the correlations q = D (x - z D)
    lam : float, weight of the L1 norm

    Returns
    -------
    hidden : float, a bound on the error of the gap: eps times the largest terms that cancel in z q
    violation : float, the largest |q_k - lam sign(z_k)| on the support
    """
    mass, violation = 0.0, 0.0
    for i in range(n):
        mass += abs(support.z[i]) * norms[support.atoms[i]]
        violation = max(violation, abs(work.q[support.place[i]] - lam * np.sign(support.z[i])))
    return 2 * np.finfo(support.z.dtype).eps * mass * (np.sqrt(square) + mass), violation


@inlined()
def _largest_correlation(size, positive, work):
    """Return the largest |q| of the working set, or the largest q (at least 0) if codes must not be negative.

    size : int, its number of atoms; positive : bool, True if codes must not be negative
    work : WorkingSet, with the correlations q = D (x - z D)
    """
    if not positive:
        return largest_magnitude(work.q, round_up_to_lanes(size))
    largest = work.q.dtype.type(0)
    for j in range(size):
        largest = max(largest, work.q[j])
    return largest


@inlined()
def _grow_working_set(bar, q0, size, n_pending, s):
    """Add the pending atoms, and all atoms with |q| > bar, to the working set; return its new size.

    Parameters
    ----------
    bar : float, the least |q| with which an atom joins
    q0 : float array (n_atoms padded), D x of the sample x, in mirrored order (module docstring)
    size : int, the size of the working set
    n_pending : int, the number of pending atoms
    s : CDScratch, with q = D (x - z D) of the code z so far
    """
    for i in range(n_pending):
        place = mirrored(s.pending[i])
        s.q[place] = 0
        s.work.atoms[size + i], s.work.q0[size + i] = s.pending[i], q0[place]
    before = size
    size = append_above(s.q, q0, bar, s.work.atoms, s.work.q0, size + n_pending)
    finish_working_set(before, size, s.work)
    return size


@inlined()
def _restore_pending(n_pending, size, gram, s):
    """Move the pending code of a sample into the support, and compute q = D (x - z D) on the working set.

    Parameters
    ----------
    n_pending : int, the number of non-zeros of the pending code
    size : int, the size of the working set
    gram : float array (n_atoms, n_atoms), D D^T
    s : CDScratch of this sample

    Returns
    -------
    n : int, the size of the support
    n_left : int, the number of pending atoms that depend linearly on others
        The first n_left entries of `s.pending` are then their places in the working set, not their numbers.
    """
    work = s.work
    n = 0
    n_left = 0
    if s.n_inverted[0] == n_pending:
        n = n_pending
        s.n_inverted[0] = 0  # the inverse is already there
        for i in range(n):
            s.support.atoms[i], s.support.place[i], s.support.z[i] = work.atoms[i], i, s.pending_codes[i]
            work.masks[i] = 0
        copy_gram_rows(gram, 0, n, size, work, s.support)
    for i in range(n, n_pending):
        before = n
        n = restore_atom(i, s.pending_codes[i], n, size, gram, work, s.support)
        if n > before:
            work.masks[i] = 0
        else:
            s.pending[n_left], s.pending_codes[n_left] = i, s.pending_codes[i]  # now a place in the set
            n_left += 1
    compute_correlations(n, size, work, s.support)
    for i in range(n_left):
        copy_gram_row(gram, s.pending[i], size, work)
        add_multiple(work.q, -s.pending_codes[i], work.row, round_up_to_lanes(size))
    return n, n_left


@inlined()
def _solve_working_set(n, n_left, size, slack, problem, s):
    """Solve the lasso of a sample on its working set of atoms, and return the new size of the support.

    Parameters
    ----------
    n : int, the present size of the support
    n_left : int, the number of pending atoms, which move first
    size : int, the size of the working set
    slack : float, the largest violation of the optimality conditions that may be rounding
    problem : CDProblem
    s : CDScratch of this sample
    """
    lam, work = problem.lam, s.work
    n = polish_code(lam, n, size, work, s.support)
    for step in range(n_left + 4 * size):
        if step < n_left:
            k, code = np.int64(s.pending[step]), s.pending_codes[step]
        else:
            k, code = find_largest(work.q_bits, work.masks, round_up_to_lanes(size)), lam - lam
            if k < 0 or abs(work.q[k]) <= lam + slack:
                break
        n = add_atom(k, code, n, size, lam, problem.gram, work, s.support)
    return n


@kernel
def _store_pending(n, scratch):
    """Store the code of the support as the pending code, clear the inverse, and return the number n of atoms.

    The pending code is what the next round starts from: its atoms join the new working set first.

    n : int, the number of atoms in the support; scratch : CDScratch of this sample
    """
    support = scratch.support
    for i in range(n):
        scratch.pending[i], scratch.pending_codes[i] = support.atoms[i], support.z[i]
        for j in range(round_up_to_lanes(n)):
            support.inverse[i, j] = 0
    return n


@kernel
def _write_sorted(pending, pending_codes, n, atoms, codes):
    """Write a code to the arrays `atoms` and `codes`, sorted by atom, and return the number n of its entries.

    pending, pending_codes : arrays whose first n entries are the atoms of the code, and their values
    """
    for i in range(n):
        j = i
        while j > 0 and atoms[j - 1] > pending[i]:
            atoms[j], codes[j] = atoms[j - 1], codes[j - 1]
            j -= 1
        atoms[j], codes[j] = pending[i], pending_codes[i]
    return n


@kernel
def round_gram(gram, norms, bytes_, scales):
    """Round a Gram matrix to bytes, with one scale for each row.

    No entry of row i exceeds norms[i] times the largest norm.

    Parameters
    ----------
    gram : float array (n_atoms, n_atoms)
    norms : float array (n_atoms,), |d| of each atom d
    bytes_, scales : arrays that get the bytes and the scales, see `CDProblem`
    """
    kind = gram.dtype.type
    largest = kind(0)
    for i in range(len(norms)):
        largest = max(largest, norms[i])
    for i in range(len(gram)):
        scales[i] = norms[i] * largest * kind(1 / 127)
        inverse = kind(1) / scales[i] if scales[i] > 0 else kind(0)
        for j in range(len(gram)):
            bytes_[i, j] = np.uint8(np.int32(gram[i, j] * inverse + kind(128.5)))


@inlined()
def correlate_all(q0, atoms, z, n, slack, problem, s):
    """Compute q = D (x - z D) for all atoms, from the Gram matrix in bytes if that is accurate enough.

    Otherwise the Gram matrix itself is used, and q is exact except for rounding.

    Parameters
    ----------
    q0 : float array (n_atoms padded), D x, in mirrored order (module docstring)
    atoms, z : arrays whose first n entries are the atoms of the code, and their values
    n : int, number of non-zeros of the code
    slack : float, the largest violation of the optimality conditions that may be rounding
    problem : CDProblem
    s : CDScratch, whose q is filled, in mirrored order

    Returns
    -------
    bar : float; an atom with |q| <= bar does not violate the optimality conditions
    error : float, a bound on the error of q; 0 if q is exact except for rounding
    """
    if n == 0:
        copy(s.q, q0, len(s.q))
        return problem.lam + slack, slack - slack
    unit, offset, error = _quantise_code(atoms, z, n, problem.scales, s)
    error += slack
    if error <= COARSE * problem.lam:
        subtract_weighted_rows(s.q, q0, unit, problem.bytes_, atoms, s.high, s.low, n, offset)
        return problem.lam - error, error
    copy(s.q, q0, len(s.q))
    for i in range(n):
        for j in range(len(problem.gram)):
            s.q[mirrored(j)] -= z[i] * problem.gram[atoms[i], j]
    return problem.lam + slack, slack - slack


@inlined()
def _quantise_code(atoms, z, n, scales, s):
    """Round the code of a sample, times the scale of each atom, to two digits in signed bytes.

    Parameters
    ----------
    atoms, z : arrays whose first n entries are the atoms of the code, and their values
    n : int, number of non-zeros of the code
    scales : (n_atoms,), scales of the rows of the Gram matrix in bytes
    s : CDScratch, whose `high` and `low` get the digits

    Returns
    -------
    unit : float, the value of the lowest digit
    offset : int, the correction for the 128 that the bytes of the Gram matrix add
    error : float, a bound on the error of q = D (x - z D)
    """
    kind = s.q.dtype.type
    largest, spread = kind(1e-30), kind(0)
    for i in range(n):
        weight = abs(z[i]) * scales[atoms[i]]
        largest, spread = max(largest, weight), spread + weight
    unit = max(largest / kind(LARGEST), spread / kind(LARGEST_SUM))
    inverse = kind(1) / unit
    total = np.int32(0)
    for i in range(n):
        weight = np.int32(np.rint(z[i] * scales[atoms[i]] * inverse))
        high = (weight + np.int32(64)) >> np.int32(DIGIT)
        s.high[i], s.low[i] = high, weight - (high << np.int32(DIGIT))
        total += weight
    for i in range(n, max(FOUR, (n + FOUR - 1) // FOUR * FOUR)):
        s.high[i], s.low[i] = 0, 0
    return unit, np.int32(total * np.int32(128)), kind(HALF) * spread + kind(n) * unit * kind(127 * HALF)

"""The kernels of SCC: the code of one sample by coordinate descent, and its step on the dictionary.

A sweep over all atoms reads a copy of the dictionary in bytes first.  It reads the dictionary itself only
if the bytes cannot rule an atom out.  Write d for an atom, r for the residual, and d' and r' for the
values of their bytes.  Then

    d r  =  d' r'  +  (d - d') r  +  d' (r - r'),

so |d r| <= |d' r'| + e |r| + (n + e) |r - r'| with n the largest |d| and e the largest |d - d'|.  If that
is at most lam, an atom whose code is zero keeps it, and need not be visited.  The result is that of the
sequential algorithm, atom by atom.
"""

from typing import NamedTuple

import numpy as np

from flyannot.sparse.kernels import kernel, soft_threshold
from flyannot.sparse.simd.atom_rows import (
    GROUP,
    add_row,
    candidate_atoms,
    copy_row,
    dot,
    lowest_set_bit,
    round_residual,
    scale_and_quantise_row,
    update_row,
)
from flyannot.sparse.simd.vectors import padded_zeros

MARGIN = 0.05  # fraction of lam by which r may move before its bytes are computed anew
HALF = 0.5005  # the error of one rounded number, in units of the scale, with a margin
RISE = 3.0  # visit t counts t^(RISE - 1) times in the mean, so mostly the last half of all visits
ROUNDING = 5e-7  # relative error per feature of a float32 sum, with a margin


class SCCAtoms(NamedTuple):
    """The dictionary and the arrays that updates of its atoms need.

    Rows are padded with zeros to whole chunks; comments at the fields give shapes.
    """

    D: np.ndarray  # (n_atoms, n_features)
    norm2: np.ndarray  # (n_atoms,) squared norms; 0 marks a dead atom
    h_past: np.ndarray  # (n_atoms,) float64, squared codes carried over from earlier epochs
    h_now: np.ndarray  # (n_atoms,) float64, squared codes of this epoch so far
    D8: np.ndarray  # (n_atoms, n_features) bytes: 128 + D / scale, rounded
    rounding: np.ndarray  # (4,) float64: scale; largest |d - d'|; largest |d[k]| the scale holds; largest |d|
    mean: np.ndarray  # (n_atoms, n_features), or no rows: the running mean of D


class SweepOrders(NamedTuple):
    """The orders of the atoms in full sweeps: visit number t of an epoch uses row t, cyclically."""

    atom: np.ndarray  # (n_orders, n_atoms + GROUP), the atoms in order, then padding
    place: np.ndarray  # (n_orders, n_atoms), the place of each atom


class SCCRules(NamedTuple):
    """The numbers that define a variant of SCC for the kernels; see the comments at the fields."""

    lam: float
    n_sweeps: int  # one sweep over all atoms, the others over the support
    rescale_above: float  # squared norm above which a changed atom is scaled to norm 1
    max_step: float  # largest sum of squared code / h of one sample
    recency: float  # visit t counts t^recency times in h
    n_descents: int  # full sweeps at 2^k lam, ..., 2 lam before a visit that starts from zero
    n_before: int  # visits before this epoch
    visit_weight: float  # visits that one visit counts for, on behalf of other parts of the samples
    mean_every: int  # visits between two updates of the mean; 0 if there is none
    # True if values must not be negative, otherwise None.  Numba compiles a kernel for each, so None costs
    # no time.
    positive_code: bool | None
    positive_atoms: bool | None


class SCCScratch(NamedTuple):
    """The memory for one sample: its code, support, residual and others; see the comments at the fields.

    `z` and `flags` are zero between samples.
    """

    z: np.ndarray  # (n_atoms,) its code
    support: np.ndarray  # (n_atoms,) the atoms in it, in the order visited
    eta: np.ndarray  # (n_atoms,) the step lengths of the atoms
    flags: np.ndarray  # (n_atoms + GROUP,) 1 at places of the order that must be visited
    r: np.ndarray  # (n_features,) its residual
    r8: np.ndarray  # (n_features,) the residual in bytes


def new_scratch(n_atoms, n_features, dtype):
    """Allocate an SCCScratch."""
    return SCCScratch(
        z=np.zeros(n_atoms, dtype),
        support=np.empty(n_atoms, np.int32),
        eta=np.empty(n_atoms, dtype),
        flags=np.zeros(n_atoms + GROUP, np.uint8),
        r=padded_zeros(n_features, dtype=dtype),
        r8=padded_zeros(n_features, dtype=np.int8),
    )


@kernel
def round_dictionary(D, norm2, D8, rounding, reach):
    """Store the dictionary D in bytes, at a scale that can represent numbers up to `reach`.

    norm2 : float array (n_atoms,), squared norms, updated; D8 : the bytes; rounding : scales and errors,
        filled
    """
    scale = D.dtype.type(reach / 127)
    rounding[0], rounding[1], rounding[2], rounding[3] = scale, 0.0, reach, 1.0
    for j in range(len(D)):
        _, error2 = scale_and_quantise_row(D, j, D.dtype.type(1), D8, scale)
        rounding[1] = max(rounding[1], 1.0001 * np.sqrt(error2))
        rounding[3] = max(rounding[3], np.sqrt(norm2[j]))


@kernel
def visit_samples(X, rows, orders, first_visit, atoms, past, now, n_used, rules, scratch):
    """Visit samples one after the other: solve for the code, then update and project its atoms.

    Parameters
    ----------
    X : float array (n, n_features), the samples
    rows : int array (n,), their indices
    orders : SweepOrders
    first_visit : int, the number of visits before, in this epoch
    atoms : SCCAtoms, updated
    past : StoredCodes of the epoch before, the start codes
    now : StoredCodes of this epoch, to which is appended from entry `n_used` on
    n_used : int
    rules : SCCRules
    scratch : SCCScratch

    Returns
    -------
    n_visited : int
        It is less than n if `now` may be too short for one more code.
    """
    for i in range(len(rows)):
        if n_used + len(scratch.z) > len(now.atom):
            return i
        n_support = solve_code(X, i, past, rows[i], orders, first_visit + i, atoms, rules, scratch)
        visit = rules.n_before + rules.visit_weight * (first_visit + i + 1)
        _step_atoms(atoms, n_support, rules, visit, scratch)
        store_code(now, rows[i], n_used, n_support, scratch)
        n_used += n_support
        if rules.mean_every > 0 and (first_visit + i + 1) % rules.mean_every == 0:
            update_mean_atoms(atoms, rules, first_visit + i + 1, rules.mean_every)
    return len(rows)


@kernel
def solve_code(X, i, past, row, orders, visit, atoms, rules, scratch):
    """Compute the code of sample X[i] by coordinate descent, and return its number of non-zeros.

    The scratch memory gets the code in z, its atoms in `support`, and the residual in r.

    Parameters
    ----------
    past, row : StoredCodes, and the row of the start code in it
    orders, visit : SweepOrders, and the number of the visit
    atoms : SCCAtoms
    rules : SCCRules
    scratch : SCCScratch
    """
    D, norm2, z, support, r = atoms.D, atoms.norm2, scratch.z, scratch.support, scratch.r
    lam = r.dtype.type(rules.lam)
    o = visit % len(orders.atom)
    positive = rules.positive_code
    n_support = _restore_code(X, i, past, row, D, scratch)
    if n_support == 0:
        for k in range(rules.n_descents, 0, -1):
            higher = lam * r.dtype.type(2**k)
            n_support = _sweep_flagged(
                atoms, orders, (visit + k) % len(orders.atom), n_support, higher, scratch, positive
            )
            n_support = _sweep_support(D, norm2, z, support, n_support, r, higher, positive)
    n_support = _sweep_flagged(atoms, orders, o, n_support, lam, scratch, positive)
    for _ in range(rules.n_sweeps - 1):
        n_support = _sweep_support(D, norm2, z, support, n_support, r, lam, positive)
    return n_support


@kernel
def _sweep_flagged(atoms, orders, o, n_support, lam, scratch, positive):
    """Sweep over all atoms in order o.

    Every atom of the support is visited. Return the new support's size.
    """
    D, norm2, _, _, D8, rounding, _ = atoms
    z, support, _, flags, r, r8 = scratch
    for s in range(n_support):
        flags[orders.place[o, np.int64(support[s])]] = 1
    n_support = _sweep_all(D, norm2, D8, rounding, orders.atom, o, z, support, flags, r, r8, lam, positive)
    flags[:] = 0
    return n_support


@kernel
def _restore_code(X, i, codes, row, D, scratch):
    """Copy a stored code to z and `support`, and compute r = X[i] - z D; return its number of non-zeros.

    codes, row : StoredCodes, and the row in it; scratch : SCCScratch, filled
    """
    start, count = codes.start[row], codes.size[row]
    copy_row(scratch.r, X, i)
    for s in range(count):
        j = np.int64(codes.atom[start + s])
        scratch.support[s], scratch.z[j] = j, codes.value[start + s]
        add_row(scratch.r, -scratch.z[j], D, j)
    return count


@kernel
def store_code(codes, row, n_used, n_support, scratch):
    """Store the code in z as the code of `row`, from entry `n_used` on, and set z to zero.

    codes : StoredCodes; n_support : int, the number of its non-zeros; scratch : SCCScratch
    """
    codes.start[row], codes.size[row] = n_used, n_support
    for s in range(n_support):
        j = np.int64(scratch.support[s])
        codes.atom[n_used + s], codes.value[n_used + s] = j, scratch.z[j]
        scratch.z[j] = 0


@kernel
def _sweep_all(D, norm2, D8, rounding, orders, o, z, support, flags, r, r8, lam, positive):
    """Minimise over z[j] for every atom j in order o, and update r = x - z D.

    The bytes D8 and r8 rule out most atoms whose code stays zero.  The non-zeros are listed in `support`, in
    that order, and their number is returned.

    Parameters
    ----------
    D, norm2, D8, rounding : see `SCCAtoms`
    orders : SweepOrders
    z, support, flags, r, r8 : see `SCCScratch`
    lam : float
    positive : bool, True if codes must not be negative
    """
    n_atoms, n_support, t = len(z), 0, 0
    allowed = r.dtype.type(MARGIN) * lam
    moved, offset, limit = r.dtype.type(np.inf), np.int32(0), np.int32(0)
    while t < n_atoms:
        if moved > allowed:
            offset, limit = _round_and_bound(r, r8, rounding, lam - allowed)
            moved = r.dtype.type(0)
        candidates = candidate_atoms(D8, orders, o, t, flags, r8, offset, limit)
        if n_atoms - t < GROUP:
            candidates &= np.uint64((1 << (n_atoms - t)) - 1)
        t += GROUP
        while candidates:
            place = t - GROUP + lowest_set_bit(candidates)
            candidates &= candidates - np.uint64(1)
            j = np.int64(orders[o, place])
            moved += _solve_one(D, norm2, z, j, r, lam, positive)
            if z[j] != 0:
                support[n_support] = j
                n_support += 1
            if moved > allowed:  # the rest of the group was tested with an outdated r
                t = place + 1
                break
    return n_support


@kernel
def _round_and_bound(r, r8, rounding, lam):
    """Store the residual r in bytes in r8, and return the test that rules out atoms.

    Returns
    -------
    offset, limit : |D8[j] r8 - offset| <= limit implies |D[j] r| <= lam
    """
    scale, norm2, total = round_residual(r, r8)
    norm, error = np.sqrt(norm2), HALF * np.sqrt(len(r)) * scale
    bound = rounding[1] * norm + (rounding[3] + rounding[1]) * error + ROUNDING * len(r) * rounding[3] * norm
    limit = (lam - bound) / (rounding[0] * scale)
    return np.int32(128 * total), np.int32(max(-1.0, min(limit, 2e9)))


@kernel
def _sweep_support(D, norm2, z, support, n_support, r, lam, positive):
    """Minimise over z[j] for the atoms in `support`, and remove atoms whose code becomes zero.

    Returns the new number of atoms in `support`.
    """
    n_kept = 0
    for s in range(n_support):
        j = np.int64(support[s])
        _solve_one(D, norm2, z, j, r, lam, positive)
        if z[j] != 0:
            support[n_kept] = j
            n_kept += 1
    return n_kept


@kernel
def _solve_one(D, norm2, z, j, r, lam, positive):
    """Minimise over z[j] alone, and update r = x - zD; return a bound on how far r moved.

    With d = D[j] and a = |d|^2 the minimum is soft_threshold(d r + a z[j], lam) / a; a need not be 1.  If
    codes must not be negative, the result is at least 0.
    """
    old, a = z[j], norm2[j]
    new = r.dtype.type(0)  # a dead atom explains nothing, so its code is zero
    if a == 1:  # true of most atoms; saves a division
        new = soft_threshold(dot(D, j, r) + old, lam)
    elif a > 0:
        new = soft_threshold(dot(D, j, r) + a * old, lam) / a
    if positive is not None and new < 0:
        new = r.dtype.type(0)
    if new != old:
        add_row(r, old - new, D, j)
        z[j] = new
    return abs(new - old) * max(a, r.dtype.type(1))


@kernel
def _step_atoms(atoms, n_support, rules, visit, scratch):
    """Add w z_j / h_j r to each atom j of the code, all with the same residual r, then project the atoms.

    h_j += w z_j^2 comes first, so that nothing divides by zero.  w is the weight of visit number `visit`,
    times the number of visits that it counts for.

    atoms : SCCAtoms; n_support : int, the number of atoms; rules : SCCRules; scratch : SCCScratch
    """
    D, norm2, h_past, h_now, D8, rounding, _ = atoms
    z, support, eta, r = scratch.z, scratch.support, scratch.eta, scratch.r
    total = 0.0
    one = r.dtype.type(1)
    weight = rules.visit_weight * np.float64(visit) ** rules.recency
    for s in range(n_support):
        j = np.int64(support[s])
        weighted = weight * z[j]
        h_now[j] += weighted * z[j]
        eta[s] = weighted / (h_past[j] + h_now[j])
        total += eta[s] * z[j]
    length = r.dtype.type(min(1.0, rules.max_step / max(total, 1e-300)))
    for s in range(n_support):
        j = np.int64(support[s])
        a = update_row(D, j, length * eta[s], r)
        if rules.positive_atoms is not None:
            a = _clip_row(D, j)
        factor = one
        if a > rules.rescale_above:
            factor = one / np.sqrt(a)
            a = one
        norm2[j] = a
        largest, error2 = scale_and_quantise_row(D, j, factor, D8, rounding[0])
        rounding[1] = max(rounding[1], 1.0001 * np.sqrt(error2))
        if largest > rounding[2]:
            round_dictionary(D, norm2, D8, rounding, 1.25 * largest)


@kernel
def _clip_row(D, j):
    """Replace D[j] by max(0, D[j]); return the new |D[j]|^2."""
    total = D.dtype.type(0)
    for k in range(D.shape[1]):
        D[j, k] = max(D[j, k], D.dtype.type(0))
        total += D[j, k] * D[j, k]
    return total


@kernel
def update_mean_atoms(atoms, rules, n_visits, n_last):
    """Update the running mean of D, which is less noisy than D.

    atoms : SCCAtoms; rules : SCCRules; n_visits : int, all visits so far; n_last : int, the visits since the
        last update
    """
    D, mean = atoms.D, atoms.mean
    visits = rules.n_before + rules.visit_weight * n_visits
    part = D.dtype.type(min(1.0, RISE * rules.visit_weight * n_last / visits))
    for j in range(len(D)):
        for k in range(D.shape[1]):
            mean[j, k] += part * (D[j, k] - mean[j, k])

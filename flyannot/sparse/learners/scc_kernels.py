"""Compiled functions of SCC: coordinate descent on the code of one sample, and its step on the dictionary.

A sweep over all atoms reads a copy of the dictionary in bytes first.  It reads the dictionary itself
only if the bytes cannot rule an atom out.  Write d for an atom, r for the residual, and d' and r' for
the values of their bytes.  Then

    d r  =  d' r'  +  (d - d') r  +  d' (r - r'),

so |d r| <= |d' r'| + e |r| + (n + e) |r - r'| with n the largest |d| and e the largest |d - d'|.  If
that is at most lam, an atom whose code is zero keeps it, and can be skipped.  The result is the same as
without the bytes, atom by atom.
"""

from typing import NamedTuple

import numpy as np

from flyannot.sparse.kernels import kernel, soft_threshold
from flyannot.sparse.simd.atom_rows import (
    GROUP,
    axpy,
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
    """The dictionary, its copy in bytes, and the sums for its step sizes.  Rows are padded with zeros.

    Attributes
    ----------
    D : array (n_atoms, n_features)
    norm2 : array (n_atoms,)
        Squared norms.  0 marks an atom that is never used.
    h_past, h_now : float64 arrays (n_atoms,)
        Sums of squared codes, from earlier epochs and in this epoch.
    D8 : uint8 array (n_atoms, n_features)
        128 + D / scale, rounded.
    rounding : float64 array (4,)
        With d' the values of the bytes of an atom d: scale, largest |d - d'|, largest |d[k]| that the scale
        can represent, largest |d|.
    mean : array (n_atoms, n_features), or without rows
        The running mean of D, if the variant takes it.
    """

    D: np.ndarray
    norm2: np.ndarray
    h_past: np.ndarray
    h_now: np.ndarray
    D8: np.ndarray
    rounding: np.ndarray
    mean: np.ndarray


class SweepOrders(NamedTuple):
    """The orders in which sweeps process the atoms.  Sample t of an epoch uses row t modulo n_orders.

    Attributes
    ----------
    atom : int array (n_orders, n_atoms + GROUP)
        The atoms in order, then padding.
    place : int array (n_orders, n_atoms)
        Position of each atom in the order.
    """

    atom: np.ndarray
    place: np.ndarray


class SCCRules(NamedTuple):
    """The settings of SCC, as compiled functions read them.

    Attributes
    ----------
    lam : float
        Weight of the L1 norm.
    n_sweeps, rescale_above, max_step, recency, n_descents : int or float
        The fields of `Variant` with these names.
    n_before : int
        Samples processed before this epoch.
    visit_weight : float
        Weight of each sample in the gradient steps, larger than 1 if other parts learn at the same time.
    mean_every : int
        Samples between two updates of the mean of the atoms, or 0 if there is none.
    positive_code, positive_atoms : True or None
        True if codes or atoms must not be negative.
    """

    lam: float
    n_sweeps: int
    rescale_above: float
    max_step: float
    recency: float
    n_descents: int
    n_before: int
    visit_weight: float
    mean_every: int
    # True if values must not be negative, otherwise None.  Numba compiles a kernel for each, so None costs
    # no time.
    positive_code: bool | None
    positive_atoms: bool | None


class SCCScratch(NamedTuple):
    """The work memory for one sample.  `z` and `flags` are zero between samples.

    Attributes
    ----------
    z : array (n_atoms,)
        The code.
    support : int32 array (n_atoms,)
        The atoms with non-zero codes, in the order of the sweep.
    eta : array (n_atoms,)
        Step sizes of the atoms in `support`.
    flags : uint8 array (n_atoms + GROUP,)
        1 at positions of the order that the sweep must not skip.
    r : array (n_features,)
        The residual x - z D.
    r8 : int8 array (n_features,)
        The residual in bytes.
    """

    z: np.ndarray
    support: np.ndarray
    eta: np.ndarray
    flags: np.ndarray
    r: np.ndarray
    r8: np.ndarray


def new_scratch(n_atoms, n_features, dtype):
    """Allocate the `SCCScratch` of a learner, whose floats have the type `dtype`."""
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
    """Round the dictionary to bytes, at a scale that represents entries from -reach to reach.

    D (n_atoms, n_features) and its squared norms `norm2` are read.  `D8` and `rounding`, the fields of
    `SCCAtoms`, are overwritten.
    """
    scale = D.dtype.type(reach / 127)
    rounding[0], rounding[1], rounding[2], rounding[3] = scale, 0.0, reach, 1.0
    for j in range(len(D)):
        _, error2 = scale_and_quantise_row(D, j, D.dtype.type(1), D8, scale)
        rounding[1] = max(rounding[1], 1.0001 * np.sqrt(error2))
        rounding[3] = max(rounding[3], np.sqrt(norm2[j]))


@kernel
def visit_samples(X, rows, orders, first_visit, atoms, past, now, n_used, rules, scratch):
    """Process samples one after the other: solve for the code, then update and project its atoms.

    Parameters
    ----------
    X : array (n, n_features)
    rows : int64 array (n,)
        Indices of the samples.
    orders : SweepOrders
    first_visit : int
        Samples processed before in this epoch.
    atoms : SCCAtoms, changed in place
    past : StoredCodes
        Codes of the last epoch, from which solvers start.
    now : StoredCodes
        Codes of this epoch, to which the new ones are appended from buffer entry `n_used` on.
    n_used : int
    rules : SCCRules
    scratch : SCCScratch, overwritten

    Returns
    -------
    n_processed : int
        Less than n if the buffers of `now` may be too short for one more code.
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
    """Solve for the code of sample X[i], by sweeps of coordinate descent from its code of the last epoch.

    The code is left in `scratch.z`, its atoms in `scratch.support`, and its residual in `scratch.r`.

    Parameters
    ----------
    X : array (n, n_features)
    i : int
    past : StoredCodes
    row : int, the index of the sample in `past`
    orders : SweepOrders
    visit : int, samples processed before in this epoch
    atoms : SCCAtoms
    rules : SCCRules
    scratch : SCCScratch

    Returns
    -------
    n_support : int, number of non-zeros
    """
    D, norm2, z, support, r = atoms.D, atoms.norm2, scratch.z, scratch.support, scratch.r
    lam = r.dtype.type(rules.lam)
    o = visit % len(orders.atom)
    positive = rules.positive_code
    n_support = _restore_code(X, i, past, row, D, scratch)
    if n_support == 0:
        for k in range(rules.n_descents, 0, -1):
            higher = lam * r.dtype.type(2**k)
            another = (visit + k) % len(orders.atom)
            n_support = _sweep_all(atoms, orders, another, n_support, higher, scratch, positive)
            n_support = _sweep_support(D, norm2, z, support, n_support, r, higher, positive)
    n_support = _sweep_all(atoms, orders, o, n_support, lam, scratch, positive)
    for _ in range(rules.n_sweeps - 1):
        n_support = _sweep_support(D, norm2, z, support, n_support, r, lam, positive)
    return n_support


@kernel
def _restore_code(X, i, codes, row, D, scratch):
    """Copy the stored code `row` of `codes` to the scratch memory, and compute its residual X[i] - z D.

    `codes` is a `StoredCodes`.  `z`, `support` and `r` of the `SCCScratch` are overwritten.  Returns the
    number of non-zeros.
    """
    start, count = codes.start[row], codes.size[row]
    copy_row(scratch.r, X, i)
    for s in range(count):
        j = np.int64(codes.atom[start + s])
        scratch.support[s], scratch.z[j] = j, codes.value[start + s]
        axpy(scratch.r, -scratch.z[j], D, j)
    return count


@kernel
def store_code(codes, row, n_used, n_support, scratch):
    """Write the code of one sample from `scratch` to `codes` as its code `row`, and set `scratch.z` to zero.

    It fills the entries n_used, ..., n_used + n_support - 1 of the buffers of `codes`, a `StoredCodes`.
    """
    codes.start[row], codes.size[row] = n_used, n_support
    for s in range(n_support):
        j = np.int64(scratch.support[s])
        codes.atom[n_used + s], codes.value[n_used + s] = j, scratch.z[j]
        scratch.z[j] = 0


@kernel
def _sweep_all(atoms, orders, o, n_support, lam, scratch, positive):
    """Minimise over z[j] for one atom j after the other, and update the residual r = x - z D in place.

    An atom whose byte copy shows that its code stays zero is skipped, but none whose code is not zero.

    Parameters
    ----------
    atoms : SCCAtoms
    orders : SweepOrders
    o : int, the row of `orders` to use
    n_support : int, non-zeros before the sweep
    lam : float
    scratch : SCCScratch, in which `z`, `support` and `r` are updated
    positive : True if the code must not be negative, otherwise None

    Returns
    -------
    n_support : int, non-zeros after the sweep
    """
    D, norm2, _, _, D8, rounding, _ = atoms
    z, support, _, flags, r, r8 = scratch
    for s in range(n_support):
        flags[orders.place[o, np.int64(support[s])]] = 1
    n_atoms, n_support, t = len(z), 0, 0
    allowed = r.dtype.type(MARGIN) * lam
    moved, offset, limit = r.dtype.type(np.inf), np.int32(0), np.int32(0)
    while t < n_atoms:
        if moved > allowed:
            offset, limit = _round_and_bound(r, r8, rounding, lam - allowed)
            moved = r.dtype.type(0)
        candidates = candidate_atoms(D8, orders.atom, o, t, flags, r8, offset, limit)
        if n_atoms - t < GROUP:
            candidates &= np.uint64((1 << (n_atoms - t)) - 1)
        t += GROUP
        while candidates:
            place = t - GROUP + lowest_set_bit(candidates)
            candidates &= candidates - np.uint64(1)
            j = np.int64(orders.atom[o, place])
            moved += _solve_one(D, norm2, z, j, r, lam, positive)
            if z[j] != 0:
                support[n_support] = j
                n_support += 1
            if moved > allowed:  # the rest of the group was tested with an outdated r
                t = place + 1
                break
    flags[:] = 0
    return n_support


@kernel
def _round_and_bound(r, r8, rounding, lam):
    """Round the residual r to bytes, and return two numbers by which atoms can be skipped.

    They are (offset, limit) such that |D8[j] r8 - offset| <= limit implies |D[j] r| <= lam.  `r8` is
    overwritten, and `rounding` is the field of `SCCAtoms`.
    """
    scale, norm2, total = round_residual(r, r8)
    norm, error = np.sqrt(norm2), HALF * np.sqrt(len(r)) * scale
    bound = rounding[1] * norm + (rounding[3] + rounding[1]) * error + ROUNDING * len(r) * rounding[3] * norm
    limit = (lam - bound) / (rounding[0] * scale)
    return np.int32(128 * total), np.int32(max(-1.0, min(limit, 2e9)))


@kernel
def _sweep_support(D, norm2, z, support, n_support, r, lam, positive):
    """Minimise over z[j] for the first `n_support` atoms of `support`, one after the other.

    z, the residual r = x - z D and `support`, which drops atoms whose code becomes zero, are updated in
    place.  Returns the number of atoms left.  `positive` is True if the code must not be negative,
    otherwise None.
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
    """Minimise over z[j] alone, and update z and r = x - z D in place; return a bound on the change of r.

    With d = D[j] and a = |d|^2 the minimum is soft_threshold(d r + a z[j], lam) / a; a need not be 1.
    Unless `positive` is None, the result is at least 0.
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
        axpy(r, old - new, D, j)
        z[j] = new
    return abs(new - old) * max(a, r.dtype.type(1))


@kernel
def _step_atoms(atoms, n_support, rules, visit, scratch):
    """Take one gradient step on every atom of a code, d_j += w z_j / h_j r, then project the atoms.

    h_j += w z_j^2 comes first, so that nothing divides by zero.  The weight w is visit^recency times
    `rules.visit_weight`.  All atoms use the same residual r.

    Parameters
    ----------
    atoms : SCCAtoms, changed in place
    n_support : int, number of non-zeros of the code
    rules : SCCRules
    visit : float, number of this sample over all epochs, counted with `visit_weight`
    scratch : SCCScratch of the sample, as `solve_code` leaves it
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
    """Replace the negative entries of D[j] by 0 in place, and return the new |D[j]|^2."""
    total = D.dtype.type(0)
    for k in range(D.shape[1]):
        D[j, k] = max(D[j, k], D.dtype.type(0))
        total += D[j, k] * D[j, k]
    return total


@kernel
def update_mean_atoms(atoms, rules, n_visits, n_last):
    """Update the running mean of the atoms, which is less noisy than the atoms, in place.

    Parameters
    ----------
    atoms : SCCAtoms
    rules : SCCRules
    n_visits : int
        Samples processed in this epoch.
    n_last : int
        Samples since the last update of the mean.
    """
    D, mean = atoms.D, atoms.mean
    visits = rules.n_before + rules.visit_weight * n_visits
    part = D.dtype.type(min(1.0, RISE * rules.visit_weight * n_last / visits))
    for j in range(len(D)):
        for k in range(D.shape[1]):
            mean[j, k] += part * (D[j, k] - mean[j, k])

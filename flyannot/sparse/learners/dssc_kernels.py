"""The kernels of DSSC: the work of one processor in one iteration, with either surrogate.

Processors of one iteration read the same dictionary `D` and the same stored codes.  Each writes its block of
atoms to `D_next`, the averaged gradient of that block, and the codes of its own samples.  The codes go to its
own row of `DSSCCodes`.  No two processors write to the same place, so their order does not matter.
"""

from typing import NamedTuple

import numpy as np

from flyannot.sparse.kernels import SUMS, add_multiple, copy, dot, inlined, kernel, soft_threshold

MAX_SWEEPS = 200  # limit of an exact solve, which only ill-posed problems reach


class DSSCBatch(NamedTuple):
    """The samples of one iteration: the mini-batches of all processors, one after the other.

    Comments at the fields give shapes.
    """

    X: np.ndarray  # (n, n_features)
    rows: np.ndarray  # (n,) int64, the numbers of the samples
    first: np.ndarray  # (n_processors + 1,) the start of each processor's mini-batch
    blocks: np.ndarray  # (n_processors,) the block of each processor; no two are the same


class DSSCAtoms(NamedTuple):
    """The dictionary before and after an iteration, and its averaged gradient.

    See the comments at the fields.
    """

    D: np.ndarray  # (n_atoms, n_features), read by all processors
    D_next: np.ndarray  # (n_atoms, n_features), to which drawn blocks are written
    d: np.ndarray  # (n_atoms, n_features), the averaged gradient of Eq. 4
    edges: np.ndarray  # (n_blocks + 1,) the first atom of every block


class DSSCRates(NamedTuple):
    """The numbers of one iteration (lam, rho, gamma, tau and others), in the type of the samples."""

    lam: float
    rho: float  # weight of the newest gradient in the average
    gamma: float  # fraction of the way that atoms move
    tau: float  # strong convexity of an atom's surrogate
    curvature: float  # c of a code's surrogate: at least the largest eigenvalue of D D^T
    code_tolerance: float  # largest violation of optimality in an exact solve of a code
    atom_tolerance: float  # largest change of an entry in the last sweep of an exact solve of atoms
    is_exact: bool  # the surrogate is the objective itself; otherwise that of Eq. 2


class DSSCScratch(NamedTuple):
    """The memory of one thread; the code `z` is zero between samples."""

    z: np.ndarray  # (n_atoms,) the code of the current sample
    q: np.ndarray  # (n_atoms,) its correlations, or the squared norms of atoms
    r: np.ndarray  # (n_features,) its residual
    support: np.ndarray  # (n_atoms,) int32
    G: np.ndarray  # (largest block, n_features) gradient of the block's atoms
    S: np.ndarray  # (largest block, n_features) the change of its atoms
    A: np.ndarray  # (largest block, largest block) sum of z z^T over the mini-batch, within the block


class DSSCCodes(NamedTuple):
    """The codes that the processors computed in one iteration, a row of the arrays for each processor."""

    count: np.ndarray  # (n,) non-zeros of every sample
    atom: np.ndarray  # (n_processors, capacity), end to end for the samples of a processor
    value: np.ndarray  # (n_processors, capacity)


@kernel(fastmath=SUMS)
def run_processor(i, batch, atoms, past, rates, scratch, codes):
    """Do the work of processor i in one iteration.

    With the objective itself as surrogate, whole codes are solved for the present dictionary, then the block
    of atoms for these codes.  With the surrogate of Eq. 2, one proximal step moves the block of atoms and
    the entries of the codes in the block, both from one iterate (D, codes).

    Parameters
    ----------
    i : int
    batch : DSSCBatch
    atoms : DSSCAtoms, whose block of the processor is written
    past : StoredCodes of the epoch before
    rates : DSSCRates
    scratch : DSSCScratch
    codes : DSSCCodes, whose row i is written
    """
    z, q, r, G, A = scratch.z, scratch.q, scratch.r, scratch.G, scratch.A
    a, b = atoms.edges[batch.blocks[i]], atoms.edges[batch.blocks[i] + 1]
    n_stored = 0
    G[: b - a], A[: b - a] = 0, 0
    if rates.is_exact:
        for k in range(len(z)):
            q[k] = dot(atoms.D[k], atoms.D[k], len(r))
    for s in range(batch.first[i], batch.first[i + 1]):
        _restore_code(batch, s, atoms.D, past, z, r)
        if rates.is_exact:
            _solve_code(atoms.D, scratch, rates.lam, rates.code_tolerance)
            _add_gradient(G, z, r, a, b)
            _add_square(A, z, a, b)
        else:
            _add_gradient(G, z, r, a, b)
            _step_code(atoms.D, r, q, z, a, b, rates.lam, rates.curvature)
        n_stored = _store_code(z, codes, i, s, n_stored)
    n_samples = batch.first[i + 1] - batch.first[i]
    if n_samples:
        _average_gradient(G, atoms.d, a, b, n_samples, rates.rho)
        if rates.is_exact:
            _solve_atoms(atoms, a, b, A, r.dtype.type(rates.rho / n_samples), scratch.S, rates)
        else:
            _step_atoms(atoms, a, b, rates)


@kernel(fastmath=SUMS)
def store_codes(batch, codes, now, n_used):
    """Append the codes of an iteration to the stored codes of the epoch; return the number of used entries.

    Parameters
    ----------
    batch : DSSCBatch
    codes : DSSCCodes
    now : StoredCodes of the epoch
    n_used : int, the number of used entries before
    """
    for i in range(len(batch.blocks)):
        n_read = 0
        for s in range(batch.first[i], batch.first[i + 1]):
            now.start[batch.rows[s]], now.size[batch.rows[s]] = n_used, codes.count[s]
            for _ in range(codes.count[s]):
                now.atom[n_used], now.value[n_used] = codes.atom[i, n_read], codes.value[i, n_read]
                n_used += 1
                n_read += 1
    return n_used


@kernel(fastmath=SUMS)
def _restore_code(batch, s, D, past, z, r):
    """Fill z with the stored code of sample s of a DSSCBatch, and compute r = x - z D.

    past : StoredCodes; z : (n_atoms,), zero on entry; r : (n_features,)
    """
    copy(r, batch.X[s], len(r))
    start = past.start[batch.rows[s]]
    for e in range(start, start + past.size[batch.rows[s]]):
        k = np.int64(past.atom[e])
        z[k] = past.value[e]
        add_multiple(r, -z[k], D[k], len(r))


@inlined(fastmath=SUMS)
def _store_code(z, codes, i, s, n_stored):
    """Append the code z of sample s to the codes of processor i, and set z to zero.

    n_stored : int, the number of entries so far; the new number is returned
    """
    before = n_stored
    for k in range(len(z)):
        if z[k] != 0:
            codes.atom[i, n_stored], codes.value[i, n_stored] = k, z[k]
            n_stored += 1
            z[k] = 0
    codes.count[s] = n_stored - before
    return n_stored


# The convex problems that a processor solves: one code, or the block of atoms from a to b.


@inlined(fastmath=SUMS)
def _step_code(D, r, q, z, first, last, lam, curvature):
    """Take one proximal step of the entries of a code z from `first` to `last`, all at once.

    The new entries are the proximal operator of lam |.|_1 / c at z + q / c, with q = D r and the curvature
    c.

    Parameters
    ----------
    D : float array (n_atoms, n_features)
    r : float array (n_features,), x - z D, updated
    q : float array (n_atoms,), overwritten
    z : float array (n_atoms,), updated
    first, last : ints
    lam, curvature : floats
    """
    for k in range(first, last):
        q[k] = dot(D[k], r, len(r))
    for k in range(first, last):
        new = soft_threshold(z[k] + q[k] / curvature, lam / curvature)
        if new != z[k]:
            add_multiple(r, z[k] - new, D[k], len(r))
            z[k] = new


@kernel(fastmath=SUMS)
def _solve_code(D, scratch, lam, tolerance):
    """Minimise over the code of one sample by coordinate descent, until no entry is off by `tolerance`.

    Sweeps over all atoms alternate with sweeps over the support.

    D : float array (n_atoms, n_features); scratch : DSSCScratch, whose q holds the squared norms of the
        atoms
    """
    z, norm2, r, support = scratch.z, scratch.q, scratch.r, scratch.support
    for _ in range(MAX_SWEEPS):
        worst = r.dtype.type(0)
        n_support = 0
        for k in range(len(z)):
            worst = max(worst, _solve_one(D, norm2, z, r, k, lam))
            if z[k] != 0:
                support[n_support] = k
                n_support += 1
        if worst <= tolerance:
            return
        for _ in range(MAX_SWEEPS):
            worst = r.dtype.type(0)
            for e in range(n_support):
                worst = max(worst, _solve_one(D, norm2, z, r, np.int64(support[e]), lam))
            if worst <= tolerance:
                break


@kernel(fastmath=SUMS)
def _solve_one(D, norm2, z, r, k, lam):
    """Minimise over z[k] alone, and update r = x - z D.

    Return the violation of the optimality condition before.

    norm2 : float, |D[k]|^2
    """
    a, old, new = norm2[k], z[k], r.dtype.type(0)
    if a > 0:  # the code of a zero atom is zero
        new = soft_threshold(dot(D[k], r, len(r)) + a * old, lam) / a
    if new != old:
        add_multiple(r, old - new, D[k], len(r))
        z[k] = new
    return abs(new - old) * a


@inlined(fastmath=SUMS)
def _add_gradient(G, z, r, a, b):
    """Add the gradient of one sample in the atoms from a to b, which is -z[k] r for atom k, to G.

    G : float array (b - a, n_features); z : its code; r : its residual
    """
    for k in range(a, b):
        if z[k] != 0:
            add_multiple(G[k - a], -z[k], r, len(r))


@inlined(fastmath=SUMS)
def _add_square(A, z, a, b):
    """Compute A += z[a:b] z[a:b]^T for the code z of one sample; A is (b - a, b - a)."""
    for j in range(a, b):
        if z[j] != 0:
            for k in range(a, b):
                A[j - a, k - a] += z[j] * z[k]


@inlined(fastmath=SUMS)
def _average_gradient(G, d, a, b, n_samples, rho):
    """Compute d = (1 - rho) d + rho G / n_samples for the atoms from a to b: Eq. 4.

    G : float array (b - a, n_features), the summed gradient; d : (n_atoms, n_features), the average
    """
    one = rho / rho
    weight = rho / d.dtype.type(n_samples)
    for k in range(a, b):
        for f in range(d.shape[1]):
            d[k, f] = (one - rho) * d[k, f] + weight * G[k - a, f]


@inlined(fastmath=SUMS)
def _step_atoms(atoms, a, b, rates):
    """Move the atoms from a to b the fraction gamma of the way to a proximal step: Eqs. 3 and 5.

    The step ends at the projection of D - d / c onto the unit ball, with c = tau (1 + rho).

    atoms : DSSCAtoms; rates : DSSCRates
    """
    D, D_next, d = atoms.D, atoms.D_next, atoms.d
    one = D.dtype.type(1)
    p = D.shape[1]
    step = one / (rates.tau * (one + rates.rho))
    for k in range(a, b):
        for f in range(p):
            D_next[k, f] = D[k, f] - step * d[k, f]
        scale = rates.gamma / max(one, np.sqrt(dot(D_next[k], D_next[k], p)))
        for f in range(p):
            D_next[k, f] = (one - rates.gamma) * D[k, f] + scale * D_next[k, f]


@inlined(fastmath=SUMS)
def _solve_atoms(atoms, a, b, A, weight, S, rates):
    """Move the atoms from a to b the fraction gamma of the way to the minimum of a quadratic: Eq. 3.

    The change S of the atoms minimises d S + 1/2 S^T (weight A + tau) S, with D + S in the unit ball.  The
    quadratic
    is the sum of rho times the gradient and curvature of the mini-batch, and of (1 - rho) times the past
    average.  At
    S = 0 the gradient is the new average d.

    Parameters
    ----------
    atoms : DSSCAtoms
    A : float array (b - a, b - a), the sum of z z^T over the mini-batch
    weight : float
    S : float array (b - a, n_features), overwritten
    rates : DSSCRates
    """
    D, D_next, d = atoms.D, atoms.D_next, atoms.d
    one = D.dtype.type(1)
    p = D.shape[1]
    S[: b - a] = 0
    for _ in range(MAX_SWEEPS):
        worst = D.dtype.type(0)
        for k in range(a, b):
            c = weight * A[k - a, k - a] + rates.tau
            for f in range(p):
                D_next[k, f] = -d[k, f] - rates.tau * S[k - a, f]
            for j in range(a, b):
                if A[k - a, j - a] != 0:
                    add_multiple(D_next[k], -weight * A[k - a, j - a], S[j - a], p)
            for f in range(p):
                D_next[k, f] = D[k, f] + S[k - a, f] + D_next[k, f] / c
            scale = one / max(one, np.sqrt(dot(D_next[k], D_next[k], p)))
            for f in range(p):
                new = scale * D_next[k, f] - D[k, f]
                worst = max(worst, abs(new - S[k - a, f]))
                S[k - a, f] = new
        if worst <= rates.atom_tolerance:
            break
    for k in range(a, b):
        for f in range(p):
            D_next[k, f] = D[k, f] + rates.gamma * S[k - a, f]

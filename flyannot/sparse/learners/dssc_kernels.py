"""Compiled functions of DSSC: the work of one processor in one iteration.

The surrogate, the convex function that a processor minimises, is the objective itself or that of Eq. 2.
All processors of an iteration read the same dictionary `D` and the same stored codes.  Each writes its
block of atoms to `D_next`, the averaged gradient of that block, and the codes of its own samples.  The
codes go to its own row of `DSSCCodes`.  No two processors write to the same memory, so their order does
not matter.
"""

from typing import NamedTuple

import numpy as np

from flyannot.sparse.kernels import SUMS, add_multiple, copy, dot, inlined, kernel, soft_threshold

MAX_SWEEPS = 200  # limit of an exact solve, which only ill-posed problems reach


class DSSCBatch(NamedTuple):
    """The samples of one iteration, one processor's mini-batch after the other.

    Attributes
    ----------
    X : array (n, n_features)
    rows : int64 array (n,)
        Indices of the samples.
    first : int array (n_processors + 1,)
        Processor i has the samples first[i] to first[i + 1].
    blocks : int array (n_processors,)
        The block of atoms that each processor updates.  No two are equal.
    """

    X: np.ndarray
    rows: np.ndarray
    first: np.ndarray
    blocks: np.ndarray


class DSSCAtoms(NamedTuple):
    """The dictionary before and after an iteration, and its averaged gradient.

    Attributes
    ----------
    D : array (n_atoms, n_features)
        The dictionary that all processors read.
    D_next : array (n_atoms, n_features)
        Each processor writes its block of new atoms here.
    d : array (n_atoms, n_features)
        The averaged gradient of Eq. 4.
    edges : int array (n_blocks + 1,)
        Block b has the atoms edges[b] to edges[b + 1].
    """

    D: np.ndarray
    D_next: np.ndarray
    d: np.ndarray
    edges: np.ndarray


class DSSCRates(NamedTuple):
    """The step sizes and tolerances of one iteration, in the type of the samples.

    Attributes
    ----------
    lam : float
        Weight of the L1 norm.
    rho : float
        Weight of the newest gradient in the averaged gradient.
    gamma : float
        Fraction of the way to the minimum that atoms move.
    tau : float
        Strong convexity of an atom's surrogate.
    curvature : float
        Curvature c of a code's surrogate, at least the largest eigenvalue of D D^T.
    code_tolerance : float
        Largest violation of the optimality conditions in an exact solve of a code.
    atom_tolerance : float
        Largest change of an entry in the last sweep of an exact solve of atoms.
    is_exact : bool
        Whether the surrogate is the objective itself.  Otherwise it is that of Eq. 2.
    """

    lam: float
    rho: float
    gamma: float
    tau: float
    curvature: float
    code_tolerance: float
    atom_tolerance: float
    is_exact: bool


class DSSCScratch(NamedTuple):
    """The work memory of one thread.

    Attributes
    ----------
    z : array (n_atoms,)
        The code of the current sample.  It is zero between samples.
    q : array (n_atoms,)
        Correlations D r, or squared norms of the atoms in an exact solve.
    r : array (n_features,)
        The residual x - z D of the current sample.
    support : int32 array (n_atoms,)
        The atoms with non-zero codes.
    G : array (largest block, n_features)
        The gradient in the atoms of the block, summed over the mini-batch.
    S : array (largest block, n_features)
        The change of the block's atoms.
    A : array (largest block, largest block)
        The sum of z z^T over the mini-batch, for the atoms of the block.
    """

    z: np.ndarray
    q: np.ndarray
    r: np.ndarray
    support: np.ndarray
    G: np.ndarray
    S: np.ndarray
    A: np.ndarray


class DSSCCodes(NamedTuple):
    """The new codes of one iteration, before they are appended to the stored codes.

    Attributes
    ----------
    count : int32 array (n,)
        Non-zeros of every sample.
    atom, value : arrays (n_processors, capacity)
        Row i holds the atoms and values of the codes of processor i, end to end.
    """

    count: np.ndarray
    atom: np.ndarray
    value: np.ndarray


@kernel(fastmath=SUMS)
def run_processor(i, batch, atoms, past, rates, scratch, codes):
    """Update the codes of one processor's mini-batch, and its block of atoms.

    With the objective as the surrogate, codes are solved for over all atoms of D, then the block's atoms
    are solved for with these codes.  With the surrogate of Eq. 2, one proximal step from the same (D,
    codes) moves the block's atoms and the entries of the codes that belong to the block.

    Parameters
    ----------
    i : int
        Number of the processor.
    batch : DSSCBatch
    atoms : DSSCAtoms
        `D_next` and `d` are overwritten for the block.
    past : StoredCodes
        Codes from which the solver starts.
    rates : DSSCRates
    scratch : DSSCScratch, overwritten
    codes : DSSCCodes
        The new codes are written to row i.
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
    """Append the codes of an iteration to the stored codes, and return the number of buffer entries in use.

    Parameters
    ----------
    batch : DSSCBatch
    codes : DSSCCodes
    now : StoredCodes, changed in place
    n_used : int
        Entries of the buffers of `now` in use before.
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
    """Write the stored code of sample s of the batch to z, and its residual x - z D to r.

    `past` is a `StoredCodes`, `batch` a `DSSCBatch`.  z must be zero before.
    """
    copy(r, batch.X[s], len(r))
    start = past.start[batch.rows[s]]
    for e in range(start, start + past.size[batch.rows[s]]):
        k = np.int64(past.atom[e])
        z[k] = past.value[e]
        add_multiple(r, -z[k], D[k], len(r))


@inlined(fastmath=SUMS)
def _store_code(z, codes, i, s, n_stored):
    """Append the code z of sample s to row i of `codes`, and set z to zero.

    `codes` is a `DSSCCodes`, and `n_stored` the entries of row i in use.  Returns the entries in use
    afterwards.
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
    """Take one proximal gradient step on the entries first, ..., last - 1 of a code, all at once.

    With c = `curvature` and q = D r, entry k becomes soft_threshold(z[k] + q[k] / c, lam / c).  z and the
    residual r = x - z D are updated in place, and q is overwritten.
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
    """Minimise 1/2 |x - z D|^2 + lam |z|_1 over the code z of a sample by coordinate descent.

    Sweeps over all atoms alternate with sweeps over the non-zeros.  It ends when no entry violates its
    optimality condition by more than `tolerance`.

    Parameters
    ----------
    D : array (n_atoms, n_features)
    scratch : DSSCScratch
        On entry `z` is the start code, `r` its residual and `q` the squared norms of the atoms.  `z` and
        `r` are updated in place.
    lam, tolerance : float
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
    """Minimise over z[k] alone, and update z and the residual r = x - z D in place.

    `norm2` are the squared norms of the atoms.  Returns |change of z[k]| |d_k|^2, by which z[k] violated
    its optimality condition.
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
    """Add one sample's gradient in the atoms a, ..., b - 1 to G: G[k - a] -= z[k] r.

    z is the code of the sample, and r its residual x - z D.
    """
    for k in range(a, b):
        if z[k] != 0:
            add_multiple(G[k - a], -z[k], r, len(r))


@inlined(fastmath=SUMS)
def _add_square(A, z, a, b):
    """Compute A += z[a:b] z[a:b]^T in place, for the code z of one sample; A is (b - a, b - a)."""
    for j in range(a, b):
        if z[j] != 0:
            for k in range(a, b):
                A[j - a, k - a] += z[j] * z[k]


@inlined(fastmath=SUMS)
def _average_gradient(G, d, a, b, n_samples, rho):
    """Update the averaged gradient of a block: d[a:b] = (1 - rho) d[a:b] + rho G / n_samples, Eq. 4.

    a, ..., b - 1 are the atoms of the block.  G (b - a, n_features) is the gradient summed over `n_samples`
    samples.
    """
    one = rho / rho
    weight = rho / d.dtype.type(n_samples)
    for k in range(a, b):
        for f in range(d.shape[1]):
            d[k, f] = (one - rho) * d[k, f] + weight * G[k - a, f]


@inlined(fastmath=SUMS)
def _step_atoms(atoms, a, b, rates):
    """Move the atoms a, ..., b - 1 by a projected gradient step, and write them to `D_next`: Eqs. 3 and 5.

    With c = tau (1 + rho), each atom moves the fraction gamma of the way to D - d / c, projected onto the
    unit ball.  `atoms` is a `DSSCAtoms`, and `rates` a `DSSCRates`.
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
    """Minimise tr(d S^T) + 1/2 tr(S^T (weight A + tau) S) over the change S of the atoms a, ..., b - 1.

    Every atom of D + S stays in the unit ball.  D + gamma S is written to `D_next`.  This is Eq. 3 with the
    curvature A of the block instead of a constant, solved by block coordinate descent.

    Parameters
    ----------
    atoms : DSSCAtoms
        D is read, `D_next` is overwritten, and d is the averaged gradient.
    a, b : int
    A : array (b - a, b - a)
        The sum of z z^T over the mini-batch.
    weight : float
        rho divided by the size of the mini-batch.
    S : array (at least b - a, n_features), overwritten
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

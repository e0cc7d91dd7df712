"""The kernels of SCC: the code of one sample by coordinate descent, and its step on the dictionary."""

from typing import NamedTuple

import numpy as np

from flyannot.compiled import compiled
from flyannot.sparse.kernels import shrink


class Atoms(NamedTuple):
    """The dictionary and what its steps need."""

    D: np.ndarray  # (n_atoms, n_features)
    norm2: np.ndarray  # (n_atoms,) squared norms; 0 marks a dead atom
    h_past: np.ndarray  # (n_atoms,) float64, squared codes carried over from earlier epochs
    h_now: np.ndarray  # (n_atoms,) float64, squared codes of this epoch so far


class Rules(NamedTuple):
    """The numbers that make a variant."""

    lam: float
    n_sweeps: int  # one over all atoms, the others over the support
    rescale_above: float  # squared norm above which a touched atom goes back to norm 1
    max_step: float  # largest sum of squared code / h of one sample


@compiled(error_model="numpy")
def visit_samples(X, rows, orders, first_visit, atoms, past, now, n_used, rules, scratch):
    """Visit samples one after the other: re-solve the code, then step and project its atoms.

    `past` holds the codes of the last epoch and is only read; those of this epoch are appended to
    `now` from entry `n_used` on.  The t-th visit of an epoch follows row t of `orders`, cyclically.
    Returns the number of samples visited: fewer than all when `now` has no room left for a full code.
    """
    z, support, r = scratch
    n_atoms = len(z)
    for i in range(len(rows)):
        if n_used + n_atoms > len(now.atom):
            return i
        row = rows[i]
        n_warm = _recall_code(past, row, z, support)
        r[:] = X[i]
        for s in range(n_warm):
            _add_scaled(r, -z[support[s]], atoms.D[support[s]])
        n_support = _sweep_all(
            atoms.D, atoms.norm2, r, z, orders[(first_visit + i) % len(orders)], rules.lam, support
        )
        for _ in range(rules.n_sweeps - 1):
            n_support = _sweep_support(atoms.D, atoms.norm2, r, z, rules.lam, support, n_support)
        _step_atoms(atoms, r, z, support[:n_support], rules)
        now.start[row], now.count[row] = n_used, n_support
        for s in range(n_support):
            now.atom[n_used + s], now.value[n_used + s] = support[s], z[support[s]]
            z[support[s]] = 0.0  # z is zero between samples
        n_used += n_support
    return len(rows)


@compiled(error_model="numpy")
def _recall_code(past, row, z, support):
    """Spread the stored code of a sample over z; its atoms go to `support`, their number is returned."""
    start, count = past.start[row], past.count[row]
    for s in range(count):
        support[s] = past.atom[start + s]
        z[support[s]] = past.value[start + s]
    return count


@compiled(error_model="numpy")
def _sweep_all(D, norm2, r, z, order, lam, support):
    """Re-solve z[j] for every atom j in `order`, and keep r = x - zD.

    The non-zeros are listed in `support` in that order; their number is returned.
    """
    n_support = 0
    for t in range(len(order)):
        j = order[t]
        _solve_one(D, norm2, r, z, j, lam)
        if z[j] != 0.0:
            support[n_support] = j
            n_support += 1
    return n_support


@compiled(error_model="numpy")
def _sweep_support(D, norm2, r, z, lam, support, n_support):
    """`_sweep_all` over the atoms in `support`, from which those that become zero are struck."""
    n_kept = 0
    for s in range(n_support):
        j = support[s]
        _solve_one(D, norm2, r, z, j, lam)
        if z[j] != 0.0:
            support[n_kept] = j
            n_kept += 1
    return n_kept


@compiled(error_model="numpy", inline="always")
def _solve_one(D, norm2, r, z, j, lam):
    """Minimise over z[j] alone, and keep r = x - zD.

    With d = D[j] and a = |d|^2 the minimum is at shrink(d r + a z[j], lam) / a; a need not be 1.
    """
    old = z[j]
    new = old - old  # a dead atom explains nothing, so its code is zero
    if norm2[j] > 0.0:
        new = shrink(_dot(D[j], r) + norm2[j] * old, lam) / norm2[j]
    if new != old:
        _add_scaled(r, old - new, D[j])
        z[j] = new


@compiled(error_model="numpy")
def _step_atoms(atoms, r, z, support, rules):
    """d_j += z_j r / h_j for the atoms of the support, all with the same residual, then project.

    h is updated first, so that no step is longer than 1 / z_j^2 and nothing divides by zero.
    """
    total = 0.0
    for j in support:
        atoms.h_now[j] += z[j] * z[j]
        total += z[j] * z[j] / (atoms.h_past[j] + atoms.h_now[j])
    scale = min(1.0, rules.max_step / max(total, 1e-300))
    for j in support:
        d = atoms.D[j]
        eta = scale * z[j] / (atoms.h_past[j] + atoms.h_now[j])
        norm2 = _add_scaled_norm2(d, r.dtype.type(eta), r)
        if norm2 > rules.rescale_above:
            _multiply(d, r.dtype.type(1.0 / np.sqrt(norm2)))
            norm2 = r.dtype.type(1.0)
        atoms.norm2[j] = norm2


@compiled(error_model="numpy", fastmath={"reassoc", "nsz", "contract"})
def _dot(a, b):
    total = a.dtype.type(0)
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@compiled(error_model="numpy", fastmath={"contract"})
def _add_scaled(a, factor, b):
    for k in range(len(a)):
        a[k] += factor * b[k]


@compiled(error_model="numpy", fastmath={"reassoc", "nsz", "contract"})
def _add_scaled_norm2(a, factor, b):
    """a += factor b; returns the new |a|^2."""
    total = a.dtype.type(0)
    for k in range(len(a)):
        a[k] += factor * b[k]
        total += a[k] * a[k]
    return total


@compiled(error_model="numpy")
def _multiply(a, factor):
    for k in range(len(a)):
        a[k] *= factor

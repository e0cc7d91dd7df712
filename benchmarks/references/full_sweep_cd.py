"""Coordinate descent over all atoms on the residual: what SISO spares.

The coder `cd` needs the Gram matrix, 40 GB for 100,000 atoms in float32.  This one keeps the residual
instead, and may sweep over the support until that stands still between sweeps over all atoms.
"""

import numpy as np

from flyannot.runtime.compiled import compiled
from flyannot.sparse.kernels import shrink

_SUMS = {"nnan", "nsz", "contract", "reassoc"}
_STILL = 1e-3  # a support stands still at changes of this part of the largest of the last full sweep


def reference_full_sweep_cd(x, D, lam, *, tol, n_support=10_000, max_sweeps=10_000):
    """The code (n_atoms,) of one sample, float64, to a duality gap of tol / 2 |x|^2.

    n_support : most sweeps over the support between two sweeps over all atoms
    """
    z, r = np.zeros(len(D)), x.astype(np.float64)
    curvatures = np.einsum("ij,ij->i", D, D, dtype=np.float64)
    everything, square = np.arange(len(D)), r @ r
    for _ in range(max_sweeps):
        largest = sweep(D, curvatures, z, r, lam, everything)
        if gap(x, D, z, r, lam) <= 0.5 * tol * square:
            break
        support = np.flatnonzero(z)
        for _ in range(n_support):
            if sweep(D, curvatures, z, r, lam, support) <= _STILL * largest:
                break
    return z


def gap(x, D, z, r, lam):
    """The duality gap of z with the residual r."""
    largest = np.abs(D @ r.astype(D.dtype)).max(initial=0)
    s = min(1.0, lam / max(largest, 1e-300))
    return 0.5 * r @ r * (1 - s) ** 2 + lam * np.abs(z).sum() - s * ((x - r) @ r)


@compiled(fastmath=_SUMS)
def sweep(D, curvatures, z, r, lam, atoms):
    """Re-solve every code of `atoms` in that order; r = x - z D throughout.  Returns the largest change."""
    largest = 0.0
    for k in atoms:
        if curvatures[k] > 0:
            atom, q = D[k], 0.0
            for j in range(len(r)):
                q += atom[j] * r[j]
            change = shrink(q + curvatures[k] * z[k], lam) / curvatures[k] - z[k]
            if change != 0:
                z[k] += change
                largest = max(largest, abs(change))
                for j in range(len(r)):
                    r[j] -= change * atom[j]
    return largest

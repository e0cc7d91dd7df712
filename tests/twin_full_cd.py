"""A slow twin of SISO: coordinate descent over all atoms in turn, on the residual, in full sweeps."""

import numpy as np

from flyannot.compiled import compiled
from flyannot.sparse.kernels import shrink

_SUMS = {"nnan", "nsz", "contract", "reassoc"}


def full_cd(x, D, lam, *, tol, max_sweeps=100_000):
    """The code (n_atoms,) of one sample; stops as the coders do, at a gap of tol / 2 |x|^2.  No
    Gram matrix: at 10^5 atoms that would take 40 GB."""
    z, r = np.zeros(len(D)), x.astype(np.float64)
    curvatures = np.einsum("ij,ij->i", D, D, dtype=np.float64)
    for _ in range(max_sweeps):
        sweep(D, curvatures, z, r, lam)
        if gap(x, D, z, r, lam) <= 0.5 * tol * (x.astype(np.float64) ** 2).sum():
            break
    return z


def gap(x, D, z, r, lam):
    largest = np.abs(D @ r.astype(D.dtype)).max(initial=0)
    s = min(1.0, lam / max(largest, 1e-300))
    return 0.5 * r @ r * (1 - s) ** 2 + lam * np.abs(z).sum() - s * ((x - r) @ r)


@compiled(fastmath=_SUMS)
def sweep(D, curvatures, z, r, lam):
    """Re-solve every code; r = x - z D throughout."""
    for k in range(len(D)):
        if curvatures[k] > 0:
            atom = D[k]
            q = 0.0
            for j in range(len(r)):
                q += atom[j] * r[j]
            change = shrink(q + curvatures[k] * z[k], lam) / curvatures[k] - z[k]
            if change != 0:
                z[k] += change
                for j in range(len(r)):
                    r[j] -= change * atom[j]

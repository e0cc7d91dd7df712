"""The steps of feature-sign search, one by one, by the kernels of the coder."""

import numpy as np

from flyannot.sparse.coders.blocks import LassoProblem
from flyannot.sparse.coders.feature_sign import make_scratch, search_signs
from flyannot.sparse.kernels import read_start
from flyannot.sparse.simd.product import gram_of


def feature_sign_path(x, D, lam, *, start=None, tol=1e-12, max_steps=10_000):
    """The code of one sample before the search and after every step of it.

    Parameters
    ----------
    x : float array (n_features,)
    D, lam : as in `encode`
    start : float array (n_atoms,), optional, the code to begin from
    tol : float, part of 1/2 |x|^2 at which the duality gap counts as closed
    max_steps : int

    Returns
    -------
    path : float64 array (n_steps + 1, n_atoms)
        Ends when the gap is closed, where the search got stuck, or after `max_steps`.
    """
    x, D = np.asarray(x, np.float64), np.ascontiguousarray(D, np.float64)
    scratch, path = make_scratch(len(D)), [np.zeros(len(D)) if start is None else np.asarray(start, float)]
    gram, q0 = gram_of(D), D @ x
    for _ in range(max_steps):
        # A search of one step from the last code: it stops before the step where there is none to take.
        z = path[-1]
        codes = np.array([0, np.count_nonzero(z)]), np.flatnonzero(z), z[z != 0]
        n = read_start(codes, 0, gram, scratch.atoms, scratch.z)
        n, largest = search_signs(q0, x @ x, n, LassoProblem(gram, float(lam), 0.5 * tol, 1), scratch)
        code = np.zeros(len(D))
        code[scratch.atoms[:n]] = scratch.z[:n]
        if np.isfinite(largest) or (code == z).all():
            break
        path.append(code)
    return np.array(path)

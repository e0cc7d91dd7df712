"""References for the coders: least angle regression, by SPAMS and by scikit-learn, and a generic solver."""

import warnings

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from flyannot.sparse.coders.cd import encode as encode_by_cd

_BLOCK = 1024  # samples whose codes are dense at one time
_MOST_CORNERS = 1000  # of a sample's path
_L_BFGS = {"maxiter": 5000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}


def lars(X, D, lam, *, tol=1e-4):
    """Codes of X over a fixed dictionary by following the lasso path down to `lam`.

    scikit-learn gives no gap, drops atoms that depend on others, and stops early without a word: coordinate
    descent measures every code, and goes on from it where `tol` is not met.

    Parameters
    ----------
    X : float array (n_samples, n_features)
    D : float array (n_atoms, n_features)
    lam : float > 0, weight of the L1 norm
    tol : float
        A sample is done when its duality gap is at most tol / 2 |x|^2.

    Returns
    -------
    Z : CSR matrix (n_samples, n_atoms), float64

    Source
    ------
    Efron, Hastie, Johnstone and Tibshirani, Annals of Statistics 32(2), 2004; scikit-learn's
    `sparse_encode`.
    """
    X, D = np.asarray(X, np.float64), np.ascontiguousarray(D, np.float64)
    gram = D @ D.T
    codes = [_follow_paths(X[first : first + _BLOCK], D, gram, lam) for first in range(0, len(X), _BLOCK)]
    return encode_by_cd(X, D, lam, start=sp.vstack(codes, format="csr"), tol=tol, gram=gram)


def compiled_lars(X, D, lam, *, tol=None):
    """Codes of X, CSR float64 (n_samples, n_atoms), by SPAMS's LARS: exact, whatever `tol`."""
    import spams

    D = np.asfortranarray(D.T, np.float64)
    X = np.asfortranarray(X.T, np.float64)
    return spams.lasso(X, D=D, lambda1=lam, mode=2, numThreads=1).T.tocsr()


def _follow_paths(X, D, gram, lam):
    from sklearn.decomposition import sparse_encode

    rules = {"algorithm": "lasso_lars", "alpha": lam, "max_iter": _MOST_CORNERS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of dropped atoms and early stops: the gap is measured after
        return sp.csr_matrix(sparse_encode(X, D, gram=gram, cov=D @ X.T, **rules))


def quadratic_program(X, D, lam, *, tol=None):
    """Codes, float64 (n_samples, n_atoms), by L-BFGS-B on z = u - v with u, v >= 0, as near as it comes."""
    gram = D @ D.T
    return np.array([_code(q, gram, lam) for q in X @ D.T])


def _code(q, gram, lam):
    m = len(q)

    def value_and_slope(uv):
        z = uv[:m] - uv[m:]
        slope = gram @ z - q
        value = 0.5 * z @ (slope - q) + lam * uv.sum()
        return value, np.concatenate([slope + lam, lam - slope])

    bounds = [(0, None)] * (2 * m)
    found = minimize(
        value_and_slope, np.zeros(2 * m), jac=True, bounds=bounds, method="L-BFGS-B", options=_L_BFGS
    )
    return found.x[:m] - found.x[m:]

"""liblinear, watched: what it will take is known before, and what it returns is checked after."""

import numpy as np

from flyannot.errors import FlyannotError

_TOLERANCE = 1e-6  # liblinear's, on the gradient relative to that at zero
_ACCEPTED = 1e-4  # liblinear also ends where rounding hides any progress, short of its tolerance
_NEWTON_STEPS = 10_000  # far above what is needed; reaching it is an error
_NODE_BYTES = 16  # liblinear keeps an index and a value for every non-zero entry
_THREAD_BYTES = 2**24  # stack and workspace


def liblinear_bytes(n_rows, n_features):
    """Memory of one call of `fit_liblinear`: its rows in float64, and liblinear's own copy of them.
    liblinear does not check what it is given: short of memory it ends in a segmentation fault."""
    return (8 + _NODE_BYTES) * n_rows * (n_features + 2) + _THREAD_BYTES


def fit_liblinear(A, positive, C):
    """Minimise the problem of `flyannot.classifiers.linear_svm`; its gradient is computed here, not believed.

    Parameters
    ----------
    A : float64 array (n_rows, n_features)
    positive : bool array (n_rows,), of both classes
    C : float > 0

    Returns
    -------
    weights : float64 array (n_features,)
    intercept : float

    Raises
    ------
    FlyannotError
        If the gradient is not small against that at zero weights.
    """
    from sklearn.svm import LinearSVC

    svm = LinearSVC(
        C=C, dual=False, class_weight="balanced", tol=_TOLERANCE, max_iter=_NEWTON_STEPS, random_state=0
    ).fit(A, positive)
    weights, intercept = svm.coef_[0], float(svm.intercept_[0])
    reached = _relative_gradient(A, positive, C, weights, intercept)
    if reached > _ACCEPTED:
        raise FlyannotError(
            f"liblinear did not converge at C = {C:g}: relative gradient {reached:.2g}",
            fix="leave the largest values of C out",
        )
    return weights, intercept


def _relative_gradient(A, positive, C, weights, intercept):
    """Length of the gradient of the problem, over its length at zero weights (not below rounding)."""
    sign = np.where(positive, 1.0, -1.0)
    cost = C * sign / np.where(positive, positive.mean(), 1 - positive.mean())

    def gradient(w, b):
        pull = cost * np.maximum(0.0, 1 - sign * (A @ w + b))
        return np.linalg.norm(np.append(w - pull @ A, b - pull.sum()))

    rounding = 1e-9 * np.abs(cost).sum()  # features without any signal start at their minimum
    return gradient(weights, intercept) / max(gradient(0 * weights, 0.0), rounding)

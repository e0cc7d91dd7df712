"""Linear support vector machines, one for each term.

For a term with groups x_i, s_i = +1 or -1, the machine minimises

    1/2 |w|^2 + 1/2 b^2 + C sum_i c_i max(0, 1 - s_i (w x_i + b))^2,

with c_i inversely proportional to the size of the class of i ("balanced").  This is the problem of liblinear,
which penalises the intercept b.  The features are therefore centred on the training rows, and divided by the
root mean square length of the centred rows.  This makes the penalty negligible, and lets one grid of C serve
all features.  The weights of the result include both.

The problem depends on the rows only through their inner products.  With fewer rows than features the rows are
written in an orthonormal basis of their span (`feature_rows`) once for all terms and all C.
The minimiser does not change, and costs much less.

C is chosen for each term by inner folds of its own, over which its positive genes are spread evenly.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from flyannot.base.errors import FlyannotError
from flyannot.jobs.resources import create_thread_pool, require_memory
from flyannot.terms.feature_rows import COLUMNS, CholeskyBasis, inner_products, row_weights
from flyannot.terms.folds import assign_gene_folds, look_up_folds
from flyannot.terms.scorer import LinearScorer, OutOfFoldValues, choose_setting, observed_mask, observed_rows

CS = (0.01, 0.1, 1.0, 10.0)  # C is one of these; of equally good ones the smallest

_TOLERANCE = 1e-6  # liblinear's, for the gradient relative to the gradient at zero weights
_ACCEPTED = 1e-4  # liblinear may stop earlier, when rounding errors hide its progress
_NEWTON_STEPS = 10_000  # far more than needed; reaching it is an error
_NODE_BYTES = 16  # liblinear stores an index and a value for every non-zero entry
_THREAD_BYTES = 2**24  # stack and workspace
_ROWS_OF_THREADS = 150  # two threads take 1.3 times as long as one for 100 rows, and 0.8 times for 200


@dataclass(frozen=True)
class LinearSvm(LinearScorer):
    """Linear support vector machines for all terms.

    weights : float64 (n_terms, n_features)
    intercept, C : float64 (n_terms,)
    """

    C: np.ndarray

    ARRAYS = LinearScorer.LINEAR_ARRAYS | {"C": ("f", ("n_terms",))}

    @classmethod
    def fit(cls, X, Y, genes, *, rng, options, observed=None):
        """Fit all terms, as `Scorer.fit`; the folds of a term do not depend on the other terms."""
        n_threads = options.n_threads if len(X) >= _ROWS_OF_THREADS else 1
        _check_memory(X.shape[0], X.shape[1], Y.shape[1], n_threads)
        seed = int(rng.integers(2**63))
        coordinates, back = _coordinates(X, options.n_threads)
        train = partial(_train_term, coordinates, genes=genes, seed=seed, n_folds=options.n_folds)
        tasks = zip(Y.T, observed_rows(observed_mask(observed, Y.shape)))
        trained = _run_in_threads(n_threads, train, tasks, options.on_terms)
        *fitted, held_out = zip(*trained)
        weights, intercept, C = map(np.array, fitted)
        weights, intercept = back(weights, intercept)
        arrays = (np.hstack(columns) for columns in zip(*(vars(of_term).values() for of_term in held_out)))
        return cls(weights, intercept, C), OutOfFoldValues(*arrays)


def _run_in_threads(n_threads, work, tasks, on_terms):
    """Return the results of work(task) for every task, in order.

    liblinear releases the lock of the interpreter.
    """
    pool = create_thread_pool(n_threads)
    results = []
    try:
        for result in pool.map(work, tasks):
            results.append(result)
            on_terms(1)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # a signal must not wait for liblinear
    return results


def training_bytes(n_rows, n_features, n_terms, n_threads=1):
    """Estimate the memory in bytes that fitting needs beyond its arguments.

    It consists of the coordinates with the inner products, the weights, and for every thread the rows of a
    fold and liblinear's copy of them.  If memory is short, liblinear ends in a segmentation fault.
    """
    rank = min(n_rows, n_features)
    coordinates = 8 * n_rows * (n_rows + rank + COLUMNS if _is_wide(n_rows, n_features) else rank)
    weights = 16 * n_terms * n_features
    liblinear = (8 + _NODE_BYTES) * n_rows * (rank + 2) + _THREAD_BYTES
    return coordinates + weights + n_threads * liblinear


def _check_memory(n_rows, n_features, n_terms, n_threads):
    """Raise FlyannotError if there is too little memory for fitting."""
    import sklearn.svm  # noqa: F401  (its libraries need memory too, so they are loaded before the check)

    require_memory(
        training_bytes(n_rows, n_features, n_terms, n_threads),
        f"training on {n_rows} rows of {n_features} features",
        fix="use fewer atoms, a smaller pooling grid, fewer groups or one job",
    )


def _is_wide(n_rows, n_features):
    """Return whether a basis of the span of the rows has fewer numbers than the rows.

    The basis is triangular, and liblinear skips zeros.
    """
    return n_rows < 2 * n_features


def _coordinates(X, n_threads):
    """Return coordinates of the centred, scaled rows, and a function that maps weights to the features."""
    mean = X.mean(axis=0, dtype=np.float64)
    if _is_wide(*X.shape):
        K = inner_products(X, mean=mean, n_threads=n_threads)
        scale = np.sqrt(np.trace(K) / len(X)) or 1.0
        K /= scale**2
        basis = CholeskyBasis.from_products(K)
        coordinates = basis.coordinates
    else:
        basis, coordinates = None, X - mean
        scale = np.sqrt(np.einsum("ij,ij->", coordinates, coordinates) / len(X)) or 1.0
        coordinates /= scale

    def back(weights, intercept):
        if basis is not None:
            weights = row_weights(basis.row_coefficients(weights) / scale, X, mean)
        weights = weights / scale
        return weights, intercept - np.array([of_term @ mean for of_term in weights])

    return coordinates, back


def _train_term(A, term, *, genes, seed, n_folds):
    """Train one term in the coordinates A.

    Parameters
    ----------
    A : float64 array (n_rows, n_coordinates)
    term : (positive, rows): which rows have the term, bool (n_rows,), and an index of the rows in which it is
        known
    genes : array (n_rows,)
    seed : int
    n_folds : int

    Returns
    -------
    weights, intercept, C, held_out : the last is OutOfFoldValues
    """
    positive, rows = term
    n_rows = len(A)
    A = A[rows]
    positive = positive[rows]
    genes = genes[rows]
    n_positive = len(np.unique(genes[positive]))
    n_folds = min(n_folds, n_positive, len(np.unique(genes)) - n_positive)
    dealt = assign_gene_folds(genes, n_folds, np.random.default_rng(seed), positive=positive)
    folds = look_up_folds(genes, dealt)
    candidates = [_held_out_values(A, positive, folds, C)[:, None] for C in CS]
    chosen, held_out = choose_setting(candidates, positive[:, None], folds)
    return *fit_liblinear(A, positive, CS[chosen]), CS[chosen], _spread_to_all(held_out, rows, n_rows)


def _spread_to_all(held_out, rows, n_rows):
    """Extend the OutOfFoldValues of some rows to all rows; the others are in no fold."""
    whole = OutOfFoldValues(np.zeros((n_rows, 1)), np.zeros((n_rows, 1)), np.full((n_rows, 1), -1))
    for name, of_all in vars(whole).items():
        of_all[rows] = getattr(held_out, name)
    return whole


def _held_out_values(A, positive, folds, C):
    """Return the decision value of every row by the model fitted without the fold of the row."""
    values = np.empty(len(A))
    for fold in np.unique(folds):
        held_out = folds == fold
        weights, intercept = fit_liblinear(A[~held_out], positive[~held_out], C)
        values[held_out] = A[held_out] @ weights + intercept
    return values


def fit_liblinear(A, positive, C):
    """Minimise the problem of a term by liblinear, and verify the gradient.

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
        If the gradient is not small relative to the gradient at zero weights.
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
    """Return the length of the gradient of the problem, divided by its length at zero weights.

    The divisor is at least as large as rounding errors.
    """
    sign = np.where(positive, 1.0, -1.0)
    cost = C * sign / np.where(positive, positive.mean(), 1 - positive.mean())

    def gradient(w, b):
        pull = cost * np.maximum(0.0, 1 - sign * (A @ w + b))
        return np.linalg.norm(np.append(w - pull @ A, b - pull.sum()))

    rounding = 1e-9 * np.abs(cost).sum()  # features without any signal are at their minimum
    return gradient(weights, intercept) / max(gradient(0 * weights, 0.0), rounding)

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
from flyannot.terms.feature_rows import COLUMNS, CholeskyBasis, feature_weights_from_rows, inner_products
from flyannot.terms.folds import assign_gene_folds, look_up_folds
from flyannot.terms.scorer import (
    LinearScorer,
    OutOfFoldValues,
    choose_setting,
    list_observed_rows,
    observed_mask,
)

CS = (0.01, 0.1, 1.0, 10.0)  # C is one of these; of equally good ones the smallest

_TOLERANCE = 1e-6  # liblinear's, for the gradient relative to the gradient at zero weights
_ACCEPTED = 1e-4  # liblinear may stop earlier, when rounding errors hide its progress
_NEWTON_STEPS = 10_000  # far more than needed; reaching it is an error
_NODE_BYTES = 16  # liblinear stores an index and a value for every non-zero entry
_THREAD_BYTES = 2**24  # stack and workspace
_ROWS_OF_THREADS = 150  # two threads take 1.3 times as long as one for 100 rows, and 0.8 times for 200


@dataclass(frozen=True)
class LinearSvm(LinearScorer):
    """A linear support vector machine for each term.

    weights : float64 (n_terms, n_features)
    intercept : float64 (n_terms,)
    C : float64 (n_terms,), the chosen cost of errors
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
        tasks = zip(Y.T, list_observed_rows(observed_mask(observed, Y.shape)))
        trained = _run_in_threads(n_threads, train, tasks, options.on_terms)
        *fitted, held_out = zip(*trained)
        weights, intercept, C = map(np.array, fitted)
        weights, intercept = back(weights, intercept)
        arrays = (np.hstack(columns) for columns in zip(*(vars(of_term).values() for of_term in held_out)))
        return cls(weights, intercept, C), OutOfFoldValues(*arrays)


def _run_in_threads(n_threads, work, tasks, on_terms):
    """Call `work` for every task in several threads, and return its results in the order of the tasks.

    Threads help because liblinear releases Python's global lock.

    Parameters
    ----------
    n_threads : int
    work : function of a task
    tasks : sequence
    on_terms : function, called with 1 whenever a task is done
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
    """Estimate how many bytes of memory training needs beyond its arguments.

    These are the coordinates with the inner products, the weights, and for every thread the rows of a fold
    and liblinear's copy of them.  Without enough memory liblinear would end in a segmentation fault.
    """
    rank = min(n_rows, n_features)
    coordinates = 8 * n_rows * (n_rows + rank + COLUMNS if _is_wide(n_rows, n_features) else rank)
    weights = 16 * n_terms * n_features
    liblinear = (8 + _NODE_BYTES) * n_rows * (rank + 2) + _THREAD_BYTES
    return coordinates + weights + n_threads * liblinear


def _check_memory(n_rows, n_features, n_terms, n_threads):
    """Raise a FlyannotError if the machine has less memory free than `training_bytes` estimates."""
    import sklearn.svm  # noqa: F401  (its libraries need memory too, so they are loaded before the check)

    require_memory(
        training_bytes(n_rows, n_features, n_terms, n_threads),
        f"training on {n_rows} rows of {n_features} features",
        fix="use fewer atoms, a smaller pooling grid, fewer groups or one job",
    )


def _is_wide(n_rows, n_features):
    """Return True if the rows take fewer numbers in a basis of their span than as features.

    The basis is triangular, and liblinear skips zeros.
    """
    return n_rows < 2 * n_features


def _coordinates(X, n_threads):
    """Centre and scale the rows of X, and write them in an orthonormal basis if that is shorter.

    Parameters
    ----------
    X : float array (n_rows, n_features)
    n_threads : int

    Returns
    -------
    A : float64 array (n_rows, n_coordinates)
    back : function that maps weights and intercepts for A to weights and intercepts for X
    """
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
            weights = feature_weights_from_rows(basis.row_coefficients(weights) / scale, X, mean)
        weights = weights / scale
        return weights, intercept - np.array([of_term @ mean for of_term in weights])

    return coordinates, back


def _train_term(A, term, *, genes, seed, n_folds):
    """Train the machine of one term, and choose its C by inner folds.

    Parameters
    ----------
    A : float64 array (n_rows, n_coordinates), as `_coordinates` returns
    term : (positive, rows)
        `positive` is a bool array (n_rows,), True for rows with the term.  `rows` is an index of the rows
        for which that is known.
    genes : array (n_rows,), the gene of each row
    seed : int, for the folds
    n_folds : int

    Returns
    -------
    weights : float64 array (n_coordinates,)
    intercept : float
    C : float
    held_out : OutOfFoldValues of all rows
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
    """Extend OutOfFoldValues of some rows to all rows; the other rows get the value 0 and no fold.

    Parameters
    ----------
    held_out : OutOfFoldValues of the selected rows
    rows : index of the selected rows
    n_rows : int, the number of all rows
    """
    whole = OutOfFoldValues(np.zeros((n_rows, 1)), np.zeros((n_rows, 1)), np.full((n_rows, 1), -1))
    for name, of_all in vars(whole).items():
        of_all[rows] = getattr(held_out, name)
    return whole


def _held_out_values(A, positive, folds, C):
    """Return the decision value of every row by a machine that was trained on the other folds.

    Parameters
    ----------
    A : float64 array (n_rows, n_coordinates)
    positive : bool array (n_rows,)
    folds : int array (n_rows,)
    C : float
    """
    values = np.empty(len(A))
    for fold in np.unique(folds):
        held_out = folds == fold
        weights, intercept = fit_liblinear(A[~held_out], positive[~held_out], C)
        values[held_out] = A[held_out] @ weights + intercept
    return values


def fit_liblinear(A, positive, C):
    """Train one linear support vector machine by liblinear, and verify the result by its gradient.

    Parameters
    ----------
    A : float64 array (n_rows, n_features)
    positive : bool array (n_rows,), with both classes
    C : float > 0, the cost of errors

    Returns
    -------
    weights : float64 array (n_features,)
    intercept : float

    Raises
    ------
    FlyannotError
        If the gradient of the objective is not small relative to the gradient at zero weights.
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
    """Return the norm of the gradient of the objective, divided by its norm at zero weights.

    The divisor is at least as large as rounding errors.  The parameters are as in `fit_liblinear`.
    """
    sign = np.where(positive, 1.0, -1.0)
    cost = C * sign / np.where(positive, positive.mean(), 1 - positive.mean())

    def gradient(w, b):
        pull = cost * np.maximum(0.0, 1 - sign * (A @ w + b))
        return np.linalg.norm(np.append(w - pull @ A, b - pull.sum()))

    rounding = 1e-9 * np.abs(cost).sum()  # features without any signal are at their minimum
    return gradient(weights, intercept) / max(gradient(0 * weights, 0.0), rounding)

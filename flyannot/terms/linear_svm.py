"""One linear support vector machine for each term.

For a term with groups x_i, s_i = +1 or -1, it minimises

    1/2 |w|^2 + 1/2 b^2 + C sum_i c_i max(0, 1 - s_i (w x_i + b))^2,

c_i inversely proportional to the size of i's class ("balanced").  This is liblinear's problem; it
penalises the intercept b.  So that this does not matter, and so that one grid of C suits all features,
the features are centred on the training rows and divided by one number, the root mean square length
of the centred rows; both are folded back into the weights.

The problem sees the rows through their inner products only.  With fewer rows than features the rows
are written in an orthonormal basis of their own span (`flyannot.terms.feature_rows`) once for all terms
and all C: the same minimiser at a fraction of the cost.

C is chosen for each term by inner folds of the term's own: its positive genes are spread evenly.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from flyannot.base.errors import FlyannotError
from flyannot.jobs.resources import require_bytes, threads_of_one_blas
from flyannot.terms.feature_rows import COLUMNS, CholeskyBasis, inner_products, weights_of_rows
from flyannot.terms.folds import assign_gene_folds, look_up_folds
from flyannot.terms.scorer import LinearScorer, OutOfFoldValues, choose_held_out, observed_mask, observed_rows

CS = (0.01, 0.1, 1.0, 10.0)  # what C is chosen from; of equally good ones the smaller

_TOLERANCE = 1e-6  # liblinear's, on the gradient relative to that at zero
_ACCEPTED = 1e-4  # liblinear also ends where rounding hides any progress, short of its tolerance
_NEWTON_STEPS = 10_000  # far above what is needed; reaching it is an error
_NODE_BYTES = 16  # liblinear keeps an index and a value for every non-zero entry
_THREAD_BYTES = 2**24  # stack and workspace
_ROWS_OF_THREADS = 150  # of 100, two threads take 1.3 times as long as one, of 200 .8 times


@dataclass(frozen=True)
class LinearSvm(LinearScorer):
    """weights : float64 (n_terms, n_features); intercept, C : float64 (n_terms,)."""

    C: np.ndarray

    ARRAYS = LinearScorer.LINEAR_ARRAYS | {"C": ("f", ("n_terms",))}

    @classmethod
    def fit(cls, X, Y, genes, *, rng, options, observed=None):
        """As `Scorer.fit`; a term's folds do not depend on the other terms."""
        n_threads = options.n_threads if len(X) >= _ROWS_OF_THREADS else 1
        _check_memory(X.shape[0], X.shape[1], Y.shape[1], n_threads)
        seed = int(rng.integers(2**63))
        coordinates, back = _coordinates(X, options.n_threads)
        train = partial(_train_term, genes=genes, seed=seed, n_folds=options.n_folds)
        run_all = options.elsewhere or partial(_in_threads, n_threads)
        tasks = list(zip(Y.T, observed_rows(observed_mask(observed, Y.shape))))
        trained = run_all(train, coordinates, tasks, lambda _: options.on_terms(1))
        *fitted, held_out = zip(*trained)
        weights, intercept, C = map(np.array, fitted)
        weights, intercept = back(weights, intercept)
        arrays = (np.hstack(columns) for columns in zip(*(vars(of_term).values() for of_term in held_out)))
        return cls(weights, intercept, C), OutOfFoldValues(*arrays)

    @classmethod
    def pass_draws(cls, genes, *, rng, options):
        """As `Scorer.pass_draws`."""
        rng.integers(2**63)


def _in_threads(n_threads, work, shared, tasks, on_done):
    """As `elsewhere` of `FitOptions`; liblinear releases the interpreter."""
    pool, results = threads_of_one_blas(n_threads), []
    try:
        for result in pool.map(partial(work, shared), tasks):
            results.append(result)
            on_done(result)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # a signal does not wait for liblinear
    return results


def training_bytes(n_rows, n_features, n_terms, n_threads=1):
    """Memory that fitting needs beyond its arguments: the coordinates and what they are made of, the weights,
    and for every thread the rows of a fold and liblinear's own copy of them.

    liblinear does not check what it is given: short of memory it ends in a segmentation fault.
    """
    rank = min(n_rows, n_features)
    coordinates = 8 * n_rows * (n_rows + rank + COLUMNS if _is_wide(n_rows, n_features) else rank)
    weights = 16 * n_terms * n_features
    liblinear = (8 + _NODE_BYTES) * n_rows * (rank + 2) + _THREAD_BYTES
    return coordinates + weights + n_threads * liblinear


def _check_memory(n_rows, n_features, n_terms, n_threads):
    import sklearn.svm  # noqa: F401  (its libraries take memory too: they must be in before we ask)

    require_bytes(
        training_bytes(n_rows, n_features, n_terms, n_threads),
        f"training on {n_rows} rows of {n_features} features",
        fix="use fewer atoms, a smaller pooling grid, fewer groups or one job",
    )


def _is_wide(n_rows, n_features):
    """Whether a basis of their own has fewer numbers: it is triangular, and liblinear skips the zeros."""
    return n_rows < 2 * n_features


def _coordinates(X, n_threads):
    """Coordinates of the centred, scaled rows, and the way of models back to the features."""
    mean = X.mean(axis=0, dtype=np.float64)
    if _is_wide(*X.shape):
        K = inner_products(X, mean=mean, n_threads=n_threads)
        scale = np.sqrt(np.trace(K) / len(X)) or 1.0
        K /= scale**2
        basis = CholeskyBasis.of_products(K)
        coordinates = basis.coordinates
    else:
        basis, coordinates = None, X - mean
        scale = np.sqrt(np.einsum("ij,ij->", coordinates, coordinates) / len(X)) or 1.0
        coordinates /= scale

    def back(weights, intercept):
        if basis is not None:
            weights = weights_of_rows(basis.of_rows(weights) / scale, X, mean)
        weights = weights / scale
        return weights, intercept - np.array([of_term @ mean for of_term in weights])

    return coordinates, back


def _train_term(A, term, *, genes, seed, n_folds):
    """Weights, intercept, C, and what was held out, of one term in the coordinates A.

    term : which rows have it, bool (n_rows,), and what picks those in which that is known
    """
    positive, rows = term
    if not isinstance(rows, slice):
        within = positive[rows], slice(None)
        *fitted, known = _train_term(A[rows], within, genes=genes[rows], seed=seed, n_folds=n_folds)
        return *fitted, _among_all(known, rows, len(A))
    n_positive = len(np.unique(genes[positive]))
    n_folds = min(n_folds, n_positive, len(np.unique(genes)) - n_positive)
    dealt = assign_gene_folds(genes, n_folds, np.random.default_rng(seed), positive=positive)
    folds = look_up_folds(genes, dealt)
    candidates = [_held_out_values(A, positive, folds, C)[:, None] for C in CS]
    chosen, held_out = choose_held_out(candidates, positive[:, None], folds)
    return *fit_liblinear(A, positive, CS[chosen]), CS[chosen], held_out


def _among_all(held_out, rows, n_rows):
    """An OutOfFoldValues of some rows as one of all; the others are in no fold."""
    values, scored, folds = np.zeros((n_rows, 1)), np.zeros((n_rows, 1)), np.full((n_rows, 1), -1)
    values[rows], scored[rows], folds[rows] = held_out.values, held_out.scored, held_out.folds
    return OutOfFoldValues(values, scored, folds)


def _held_out_values(A, positive, folds, C):
    """The decision value of every row by the model that was fitted without the row's fold."""
    values = np.empty(len(A))
    for fold in np.unique(folds):
        held_out = folds == fold
        weights, intercept = fit_liblinear(A[~held_out], positive[~held_out], C)
        values[held_out] = A[held_out] @ weights + intercept
    return values


def fit_liblinear(A, positive, C):
    """Minimise the problem of a term by liblinear; the gradient it ends at is computed here, not believed.

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

"""One linear support vector machine for each term, with its threshold and its probabilities.

For a term with groups x_i, s_i = +1 or -1, the model minimises

    1/2 |w|^2 + 1/2 b^2 + C sum_i c_i max(0, 1 - s_i (w x_i + b))^2,

c_i inversely proportional to the size of i's class ("balanced").  This is liblinear's problem; it
penalises the intercept b.  So that this does not matter, and so that one grid of C suits all features,
the features are centred on the training rows and divided by one number, the root mean square length
of the centred rows; both are folded back into the weights of the model.

The problem sees the rows through their inner products only.  With fewer rows than features the rows
are written in an orthonormal basis of their own span (X^T = Q R; the rows of R^T are the coordinates)
once for all terms and all C, and w = Q a is the same minimiser at a fraction of the cost.

C, the threshold and the calibration come from inner folds that share no gene.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from flyannot.classifiers.calibration import calibrate, sigmoid, threshold_at
from flyannot.classifiers.folds import stratified_gene_folds
from flyannot.classifiers.liblinear import fit_liblinear, liblinear_bytes
from flyannot.classifiers.linear import linear_values
from flyannot.classifiers.undersampling import fit_undersampled
from flyannot.errors import DataError, InputError
from flyannot.runtime.memory import require_bytes
from flyannot.scores.metrics import auc_within_folds


@dataclass(frozen=True)
class TermModel:
    """The model of one term.  value = weights x + intercept; yes if value > threshold;
    probability = 1 / (1 + exp(-(slope value + offset)))."""

    weights: np.ndarray  # float64 (n_features,)
    intercept: float
    C: float
    threshold: float
    slope: float
    offset: float
    n_groups: int
    n_positive: int


@dataclass(frozen=True)
class TrainOptions:
    """Cs: the grid for C, in any order.  n_folds: inner folds at most; fewer where positive genes are
    fewer.  merge: "max" or "mean", how the values of a group's images become the group's.  at: what a
    threshold is for, as in `flyannot.classifiers.calibration.threshold_at`.  n_members: None for one SVM a
    term, else
    how many vote, as in `flyannot.classifiers.undersampling`."""

    Cs: tuple = (0.01, 0.1, 1.0, 10.0)
    n_folds: int = 3
    merge: str = "max"
    n_threads: int = 1
    at: tuple | None = None
    n_members: int | None = None


def decision_values(X, models):
    """The decision value of every row for every model.

    Parameters
    ----------
    X : float array (n_rows, n_features)
    models : list of TermModel

    Returns
    -------
    values : float64 array (n_rows, n_models)
    """
    if not models:
        return np.zeros((len(X), 0))
    weights = np.array([model.weights for model in models])
    return linear_values(X, weights, np.array([model.intercept for model in models]))


def probabilities(values, models):
    """Calibrated probabilities (n_rows, n_models) of decision values of that shape."""
    slopes, offsets = np.array([(model.slope, model.offset) for model in models]).reshape(-1, 2).T
    return sigmoid(slopes * values + offsets)


def answers(values, models):
    """Yes or no, bool (n_rows, n_models), for decision values of that shape."""
    return values > np.array([model.threshold for model in models])


def merge_images(values, bags, merge):
    """Decision values of groups from those of their images.

    Parameters
    ----------
    values : float array (n_images,) or (n_images, n_terms)
    bags : int or text array (n_images,), the group of each image
    merge : "max" or "mean"

    Returns
    -------
    merged : float array (n_groups,) or (n_groups, n_terms), in the order of np.unique(bags)
    """
    if merge not in ("max", "mean"):
        raise InputError(f'cannot merge images by "{merge}"', fix="use max or mean")
    names, inverse = np.unique(bags, return_inverse=True)
    merged = np.full((len(names), *values.shape[1:]), -np.inf if merge == "max" else 0.0)
    if merge == "max":
        np.maximum.at(merged, inverse, values)
        return merged
    np.add.at(merged, inverse, values)
    counts = np.bincount(inverse)
    return merged / counts.reshape(-1, *[1] * (merged.ndim - 1))


def untrainable(positive, genes, needed=2):
    """Why a term cannot be trained or evaluated, or "" if it can.

    Parameters
    ----------
    positive : bool array (n_rows,)
    genes : sequence (n_rows,)
    needed : int >= 2, the least number of genes with the term, and of genes without it
    """
    genes, positive = np.asarray(genes), np.asarray(positive, bool)
    n_positive = len(np.unique(genes[positive]))
    n_negative = len(np.unique(genes)) - n_positive
    for n, sign in ((n_positive, "positive"), (n_negative, "negative")):
        if n < needed:
            return f"{n} {sign} gene{'' if n == 1 else 's'}, {needed} needed"
    return ""


def train_terms(X, Y, genes, *, rng, bags=None, options=None):
    """Train the model of every term.

    Parameters
    ----------
    X : float array (n_rows, n_features)
    Y : bool array (n_rows, n_terms)
    genes : sequence (n_rows,), the gene of each row
    rng : numpy Generator, for the inner folds; a term's folds do not depend on the other terms
    bags : None if every row is a group; else (n_rows,) the group of each row, an image.  Values are
        then merged over a group before they are judged.
    options : TrainOptions

    Returns
    -------
    models : list of n_terms TermModel

    Raises
    ------
    DataError
        If X has a nan or an infinity, or the images of a group differ in gene or in terms.
    InputError
        If a term is untrainable.
    FlyannotError
        If the memory does not suffice, or liblinear does not converge.
    """
    options = options or TrainOptions()
    X, Y, genes = np.asarray(X), np.asarray(Y, bool), np.asarray(genes)
    bags = np.arange(len(X)) if bags is None else np.asarray(bags)
    _check_options(options)
    _check(X, Y, genes, bags)
    _check_memory(*X.shape, Y.shape[1], options.n_threads)
    seed = int(rng.integers(2**63))
    coordinates, back = _own_basis(X)
    train = partial(_train_term, coordinates, genes=genes, bags=bags, seed=seed, options=options)
    pool = ThreadPoolExecutor(options.n_threads)  # liblinear releases the interpreter
    try:
        trained = list(pool.map(train, Y.T))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # a signal does not wait for liblinear
    return [back(model) for model in trained]


def _check_options(options):
    if not options.Cs or min(options.Cs) <= 0:
        raise InputError(f"cannot choose C from {options.Cs}", fix="give at least one value above 0")
    if options.n_folds < 2:
        raise InputError(f"{options.n_folds} inner fold leaves nothing to train on", fix="use at least 2")


def _check(X, Y, genes, bags):
    if not len(X) == len(Y) == len(genes) == len(bags):
        lengths = f"{len(X)}, {len(Y)}, {len(genes)} and {len(bags)} rows"
        raise DataError(f"features, terms, genes and groups have {lengths}; wrong files?")
    if not np.isfinite(X).all():
        row = int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
        raise DataError(f"the features of row {row} are not finite", fix="make the features file again")
    first, inverse = np.unique(bags, return_index=True, return_inverse=True)[1:]
    for what, array in (("genes", genes), ("terms", Y)):
        if (array[first][inverse] != array).any():
            raise DataError(f"the images of one group have different {what}", fix="group images by gene")
    for j, positive in enumerate(Y.T):
        reason = untrainable(positive, genes)
        if reason:
            raise InputError(f"term number {j} cannot be trained: {reason}", fix="leave this term out")


def training_bytes(n_rows, n_features, n_terms, n_threads=1):
    """Memory that `train_terms` needs beyond its arguments: the centred copy of the features, which
    becomes the basis, the coordinates, the weights, and for every thread the rows of a fold and
    liblinear's own copy of them."""
    rank = min(n_rows, n_features)
    coordinates = 16 * n_rows * rank if n_rows < n_features else 0
    weights = 16 * n_terms * n_features
    return 8 * n_rows * n_features + coordinates + weights + n_threads * liblinear_bytes(n_rows, rank)


def _check_memory(n_rows, n_features, n_terms, n_threads):
    import sklearn.svm  # noqa: F401  (its libraries take memory too: they must be in before we ask)

    require_bytes(
        training_bytes(n_rows, n_features, n_terms, n_threads),
        f"training on {n_rows} rows of {n_features} features",
        fix="use fewer atoms, a smaller pooling grid, fewer groups or one job",
    )


def _own_basis(X):
    """Coordinates of the centred, scaled rows, and the way of a model back to the features."""
    from scipy.linalg import qr

    mean = X.mean(axis=0, dtype=np.float64)
    centred = X - mean
    scale = np.sqrt(np.einsum("ij,ij->", centred, centred) / len(X)) or 1.0
    centred /= scale
    coordinates, Q = centred, None
    if len(X) < X.shape[1]:
        Q, R = qr(centred.T, overwrite_a=True, mode="economic", check_finite=False)  # Q lies in `centred`
        coordinates = np.ascontiguousarray(R.T)  # triangular: liblinear skips the zeros

    def back(model):
        weights = (model.weights if Q is None else Q @ model.weights) / scale
        return TermModel(
            **(vars(model) | {"weights": weights, "intercept": model.intercept - weights @ mean})
        )

    return coordinates, back


def _train_term(A, positive, *, genes, bags, seed, options):
    """The model of one term in the coordinates A: choose C, then threshold and calibration, then refit."""
    n_positive = len(np.unique(genes[positive]))
    n_folds = min(options.n_folds, n_positive, len(np.unique(genes)) - n_positive)
    folds = stratified_gene_folds(genes, positive, n_folds, np.random.default_rng(seed))
    first = np.unique(bags, return_index=True)[1]
    truth = positive[first]
    fit = _fit_of(options.n_members, seed)
    best, C, held_out = -1.0, None, None
    for candidate in sorted(options.Cs):  # strictly better only: a tie goes to the smaller C
        values = merge_images(_held_out_values(fit, A, positive, folds, candidate), bags, options.merge)
        area = auc_within_folds(values, truth, folds[first])
        if area > best:
            best, C, held_out = area, candidate, values
    weights, intercept = fit(A, positive, C)
    slope, offset = calibrate(held_out, truth)
    threshold = threshold_at(held_out, truth, options.at)
    return TermModel(weights, intercept, float(C), threshold, slope, offset, len(truth), int(truth.sum()))


def _fit_of(n_members, seed):
    """The function of A, positive and C that fits one SVM, or an ensemble of them."""
    if n_members is None:
        return fit_liblinear
    return lambda A, positive, C: fit_undersampled(
        A, positive, C, n_members=n_members, rng=np.random.default_rng([seed, n_members])
    )


def _held_out_values(fit, A, positive, folds, C):
    """The decision value of every row by the model that was fitted without the row's fold."""
    values = np.empty(len(A))
    for fold in np.unique(folds):
        held_out = folds == fold
        weights, intercept = fit(A[~held_out], positive[~held_out], C)
        values[held_out] = A[held_out] @ weights + intercept
    return values

"""scikit-learn: mini-batch dictionary learning, lasso codes, and label spreading."""

import warnings
from contextlib import contextmanager

import numpy as np

from benchmarks.measures import Stopwatch, graded_codes, graded_dictionary, normalised_patches
from flyannot.descriptors.sift import normalise_descriptors

_N_WARM = 64  # patches of a first small run
_MOST_SWEEPS = 2_000


def learn_by_scikit_learn(patches, held, initial, lam, n, n_epochs, batch_size):
    """Learn by MiniBatchDictionaryLearning, in float32, early stopping off."""
    from sklearn.decomposition import MiniBatchDictionaryLearning

    X, D = normalise_descriptors(np.load(patches, mmap_mode="r")[:n]), np.load(initial)
    options = {"n_components": len(D), "alpha": lam, "fit_algorithm": "cd", "batch_size": batch_size}
    options |= {"dict_init": D, "random_state": 0, "max_no_improvement": None, "tol": 0.0}
    MiniBatchDictionaryLearning(max_iter=1, **options).fit(X[:_N_WARM])
    with Stopwatch() as watch:
        fitted = MiniBatchDictionaryLearning(max_iter=n_epochs, **options).fit(X)
    cost = {"seconds": watch.seconds, "n": len(X), "n_epochs": n_epochs}
    return graded_dictionary(fitted.components_, held, lam, **cost)


def encode_by_scikit_learn(patches, dictionary, lam, n, algorithm):
    """Code the last n patches by sparse_encode; its "lasso_cd" or "lasso_lars"."""
    from sklearn.decomposition import sparse_encode

    X, D = normalised_patches(patches, slice(-n, None)), np.load(dictionary)
    options = {"algorithm": algorithm, "alpha": lam, "n_jobs": 1}
    sparse_encode(X[:4], D, **options)
    with Stopwatch() as watch:
        Z = sparse_encode(X, D, **options)
    return graded_codes(watch.seconds, X, D, Z, lam)


def lasso_codes(X, A, lam, *, tol):
    """Codes (n_queries, n_rows) over all rows of A, one query at a time.

    tol : of the duality gap, as part of |x|^2
    """
    from sklearn.linear_model import Lasso

    columns, Z = np.asfortranarray(A.T, np.float64), np.zeros((len(X), len(A)))
    alpha = lam / X.shape[1]  # scikit-learn divides the square, not the norm, by the number of features
    lasso = Lasso(alpha, fit_intercept=False, tol=tol, max_iter=_MOST_SWEEPS, copy_X=False)
    with _without_warnings():
        for z, x in zip(Z, np.asarray(X, np.float64)):
            z[:] = lasso.fit(columns, x).coef_
    return Z


def spread_labels(X, Y, X_new, n_neighbours=7):
    """Label spreading (Zhou et al. 2004) on one graph of neighbours, label by label.

    Returns
    -------
    values : float64 (n_new, n_labels); seconds of the graph; seconds of the spreading
    """
    from sklearn.neighbors import kneighbors_graph
    from sklearn.semi_supervised import LabelSpreading

    everything, values = np.concatenate([X, X_new]), np.zeros((len(X_new), Y.shape[1]))
    with Stopwatch() as building:
        graph = kneighbors_graph(everything, n_neighbours, include_self=True)
    with Stopwatch() as spreading, _without_warnings():
        for j in np.flatnonzero(Y.any(axis=0)):
            given = np.concatenate([Y[:, j].astype(int), np.full(len(X_new), -1)])
            model = LabelSpreading(kernel=lambda *_: graph, max_iter=30, tol=1e-3).fit(everything, given)
            values[:, j] = np.nan_to_num(model.label_distributions_[len(X) :, -1])
    return values, building.seconds, spreading.seconds


@contextmanager
def _without_warnings():
    """Of early ends, and of points that no label reaches."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield

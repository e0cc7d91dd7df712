"""Other programs: SPAMS, scikit-learn, celer, skglm and OpenCV, as the comparisons call them.

Each is imported where it is called, for not every machine has them.  SPAMS works in float32, its quicker
type.  OpenCV rounds the centre of a patch, which lies between pixels, to a whole pixel (here the next one
down and to the right).
"""

import numpy as np

from benchmarks.measures import (
    Stopwatch,
    graded_codes,
    graded_dictionary,
    normalised_patches,
    objective_by_eq_7,
    timed,
)
from benchmarks.references.usual_way import spams_codes, without_warnings

_N_WARM = 64  # patches of a first small run


def learn_by_spams(patches, held, initial, lam, n, n_epochs, batch_size):
    """Learn by trainDL, online, from the first n patches."""
    import spams

    X, D = normalised_patches(patches, slice(n)).T, np.asfortranarray(np.load(initial).T)
    options = {"lambda1": lam, "lambda2": 0.0, "mode": 2, "batchsize": batch_size, "numThreads": 1}
    spams.trainDL(X[:, :_N_WARM], D=D.copy("F"), iter=1, verbose=False, **options)
    n_steps = n_epochs * -(-X.shape[1] // batch_size)
    with Stopwatch() as watch:
        D = spams.trainDL(X, D=D, iter=n_steps, verbose=False, **options)
    cost = {"seconds": watch.seconds, "n": n_steps * batch_size // n_epochs, "n_epochs": n_epochs}
    graded = graded_dictionary(D.T, held, lam, **cost)
    return graded | {"batch_size": batch_size, "eq_7": objective_by_eq_7(X.T, D.T, lam)}


def encode_by_spams(patches, dictionary, lam, n):
    """Code the last n patches by spams.lasso."""
    X, D = normalised_patches(patches, slice(-n, None)), np.load(dictionary)
    spams_codes(X, D, lam)
    Z, (seconds,) = timed(lambda: spams_codes(X, D, lam))
    return graded_codes(seconds, X, D, Z, lam)


def spams_pursuit(X, D, n_nonzeros):
    """Codes of X with `n_nonzeros` non-zeros, CSR, by orthogonal matching pursuit; atoms have norm 1."""
    import spams

    columns = np.asfortranarray(X.T), np.asfortranarray(D.T)
    return spams.omp(*columns, L=n_nonzeros, eps=0.0, numThreads=1).T.tocsr()


def time_codes_at_batch_1(patches, initial, lam, n=16):
    """Time trainDL's work for the codes of one patch: the Gram matrix anew, and LARS."""
    import spams

    D = np.asfortranarray(np.load(initial).T)
    X = np.asfortranarray(normalised_patches(patches, slice(n)).T)
    options = {"lambda1": lam, "mode": 2, "numThreads": 1}

    def codes():
        for i in range(n):
            x = X[:, i : i + 1]
            spams.lasso(x, Q=gram, q=np.asfortranarray(D.T @ x), **options)

    product, (of_gram,) = timed(lambda: D.T @ D)
    gram = np.asfortranarray(product)
    (of_codes,) = timed(codes)[1]
    return {"us_per_sample": 1e6 * (of_gram + of_codes / n)}


_MOST_SWEEPS = 2_000


def learn_by_scikit_learn(patches, held, initial, lam, n, n_epochs, batch_size):
    """Learn by MiniBatchDictionaryLearning, in float32, early stopping off."""
    from sklearn.decomposition import MiniBatchDictionaryLearning

    X, D = normalised_patches(patches, slice(n)), np.load(initial)
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


def encode_by_celer(patches, dictionary, lam, n):
    """Code the last n patches by celer_path, one at a time; at this tol their gaps are as small as ours."""
    X, D = (np.float64(A) for A in (normalised_patches(patches, slice(-n, None)), np.load(dictionary)))
    return _graded_one_by_one(X, D, lam, lambda x: celer_codes(x[None], D, lam, tol=3e-5)[0], X)


def encode_by_skglm(patches, dictionary, lam, n):
    """Code the last n patches by AndersonCD, one at a time; over the Gram matrix where it is smaller."""
    from skglm.datafits import Quadratic, QuadraticHessian
    from skglm.penalties import L1
    from skglm.solvers import AndersonCD
    from skglm.utils.jit_compilation import compiled_clone

    X, D = (np.float64(A) for A in (normalised_patches(patches, slice(-n, None)), np.load(dictionary)))
    if len(D) > D.shape[1]:
        matrix, targets, alpha, tol, fit = np.asfortranarray(D.T), X, lam / D.shape[1], 1e-2, Quadratic()
    else:
        matrix, targets, alpha, tol, fit = D @ D.T, -X @ D.T, lam, 3e-4, QuadraticHessian()
    fit, penalty = compiled_clone(fit), compiled_clone(L1(alpha))
    solver = AndersonCD(tol=tol * alpha, fit_intercept=False, ws_strategy="fixpoint")

    def code(target):
        fit.initialize(matrix, target)
        return solver._solve(matrix, target, fit, penalty)[0]

    return _graded_one_by_one(X, D, lam, code, targets)


def _graded_one_by_one(X, D, lam, code, targets):
    """`graded_codes` of a function that codes one sample, or one row of what is made of all samples."""
    with without_warnings():
        code(targets[0])
        with Stopwatch() as watch:
            Z = np.array([code(target) for target in targets])
    return graded_codes(watch.seconds, X, D, Z, lam)


def lasso_codes(X, A, lam, *, tol, kind="float64"):
    """Codes (n_queries, n_rows) over all rows of A by scikit-learn's Lasso, one query at a time.

    tol : of the duality gap, as part of 1/2 |x|^2
    kind : type of the numbers that it works with
    """
    from sklearn.linear_model import Lasso

    columns, Z = np.asfortranarray(A.T, kind), np.zeros((len(X), len(A)))
    alpha = lam / X.shape[1]  # scikit-learn divides the square, not the norm, by the number of features
    lasso = Lasso(alpha, fit_intercept=False, tol=tol / 2, max_iter=_MOST_SWEEPS, copy_X=False)
    with without_warnings():
        for z, x in zip(Z, np.asarray(X, kind)):
            z[:] = lasso.fit(columns, x).coef_
    return Z


def celer_codes(X, A, lam, *, tol):
    """Codes (n_queries, n_rows) over all rows of A by celer, one query at a time."""
    from celer import celer_path

    columns = np.asfortranarray(A.T, np.float64)
    rules = {"alphas": [lam / X.shape[1]], "tol": tol / 2}
    with without_warnings():
        return np.array([celer_path(columns, x, "lasso", **rules)[1][:, 0] for x in np.float64(X)])


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
    with Stopwatch() as spreading, without_warnings():
        for j in np.flatnonzero(Y.any(axis=0)):
            given = np.concatenate([Y[:, j].astype(int), np.full(len(X_new), -1)])
            model = LabelSpreading(kernel=lambda *_: graph, max_iter=30, tol=1e-3).fit(everything, given)
            values[:, j] = np.nan_to_num(model.label_distributions_[len(X) :, -1])
    return values, building.seconds, spreading.seconds

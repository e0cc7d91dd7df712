"""SPAMS: the papers' online learning, and its lasso (LARS), in float32 (its quicker type)."""

import numpy as np

from benchmarks.measures import Stopwatch, graded_codes, graded_dictionary, normalised_patches, timed
from flyannot.descriptors.sift import normalise_descriptors

_N_WARM = 64  # patches of a first small run


def learn_by_spams(patches, held, initial, lam, n, n_epochs, batch_size):
    """Learn by trainDL, online, from the first n patches."""
    import spams

    X, D = normalise_descriptors(np.load(patches, mmap_mode="r")[:n]).T, np.asfortranarray(np.load(initial).T)
    options = {"lambda1": lam, "lambda2": 0.0, "mode": 2, "batchsize": batch_size, "numThreads": 1}
    spams.trainDL(X[:, :_N_WARM], D=D.copy("F"), iter=1, verbose=False, **options)
    n_steps = n_epochs * -(-X.shape[1] // batch_size)
    with Stopwatch() as watch:
        D = spams.trainDL(X, D=D, iter=n_steps, verbose=False, **options)
    cost = {"seconds": watch.seconds, "n": n_steps * batch_size // n_epochs, "n_epochs": n_epochs}
    return graded_dictionary(D.T, held, lam, **cost) | {"batch_size": batch_size}


def encode_by_spams(patches, dictionary, lam, n):
    """Code the last n patches."""
    import spams

    X, D = normalised_patches(patches, slice(-n, None)), np.load(dictionary)

    def theirs():
        return spams.lasso(X.T, D=np.asfortranarray(D.T), lambda1=lam, mode=2, numThreads=1)

    theirs()
    Z, (seconds,) = timed(theirs)
    return graded_codes(seconds, X, D, Z.T.tocsr(), lam)


def time_codes_at_batch_1(patches, initial, lam, n=16):
    """What trainDL does for the codes of a mini-batch of one patch: the Gram matrix anew, and LARS."""
    import spams

    D = np.asfortranarray(np.load(initial).T)
    X = np.asfortranarray(normalise_descriptors(np.load(patches, mmap_mode="r")[:n]).T)
    options = {"lambda1": lam, "mode": 2, "numThreads": 1}

    def codes():
        for i in range(n):
            x = X[:, i : i + 1]
            spams.lasso(x, Q=gram, q=np.asfortranarray(D.T @ x), **options)

    product, (of_gram,) = timed(lambda: D.T @ D)
    gram = np.asfortranarray(product)
    (of_codes,) = timed(codes)[1]
    return {"us_per_sample": 1e6 * (of_gram + of_codes / n)}

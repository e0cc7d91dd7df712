"""Dictionary learning with any learner: the loop over epochs, its evaluation, and the initial atoms."""

import time
from dataclasses import dataclass, replace

import numpy as np

from flyannot.base.errors import ArrayError
from flyannot.sparse.coders import find_coder
from flyannot.sparse.objective import duality_gap, objective

EVALUATED_SAMPLES = 2000  # exact codes of all samples would take as long as an epoch
_NOISE = 0.01  # noise of repeated initial atoms, as in scikit-learn; six other ways ended within 2%
_ALIKE = 1 - 1e-6  # inner product of two rows of norm 1 from which on they differ by rounding alone
_COMPARED_AT_ONCE = 1024  # rows


@dataclass(frozen=True)
class EpochRecord:
    """The measurements after one epoch, one line of the learning curve.

    Objectives are 1/2 |x - z D|^2 + lam |z|_1, averaged over the evaluated samples.  If a sample misses
    values (NaN), only its observed entries count, and lam is multiplied by their fraction.

    Attributes
    ----------
    epoch : int
        Epochs so far.
    seconds : float
        Time spent learning so far, without evaluation.
    objective_stored : float
        Objective with the codes that the learner stored, some of them for older dictionaries.
    objective : float
        Objective with exact codes for the current dictionary.
    gap : float
        Mean duality gap of the exact codes.
    mean_nonzeros : float
        Non-zeros of a stored code, averaged over all samples.
    n_unused_atoms : int
        Atoms that no stored code uses.
    n_visits : int
        Samples processed so far, over all epochs.
    """

    epoch: int
    seconds: float
    objective_stored: float
    objective: float
    gap: float
    mean_nonzeros: float
    n_unused_atoms: int
    n_visits: int


def unscaled_record(record, scale):
    """Convert the objectives of an `EpochRecord` to the units of the samples, and return the new record.

    scale : float, the number by which the samples were divided before learning
    """
    names = ("objective_stored", "objective", "gap")
    return replace(record, **{name: getattr(record, name) * scale**2 for name in names})


def default_lam(n_features):
    """Return the default weight of the L1 norm, 1.2 / sqrt(n_features).

    It gives about ten non-zeros per code on SIFT descriptors of norm 1 (Lin et al. 2014).
    """
    return 1.2 / np.sqrt(n_features)


def random_patches(X, n_atoms, rng, *, positive=False, least=None):
    """Draw initial atoms: `n_atoms` samples of X that differ, scaled to norm 1.

    Samples are alike if they are multiples of each other, because as atoms they would stay equal.  If too
    few differ, further atoms begin near one of them.

    Parameters
    ----------
    X : array-like of rows (n_samples, n_features)
        Zero samples are skipped.  Missing values (NaN) count as zero.
    n_atoms : int
    rng : numpy Generator
    positive : bool
        Whether negative values count as zero, too.
    least : int, optional
        How many samples must not be zero; by default `n_atoms`.

    Returns
    -------
    D : array (n_atoms, n_features)

    Raises
    ------
    ArrayError
        If X has fewer than `least` samples that are not zero.
    """
    picked = []
    n_usable = 0
    order = rng.permutation(len(X))
    for start in range(0, len(order), n_atoms):
        D = np.asarray(X[order[start : start + n_atoms]])
        D = np.where(np.isnan(D) | positive & (D < 0), 0, D)
        norms = np.linalg.norm(D, axis=1)
        n_usable += int(np.count_nonzero(norms))
        picked = [_distinct_rows(np.concatenate([*picked, D[norms > 0] / norms[norms > 0, None]]))]
        if len(picked[0]) >= n_atoms:
            return picked[0][:n_atoms]
    if n_usable < (n_atoms if least is None else least):
        what = f"{n_usable} of {len(X):,} samples have other numbers than 0: too few for {n_atoms} atoms"
        fix = "choose fewer atoms, or add samples (for patches: images, or a lower --stride-px)"
        raise ArrayError(what, fix=fix)
    (D,) = picked
    again = D[rng.integers(len(D), size=n_atoms - len(D))]
    again += _NOISE * rng.normal(size=again.shape) / np.sqrt(D.shape[1])
    again = np.abs(again) if positive else again
    return np.concatenate([D, again / np.linalg.norm(again, axis=1, keepdims=True)])


def _distinct_rows(D):
    """Return the rows of a matrix D that are no multiple of an earlier row, up to rounding.

    D : float array of rows of norm 1
    """
    differs = np.ones(len(D), bool)
    for start in range(0, len(D), _COMPARED_AT_ONCE):
        rows = slice(start, start + _COMPARED_AT_ONCE)
        products = np.tril(D[rows] @ D[: rows.stop].T, start - 1)
        differs[rows] = (np.abs(products) < _ALIKE).all(axis=1)
    return D[differs]


def learn_dictionary(
    X, learner, *, n_epochs, rng, first_epoch=0, seconds=0.0, n_evaluated=EVALUATED_SAMPLES, on_samples=None
):
    """Run the epochs of a learner one by one, and yield an `EpochRecord` after each.

    Every epoch processes every sample once, in a new random order from a random generator of its own.  So a
    run that resumes at `first_epoch` from the learner's restored state gives the same bits as an
    uninterrupted run.

    Parameters
    ----------
    X : array-like of rows (n_samples, n_features)
        The samples; an integer array can be used as index.
    learner : Learner
        Holds the dictionary, which it changes in place.
    n_epochs : int
        Number of the last epoch, counting also those before `first_epoch`.
    rng : numpy Generator
    first_epoch : int
        Epochs that were run before.
    seconds : float
        Time spent on earlier epochs.
    n_evaluated : int
        Number of random samples over which objectives are averaged.  With 0 the objectives are nan.
    on_samples : callable, optional
        on_samples(n) is called after every block of n samples, for a progress bar.
    """
    evaluation_rng, *_ = rng.spawn(1 + first_epoch)  # those of earlier epochs are passed over
    evaluated = np.sort(evaluation_rng.permutation(len(X))[:n_evaluated])
    for epoch in range(first_epoch, n_epochs):
        started = time.perf_counter()
        run_epoch(X, learner, rng.spawn(1)[0], on_samples)
        seconds += time.perf_counter() - started
        yield evaluate_epoch(X, evaluated, learner, epoch + 1, seconds)


def has_small_gain(records, tol):
    """Return whether the last epoch lowered the objective by less than the fraction `tol`.

    `records` is the list of all `EpochRecord` so far.  The result is False if `tol` is None or there are
    fewer than two records.
    """
    if tol is None or len(records) < 2:
        return False
    return not records[-2].objective - records[-1].objective >= tol * records[-2].objective


def restore_without_codes(learner, state):
    """Load the dictionary and averages of another learner, to continue on other samples.

    Parameters
    ----------
    learner : Learner
        A new learner for the other samples, changed in place.  It keeps its own codes, all zero.
    state : dict of arrays
        The `state` of the other learner, which has the same class and options.
    """
    fresh = learner.state()
    learner.restore({name: fresh[name] if name.startswith("code_") else state[name] for name in fresh})


def run_epoch(X, learner, rng, on_samples=None, *, is_part=False):
    """Run one epoch: a learner processes every sample of X once, in random order.

    Parameters
    ----------
    X : array-like of rows (n_samples, n_features)
        The samples; an integer array can be used as index.
    learner : Learner, changed in place
    rng : numpy Generator
    on_samples : callable, optional
        on_samples(n) is called after every block of n samples.
    is_part : bool
        Whether X is only one part of the samples of the epoch, and others follow.
    """
    order = rng.permutation(len(X))
    learner.begin_epoch(rng)
    for start in range(0, len(order), learner.block_size):
        rows = order[start : start + learner.block_size]
        learner.step(X[rows], rows)
        if on_samples is not None:
            on_samples(len(rows))
    learner.end_part() if is_part else learner.end_epoch()


def exact_codes(X, D, lam, *, positive=False, tol=1e-6):
    """Compute the code z of every sample x that minimises 1/2 |x - z D|^2 + lam |z|_1, as a CSR matrix.

    Parameters
    ----------
    X : float64 array (n_samples, n_features)
    D : float64 array (n_atoms, n_features)
    lam : float, weight of the L1 norm
    positive : bool
        Whether codes must not be negative.
    tol : float
        A code is accepted if its duality gap is at most tol / 2 |x|^2.
    """
    solve = find_coder("cd", is_nonnegative=positive)
    return solve.codes(X, D, lam, tol=tol).Z  # the caller measures their gaps


def evaluate_dictionary(X, D, lam, *, positive=False):
    """Measure how well a dictionary D codes samples: the objective with exact codes.

    Parameters
    ----------
    X : float64 array (n_samples, n_features)
    D : float64 array (n_atoms, n_features)
    lam : float, weight of the L1 norm
    positive : bool
        Whether codes must not be negative.

    Returns
    -------
    values, gaps : float64 arrays (n_samples,)
        The objective of every sample, and its duality gap.
    n_nonzeros : int
        Non-zeros of all codes together.
    """
    Z = exact_codes(X, D, lam, positive=positive)
    return objective(X, D, Z, lam), duality_gap(X, D, Z, lam, positive=positive), Z.nnz


def evaluate_epoch(X, evaluated, learner, epoch, seconds):
    """Measure a learner's dictionary and stored codes after an epoch.

    Parameters
    ----------
    X : array-like of rows (n_samples, n_features), all samples
    evaluated : int array
        Indices of the samples over which objectives are averaged.
    learner : Learner
    epoch : int
        Epochs so far.
    seconds : float
        Time spent on them.

    Returns
    -------
    record : EpochRecord
    """
    from flyannot.sparse.missing_values import split_by_missing_pattern  # imports slowly

    Z = learner.codes()
    D = np.asarray(learner.D, np.float64)
    stored, exact, gaps = np.zeros((3, len(evaluated)))
    for rows, Xk, Dk, lam in split_by_missing_pattern(np.asarray(X[evaluated], np.float64), D, learner.lam):
        stored[rows] = objective(Xk, Dk, Z[evaluated[rows]], lam)
        exact[rows], gaps[rows], _ = evaluate_dictionary(Xk, Dk, lam, positive=learner.positive.code)
    return EpochRecord(
        epoch=epoch,
        seconds=seconds,
        objective_stored=_mean_or_nan(stored),
        objective=_mean_or_nan(exact),
        gap=_mean_or_nan(gaps),
        mean_nonzeros=Z.nnz / Z.shape[0],
        n_unused_atoms=int((np.bincount(Z.indices, minlength=Z.shape[1]) == 0).sum()),
        n_visits=epoch * len(X),
    )


def _mean_or_nan(values):
    """Return the mean of an array, or nan if it is empty."""
    return values.mean() if len(values) else np.nan

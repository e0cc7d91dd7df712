"""The one loop of dictionary learning for every learner: order, epochs, timing and the trace."""

import time
from dataclasses import dataclass

import numpy as np

from flyannot.base.errors import DataError
from flyannot.sparse.coders import CODERS
from flyannot.sparse.missing_values import split_by_observed
from flyannot.sparse.nonnegative import encode_nonnegative
from flyannot.sparse.objective import duality_gap, objective

EVALUATED_SAMPLES = 2000  # exact codes of all samples would take as long as an epoch


@dataclass(frozen=True)
class EpochRecord:
    """One line of the trace of dictionary learning; see the comments at the fields.

    Objectives are means over the evaluated samples.  If a sample has missing values (NaN), only its observed
    entries count, and `lam` is multiplied by their fraction.
    """

    epoch: int
    seconds: float  # time of the learner itself, over all epochs so far
    objective_stored: float  # with the learner's stored codes, up to an epoch old
    objective: float  # with exact codes for the current dictionary
    gap: float  # mean duality gap of those exact codes
    mean_nonzeros: float  # per stored code, over all samples
    n_unused_atoms: int  # atoms in no stored code
    n_visits: int  # visits to samples, over all epochs so far


def default_lam(n_features):
    """Return 1.2 / sqrt(n_features): about ten non-zeros per code on SIFT descriptors (Lin et al. 2014)."""
    return 1.2 / np.sqrt(n_features)


def random_patches(X, n_atoms, rng, *, positive=False):
    """Draw initial atoms: `n_atoms` different samples of X, scaled to norm 1.

    Parameters
    ----------
    X : array-like of rows (n_samples, n_features)
        Zero samples are skipped.  Missing values (NaN) count as zero.
    n_atoms : int
    rng : numpy Generator
    positive : bool
        Negative values count as zero, too.

    Returns
    -------
    D : array (n_atoms, n_features)

    Raises
    ------
    DataError
        If X has fewer than `n_atoms` samples that are not zero.
    """
    picked, n_picked = [], 0
    order = rng.permutation(len(X))
    for start in range(0, len(order), n_atoms):
        D = np.asarray(X[order[start : start + n_atoms]])
        D = np.where(np.isnan(D) | positive & (D < 0), 0, D)
        norms = np.linalg.norm(D, axis=1)
        picked.append(D[norms > 0] / norms[norms > 0, None])
        n_picked += len(picked[-1])
        if n_picked >= n_atoms:
            return np.concatenate(picked)[:n_atoms]
    raise DataError(
        f"{n_picked} usable patches cannot start {n_atoms} atoms",
        fix="lower --n-atoms, lower --stride-px at extraction, or add images",
    )


def learn_dictionary(
    X, learner, *, n_epochs, rng, first_epoch=0, seconds=0.0, n_evaluated=EVALUATED_SAMPLES, on_samples=None
):
    """Run the epochs of a learner one by one, and yield an `EpochRecord` after each.

    Every epoch visits every sample once in a new random order, with a random generator of its own.  A run
    that continues at `first_epoch` from the learner's restored state gives the same bits as an uninterrupted
    run.

    Parameters
    ----------
    X : array-like of rows (n_samples, n_features) that takes an integer array as index
    learner : Learner
    n_epochs : int
    rng : numpy Generator
    first_epoch : int
    seconds : float, time spent on earlier epochs
    n_evaluated : int
        Samples over which the objectives are means.  With 0 the objectives are nan.
    on_samples : function of n, optional
        Called after every block of n samples.
    """
    evaluation_rng, *epoch_rngs = rng.spawn(n_epochs + 1)
    evaluated = np.sort(evaluation_rng.permutation(len(X))[:n_evaluated])
    for epoch in range(first_epoch, n_epochs):
        started = time.perf_counter()
        run_epoch(X, learner, epoch_rngs[epoch], on_samples)
        seconds += time.perf_counter() - started
        yield evaluate_epoch(X, evaluated, learner, epoch + 1, seconds)


def has_small_gain(records, tol):
    """Return True if the last record lowers the objective by less than the fraction `tol`.

    records : list of EpochRecord
    """
    if tol is None or len(records) < 2:
        return False
    return not records[-2].objective - records[-1].objective >= tol * records[-2].objective


def transfer_state(learner, state):
    """Give a new learner the state of another learner, except its codes, to continue on other samples.

    state : dict, as `Learner.state` returns
    """
    fresh = learner.state()
    learner.restore({name: fresh[name] if name.startswith("code_") else state[name] for name in fresh})


def run_epoch(X, learner, rng, on_samples=None, *, is_part=False):
    """Let a learner visit every sample of X once, in random order.

    Parameters
    ----------
    X : array-like of rows (n_samples, n_features) that takes an integer array as index
    learner : Learner
    rng : numpy Generator
    on_samples : function of n, called after every block of n samples; or None
    is_part : bool, True if the epoch continues with other samples
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
    """Solve for the best code of every sample of X: CSR matrix (n_samples, n_atoms).

    X (n_samples, n_features) and D (n_atoms, n_features) are float64.  With `positive` no code is negative.
    """
    solve = encode_nonnegative if positive else CODERS["cd"]
    return solve.codes(X, D, lam, tol=tol).Z  # the caller measures their gaps


def exact_values(X, D, lam, *, positive=False):
    """Return the objective, the duality gap and the number of non-zeros of the exact code of every sample.

    The parameters are as in `exact_codes`.
    """
    Z = exact_codes(X, D, lam, positive=positive)
    return objective(X, D, Z, lam), duality_gap(X, D, Z, lam, positive=positive), Z.nnz


def evaluate_epoch(X, evaluated, learner, epoch, seconds):
    """Measure a learner after an epoch, and return the EpochRecord.

    Parameters
    ----------
    X : array-like of all samples
    evaluated : int array, indices of the samples on which it is measured
    learner : Learner
    epoch : int, the number of epochs
    seconds : float, the time that learning took
    """
    Z = learner.codes()
    D = np.asarray(learner.D, np.float64)
    stored, exact, gaps = np.zeros((3, len(evaluated)))
    for rows, Xk, Dk, lam in split_by_observed(np.asarray(X[evaluated], np.float64), D, learner.lam):
        stored[rows] = objective(Xk, Dk, Z[evaluated[rows]], lam)
        exact[rows], gaps[rows], _ = exact_values(Xk, Dk, lam, positive=learner.positive.code)
    return EpochRecord(
        epoch=epoch,
        seconds=seconds,
        objective_stored=_mean(stored),
        objective=_mean(exact),
        gap=_mean(gaps),
        mean_nonzeros=Z.nnz / Z.shape[0],
        n_unused_atoms=int((np.bincount(Z.indices, minlength=Z.shape[1]) == 0).sum()),
        n_visits=epoch * len(X),
    )


def _mean(values):
    return values.mean() if len(values) else np.nan

"""The one loop of dictionary learning: order, epochs, timing and the trace, for every learner."""

import time
from dataclasses import dataclass

import numpy as np

from flyannot.base.errors import DataError
from flyannot.sparse.coders import CODERS
from flyannot.sparse.missing_values import split_by_observed
from flyannot.sparse.nonnegative import encode_nonnegative
from flyannot.sparse.objective import duality_gap, objective

EVALUATED_SAMPLES = 2000  # the trace's fixed sample: exact codes of all samples would cost an epoch


@dataclass(frozen=True)
class EpochRecord:
    """One line of the trace.  Objectives are means over the evaluated samples.

    Of a sample with missing values (NaN), the observed entries count, with that part of `lam`.
    """

    epoch: int
    seconds: float  # of the learner's own work, all epochs so far
    objective_stored: float  # with the codes the learner holds (stale by up to an epoch)
    objective: float  # with codes solved exactly for the dictionary as it is now
    gap: float  # mean duality gap of those exact codes
    mean_nonzeros: float  # per stored code, over all samples
    n_unused_atoms: int  # in no stored code
    n_visits: int  # to samples, all epochs so far


def default_lam(n_features):
    """1.2 / sqrt(n_features), about ten non-zeros per code on SIFT descriptors (Lin et al. 2014)."""
    return 1.2 / np.sqrt(n_features)


def random_patches(X, n_atoms, rng, *, positive=False):
    """Initial atoms: `n_atoms` different samples of X, scaled to norm 1.

    X is any array-like of rows (n_samples, n_features); samples of norm zero are passed over, and missing
    values (NaN) are taken for zero; with `positive` those below it are, too.

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

    Every epoch visits every sample once in a fresh random order, and draws from a generator of its
    own: a run that continues at `first_epoch` (with the learner's state restored and the `seconds`
    spent so far) makes the same bits as one that never stopped.  X is any array-like of rows that
    takes an integer array as index: an array, or descriptors that are normalised as they are read.
    The objectives are means over `n_evaluated` samples; with 0 there are none, and they are nan.
    on_samples(n) is called after every block of n samples.
    """
    evaluation_rng, *epoch_rngs = rng.spawn(n_epochs + 1)
    evaluated = np.sort(evaluation_rng.permutation(len(X))[:n_evaluated])
    for epoch in range(first_epoch, n_epochs):
        started = time.perf_counter()
        run_epoch(X, learner, epoch_rngs[epoch], on_samples)
        seconds += time.perf_counter() - started
        yield evaluate_epoch(X, evaluated, learner, epoch + 1, seconds)


def gains_too_little(records, tol):
    """Whether the last record's objective is lower than the one before by less than `tol` of that."""
    if tol is None or len(records) < 2:
        return False
    return not records[-2].objective - records[-1].objective >= tol * records[-2].objective


def transfer_state(learner, state):
    """Let a fresh learner go on from the `state` of another, on samples of its own, whose codes are new."""
    fresh = learner.state()
    learner.restore({name: fresh[name] if name.startswith("code_") else state[name] for name in fresh})


def run_epoch(X, learner, rng, on_samples=None, *, is_part=False):
    """Show a learner every sample of X once, in random order; on_samples(n) is called after each block.

    With `is_part` the epoch goes on, with other samples.
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
    """The best code of every sample of X: CSR matrix (n_samples, n_atoms).

    X (n_samples, n_features) and D (n_atoms, n_features) in float64; with `positive` codes are not negative.
    """
    solve = encode_nonnegative if positive else CODERS["cd"]
    return solve.codes(X, D, lam, tol=tol).Z  # who asks measures their gaps


def exact_values(X, D, lam, *, positive=False):
    """The objective of `exact_codes`, of every sample, its duality gap, and the non-zeros of all codes."""
    Z = exact_codes(X, D, lam, positive=positive)
    return objective(X, D, Z, lam), duality_gap(X, D, Z, lam, positive=positive), Z.nnz


def evaluate_epoch(X, evaluated, learner, epoch, seconds):
    """The `EpochRecord` of a learner after `epoch` epochs; evaluated : numbers of samples of X."""
    Z, D = learner.codes(), np.asarray(learner.D, np.float64)
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

"""Data-parallel learning of SCC: rounds in which many workers visit samples that do not fit in memory.

The objective is the mean over all samples x, over codes z and atoms D of norm at most 1, of

    1/2 |x - z D|^2 + lam |z|_1.

Samples are read in units, blocks of `UNIT` rows.  Unit i belongs to part i mod S, in every epoch.  In a
round every active part visits its next units.  All parts start from the same atoms, and the atoms that they
reach are averaged.  The schedule follows from the number of samples, S and the seed, and does not depend on
the number of workers.

How atoms are averaged
----------------------
Sequential SCC keeps, for every atom, h = h0 + sum w z^2 and d = d0 + sum w z r / h.  So d is a mean, weighted
by h, of its start and of where each visit moves it.  A round of S parts starts from one (d0, h0).  Every part
learns as if its samples were the samples of all parts.  If the part makes v of the V visits of the round,
each visit counts V / v times.  So h_s grows in every part, and steps are as long, as in a sequential run.
Each part reaches one estimate of the atoms of that run.  The estimates are averaged, each weighted by its h
and its number of visits:

    d = sum v_s h_s d_s / sum v_s h_s,    h = sum v_s h_s / V = h0 + what all visits add.

Adding changes instead, h d = h0 d0 + sum (h_s d_s - h0 d0), overshoots S-fold if all parts move the same
atoms the same way.  Averaging changes of visits that count once falls S-fold short.  A mean of the parts'
atoms lies between them, so it cannot diverge for any number of parts and any length of a round.  With one
part it equals that part's atoms.  The price is noise, because a visit counts S-fold.  So parts become active
only after enough samples were seen.
"""

import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from flyannot.sparse import fit
from flyannot.sparse.learners.scc import SCC, VARIANTS, SCCOptions, decay_squared_code_sums, scale_to_sphere
from flyannot.sparse.stored_codes import EITHER_SIGN, PositiveConstraints

UNIT = 256  # rows of a block; few, because neighbouring samples are alike
LONGEST = 2**18  # most samples of a part in a round, held in memory: 33 MB of descriptors
_SEEN_PER_ATOM = 60  # samples seen per active part and atom: with fewer, averages are too noisy
_BEGUN_PER_ATOM = 10  # samples seen per atom before atoms differ from the initial samples


class SharedAtoms(NamedTuple):
    """The dictionary between two rounds of data-parallel learning, and the step sizes of its atoms.

    Attributes
    ----------
    D : array (n_atoms, n_features)
        The dictionary.
    norm2 : array (n_atoms,)
        Squared norms of the atoms that gradient steps move: `moving` if it is not empty, otherwise D.
    h_past, h_now : float64 arrays (n_atoms,)
        For every atom, the sum of squared codes in earlier epochs and in this epoch.  An atom's step size
        is 1 / (h_past + h_now).
    n_visits : int
        Samples processed so far, over all epochs and parts.
    moving : array (n_atoms, n_features)
        The atoms that gradient steps move, if D is their running mean.  Otherwise an array without rows.
    """

    D: np.ndarray
    norm2: np.ndarray
    h_past: np.ndarray
    h_now: np.ndarray
    n_visits: int
    moving: np.ndarray


@dataclass(frozen=True)
class LearningPlan:
    """The settings of a data-parallel run.  With the samples, they determine the learned dictionary.

    Attributes
    ----------
    n_parts : int
        Number S of parts, the shares of the samples that are learned in parallel.
    n_epochs : int
        Passes over all samples.
    lam : float
        Weight of the L1 norm.
    options : SCCOptions
    key : tuple of int
        Seed of all random choices.
    tol : float or None
        Learning stops if an evaluation lowers the objective by less than this fraction.  None: it never
        does.
    longest : int
        Most samples that one part learns from in a round.
    positive : PositiveConstraints
        Whether codes or atoms must not be negative.
    """

    n_parts: int
    n_epochs: int
    lam: float
    options: SCCOptions
    key: tuple
    tol: float | None = None
    longest: int = LONGEST
    positive: PositiveConstraints = EITHER_SIGN


@dataclass(frozen=True)
class LearningProgress:
    """The state of a data-parallel run after a round.

    Attributes
    ----------
    atoms : SharedAtoms
    seconds : float
        Time spent learning so far.
    records : list of EpochRecord
        Evaluations on the held-out samples so far.
    """

    atoms: SharedAtoms
    seconds: float = 0.0
    records: list = field(default_factory=list)


class PartVisit(NamedTuple):
    """The work of one part of the samples in one round: which units of samples it learns from.

    Attributes
    ----------
    part : int
        Number of the part.
    units : int array
        Indices of the units, in the order in which they are read.
    n_samples : int
        Samples in these units, without held-out samples.
    """

    part: int
    units: np.ndarray
    n_samples: int


def draw_initial_state(X, n_atoms, plan):
    """Draw the initial atoms and the held-out samples of a data-parallel run.

    Parameters
    ----------
    X : array-like of rows (n_samples, n_features)
        The samples; an integer array can be used as index.
    n_atoms : int
    plan : LearningPlan

    Returns
    -------
    D : array (n_atoms, n_features)
    held : sorted int array, the rows that are never learned from
        Every evaluation measures the objective on them.  They are at most a tenth of the samples, but at
        least one.

    Raises
    ------
    DataError
        If there are too few samples.
    """
    rng = np.random.default_rng(np.random.SeedSequence(plan.key))
    n_held = min(fit.EVALUATED_SAMPLES, max(1, len(X) // 10))
    drawn = rng.choice(len(X), min(len(X), n_held + 4 * n_atoms), replace=False)
    held, learned = np.sort(drawn[:n_held]), np.sort(drawn[n_held:])
    return fit.random_patches(X[learned], n_atoms, rng, positive=plan.positive.atoms), held


def initial_shared_atoms(D, options):
    """Return the `SharedAtoms` before the first round, for a dictionary D (n_atoms, n_features).

    options : SCCOptions, whose variant decides whether D is a running mean of the atoms
    """
    moving = D if VARIANTS[options.variant].takes_mean else D[:0]
    return SharedAtoms(D, (D**2).sum(axis=1), np.zeros(len(D)), np.zeros(len(D)), 0, moving)


def learn_in_rounds(X, held, D, plan, run=map):
    """Run the rounds of data-parallel SCC, and yield a `LearningProgress` after every round.

    Parameters
    ----------
    X : array-like of rows (n_samples, n_features), the samples
    plan : LearningPlan
    held : sorted int array, indices of the held-out samples from `draw_initial_state`
    D : array (n_atoms, n_features), the initial atoms
    run : callable
        run(visit, visits) calls a function on every item of a list, for example in several threads, and
        returns the results in the same order.
    """
    edges = [*range(0, len(X), UNIT), len(X)]
    sizes = np.diff(edges) - np.histogram(held, edges)[0]
    progress = LearningProgress(initial_shared_atoms(D, plan.options))
    held_X = np.asarray(X[held], np.float64)
    n_rounds = 0
    for epoch in range(plan.n_epochs):
        rounds = plan_rounds(sizes, epoch * int(sizes.sum()), len(D), epoch, plan)
        for visits in rounds:
            if has_converged(progress, plan):
                return
            n_rounds += 1
            started = time.perf_counter()
            start = progress.atoms
            n_samples = [visit.n_samples for visit in visits]
            learn = partial(_visit_part, X, held, start, plan, (epoch, n_rounds), sum(n_samples))
            atoms = average_atoms(start, list(run(learn, visits)), n_samples, plan.options)
            seconds = progress.seconds + time.perf_counter() - started
            progress = replace(progress, atoms=atoms, seconds=seconds)
            progress = _add_record(progress, held_X, epoch, visits is rounds[-1], plan)
            yield progress


def has_converged(progress, plan):
    """Return True if learning can stop: the last evaluation lowered the objective by less than `plan.tol`.

    It is never true before every atom could learn from a few samples, or between two evaluations.

    Parameters
    ----------
    progress : LearningProgress
    plan : LearningPlan
    """
    records = progress.records
    seen = _BEGUN_PER_ATOM * len(progress.atoms.D)
    if plan.tol is None or len(records) < 2 or records[-1].n_visits != progress.atoms.n_visits:
        return False
    if records[-2].n_visits < seen:  # too early: any learning improves on random atoms
        return False
    is_fair = records[-1].epoch > 1 or records[-1].n_visits >= 2 * records[-2].n_visits
    return is_fair and fit.has_small_gain(records, plan.tol)


def plan_rounds(sizes, n_before, n_atoms, epoch, plan):
    """Plan which units every part learns from in each round of an epoch.

    Parts become active one by one, each after `_SEEN_PER_ATOM` more samples per atom were processed.  So
    the first rounds have one part, which is sequential learning.  A round is half as long as everything
    before it, up to `plan.longest` samples per part.

    Parameters
    ----------
    sizes : int array (n_units,)
        Number of samples of every unit, without held-out samples.
    n_before : int
        Samples processed in earlier epochs.
    n_atoms : int
    epoch : int
        Number of the epoch, from 0.
    plan : LearningPlan

    Returns
    -------
    rounds : list of lists of PartVisit
        One list per round, sorted by part.
    """
    rng = np.random.default_rng(np.random.SeedSequence(plan.key, spawn_key=(epoch,)))
    orders = [rng.permutation(np.arange(part, len(sizes), plan.n_parts)) for part in range(plan.n_parts)]
    ends = [np.concatenate([[0], np.cumsum(sizes[order])]) for order in orders]
    done, left = np.zeros(plan.n_parts, int), np.array([end[-1] for end in ends])
    shortest, per_part = (max(n * n_atoms, int(2 * sizes.mean())) for n in (_BEGUN_PER_ATOM, _SEEN_PER_ATOM))
    n_visits = n_before
    rounds = []
    while left.any():
        n_active = max(1, min(n_visits // per_part, np.count_nonzero(left)))
        target = min(plan.longest, max(shortest, n_visits // n_active) // 2)
        visits = []
        for part in np.sort(np.argsort(-left, kind="stable")[:n_active]):
            first, end = done[part], ends[part]
            done[part] = max(first + 1, np.searchsorted(end, end[first] + target, side="right") - 1)
            left[part] = end[-1] - end[done[part]]
            n_samples = int(end[done[part]] - end[first])
            visits.append(PartVisit(int(part), orders[part][first : done[part]], n_samples))
        visits = [visit for visit in visits if visit.n_samples]
        n_visits += sum(visit.n_samples for visit in visits)
        rounds += [visits] if visits else []
    return rounds


def _visit_part(X, held, start, plan, key, n_round, visit):
    """Learn from the samples of one part in one round: the work of one worker.

    Parameters
    ----------
    X : array-like of rows (n_samples, n_features), all samples
    held : sorted int array, indices of the held-out samples
    start : SharedAtoms before the round
    plan : LearningPlan
    key : tuple of int, the epoch and the round, which seed the random choices together with the part
    n_round : int, number of samples of all parts in the round
    visit : PartVisit, the units to learn from

    Returns
    -------
    atoms : SharedAtoms
        The atoms after the last sample.  `h_now` holds only what this part added to the sums of squared
        codes.
    """
    rng = np.random.default_rng(np.random.SeedSequence(plan.key, spawn_key=(*key, visit.part)))
    rows = (UNIT * visit.units[:, None] + np.arange(UNIT)).ravel()
    rows = rows[(rows < len(X)) & ~np.isin(rows, held)]
    learner = SCC(start.D, 0, lam=plan.lam, positive=plan.positive, **vars(plan.options))
    return learner.visit_part(X[rows], rng, start, n_round / visit.n_samples)


def average_atoms(start, reached, n_visits, options):
    """Average the atoms that the parts of a round reached, weighted by visits and squared codes.

    Parameters
    ----------
    start : SharedAtoms before the round
    reached : list of SharedAtoms
        The atoms that each part reached, in the order of the parts.
    n_visits : list of int
        Samples that each part learned from.
    options : SCCOptions

    Returns
    -------
    atoms : SharedAtoms after the round
    """
    now = start._replace(n_visits=start.n_visits + sum(n_visits))
    if len(reached) == 1:
        return reached[0]._replace(n_visits=now.n_visits, h_now=start.h_now + reached[0].h_now)
    before = start.h_past + start.h_now
    is_on_sphere = VARIANTS[options.variant].rescale_above == 0
    weights = [n * (before + part.h_now) for part, n in zip(reached, n_visits)]
    gain = sum(n / sum(n_visits) * part.h_now for part, n in zip(reached, n_visits))
    atoms = D = _average_atoms(start, start.D, [part.D for part in reached], weights, is_on_sphere)
    moving = start.moving
    if len(moving):
        atoms = moving = _average_atoms(start, moving, [p.moving for p in reached], weights, is_on_sphere)
    norm2 = (atoms**2).sum(axis=1)
    is_one = is_on_sphere & (abs(norm2 - 1) < 1e-5)  # up to rounding; kernels then need no division
    norm2 = np.where(is_one, 1, norm2).astype(atoms.dtype)
    return now._replace(D=D, norm2=norm2, h_now=start.h_now + gain, moving=moving)


def _average_atoms(start, before, reached, weights, is_on_sphere):
    """Return the weighted mean of the dictionaries that the parts of a round reached, atom by atom.

    Parameters
    ----------
    start : SharedAtoms before the round
        An atom with `norm2` 0 is not averaged.
    before : array (n_atoms, n_features)
        The result for atoms that are not averaged or whose weights are all 0.
    reached : list of arrays (n_atoms, n_features), the atoms of every part
    weights : list of arrays (n_atoms,), one per part
    is_on_sphere : bool
        Whether means are scaled to norm 1.

    Returns
    -------
    D : array (n_atoms, n_features), in the type of `before`
    """
    total = np.zeros(before.shape)
    for D, weight in zip(reached, weights):
        total += weight[:, None] * D
    mean = total / np.where(sum(weights) > 0, sum(weights), 1)[:, None]
    if is_on_sphere:
        mean = scale_to_sphere(mean)
    used = (sum(weights) > 0) & (start.norm2 > 0)
    return np.where(used[:, None], mean, before).astype(before.dtype)


def begin_next_epoch(atoms, options):
    """Return a copy of `SharedAtoms` for the next epoch: the sums of squared codes `h_now` move to `h_past`.

    The variant in the `SCCOptions` decides which fraction of the sums remains.
    """
    h = decay_squared_code_sums(atoms.h_past, atoms.h_now, options)
    return atoms._replace(h_past=h, h_now=np.zeros_like(h))


def _add_record(progress, held_X, epoch, is_last, plan):
    """Evaluate the atoms on the held-out samples if an evaluation is due, and return the new progress.

    An evaluation is due at the end of every epoch.  In the first epoch one is also due when the number of
    processed samples has doubled since the last
    evaluation.  At the end of an epoch the next epoch is begun.

    Parameters
    ----------
    progress : LearningProgress after a round
    held_X : float64 array (n_held, n_features), the held-out samples
    epoch : int, from 0
    is_last : bool
        Whether the round is the last of its epoch.
    plan : LearningPlan
    """
    atoms, records = progress.atoms, progress.records
    doubled = epoch == 0 and (not records or atoms.n_visits >= 2 * records[-1].n_visits)
    if is_last or doubled:
        D = np.asarray(atoms.D, np.float64)
        values, gaps, n_nonzeros = fit.evaluate_dictionary(held_X, D, plan.lam, positive=plan.positive.code)
        record = fit.EpochRecord(
            epoch=epoch + 1,
            seconds=progress.seconds,
            objective_stored=np.nan,  # no code is kept
            objective=float(values.mean()),
            gap=float(gaps.mean()),
            mean_nonzeros=n_nonzeros / max(1, len(held_X)),
            n_unused_atoms=int((atoms.h_now == 0).sum()),
            n_visits=atoms.n_visits,
        )
        progress = replace(progress, records=[*records, record])
    return replace(progress, atoms=begin_next_epoch(atoms, plan.options)) if is_last else progress

"""Data-parallel learning of SCC: rounds in which many workers visit samples that do not fit in memory.

The objective is the mean over all samples x, over codes z and atoms D of norm at most 1, of

    1/2 |x - z D|^2 + lam |z|_1.

Samples lie in units that are read as a whole: images, or blocks of rows.  Unit i belongs to part i mod S, in
every epoch.  In a round every active part visits its next units.  All parts start from the same atoms, and
the atoms that they reach are averaged.  The schedule follows from the sizes of the units, S and the seed.  It
depends neither on the number of workers nor on interruptions.

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
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from flyannot.sparse.fit import (
    EVALUATED_SAMPLES,
    EpochRecord,
    evaluate_dictionary,
    has_small_gain,
    random_patches,
)
from flyannot.sparse.learners.scc import SCC, VARIANTS, SCCOptions, decay_squared_code_sums
from flyannot.sparse.stored_codes import EITHER_SIGN, PositiveConstraints

UNIT = 256  # rows of a block; a small part of a large image, because neighbouring patches are alike
LONGEST = 2**18  # most samples of a part in a round, held in memory: 33 MB of descriptors
_SEEN_PER_ATOM = 60  # samples seen per active part and atom: with fewer, averages are too noisy
_BEGUN_PER_ATOM = 10  # samples seen per atom before atoms differ from the initial samples
_MIN_UNITS_READ = 256  # fewest units from which initial atoms and held-out samples are drawn


class SharedAtoms(NamedTuple):
    """The dictionary between two rounds of data-parallel SCC, and the step sizes of its atoms.

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
    """The state of a data-parallel run after a round, from which the run can be resumed.

    Attributes
    ----------
    atoms : SharedAtoms
    n_rounds : int
        Finished rounds.
    seconds : float
        Time spent learning so far.
    records : list of EpochRecord
        Evaluations on the held-out samples so far.
    """

    atoms: SharedAtoms
    n_rounds: int = 0
    seconds: float = 0.0
    records: list = field(default_factory=list)


class PartVisit(NamedTuple):
    """The work of one part in one round: which units (images or blocks of rows) it learns from.

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


class VisitTask(NamedTuple):
    """The arguments of `visit_part`: what one worker learns from in a round, and the atoms it starts from.

    Attributes
    ----------
    source : source of the units to read, as in `draw_initial_state`
    left_out : list of int arrays
        For every unit, the rows that are held out.
    start : SharedAtoms at the beginning of the round
    plan : LearningPlan
    n_samples : int
        Samples to learn from.
    visit_weight : float
        Samples of the round over samples of this part: the weight of each sample in the gradient steps.
    spawn_key : tuple of int
        Seed of this task: epoch, round and part.
    """

    source: object
    left_out: list
    start: SharedAtoms
    plan: LearningPlan
    n_samples: int
    visit_weight: float
    spawn_key: tuple


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """The rows of a matrix as a source for `draw_initial_state`, whose units are blocks of `UNIT` rows.

    Attributes
    ----------
    rows : array-like of rows (n_samples, n_features)
        Takes a slice as index.
    units : int array
        The numbers of the blocks.
    """

    rows: Any
    units: np.ndarray

    @property
    def sizes(self):
        """The number of rows of each block, an int array (n_units,)."""
        return np.minimum(UNIT, len(self.rows) - UNIT * self.units)

    def subset(self, units):
        """Return the RowBlocks of some blocks alone, in the given order."""
        return RowBlocks(self.rows, self.units[units])

    def read(self):
        """Yield the rows of every block, an array (n_rows, n_features)."""
        for unit in self.units.tolist():
            yield self.rows[UNIT * unit : UNIT * (unit + 1)]

    def samples(self, rows):
        """Return rows as samples, unchanged."""
        return rows


class HeldOutSamples(NamedTuple):
    """The samples that are never learned from, because every evaluation measures the objective on them.

    Attributes
    ----------
    X : float64 array (n_held, n_features)
    rows_of : dict from the index of a unit to the int array of its held-out rows
    """

    X: np.ndarray
    rows_of: dict


def draw_initial_state(source, n_atoms, plan):
    """Draw the initial atoms and the held-out samples of a data-parallel run.

    Parameters
    ----------
    source : the samples, an object with

        - `sizes`: int array (n_units,), the number of samples of each unit (an image or a block of rows);
        - `subset(units)`: a source of these units alone, in that order, which can be sent to a worker;
        - `read()`: an iterator of arrays, the stored rows of each unit, one row per sample;
        - `samples(rows)`: stored rows as an array-like of samples, which takes an integer array as index.
    n_atoms : int
    plan : LearningPlan

    Returns
    -------
    progress : LearningProgress before the first round
    held : HeldOutSamples
        At most a tenth of the samples, but at least one.

    Raises
    ------
    DataError
        If there are too few samples.
    """
    rng = np.random.default_rng(np.random.SeedSequence(plan.key))
    n_held = min(EVALUATED_SAMPLES, max(1, int(source.sizes.sum()) // 10))
    units, rows = _draw_rows(source.sizes, n_held + 4 * n_atoms, rng)
    picked = [unit[chosen] for unit, chosen in zip(source.subset(units).read(), rows)]
    X = source.samples(np.concatenate(picked))
    order = rng.permutation(len(X))
    is_held = np.zeros(len(X), bool)
    is_held[order[:n_held]] = True
    by_unit = np.split(is_held, np.cumsum([len(chosen) for chosen in rows])[:-1])
    held = {int(unit): chosen[out] for unit, chosen, out in zip(units, rows, by_unit) if out.any()}
    learned = X[np.flatnonzero(~is_held)]
    D = random_patches(learned, n_atoms, rng, positive=plan.positive.atoms)
    first = LearningProgress(initial_shared_atoms(D, plan.options))
    return first, HeldOutSamples(np.asarray(X[np.flatnonzero(is_held)], np.float64), held)


def _draw_rows(sizes, n, rng):
    """Draw n random samples from a random subset of the units (images or blocks of rows).

    Reading only a few units is faster.  If they have fewer than n samples, all of these are drawn.

    Parameters
    ----------
    sizes : int array (n_units,)
        Number of samples of every unit.
    n : int
    rng : Generator

    Returns
    -------
    units : sorted int array
        The units to read: enough for 4 n samples, and at least `_MIN_UNITS_READ` if there are so many.
    rows : list of int arrays
        For each of these units, the rows drawn from it.
    """
    order = rng.permutation(np.flatnonzero(sizes))
    n_units = np.searchsorted(np.cumsum(sizes[order]), 4 * n) + 1
    units = np.sort(order[: max(_MIN_UNITS_READ, n_units)])
    ends = np.cumsum(sizes[units])
    picked = np.sort(rng.permutation(ends[-1])[:n]) if len(units) else np.zeros(0, int)
    by_unit = np.split(picked, np.searchsorted(picked, ends[:-1]))
    return units, [rows - start for rows, start in zip(by_unit, ends - sizes[units])]


def initial_shared_atoms(D, options):
    """Return the `SharedAtoms` before the first round, for a dictionary D (n_atoms, n_features).

    `options` is an `SCCOptions`.
    """
    moving = D if VARIANTS[options.variant].takes_mean else D[:0]
    return SharedAtoms(D, (D**2).sum(axis=1), np.zeros(len(D)), np.zeros(len(D)), 0, moving)


def learn_in_rounds(source, held, progress, plan, run):
    """Run the rounds of data-parallel SCC, and yield a `LearningProgress` after every round.

    Parameters
    ----------
    source, plan : the arguments of `draw_initial_state`
    held : HeldOutSamples from `draw_initial_state`
    progress : LearningProgress
        From `draw_initial_state`, or the last one of an interrupted run, whose rounds are not repeated.
    run : callable
        run(tasks) calls `visit_part` on every `VisitTask` of a list, for example in several processes, and
        returns the results in the same order.
    """
    sizes = source.sizes.astype(np.int64)
    for unit, rows in held.rows_of.items():
        sizes[unit] -= len(rows)
    before = n_rounds = 0
    for epoch in range(plan.n_epochs):
        rounds = plan_rounds(sizes, before, len(progress.atoms.D), epoch, plan)
        for visits in rounds:
            n_rounds += 1
            if n_rounds <= progress.n_rounds:
                continue
            if has_converged(progress, plan):
                return
            started = time.perf_counter()
            tasks = _make_tasks(source, held, progress.atoms, visits, plan, (epoch, n_rounds))
            n_samples = [visit.n_samples for visit in visits]
            atoms = average_atoms(progress.atoms, run(tasks), n_samples, plan.options)
            seconds = progress.seconds + time.perf_counter() - started
            progress = replace(progress, atoms=atoms, n_rounds=n_rounds, seconds=seconds)
            progress = _add_record(progress, held, epoch, visits is rounds[-1], plan)
            yield progress
        before += int(sizes.sum())


def has_converged(progress, plan):
    """Return whether learning can stop: the last evaluation improved the objective by less than `plan.tol`.

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
    return is_fair and has_small_gain(records, plan.tol)


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
        From 0.
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


def _make_tasks(source, held, atoms, visits, plan, number):
    """Build the `VisitTask` of every part in a round.

    Parameters
    ----------
    source : the samples, as in `draw_initial_state`
    held : HeldOutSamples
    atoms : SharedAtoms before the round
    visits : list of PartVisit
    plan : LearningPlan
    number : tuple of int
        Epoch and round, which seed the random choices of the tasks.
    """
    total = sum(visit.n_samples for visit in visits)
    nothing = np.zeros(0, int)
    return [
        VisitTask(
            source=source.subset(visit.units),
            left_out=[held.rows_of.get(int(unit), nothing) for unit in visit.units],
            start=atoms,
            plan=plan,
            n_samples=visit.n_samples,
            visit_weight=total / visit.n_samples,
            spawn_key=(*number, visit.part),
        )
        for visit in visits
    ]


def visit_part(task):
    """Learn from the samples of one part for one round: the work of one worker.

    It depends on nothing but the task, so any process on any machine can do it.

    Parameters
    ----------
    task : VisitTask

    Returns
    -------
    atoms : SharedAtoms
        The atoms after the last sample.  `h_now` holds only what this part added to the sums of squared
        codes.
    """
    plan, start = task.plan, task.start
    rng = np.random.default_rng(np.random.SeedSequence(plan.key, spawn_key=task.spawn_key))
    learner = SCC(start.D, 0, lam=plan.lam, positive=plan.positive, **vars(plan.options))
    return learner.visit_part(task.source.samples(_read_task_rows(task)), rng, start, task.visit_weight)


def _read_task_rows(task):
    """Read the stored rows that a `VisitTask` learns from: an array (n_samples, n_features).

    Units are read one at a time, and their held-out rows are removed.
    """
    units = (
        np.delete(unit, out, axis=0) if len(out) else unit
        for unit, out in zip(task.source.read(), task.left_out)
    )
    first = next(units)
    rows = np.empty((task.n_samples, first.shape[1]), first.dtype)
    n = 0
    for unit in chain([first], units):
        rows[n : n + len(unit)] = unit
        n += len(unit)
    return rows[:n]


def average_atoms(start, reached, n_visits, options):
    """Average the atoms that the parts of a round reached: the formula at the top of the module.

    Parameters
    ----------
    start : SharedAtoms before the round
    reached : list of SharedAtoms
        The results of `visit_part`, in the order of the parts.
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
    D = _average_atoms(start, start.D, [part.D for part in reached], weights, is_on_sphere)
    moving = start.moving
    if len(moving):
        moving = _average_atoms(start, moving, [part.moving for part in reached], weights, is_on_sphere)
    atoms = moving if len(moving) else D
    norm2 = (atoms**2).sum(axis=1)
    is_one = is_on_sphere & (abs(norm2 - 1) < 1e-5)  # up to rounding; kernels then need no division
    norm2 = np.where(is_one, 1, norm2).astype(atoms.dtype)
    return now._replace(D=D, norm2=norm2, h_now=start.h_now + gain, moving=moving)


def _average_atoms(start, before, reached, weights, is_on_sphere):
    """Return the weighted mean of the parts' atoms, atom by atom.

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
        mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-300)
    used = (sum(weights) > 0) & (start.norm2 > 0)
    return np.where(used[:, None], mean, before).astype(before.dtype)


def begin_next_epoch(atoms, options):
    """Return a copy of the `SharedAtoms` for the next epoch: `h_now` is moved to `h_past`.

    The variant and `options.forgetting` (of `SCCOptions`) decide how much of both remains.
    """
    h = decay_squared_code_sums(atoms.h_past, atoms.h_now, options)
    return atoms._replace(h_past=h, h_now=np.zeros_like(h))


def _add_record(progress, held, epoch, is_last, plan):
    """Evaluate the atoms on the held-out samples if an evaluation is due, and return the new progress.

    An evaluation is due at the end of every epoch.  In the first epoch one is also due when the number of
    processed samples has doubled since the last one.  At the end of an epoch the next one is begun.

    Parameters
    ----------
    progress : LearningProgress after a round
    held : HeldOutSamples
    epoch : int, from 0
    is_last : bool
        Whether the round is the last of its epoch.
    plan : LearningPlan
    """
    atoms, records = progress.atoms, progress.records
    doubled = epoch == 0 and (not records or atoms.n_visits >= 2 * records[-1].n_visits)
    if is_last or doubled:
        D = np.asarray(atoms.D, np.float64)
        values, gaps, n_nonzeros = evaluate_dictionary(held.X, D, plan.lam, positive=plan.positive.code)
        record = EpochRecord(
            epoch=epoch + 1,
            seconds=progress.seconds,
            objective_stored=np.nan,  # no code is kept
            objective=float(values.mean()),
            gap=float(gaps.mean()),
            mean_nonzeros=n_nonzeros / max(1, len(held.X)),
            n_unused_atoms=int((atoms.h_now == 0).sum()),
            n_visits=atoms.n_visits,
        )
        progress = replace(progress, records=[*records, record])
    return replace(progress, atoms=begin_next_epoch(atoms, plan.options)) if is_last else progress

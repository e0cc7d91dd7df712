"""Data-parallel learning: samples that fit in no memory, visited by any number of workers in rounds.

Samples lie in units that are read as a whole: images, or blocks of rows.  Unit i belongs to part i mod S,
in every epoch.  In a round every active part visits its next units, all from the same atoms, and what they
reach is averaged.  Which part visits what, and in which order, follows from the sizes of the units, S and the
seed: never from who does the work, nor from what was interrupted.

How atoms are averaged
----------------------
Sequential SCC keeps, for every atom, h = h0 + sum w z^2 and d = d0 + sum w z r / h: d is the mean, weighted
by h, of where it was and where each visit wants it.  A round of S parts starts from one (d0, h0), and every
part learns as though its samples were those of all: each visit counts as V / v, where the part makes v of the
V visits of the round.  So h_s grows in every part as it would in a sequential run, steps are as long as they
are there, and what a part reaches is one estimate of what that run would reach.  The estimates are averaged,
each by its h and its number of visits:

    d = sum v_s h_s d_s / sum v_s h_s,    h = sum v_s h_s / V = h0 + what all visits add.

Adding changes in the place of averaging, h d = h0 d0 + sum (h_s d_s - h0 d0), overshoots S-fold where all
parts move the same atoms the same way; averaging changes of visits that count once falls S-fold short.  A
mean of the parts' atoms lies between them, so it cannot run away, however many parts there are and however
long the round is; with one part it is the part's own.  What it costs is noise, as a visit of S-fold weight
has it: so many parts are active only when enough was seen before.
"""

import time
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from flyannot.sparse.fit import EVALUATED_SAMPLES, EpochRecord, exact_values, gains_too_little, random_patches
from flyannot.sparse.learners.scc import SCC, VARIANTS, SCCOptions, carried_over

LONGEST = 2**18  # samples of a part in a round, which it holds: 33 MB of descriptors
_SEEN_PER_ATOM = 60  # samples seen so far for every active part and atom: with fewer, averages are noise
_BEGUN_PER_ATOM = 10  # samples an atom: until so many were seen, atoms are samples rather than learned
_UNITS_LOOKED_INTO = 256  # at least, for initial atoms and held-out samples


class SharedAtoms(NamedTuple):
    """The dictionary between two rounds, and what its steps need."""

    D: np.ndarray  # (n_atoms, n_features)
    norm2: np.ndarray  # (n_atoms,) squared norms of the atoms that steps move
    h_past: np.ndarray  # (n_atoms,) float64, squared codes of earlier epochs
    h_now: np.ndarray  # (n_atoms,) float64, those of this epoch
    n_visits: int  # so far
    moving: np.ndarray  # (n_atoms, n_features), the atoms that steps move where D is their mean; else none


@dataclass(frozen=True)
class LearningPlan:
    """What decides the result, besides the samples."""

    n_parts: int
    n_epochs: int
    lam: float
    options: SCCOptions
    key: tuple  # whole numbers: the seed of all random choices
    tol: float | None = None
    longest: int = LONGEST


@dataclass(frozen=True)
class LearningProgress:
    """How far learning is, after a round."""

    atoms: SharedAtoms
    n_rounds: int = 0
    seconds: float = 0.0
    records: list = field(default_factory=list)


class PartVisit(NamedTuple):
    """What one part visits in a round."""

    part: int
    units: np.ndarray
    n_samples: int


class VisitTask(NamedTuple):
    """The visit of a part as a worker needs it."""

    source: object
    left_out: list  # rows of each unit that are held out
    start: SharedAtoms
    plan: LearningPlan
    n_samples: int
    stands_for: float  # V / v above
    spawn_key: tuple


class HeldOutSamples(NamedTuple):
    """Samples that are not learned from: their rows, and their places."""

    X: np.ndarray
    rows_of: dict  # unit -> row numbers


def begin_rounds(source, n_atoms, plan):
    """Initial atoms as a `LearningProgress`; and the `HeldOutSamples` of the trace.

    Parameters
    ----------
    source : the samples, an object with
        sizes         int array (n_units,), the samples of each unit
        subset(units)   a source of these units alone, in that order, that can be sent to a worker
        read()        an iterator of arrays, the samples of each unit as they are stored
        samples(rows) stored rows as an array-like of samples, which takes an integer array as index
    n_atoms : int
    plan : LearningPlan

    Raises
    ------
    DataError
        If there are too few samples.
    """
    rng = np.random.default_rng(np.random.SeedSequence(plan.key))
    n_held = min(EVALUATED_SAMPLES, int(source.sizes.sum()) // 10)
    units, rows = _drawn(source.sizes, n_held + 4 * n_atoms, rng)
    picked = [unit[chosen] for unit, chosen in zip(source.subset(units).read(), rows)]
    X = source.samples(np.concatenate(picked))
    order = rng.permutation(len(X))
    is_held = np.zeros(len(X), bool)
    is_held[order[:n_held]] = True
    by_unit = np.split(is_held, np.cumsum([len(chosen) for chosen in rows])[:-1])
    held = {int(unit): chosen[out] for unit, chosen, out in zip(units, rows, by_unit) if out.any()}
    learned = X[np.flatnonzero(~is_held)]
    first = LearningProgress(first_atoms(random_patches(learned, n_atoms, rng), plan.options))
    return first, HeldOutSamples(np.asarray(X[np.flatnonzero(is_held)], np.float64), held)


def _drawn(sizes, n, rng):
    """n samples of some units, or all if there are not so many: (units, rows of each)."""
    order = rng.permutation(np.flatnonzero(sizes))
    n_units = np.searchsorted(np.cumsum(sizes[order]), 4 * n) + 1
    units = np.sort(order[: max(_UNITS_LOOKED_INTO, n_units)])
    ends = np.cumsum(sizes[units])
    picked = np.sort(rng.permutation(ends[-1])[:n]) if len(units) else np.zeros(0, int)
    by_unit = np.split(picked, np.searchsorted(picked, ends[:-1]))
    return units, [rows - start for rows, start in zip(by_unit, ends - sizes[units])]


def first_atoms(D, options):
    """The `SharedAtoms` of initial atoms (n_atoms, n_features)."""
    moving = D if VARIANTS[options.variant].takes_mean else D[:0]
    return SharedAtoms(D, (D**2).sum(axis=1), np.zeros(len(D)), np.zeros(len(D)), 0, moving)


def learn_in_rounds(source, held, progress, plan, run):
    """Go on from `progress` and yield a `LearningProgress` after every round.

    Parameters
    ----------
    source, plan : as `begin_rounds` takes them
    held, progress : as it gave them; or a later progress of the same
    run : function that calls `visit_part` on each of a list of `VisitTask` and returns the results in order
    """
    sizes = source.sizes.astype(np.int64)
    for unit, rows in held.rows_of.items():
        sizes[unit] -= len(rows)
    before = n_rounds = 0
    for epoch in range(plan.n_epochs):
        rounds = rounds_of_epoch(sizes, before, len(progress.atoms.D), epoch, plan)
        for visits in rounds:
            n_rounds += 1
            if n_rounds <= progress.n_rounds:
                continue
            if has_converged(progress, plan):
                return
            started = time.perf_counter()
            tasks = _tasks_of_round(source, held, progress.atoms, visits, plan, (epoch, n_rounds))
            n_samples = [visit.n_samples for visit in visits]
            atoms = average_atoms(progress.atoms, run(tasks), n_samples, plan.options)
            seconds = progress.seconds + time.perf_counter() - started
            progress = replace(progress, atoms=atoms, n_rounds=n_rounds, seconds=seconds)
            progress = _recorded(progress, held, epoch, visits is rounds[-1], plan)
            yield progress
        before += int(sizes.sum())


def has_converged(progress, plan):
    """Whether the last record of the trace says that learning gains too little to go on."""
    records, seen = progress.records, _BEGUN_PER_ATOM * len(progress.atoms.D)
    if plan.tol is None or len(records) < 2 or records[-1].n_visits != progress.atoms.n_visits:
        return False
    if records[-2].n_visits < seen:  # no more is learned yet than that random atoms are none
        return False
    is_fair = records[-1].epoch > 1 or records[-1].n_visits >= 2 * records[-2].n_visits
    return is_fair and gains_too_little(records, plan.tol)


def rounds_of_epoch(sizes, n_before, n_atoms, epoch, plan):
    """The rounds of an epoch, each a list of `PartVisit` by part.

    Parts become active one by one, as `_SEEN_PER_ATOM` samples an atom have been seen for each of them; so
    the first rounds are of one part, which is sequential learning.  A round is half as long as all that was
    seen so far, until it is `plan.longest` for every part.

    Parameters
    ----------
    sizes : int array (n_units,)
    n_before : int, visits in earlier epochs
    """
    rng = np.random.default_rng(np.random.SeedSequence(plan.key, spawn_key=(epoch,)))
    orders = [rng.permutation(np.arange(part, len(sizes), plan.n_parts)) for part in range(plan.n_parts)]
    ends = [np.concatenate([[0], np.cumsum(sizes[order])]) for order in orders]
    done, left = np.zeros(plan.n_parts, int), np.array([end[-1] for end in ends])
    shortest, per_part = (max(n * n_atoms, int(2 * sizes.mean())) for n in (_BEGUN_PER_ATOM, _SEEN_PER_ATOM))
    n_visits, rounds = n_before, []
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


def _tasks_of_round(source, held, atoms, visits, plan, number):
    total, nothing = sum(visit.n_samples for visit in visits), np.zeros(0, int)
    return [
        VisitTask(
            source=source.subset(visit.units),
            left_out=[held.rows_of.get(int(unit), nothing) for unit in visit.units],
            start=atoms,
            plan=plan,
            n_samples=visit.n_samples,
            stands_for=total / visit.n_samples,
            spawn_key=(*number, visit.part),
        )
        for visit in visits
    ]


def visit_part(task):
    """Visit the part of a `VisitTask`: a pure function, for any worker.

    Returns the `SharedAtoms` that the part reached.  `h_now` is what its visits added.
    """
    plan, start = task.plan, task.start
    rng = np.random.default_rng(np.random.SeedSequence(plan.key, spawn_key=task.spawn_key))
    learner = SCC(start.D, 0, lam=plan.lam, **vars(plan.options))
    return learner.visit_part(task.source.samples(_rows_of(task)), rng, start, task.stands_for)


def _rows_of(task):
    """The stored rows to visit, (n_samples, n_features); of the units one at a time is held besides."""
    units = (
        np.delete(unit, out, axis=0) if len(out) else unit
        for unit, out in zip(task.source.read(), task.left_out)
    )
    first = next(units)
    rows, n = np.empty((task.n_samples, first.shape[1]), first.dtype), 0
    for unit in chain([first], units):
        rows[n : n + len(unit)] = unit
        n += len(unit)
    return rows[:n]


def average_atoms(start, reached, n_visits, options):
    """The `SharedAtoms` after a round.

    Parameters
    ----------
    start : SharedAtoms before it
    reached : list of `SharedAtoms` from `visit_part`, in the order of the parts
    n_visits : list of the visits of each
    options : SCCOptions
    """
    now = start._replace(n_visits=start.n_visits + sum(n_visits))
    if len(reached) == 1:
        return reached[0]._replace(n_visits=now.n_visits, h_now=start.h_now + reached[0].h_now)
    before, is_on_sphere = start.h_past + start.h_now, VARIANTS[options.variant].rescale_above == 0
    weights = [n * (before + part.h_now) for part, n in zip(reached, n_visits)]
    gain = sum(n / sum(n_visits) * part.h_now for part, n in zip(reached, n_visits))
    D = _mean_of_atoms(start, start.D, [part.D for part in reached], weights, is_on_sphere)
    moving = start.moving
    if len(moving):
        moving = _mean_of_atoms(start, moving, [part.moving for part in reached], weights, is_on_sphere)
    atoms = moving if len(moving) else D
    norm2 = (atoms**2).sum(axis=1)
    is_one = is_on_sphere & (abs(norm2 - 1) < 1e-5)  # but for rounding: kernels then need no division
    norm2 = np.where(is_one, 1, norm2).astype(atoms.dtype)
    return now._replace(D=D, norm2=norm2, h_now=start.h_now + gain, moving=moving)


def _mean_of_atoms(start, before, reached, weights, is_on_sphere):
    """The mean of the atoms that parts reached; as `before` where none used an atom."""
    total = np.zeros(before.shape)
    for D, weight in zip(reached, weights):
        total += weight[:, None] * D
    mean = total / np.where(sum(weights) > 0, sum(weights), 1)[:, None]
    if is_on_sphere:
        mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-300)
    used = (sum(weights) > 0) & (start.norm2 > 0)
    return np.where(used[:, None], mean, before).astype(before.dtype)


def atoms_of_next_epoch(atoms, options):
    """The atoms when the next epoch begins."""
    h = carried_over(atoms.h_past, atoms.h_now, options)
    return atoms._replace(h_past=h, h_now=np.zeros_like(h))


def _recorded(progress, held, epoch, is_last, plan):
    """With one more record, if the epoch ends or as many samples again have been seen since the last."""
    atoms, records = progress.atoms, progress.records
    doubled = epoch == 0 and (not records or atoms.n_visits >= 2 * records[-1].n_visits)
    if is_last or doubled:
        D = np.asarray(atoms.D, np.float64)
        values, gaps, n_nonzeros = exact_values(held.X, D, plan.lam)
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
    return replace(progress, atoms=atoms_of_next_epoch(atoms, plan.options)) if is_last else progress

"""Learning by shares: samples that fit in no memory, visited by any number of workers in rounds.

Samples lie in units that are read as a whole: images, or blocks of rows.  Unit i belongs to share i mod S,
in every epoch.  In a round every active share visits its next units, all from the same atoms, and what they
reach is merged (`flyannot.sparse.learners.scc.shares`).  Which share visits what, and in which order, follows
from the sizes of the units, S and the seed: never from who does the work, nor from what was interrupted.
"""

import time
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from flyannot.sparse.fit import (
    EVALUATED_SAMPLES,
    EpochRecord,
    exact_values,
    gains_too_little,
    random_patches,
)
from flyannot.sparse.learners.scc.options import SCCOptions
from flyannot.sparse.learners.scc.shares import SharedAtoms, end_epoch, first_atoms, merged, visit_share
from flyannot.sparse.stored_codes import EITHER_SIGN, Positive

LONGEST = 2**18  # samples of a share in a round, which it holds: 33 MB of descriptors
_SEEN_PER_ATOM = 60  # samples seen so far for every active share and atom: with fewer, merged atoms are noise
_BEGUN_PER_ATOM = 10  # samples an atom: until so many were seen, atoms are samples rather than learned
_UNITS_LOOKED_INTO = 256  # at least, for initial atoms and held-out samples


@dataclass(frozen=True)
class Plan:
    """What decides the result, besides the samples."""

    n_shares: int
    n_epochs: int
    lam: float
    options: SCCOptions
    key: tuple  # whole numbers: the seed of all random choices
    tol: float | None = None
    longest: int = LONGEST
    positive: Positive = EITHER_SIGN


@dataclass(frozen=True)
class Progress:
    """How far learning is, after a round."""

    atoms: SharedAtoms
    n_rounds: int = 0
    seconds: float = 0.0
    records: list = field(default_factory=list)


class Turn(NamedTuple):
    """What one share visits in a round."""

    share: int
    units: np.ndarray
    n_samples: int


class Task(NamedTuple):
    """A turn as a worker needs it."""

    source: object
    left_out: list  # rows of each unit that are held out
    start: SharedAtoms
    plan: Plan
    n_samples: int
    stands_for: float
    spawn_key: tuple


class Held(NamedTuple):
    """Samples that are not learned from: their rows, and their places."""

    X: np.ndarray
    rows_of: dict  # unit -> row numbers


def begin(source, n_atoms, plan):
    """Initial atoms, random samples, as a `Progress`; and the `Held` samples of the trace.

    Parameters
    ----------
    source : the samples, an object with
        sizes         int array (n_units,), the samples of each unit
        narrowed(units)   a source of these units alone, in that order, that can be sent to a worker
        read()        an iterator of arrays, the samples of each unit as they are stored
        samples(rows) stored rows as an array-like of samples, which takes an integer array as index
    n_atoms : int
    plan : Plan

    Raises
    ------
    DataError
        If there are too few samples.
    """
    rng = np.random.default_rng(np.random.SeedSequence(plan.key))
    n_held = min(EVALUATED_SAMPLES, int(source.sizes.sum()) // 10)
    units, rows = _drawn(source.sizes, n_held + 4 * n_atoms, rng)
    picked = [unit[of] for unit, of in zip(source.narrowed(units).read(), rows)]
    X = source.samples(np.concatenate(picked))
    order = rng.permutation(len(X))
    is_held = np.zeros(len(X), bool)
    is_held[order[:n_held]] = True
    by_unit = np.split(is_held, np.cumsum([len(of) for of in rows])[:-1])
    held = {int(unit): of[mine] for unit, of, mine in zip(units, rows, by_unit) if mine.any()}
    D = random_patches(X[np.flatnonzero(~is_held)], n_atoms, rng, positive=plan.positive.atoms)
    first = Progress(first_atoms(D, plan.options))
    return first, Held(np.asarray(X[np.flatnonzero(is_held)], np.float64), held)


def learn_by_shares(source, held, progress, plan, run):
    """Go on from `progress` and yield a `Progress` after every round.

    Parameters
    ----------
    source, plan : as `begin` takes them
    held, progress : as it gave them; or a later progress of the same
    run : function that calls `visit` on each of a list of `Task` and returns the results in their order
    """
    sizes = source.sizes.astype(np.int64)
    for unit, rows in held.rows_of.items():
        sizes[unit] -= len(rows)
    before = n_rounds = 0
    for epoch in range(plan.n_epochs):
        rounds = rounds_of_epoch(sizes, before, len(progress.atoms.D), epoch, plan)
        for turns in rounds:
            n_rounds += 1
            if n_rounds <= progress.n_rounds:
                continue
            if has_ended(progress, plan):
                return
            started = time.perf_counter()
            atoms = _learn_round(source, held, progress.atoms, turns, plan, (epoch, n_rounds), run)
            seconds = progress.seconds + time.perf_counter() - started
            progress = replace(progress, atoms=atoms, n_rounds=n_rounds, seconds=seconds)
            progress = _recorded(progress, held, epoch, turns is rounds[-1], plan)
            yield progress
        before += int(sizes.sum())


def has_ended(progress, plan):
    """Whether the last record of the trace says that learning gains too little to go on."""
    records, seen = progress.records, _BEGUN_PER_ATOM * len(progress.atoms.D)
    if plan.tol is None or len(records) < 2 or records[-1].n_visits != progress.atoms.n_visits:
        return False
    if records[-2].n_visits < seen:  # no more is learned yet than that random atoms are none
        return False
    is_fair = records[-1].epoch > 1 or records[-1].n_visits >= 2 * records[-2].n_visits
    return is_fair and gains_too_little(records, plan.tol)


def rounds_of_epoch(sizes, n_before, n_atoms, epoch, plan):
    """The rounds of an epoch, each a list of `Turn` by share.

    Shares become active one by one, as `_SEEN_PER_ATOM` samples an atom have been seen for each of them; so
    the first rounds are of one share, which is sequential learning.  A round is half as long as all that was
    seen so far, until it is `plan.longest` for every share.

    Parameters
    ----------
    sizes : int array (n_units,)
    n_before : int, visits in earlier epochs
    """
    rng = np.random.default_rng(np.random.SeedSequence(plan.key, spawn_key=(epoch,)))
    orders = [rng.permutation(np.arange(s, len(sizes), plan.n_shares)) for s in range(plan.n_shares)]
    ends = [np.concatenate([[0], np.cumsum(sizes[order])]) for order in orders]
    done, left = np.zeros(plan.n_shares, int), np.array([end[-1] for end in ends])
    shortest, per_share = (max(n * n_atoms, int(2 * sizes.mean())) for n in (_BEGUN_PER_ATOM, _SEEN_PER_ATOM))
    n_visits, rounds = n_before, []
    while left.any():
        n_active = max(1, min(n_visits // per_share, np.count_nonzero(left)))
        target = min(plan.longest, max(shortest, n_visits // n_active) // 2)
        turns = []
        for s in np.sort(np.argsort(-left, kind="stable")[:n_active]):
            first, end = done[s], ends[s]
            done[s] = max(first + 1, np.searchsorted(end, end[first] + target, side="right") - 1)
            left[s] = end[-1] - end[done[s]]
            turns.append(Turn(int(s), orders[s][first : done[s]], int(end[done[s]] - end[first])))
        turns = [turn for turn in turns if turn.n_samples]
        n_visits += sum(turn.n_samples for turn in turns)
        rounds += [turns] if turns else []
    return rounds


def visit(task):
    """What the share of a `Task` makes of the atoms: pure, and done anywhere."""
    rng = np.random.default_rng(np.random.SeedSequence(task.plan.key, spawn_key=task.spawn_key))
    return visit_share(
        task.start, task.source.samples(_rows_of(task)),
        lam=task.plan.lam, options=task.plan.options, stands_for=task.stands_for, rng=rng,
        positive=task.plan.positive,
    )  # fmt: skip


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


def _learn_round(source, held, atoms, turns, plan, number, run):
    total, nothing = sum(turn.n_samples for turn in turns), np.zeros(0, int)
    tasks = [
        Task(
            source.narrowed(turn.units), [held.rows_of.get(int(unit), nothing) for unit in turn.units],
            atoms, plan, turn.n_samples, total / turn.n_samples, (*number, turn.share),
        )
        for turn in turns
    ]  # fmt: skip
    return merged(atoms, run(tasks), [turn.n_samples for turn in turns], plan.options)


def _recorded(progress, held, epoch, is_last, plan):
    """With one more record, if the epoch ends or as many samples again have been seen since the last."""
    atoms, records = progress.atoms, progress.records
    doubled = epoch == 0 and (not records or atoms.n_visits >= 2 * records[-1].n_visits)
    if is_last or doubled:
        record = _evaluate(held.X, atoms, plan, epoch + 1, progress.seconds)
        progress = replace(progress, records=[*records, record])
    return replace(progress, atoms=end_epoch(atoms, plan.options)) if is_last else progress


def _evaluate(X, atoms, plan, epoch, seconds):
    D, positive = np.asarray(atoms.D, np.float64), plan.positive.code
    values, gaps, n_nonzeros = exact_values(X, D, plan.lam, positive=positive)
    return EpochRecord(
        epoch=epoch,
        seconds=seconds,
        objective_stored=np.nan,  # no code is kept
        objective=float(values.mean()),
        gap=float(gaps.mean()),
        mean_nonzeros=n_nonzeros / max(1, len(X)),
        n_unused_atoms=int((atoms.h_now == 0).sum()),
        n_visits=atoms.n_visits,
    )


def _drawn(sizes, n, rng):
    """n samples of some units, or all if there are not so many: (units, rows of each)."""
    order = rng.permutation(np.flatnonzero(sizes))
    n_units = np.searchsorted(np.cumsum(sizes[order]), 4 * n) + 1
    units = np.sort(order[: max(_UNITS_LOOKED_INTO, n_units)])
    ends = np.cumsum(sizes[units])
    picked = np.sort(rng.permutation(ends[-1])[:n]) if len(units) else np.zeros(0, int)
    starts = ends - sizes[units]
    return units, [
        part - start for part, start in zip(np.split(picked, np.searchsorted(picked, ends[:-1])), starts)
    ]

"""Laws of data-parallel learning: the schedule, the averaging, and the results."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from flyannot.sparse import data_parallel as parallel
from flyannot.sparse.coders import CODERS
from flyannot.sparse.fit import has_small_gain, random_patches
from flyannot.sparse.learners.scc import SCC, VARIANTS, SCCOptions
from flyannot.sparse.objective import objective
from tests.planted_samples import planted, run, unit_rows

LAM = 0.1
QUICK = SCCOptions(variant="quick")
EVERY_VARIANT = pytest.mark.parametrize("variant", VARIANTS)


def plan_of(n_parts=4, n_epochs=1, variant="quick", **more):
    return parallel.LearningPlan(n_parts, n_epochs, LAM, SCCOptions(variant=variant), (7,), **more)


def visited_part(start, X, options, *, visit_weight, rng):
    return SCC(start.D, 0, lam=LAM, **vars(options)).visit_part(X, rng, start, visit_weight)


def learned(X, n_atoms, plan, run=map):
    D, held = parallel.draw_initial_state(X, n_atoms, plan)
    return list(parallel.learn_in_rounds(X, held, D, plan, run))


def value_of(X, D):
    return objective(X, D, CODERS["cd"](X, D, LAM), LAM).mean()


@pytest.fixture(scope="module")
def X():
    return planted(12_000, 20, 30, 3, np.random.default_rng(5))[0].astype(np.float32)


@pytest.fixture(scope="module")
def sequential(X):
    """Return for each variant the mean objective of the sequential learner from two starts."""
    starts = [random_patches(X, 30, np.random.default_rng(seed)) for seed in (1, 2)]
    learners = {v: [SCC(start, len(X), lam=LAM, variant=v) for start in starts] for v in VARIANTS}
    return {v: np.mean([value_of(X, run(one, X, 2).D) for one in some]) for v, some in learners.items()}


# --- the schedule ---


@pytest.mark.parametrize("n_parts", [1, 3, 16, 300])
@pytest.mark.parametrize("longest", [500, 2**18])
def test_every_unit_is_visited_once_in_every_epoch_by_its_own_part(n_parts, longest, rng):
    sizes = rng.integers(0, 400, 200)
    plan = plan_of(n_parts, longest=longest)
    for epoch in (0, 1):
        rounds = parallel.plan_rounds(sizes, epoch * sizes.sum(), 10, epoch, plan)
        visited = np.concatenate([visit.units for visits in rounds for visit in visits])
        assert len(visited) == len(set(visited)) and set(visited) >= set(np.flatnonzero(sizes))
        for visits in rounds:
            parts = [visit.part for visit in visits]
            assert parts == sorted(set(parts)), "each at most once, and in their order"
            for visit in visits:
                assert (visit.units % n_parts == visit.part).all()
                assert visit.n_samples == sizes[visit.units].sum()
                assert visit.n_samples <= longest or len(visit.units) == 1, "so much is held in memory"


def test_orders_differ_from_epoch_to_epoch_and_with_the_seed():
    sizes = np.full(100, 50)
    plans = (0, plan_of()), (1, plan_of()), (0, replace(plan_of(), key=(8,)))
    planned = [parallel.plan_rounds(sizes, 0, 10, epoch, plan) for epoch, plan in plans]
    orders = [[visit.units.tolist() for visits in rounds for visit in visits] for rounds in planned]
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_parts_become_active_as_samples_have_been_seen_for_them_and_rounds_grow():
    rounds = parallel.plan_rounds(np.full(100_000, 100), 0, 50, 0, plan_of(64))
    seen, before = 0, 0
    for visits in rounds[:-5]:  # the last are of what is left
        assert len(visits) == max(1, min(64, seen // 3000)) or len(visits) == 64
        n = sum(visit.n_samples for visit in visits)
        assert n <= max(500, 0.6 * seen) or max(visit.n_samples for visit in visits) == plan_of().longest
        assert len(visits) >= before
        seen, before = seen + n, len(visits)
    assert before == 64 and len(rounds) < 60


# --- the averaging ---


@EVERY_VARIANT
def test_one_part_in_one_round_is_the_sequential_learner_bit_for_bit(variant, X):
    options = SCCOptions(variant=variant)
    D = random_patches(X, 40, np.random.default_rng(1))
    atoms = parallel.initial_shared_atoms(D, options)
    found = visited_part(atoms, X, options, visit_weight=1.0, rng=np.random.default_rng([0, 0]))
    atoms = parallel.average_atoms(atoms, [found], [len(X)], options)
    atoms = parallel.begin_next_epoch(atoms, options)

    learner = run(SCC(D, len(X), lam=LAM, variant=variant), X, 1)
    state = learner.state()
    assert (learner.D == atoms.D).all() and (atoms.norm2 == state["norm2"]).all()
    assert (atoms.h_past == state["h"]).all() and atoms.n_visits == state["n_before"]


@EVERY_VARIANT
def test_averaging_what_agrees_changes_nothing_and_sums_h(variant, rng):
    options = SCCOptions(variant=variant)
    D = unit_rows(rng.normal(size=(30, 12))).astype(np.float32)
    start = parallel.initial_shared_atoms(D, options)
    moved = unit_rows(rng.normal(size=(30, 12))).astype(np.float32)
    gained = rng.random((3, 30))
    reached = start._replace(D=moved, norm2=(moved**2).sum(1), moving=moved[: len(start.moving)])
    found = [reached._replace(h_now=h) for h in gained]
    atoms = parallel.average_atoms(start, found, [10, 10, 30], options)
    assert np.abs(atoms.D - moved).max() < 1e-6
    assert np.allclose(atoms.h_now, gained[0] / 5 + gained[1] / 5 + gained[2] * 3 / 5)
    assert atoms.n_visits == 50


def test_an_atom_that_no_part_used_stays_and_one_that_a_single_part_used_is_its_own(rng):
    D = unit_rows(rng.normal(size=(3, 12))).astype(np.float32)
    other = unit_rows(rng.normal(size=(3, 12))).astype(np.float32)
    gained = np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0])
    start = parallel.initial_shared_atoms(D, QUICK)
    found = [start._replace(D=atoms, h_now=h, moving=atoms) for atoms, h in zip((other, D), gained)]
    atoms = parallel.average_atoms(start, found, [5, 5], QUICK)
    assert (atoms.D[0] == D[0]).all()
    assert np.allclose(atoms.D[1], other[1], atol=1e-6)
    assert np.allclose(atoms.D[2], unit_rows((D + other)[2:])[0], atol=1e-6)


# --- what comes out ---


@EVERY_VARIANT
@pytest.mark.parametrize("n_parts", [1, 8, 32, 256])
@pytest.mark.parametrize("longest", [50, 2**18])
def test_any_parts_in_any_rounds_end_near_the_sequential_learner(variant, n_parts, longest, X, sequential):
    plan = plan_of(n_parts, 2, variant, longest=longest)
    for progress in learned(X, 30, plan):
        D = progress.atoms.D
        norms = np.linalg.norm(D.astype(float), axis=1)
        assert norms.max() <= 1 + 2e-6
        assert variant == "paper" or norms.min() > 1 - 2e-6
    assert value_of(X, D) < (1.008 if variant == "quick" else 1.05) * sequential[variant]  # others vary by 4%


def test_parts_that_all_pull_the_same_way_do_not_overshoot(X):
    """Give every part the same samples: the sum of their changes would move atoms many times too far."""
    same = X[:400]
    atoms = parallel.initial_shared_atoms(random_patches(same, 15, np.random.default_rng(0)), QUICK)
    values = [value_of(same, atoms.D)]
    for i in range(8):
        rngs = [np.random.default_rng([i, part]) for part in range(64)]
        reached = [visited_part(atoms, same, QUICK, visit_weight=64.0, rng=rng) for rng in rngs]
        atoms = parallel.average_atoms(atoms, reached, [len(same)] * 64, QUICK)
        values.append(value_of(same, atoms.D))
    assert values[-1] < 0.8 * values[0] and max(values[1:]) < values[0]
    assert values[-1] < 1.01 * min(values)


def test_the_order_in_which_parts_are_visited_changes_no_bit(X):
    def backwards(visit, visits):
        return [visit(one) for one in visits[::-1]][::-1]

    one, other = (learned(X, 20, plan_of(8, 2), run)[-1] for run in (map, backwards))
    for a, b in zip(one.atoms, other.atoms):
        assert np.array_equal(a, b)
    assert [r.objective for r in one.records] == [r.objective for r in other.records]


class Watched:
    """Samples that remember which rows were read, each time."""

    def __init__(self, X):
        self.X, self.read = X, []

    def __len__(self):
        return len(self.X)

    def __getitem__(self, rows):
        self.read.append(rows)
        return self.X[rows]


def test_held_out_samples_are_never_visited_and_all_others_once(X):
    watched = Watched(X)
    D, held = parallel.draw_initial_state(watched, 20, plan_of(4))
    assert np.isin(watched.read[-1], held).sum() == 0 and len(watched.read[-1]) == 4 * 20
    watched.read.clear()
    assert len(list(parallel.learn_in_rounds(watched, held, D, plan_of(4)))) > 1
    evaluated, *visited = watched.read
    assert np.array_equal(evaluated, held) and len(held) == len(X) // 10
    assert np.array_equal(np.sort(np.concatenate([held, *visited])), np.arange(len(X)))


def test_the_trace_doubles_its_patches_and_ends_with_every_epoch(X):
    records = learned(X, 10, plan_of(4, 3))[-1].records
    visits, n = [record.n_visits for record in records], len(X) - len(X) // 10
    assert [record.epoch for record in records if record.n_visits % n == 0] == [1, 2, 3]
    assert all(b >= 2 * a for a, b in zip(visits, visits[1:]) if b < n)
    assert all(np.isnan(record.objective_stored) and record.gap < 1e-5 for record in records)


def test_learning_ends_where_twice_the_patches_gain_less_than_tol(X):
    whole = learned(X, 10, plan_of(4, 4))[-1].records
    short = learned(X, 10, plan_of(4, 4, tol=0.02))[-1].records
    assert [r.objective for r in short] == [r.objective for r in whole[: len(short)]]
    assert len(short) < len(whole)
    assert has_small_gain(short, 0.02)
    assert len(learned(X, 10, plan_of(4, 4, tol=0.0))[-1].records) >= len(short)


@pytest.mark.parametrize("missing", [0, 1])
def test_learning_may_end_once_its_atoms_have_seen_enough(missing):
    n_seen = 3 * parallel._BEGUN_PER_ATOM - missing
    records = [SimpleNamespace(n_visits=n, epoch=1, objective=1.0) for n in (n_seen, 2 * n_seen)]
    progress = SimpleNamespace(records=records, atoms=SimpleNamespace(D=np.eye(3), n_visits=2 * n_seen))
    assert parallel.has_converged(progress, plan_of(tol=0.1)) == (not missing)

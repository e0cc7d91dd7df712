"""Laws of stochastic coordinate coding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from flyannot.jobs.compiled import compiled
from flyannot.sparse.coders.cd import encode
from flyannot.sparse.learners.ol import OnlineDictionaryLearner
from flyannot.sparse.learners.scc import SCC, VARIANTS
from flyannot.sparse.learners.scc_kernels import _round_and_bound, round_dictionary
from flyannot.sparse.objective import objective
from flyannot.sparse.simd.atom_rows import GROUP, candidate_atoms
from flyannot.sparse.simd.vectors import padded_zeros
from flyannot.sparse.stored_codes import PositiveConstraints
from tests.planted_samples import planted, run, unit_rows
from tests.sparse.twin_scc import TwinSCC

LAM = 0.15
EVERY_VARIANT = pytest.mark.parametrize("variant", VARIANTS)


def run_twin(twin, X, n_epochs, *, seed=0):
    for epoch in range(n_epochs):
        rng = np.random.default_rng([seed, epoch])
        order = rng.permutation(len(X))
        twin.epoch(X, order, VARIANTS[twin.variant].orders(len(twin.D), rng))
    return twin


@EVERY_VARIANT
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_sweeps": 1},
        {"positive": PositiveConstraints(code=True)},
        {"positive": PositiveConstraints(atoms=True)},
        {"positive": PositiveConstraints(True, True)},
        # Samples scale with lam: codes scale, atoms stay, and the byte screen must follow.
        {"lam": 1e-3 * LAM},
        {"lam": 40 * LAM},
    ],
    ids=str,
)
def test_float64_equals_the_slow_twin(variant, options, rng):
    X, _ = planted(150, 40, 70, 3, rng)
    positive, options = options.get("positive", PositiveConstraints()), {"lam": LAM, **options}
    scale = options["lam"] / LAM
    D = unit_rows(np.abs(X[:37]) if positive.atoms else X[:37])
    D[5] = 0.0  # a dead atom
    D[6] *= 0.5  # inside the ball
    fast = run(SCC(D, len(X), variant=variant, **options), scale * X, 3)
    twin = run_twin(TwinSCC(D, len(X), variant=variant, **options), scale * X, 3)
    assert_allclose(fast.D, twin.D, atol=1e-10)
    assert_allclose(fast.codes().toarray(), twin.Z, atol=1e-10 * scale)
    assert_allclose(fast.state()["h"], twin.h_past, rtol=1e-9, atol=1e-10 * scale**2)
    assert (fast.D.min() >= 0, fast.codes().min() >= 0) == (positive.atoms, positive.code)


@EVERY_VARIANT
def test_float32_follows_the_slow_twin(variant, rng):
    X, _ = planted(100, 90, 128, 4, rng, np.float32)
    D = X[:80]
    fast = run(SCC(D, len(X), lam=LAM, variant=variant), X, 3)
    twin = run_twin(TwinSCC(D, len(X), LAM, variant), X, 3)
    assert fast.D.dtype == fast.codes().dtype == np.float32
    assert_allclose(fast.D, twin.D, atol=1e-3)
    values = objective(X, fast.D, fast.codes(), LAM).mean(), objective(X, twin.D, twin.Z, LAM).mean()
    assert_allclose(*values, rtol=1e-4)


def test_quick_learns_more_in_its_epochs_than_released_in_three_times_as_many(rng):
    X, _ = planted(2000, 60, 32, 3, rng, np.float32)
    values = {}
    for variant in ("released", "quick"):
        D = run(SCC(X[:50], len(X), lam=LAM, variant=variant), X, VARIANTS[variant].n_epochs).D
        values[variant] = objective(X, D, encode(X, D, LAM, tol=1e-6), LAM).mean()
    assert values["quick"] < values["released"]


@pytest.mark.parametrize(("n_features", "positive", "n_alike"), [(599, 0, 0), (600, 0, 1), (600, 1, 3)])
def test_quick_learns_from_long_samples_in_mini_batches_at_first(n_features, positive, n_alike, rng):
    X = planted(1300, 20, n_features, 3, rng, np.float32)[0]
    X = np.abs(X) if positive else X
    how = {"lam": LAM, "positive": PositiveConstraints(bool(positive), bool(positive))}
    learners = SCC(X[:30], len(X), **how), OnlineDictionaryLearner(X[:30], len(X), batch_size=512, **how)
    for epoch in range(3):
        D, D_of_batches = (run(one, X, epoch + 1, first_epoch=epoch).D for one in learners)
        assert np.allclose(D, D_of_batches, atol=1e-5) == (epoch < n_alike)
    visited = SCC(X[:30], len(X), **how)
    visited.n_before = len(X)  # as data-parallel learning leaves it
    assert not run(visited, X, 1).state().get("batches_t", 0) and visited.n_before == 2 * len(X)


def test_an_atom_that_outgrows_its_bytes_is_still_right(rng):
    """Let flat atoms learn spikes: entries leave the range that the first bytes were scaled to."""
    X = np.eye(64)[rng.integers(0, 64, 300)] + 0.01 * rng.normal(size=(300, 64))
    D = unit_rows(rng.choice([-1.0, 1.0], (40, 64)))
    fast = run(SCC(D, len(X), lam=0.05, variant="released"), X, 3)
    twin = run_twin(TwinSCC(D, len(X), 0.05, "released"), X, 3)
    assert abs(twin.D).max() > 3 * abs(D).max()
    assert_allclose(fast.D, twin.D, atol=1e-9)


@compiled
def screened(D8, rounding, orders, flags, r, r8, lam, found):
    """Compute the screen before a sweep visits atoms: a bit for every atom that it would visit."""
    offset, limit = _round_and_bound(r, r8, rounding, lam)
    for g in range(len(found)):
        found[g] = candidate_atoms(D8, orders, 0, g * GROUP, flags, r8, offset, limit)


def is_visited(D, r, lam, reach):
    """Return whether each atom of D is a candidate for the residual r."""
    n_atoms, n_features = D.shape
    atoms, r8 = padded_zeros(n_atoms, n_features, dtype=D.dtype), padded_zeros(n_features, dtype=np.int8)
    atoms[:, :n_features] = D
    D8, rounding = padded_zeros(n_atoms, n_features, dtype=np.uint8), np.zeros(4)
    round_dictionary(atoms, (atoms**2).sum(axis=1), D8, rounding, reach)
    padded = padded_zeros(n_features, dtype=D.dtype)
    padded[:n_features] = r
    n_groups = -(-n_atoms // GROUP)
    orders = np.zeros((1, (n_groups + 1) * GROUP), np.int32)
    orders[0, :n_atoms] = np.arange(n_atoms)
    flags, found = np.zeros(orders.shape[1], np.uint8), np.zeros(n_groups, np.uint64)
    screened(D8, rounding, orders, flags, padded, r8, D.dtype.type(lam), found)
    return np.array([int(found[j // GROUP]) >> j % GROUP & 1 for j in range(n_atoms)], bool)


def rounded_against(signs, whole, scale):
    """Return numbers that bytes of that scale represent badly: half a unit off, all to the given side."""
    return scale * (whole + 0.499 * signs)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_features=st.integers(2, 130),
    largest=st.integers(0, 126),
    worst=st.sampled_from(["residual", "atoms", "both", "none"]),
    size=st.sampled_from([1e-6, 1.0, 1e4]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=100, derandomize=True)
def test_the_byte_screen_rejects_no_atom_that_would_enter(seed, n_features, largest, worst, size, dtype):
    """Use residuals and atoms whose rounding errors all point the same way, and lam just below each |d r|."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], n_features)
    whole = rng.integers(-largest, largest + 1, (16, n_features))
    D = rounded_against(signs, whole, 1 / 127) if worst in ("atoms", "both") else whole / 127 + signs / 500
    D[0] = signs  # flat: every error counts as the bound says it may
    D[1] = rounded_against(signs, np.zeros(n_features), 1 / 127)
    D[2, 0] = D[3, -1] = 1.0  # what the bytes reach to
    if worst == "atoms":  # short ones beside a spike: what is lost of them is not lost in what r loses
        D = rounded_against(signs, np.where(rng.random(D.shape) < 0.05, np.sign(whole), 0), 1 / 127)
        D[0] = np.eye(n_features)[0]
    r = 127.0 * signs
    if worst in ("residual", "both"):
        r = rounded_against(signs, rng.integers(-largest, largest + 1, n_features), 1.0)
        r[rng.integers(n_features)] = 127.0
    elif worst == "none":
        r = rng.normal(size=n_features)
    D, r = D.astype(dtype), (size * r).astype(dtype)
    products = np.abs(D.astype(np.longdouble) @ r.astype(np.longdouble)).astype(float)
    sums = np.abs(D).astype(float) @ np.abs(r).astype(float)
    reach = float(np.abs(D).max())
    for j in range(len(D)):
        lam = products[j] * (1 - 1e-12) - 4 * n_features * np.finfo(dtype).eps * sums[j]
        if lam > 0:
            assert is_visited(D, r, lam, reach)[products > lam + 1e-30].all()


def test_the_byte_screen_rejects_most_atoms_that_would_not_enter(rng):
    """Check that the screen is useful, not only right."""
    D = unit_rows(rng.normal(size=(64, 128)))
    r = rng.normal(size=128)
    products = np.abs(D @ r)
    lam = 1.5 * np.median(products)
    visited = is_visited(D, r, lam, np.abs(D).max())
    assert visited[products > lam].all()
    assert not visited[products < lam / 2].any()

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from flyannot.base.errors import InputError
from flyannot.sparse.coders import cd, hash_siso, siso, siso_bounded, siso_rounds
from flyannot.sparse.coders.cd import FewAtoms, make_scratch
from flyannot.sparse.coders.hash_siso import HashSearch, build_index
from flyannot.sparse.objective import duality_gap, objective
from tests.planted_samples import unit_rows
from tests.sparse.optimality import kkt_violation, lam_max, relative_gap


def crowded(rng, n_atoms=3000, n_features=24, n_samples=7):
    """Atoms of norm 1 around a few directions, with a dead atom and twins; and samples like them."""
    centres = rng.normal(size=(40, n_features)) ** 2
    D = centres[rng.integers(40, size=n_atoms)] + 0.3 * rng.normal(size=(n_atoms, n_features))
    D = unit_rows(D)
    D[5] = 0
    D[7] = D[8]
    X = centres[rng.integers(40, size=n_samples)] + 0.3 * rng.normal(size=(n_samples, n_features))
    return unit_rows(X), D


def by_hashing(X, D, lam, **rules):
    search = HashSearch(build_index(D, np.random.default_rng(2013)))
    return hash_siso.solve(X, D, lam, search, **rules).Z


@pytest.mark.parametrize("encode", [siso.encode, by_hashing])
@pytest.mark.parametrize("fraction", [1.01, 0.5, 0.05, 0.002])
@pytest.mark.parametrize("n_atoms", [300, 3000])
@pytest.mark.parametrize("few_atoms", [siso.FEW_ATOMS, 0])
def test_siso_reaches_the_minimum_over_all_atoms(encode, fraction, n_atoms, few_atoms, rng, monkeypatch):
    """Also where atoms are too many for a Gram matrix of all, and it is made of the active ones."""
    monkeypatch.setattr(siso, "FEW_ATOMS", few_atoms)
    X, D = crowded(rng, n_atoms)
    lam = fraction * lam_max(X, D)
    Z = encode(X, D, lam, tol=1e-10)
    assert (relative_gap(X, D, Z, lam) <= 1.01e-10).all()
    assert (Z.nnz == 0) == (fraction > 1)


@pytest.mark.parametrize("top_k", [1, 5, 100])
def test_the_minimum_does_not_depend_on_how_many_atoms_join(top_k, rng):
    X, D = crowded(rng)
    solved = siso.solve_with_full_passes(X, D, 0.02, tol=1e-10, top_k=top_k)
    assert (solved.gaps <= 0.5e-10 * (X**2).sum(axis=1)).all()
    assert np.isfinite(solved.gaps).all()
    assert kkt_violation(X, D, solved.Z, 0.02).max() < 1e-4


def test_no_atom_of_the_active_set_joins_again(rng):
    _, D = crowded(rng)
    r = rng.normal(size=D.shape[1])
    q = np.abs(D @ r)
    active = np.sort(np.argsort(-q)[:50:2])
    largest, (best,) = siso_rounds.largest_correlations(D, r[None], 0.1, 20, [active])
    expected = [k for k in np.lexsort((np.arange(len(q)), -q)) if k not in active and q[k] > 0.1][:20]
    assert best.tolist() == expected
    assert np.isclose(largest[0], q.max())
    some = rng.permutation(len(D))[:500]
    few = siso_rounds.largest_correlations_among(D, r, 0.1, 20, active, some)[1]
    assert few.tolist() == [k for k in np.argsort(-q) if k in some and k not in active and q[k] > 0.1][:20]


@pytest.fixture(params=["few atoms", "many atoms"])
def solve(request, monkeypatch):
    """`siso.solve`, as it goes over few atoms, and over very many: the thresholds are lowered."""
    if request.param == "many atoms":
        count_few_as_many(monkeypatch)
    return siso.solve


def count_few_as_many(monkeypatch):
    monkeypatch.setattr(siso, "MANY_ATOMS", 1)
    monkeypatch.setattr(siso, "FEW_SAMPLES", 1000)
    monkeypatch.setattr(siso_bounded, "POOL", 60)


def test_the_objective_never_rises_from_the_codes_to_begin_from_and_gaps_are_as_stated(solve, rng):
    X, D = crowded(rng, n_samples=40)
    start = sp.random(len(X), len(D), density=0.02, random_state=np.random.default_rng(1), format="csr")
    before = objective(X, D, start, 0.05)
    for max_sweeps in (1, 2, 3, 50):
        solved = solve(X, D, 0.05, tol=1e-10, start=start, max_sweeps=max_sweeps)
        after = objective(X, D, solved.Z, 0.05)
        assert (after <= before + 1e-12).all()
        assert np.allclose(solved.gaps, duality_gap(X, D, solved.Z, 0.05), rtol=1e-6, atol=1e-12)
        assert (solved.n_passes <= max_sweeps).all()
        before = after
    assert np.allclose(after, objective(X, D, siso.encode(X, D, 0.05, tol=1e-10), 0.05), atol=1e-9)


def test_hash_siso_says_what_it_knows_of_its_codes(rng):
    X, D = crowded(rng)
    index = build_index(D, rng, n_functions=64)
    searches = {e: HashSearch(index, n_probes=2, ending=e) for e in hash_siso.ENDINGS}
    found = {e: hash_siso.solve(X, D, 0.005, tol=1e-8, search=s) for e, s in searches.items()}
    assert np.isnan(found["none"].gaps).all()
    assert not found["none"].n_passes.any()
    assert (found["solve"].gaps <= 0.5e-8).all()
    solved, exact = (
        objective(X, D, Z, 0.005) for Z in (found["solve"].Z, siso.encode(X, D, 0.005, tol=1e-8))
    )
    assert np.allclose(solved, exact, atol=1e-8)


def test_an_index_of_other_atoms_is_refused(rng):
    X, D = crowded(rng)
    with pytest.raises(InputError, match="3000 atoms"):
        hash_siso.solve(X, D[:-1], 0.1, HashSearch(build_index(D, rng, n_functions=8)))
    with pytest.raises(InputError, match="cannot end"):
        hash_siso.solve(X, D, 0.1, HashSearch(build_index(D, rng, n_functions=8), ending="prayer"))


@pytest.mark.parametrize(("n_atoms", "n_features"), [(3, 12), (30, 12), (90, 12), (90, 60), (400, 300)])
def test_the_small_solver_reaches_the_minimum_with_dependent_atoms(n_atoms, n_features, rng):
    """From a code of many atoms too: their inverse is made at once, unless one depends on the others."""
    x, D, small = rng.normal(size=n_features), rng.normal(size=(n_atoms, n_features)), FewAtoms(n_features)
    dependent = D.copy()
    dependent[1], dependent[2] = -2 * D[0], 0
    for lam, atoms in itertools.product((1.0, 0.1, 1e-4), (D, dependent)):
        begin = np.where(rng.random(n_atoms) < 0.5, rng.normal(size=n_atoms), 0.0)
        for z in (np.zeros(n_atoms), begin):
            solved = small.solve(atoms @ atoms.T, atoms @ x, x @ x, z, lam=lam, gap=0.0)
            assert duality_gap(x[None], atoms, solved[None], lam)[0] < 1e-11 * (x @ x)
            assert np.count_nonzero(solved) <= n_features


def test_an_inverse_is_made_at_once_only_of_atoms_that_do_not_depend_on_one_another(rng):
    D, support = rng.normal(size=(60, 60)), make_scratch(60, 60, np.dtype(np.float64)).support
    atoms = np.arange(5, 45)
    assert cd.put_inverse(D @ D.T, atoms, support) == 40
    made = np.linalg.inv(D[atoms] @ D[atoms].T)
    np.testing.assert_allclose(support.inverse[:40, :40], made, rtol=1e-6, atol=1e-9 * np.abs(made).max())
    assert not support.inverse[40:].any() and not support.inverse[:, 40:].any()
    D[30] = D[20] - D[10]
    fresh = make_scratch(60, 60, np.dtype(np.float64)).support
    assert cd.put_inverse(D @ D.T, atoms, fresh) == 0 and not fresh.inverse.any()


@pytest.mark.parametrize(
    ("r", "lam", "n_best", "expected"),
    [
        # At |d r| = lam the code of an atom is zero at the minimum.
        ([0.5, -0.5, 0.25, 0.75], 0.5, 4, [3]),
        ([0.5, -0.5, 0.25, 0.75], 0.25, 4, [3, 0, 1]),
        ([0.5, -0.5, 0.25, 0.75], 0.75, 4, []),
        # An atom that is only as good puts none out.
        ([0.5] * 6, 0.25, 1, [0]),
        ([0.5] * 6, 0.25, 3, [0, 1, 2]),
        ([0.5] * 6, 0.25, 9, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_the_best_atoms_above_lam_join(r, lam, n_best, expected):
    D, r = np.eye(len(r)), np.array(r)
    largest, (best,) = siso_rounds.largest_correlations(D, r[None], lam, n_best)
    few_largest, few = siso_rounds.largest_correlations_among(
        D, r, lam, n_best, np.zeros(0, np.int64), np.arange(len(r))
    )
    assert best.tolist() == few.tolist() == expected
    assert largest[0] == few_largest == np.abs(r).max()


def test_rounds_are_counted_and_a_code_of_zeros_takes_none(rng):
    X, D = crowded(rng)
    assert not siso.solve_with_full_passes(X, D, 1.01 * lam_max(X, D), tol=1e-8).n_rounds.any()
    solved = siso.solve_with_full_passes(X, D, 0.02, tol=1e-8)
    np.testing.assert_array_equal(solved.n_rounds, solved.n_passes - 1)  # the last pass only looks
    assert (solved.n_rounds > 0).all()


def test_a_code_is_the_same_only_if_atoms_and_values_are(rng):
    """SISO ends where a round changed nothing: a value that still moves, or an atom, must not end it."""
    code = np.array([1, 4]), np.array([0.5, -2.0])
    assert siso_rounds.is_same_code(code, (code[0].copy(), code[1].copy()))
    others = [
        (np.array([1, 5]), code[1]),
        (code[0], np.array([0.5, np.nextafter(-2.0, 0)])),
        (code[0][:1], code[1][:1]),
        (code[0], -code[1]),
    ]
    assert not any(siso_rounds.is_same_code(code, other) for other in others)


@pytest.mark.parametrize("tol", [0.1, 0.01])
def test_with_no_atom_to_join_a_small_problem_is_solved_to_what_is_asked_for(tol, rng):
    """However far the code was from it: a gap that is left could not be closed by any further round."""
    X, D = crowded(rng, n_atoms=60)
    problem = siso_rounds.SISOProblem(D, 0.02, tol, 1000)
    for x in X:
        start = np.arange(60), 0.05 * rng.normal(size=60)
        atoms, values = siso_rounds.solve_active(x, start, start[0][:0], 1.0, problem, FewAtoms(len(x)))
        z = np.zeros((1, 60))
        z[0, atoms] = values
        assert duality_gap(x[None], D, z, 0.02)[0] <= siso_rounds.allowed_gap(x, problem)

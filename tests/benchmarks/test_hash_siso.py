from functools import partial

import numpy as np
import pytest

from benchmarks.siso import hash_siso
from flyannot.sparse.coders import siso
from flyannot.sparse.objective import objective
from tests.sparse.test_siso import crowded


@pytest.fixture
def atoms(rng):
    """Atoms of very unequal moments, as descriptors are."""
    D = rng.normal(size=(4000, 20)) * np.logspace(0, -2, 20)
    return (D / np.linalg.norm(D, axis=1)[:, None]).astype(np.float32)


def test_a_cell_holds_the_atoms_that_lie_furthest_along_its_direction(atoms, rng):
    index = hash_siso.build_index(atoms, rng, n_functions=10, length=30)
    # a query picks its cells by `directions`; atoms were sorted by the same Gaussians, whitened
    assert index.cells.shape == (10, 30)
    assert (np.diff(index.cells, axis=1) > 0).all()
    whole = hash_siso.build_index(atoms, rng, n_functions=3, length=10**6)
    assert (whole.cells == np.arange(len(atoms))).all()


def test_atoms_come_from_the_chosen_ones_and_codes_are_near_the_minimum(rng):
    X, D = crowded(rng)
    r = rng.normal(size=D.shape[1])
    q = np.abs(D @ r)
    active = np.sort(np.argsort(-q)[:50:2])
    some = rng.permutation(len(D))[:500]
    problem = siso.SISOProblem(D, 0.1, 1e-8, 1000)
    largest, best = hash_siso.largest_correlations_among(problem, r, active, some)
    expected = [k for k in np.argsort(-q) if k in some and k not in active and q[k] > 0.1]
    assert best.tolist() == expected[: siso.TOP_K] and largest == q[some].max()
    search = partial(hash_siso.candidates_of_query, hash_siso.build_index(D, rng))
    found, exact = hash_siso.solve(X, D, 0.02, search, tol=1e-8), siso.encode(X, D, 0.02, tol=1e-8)
    least, none = objective(X, D, exact, 0.02), objective(X, D, 0 * exact, 0.02)
    assert (objective(X, D, found, 0.02) - least <= 0.2 * (none - least)).all()

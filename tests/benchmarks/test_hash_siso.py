from functools import partial

import numpy as np

from benchmarks.siso import hash_siso
from flyannot.sparse.coders import siso
from flyannot.sparse.objective import objective
from tests.sparse.test_siso import crowded


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

"""The map of patterns: neighbours stay neighbours, and the same patterns lie in the same places."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from flyannot.features.pattern_map import N_LEAST, map_of


@pytest.fixture
def patterns(rng):
    """Five kinds of pattern, 16 of each, in random order: their kinds, and unit rows."""
    kinds = rng.permutation(np.repeat(np.arange(5), 16))
    rows = np.eye(5, 40)[kinds] + 0.1 * rng.normal(size=(80, 40))
    return kinds, rows / np.linalg.norm(rows, axis=1, keepdims=True)


def nearest_to_each(rows, n):
    apart = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    return np.argsort(apart, axis=1)[:, :n]


def test_what_looks_alike_lies_side_by_side(patterns):
    kinds, rows = patterns
    near = nearest_to_each(map_of(rows), 5)
    assert (kinds[near] == kinds[:, None]).mean() > 0.95


def test_the_map_fills_the_square_and_has_the_same_bits_again(patterns):
    places = map_of(patterns[1])
    assert places.min(axis=0).tolist() == [0, 0] and places.max(axis=0).tolist() == [1, 1]
    with threadpool_limits(limits=3):
        again = map_of(patterns[1].copy())
    assert places.tobytes() == again.tobytes()


@pytest.mark.parametrize("n_axes", [1, 2, 256])
def test_the_fewest_patterns_have_a_map_also_where_all_are_alike(rng, n_axes):
    for rows in (rng.normal(size=(N_LEAST, n_axes)), np.ones((N_LEAST, n_axes))):
        places = map_of(rows.astype(np.float32))
        assert places.shape == (N_LEAST, 2) and np.isfinite(places).all()

"""Tests of similarity against a slow twin, and of maps of patterns."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from flyannot.encode import similarity
from flyannot.encode.groups import group_images
from flyannot.encode.similarity import N_LEAST, build_image_index, find_most_similar, map_patterns
from tests.planted_samples import unit_rows


def columns_of(names):
    return {"group": names, "gene": names, "fbgn": [""] * len(names)}


def slow(X, names, queries):
    """Return the similarities, computed image by image."""
    units = [x / np.linalg.norm(x) if x.any() else x for x in X.astype(float)]
    of_groups = [np.mean([u for u, n in zip(units, names) if n == g], axis=0) for g in sorted(set(names))]
    mean = np.mean(of_groups, axis=0)

    def direction(x):
        left = x / (np.linalg.norm(x) or 1) - mean
        return left / np.linalg.norm(left)

    return np.array([[direction(q) @ direction(x) for x in X] for q in queries.astype(float)])


@pytest.mark.parametrize("width", [8, 50])
@pytest.mark.parametrize("block", [1, 3, 100])
def test_the_similarity_is_that_of_the_slow_twin_in_blocks_of_any_size(rng, block, width):
    X = np.abs(rng.normal(size=(20, width))).astype(np.float32)
    names, queries = [f"g{i % 6}" for i in range(20)], np.abs(rng.normal(size=(3, width))).astype(np.float32)
    parts = [X[i : i + block] for i in range(0, len(X), block)]
    found = build_image_index(lambda: iter(parts), group_images(columns_of(names)))
    for Q in (X, queries):  # a new image too: what lies outside the span of the images meets none of them
        np.testing.assert_allclose(found.coordinates(Q) @ found.images.T, slow(X, names, Q), atol=1e-4)


def test_images_without_anything_in_them_are_like_nothing():
    X = np.zeros((3, 5), np.float32)
    found = build_image_index(lambda: [X], group_images(columns_of(list("abc"))))
    assert (found.images == 0).all() and np.isfinite(found.groups).all()


def test_nearest_is_the_order_of_a_stable_sort(rng):
    values = rng.integers(0, 5, 40).astype(float)
    for n in (0, 1, 7, 40, 99):
        left = [i for i in np.argsort(-values, kind="stable") if i not in (3, 4)]
        assert find_most_similar(values, n, without=[3, 4]).tolist() == left[:n]


# --- the map ---


@pytest.fixture
def patterns(rng):
    """Return the kinds of 80 patterns, five kinds in random order, and unit rows."""
    kinds = rng.permutation(np.repeat(np.arange(5), 16))
    return kinds, unit_rows(np.eye(5, 40)[kinds] + 0.1 * rng.normal(size=(80, 40)))


def test_what_looks_alike_lies_side_by_side_in_the_whole_square_with_the_same_bits(patterns):
    kinds, rows = patterns
    places = map_patterns(rows)
    apart = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    near = np.argsort(apart, axis=1)[:, 1:6]
    assert (kinds[near] == kinds[:, None]).mean() > 0.95
    assert places.min(axis=0).tolist() == [0, 0] and places.max(axis=0).tolist() == [1, 1]
    with threadpool_limits(limits=3):
        again = map_patterns(rows.copy())
    assert places.tobytes() == again.tobytes()


@pytest.mark.parametrize("n_axes", [1, 2, 256])
def test_the_fewest_patterns_have_a_map_also_where_all_are_alike(rng, n_axes):
    for rows in (rng.normal(size=(N_LEAST, n_axes)), np.ones((N_LEAST, n_axes))):
        places = map_patterns(rows.astype(np.float32))
        assert places.shape == (N_LEAST, 2) and np.isfinite(places).all()


def test_on_a_map_a_pattern_is_pulled_by_its_neighbours_as_their_distances_compare(rng):
    """How far all of them are does not matter: a distance counts in means of all, as exp(-2 d)."""
    steps = np.cumsum(rng.uniform(0.5, 1.5, 8))
    for unit in (0.01, 0.02):
        directions = np.stack([np.cos(unit * steps), np.sin(unit * steps)], 1)
        nearest, weights = similarity._weigh_nearest(directions)
        squares = (steps[nearest] - steps[:, None]) ** 2
        expected = np.exp(-2 * squares / squares.mean(axis=1, keepdims=True))
        expected /= 2 * expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(weights[:, :, 0], expected, rtol=0.01)


def test_the_farthest_comes_first_by_the_slow_twin(rng):
    X = unit_rows(rng.normal(size=(30, 6)))
    order = similarity.order_farthest_first(X)
    numbers, far = zip(*order)
    assert sorted(numbers) == list(range(30))
    assert numbers[0] == (X @ X.T).sum(axis=1).argmax() and far[0] == 2
    for i in range(1, 30):
        nearest = 1 - (X @ X[list(numbers[:i])].T).max(axis=1)
        assert far[i] == pytest.approx(nearest.max()) == pytest.approx(nearest[numbers[i]])
    after, _ = zip(*similarity.order_farthest_first(X, begun=numbers[:4]))
    assert after == numbers[4:]
    assert similarity.order_farthest_first(X, begun=range(30)) == []

"""Tests of the unlikeness of images against a slow twin, and of its warnings."""

import numpy as np

from flyannot.terms.unlikeness import (
    LEAST_IMAGES,
    UNLIKE,
    UNLIKE_WORDS,
    NoveltyReference,
    compute_sketches,
    novelty_warnings,
)


def images_of(rng, n, width=900):
    """Return features of images that are mixtures of four kinds."""
    kinds = np.random.default_rng(1).gamma(0.3, size=(4, width))
    return rng.dirichlet(np.ones(4), n) @ kinds + 0.02 * rng.random((n, width))


def known_of(X, genes, views=None):
    views = views or ["lateral"] * len(X)
    return NoveltyReference.from_images([(0, X)], np.arange(len(X)), genes, views, np.random.default_rng(0))


def genes_of(n):
    return [f"g{i // 2}" for i in range(n)]


def slow_distance(a, gene, sketch, genes):
    """Return one minus the largest cosine to an image of another gene, in float64."""
    others = (b for b, other in zip(sketch.astype(float), genes) if other != gene)
    cosines = [float(a @ b) / np.sqrt(float(a @ a) * float(b @ b)) for b in others]
    return 1 - max(cosines, default=0)


def test_the_rank_is_that_of_a_slow_twin_which_leaves_out_the_images_own_gene(rng):
    X, genes = images_of(rng, 60), genes_of(60)
    known = known_of(X, genes)
    far = [slow_distance(a, gene, known.sketch, genes) for a, gene in zip(known.sketch.astype(float), genes)]
    np.testing.assert_allclose(known.distance, np.sort(far), atol=1e-12)
    others, of_genes = images_of(rng, 30), ["g3", "unheard", "g7"] * 10
    ranks = known.novelty(others, of_genes)
    for a, gene, rank in zip(compute_sketches(others).astype(float), of_genes, ranks):
        away = slow_distance(a, gene, known.sketch, genes)
        assert (known.distance < away - 1e-12).mean() <= rank <= (known.distance < away + 1e-12).mean()


def test_angles_of_sketches_are_nearly_those_of_the_roots_of_features(rng):
    X = images_of(rng, 20)
    signed = X * rng.choice([-1, 1], X.shape[1])
    vectors = np.sqrt(X), compute_sketches(X).astype(float)
    of_roots, of_sketches = (a @ a.T / np.outer(*2 * [np.linalg.norm(a, axis=1)]) for a in vectors)
    assert np.abs(of_roots - of_sketches).max() < 0.1 and np.ptp(of_roots) > 0.1
    assert (compute_sketches(3 * X) == compute_sketches(X)).all(), "how bright an image is does not count"
    assert (compute_sketches(-signed) == -compute_sketches(signed)).all()
    assert not compute_sketches(np.zeros((2, 900))).any() and compute_sketches(X[:0]).shape == (0, 512)


def test_copies_of_known_images_are_near_and_noise_is_far(rng):
    X, genes = images_of(rng, 80), genes_of(80)
    known = known_of(X, genes)
    assert known.novelty(X, ["another"] * 80).max() == 0, "a copy of an image of another gene"
    assert (known.novelty(X, genes) > known.novelty(X, ["another"] * 80)).mean() > 0.9
    assert known.novelty(rng.gamma(0.3, size=(20, 900)), ["another"] * 20).min() > UNLIKE
    assert 0.2 < known.novelty(images_of(rng, 80), ["another"] * 80).mean() < 0.8
    few = known_of(X[: LEAST_IMAGES - 1], genes[: LEAST_IMAGES - 1])
    assert np.isnan(few.novelty(X, genes)).all(), "too few to rank among"
    assert np.isfinite(known_of(X[:LEAST_IMAGES], genes[:LEAST_IMAGES]).novelty(X, genes)).all()


def test_what_is_said_names_strangers_and_views_that_were_not_learned_from(rng):
    X, genes = images_of(rng, 100), genes_of(100)
    X[7] = rng.gamma(0.3, size=900)  # it is one that was learned from
    asked = np.vstack([X[:3], rng.gamma(0.3, size=(1, 900)), X[7:8]])
    views = ["lateral", "dorsal", "", "lateral", ""]
    ranks, said = novelty_warnings(known_of(X, genes), asked, [*["another"] * 4, genes[7]], views)
    assert said[0] == said[2] == [] and ranks.tolist()[:3] == [0, 0, 0]
    assert said[1] == [("of a view that the model did not learn from", "dorsal")]
    ((kind, detail),) = said[3]
    assert kind == UNLIKE_WORDS and "100.0%" in detail
    assert ranks[4] > UNLIKE and said[4] == []
    unclear = known_of(X, genes, ["lateral", *[""] * 99])
    assert unclear.view == [] and novelty_warnings(unclear, X[:1], ["a"], ["dorsal"])[1] == [[]]


def test_of_many_images_some_are_kept_whatever_the_blocks_they_come_in(rng):
    X = rng.random((5000, 40))
    asked = np.arange(5000)[::-1], [str(i) for i in range(5000)], ["lateral"] * 5000
    kept, again = (
        NoveltyReference.from_images(blocks, *asked, np.random.default_rng(3))
        for blocks in ([(0, X)], [(first, X[first : first + 1000]) for first in range(0, 5000, 1000)])
    )
    assert len(kept.gene) == 4096 and (kept.sketch == compute_sketches(X[np.array(kept.gene, int)])).all()
    assert all(np.array_equal(a, b) for a, b in zip(kept.arrays().values(), again.arrays().values()))

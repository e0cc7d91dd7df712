"""Laws of pyramids and of windows of several sizes, from the codes to the annotation of new images."""

import numpy as np
import pytest
import scipy.sparse as sp

from flyannot.dataset.folder import read_images
from flyannot.dataset.synthetic.generate import synthesize
from flyannot.descriptors.extract import describe
from flyannot.descriptors.options import ExtractOptions
from flyannot.descriptors.patch_sides import patch_sides
from flyannot.errors import DataError
from flyannot.features.grid import grid_of, n_cells
from flyannot.features.image_features import PoolOptions, atoms_of, features_of
from flyannot.features.pooling import POOLINGS, pool_image
from flyannot.steps.annotate import annotate
from flyannot.steps.explain import explain
from flyannot.steps.extract import extract
from flyannot.steps.learn_dict import learn_dict
from flyannot.steps.output import Work
from flyannot.steps.pool import pool
from flyannot.steps.train import train
from flyannot.store.features import read_features
from flyannot.store.predictions import read_predictions
from flyannot.store.reading import open_stored, verify_stored
from tests.small_embryos import CLASSIFY, LEARN, STAGE_RANGES

SIZE = (128, 320)
PYRAMID = ((1, 1), (2, 3))


@pytest.fixture
def coded(rng):
    Z = sp.random(80, 7, density=0.4, random_state=rng, data_rvs=lambda n: rng.normal(size=n), format="csr")
    return Z.astype(np.float32), rng.uniform((0, 0), SIZE, size=(80, 2)), rng.integers(0, 2, 80)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_pyramid_is_its_grids_one_after_the_other(coded, pooling):
    Z, centres_px, _ = coded
    whole = pool_image(Z, centres_px, SIZE, pooling=pooling, grid=PYRAMID)
    parts = [pool_image(Z, centres_px, SIZE, pooling=pooling, grid=level) for level in PYRAMID]
    for name in ("features", "winner", "n_patches"):
        np.testing.assert_array_equal(getattr(whole, name), np.concatenate([getattr(p, name) for p in parts]))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_windows_of_each_size_are_pooled_as_if_alone(coded, pooling):
    Z, centres_px, window = coded
    whole = pool_image(Z, centres_px, SIZE, pooling=pooling, grid=PYRAMID, part=window, n_parts=2)
    features = []
    for level in PYRAMID:
        for number in (0, 1):
            mine = window == number
            features.append(pool_image(Z[mine], centres_px[mine], SIZE, pooling=pooling, grid=level).features)
    np.testing.assert_array_equal(whole.features, np.concatenate(features))
    assert len(whole.n_patches) == n_cells(PYRAMID, (16, 32)) == 14


def test_the_winner_is_a_patch_of_the_right_size(coded):
    Z, centres_px, window = coded
    pooled = pool_image(Z, centres_px, SIZE, grid=(1, 1), part=window, n_parts=2)
    for k, patch in enumerate(pooled.winner):
        assert patch < 0 or (window[patch] == k // 7 and abs(Z[patch, k % 7]) == pooled.features[k])


def test_several_sizes_describe_what_each_describes_alone(rng):
    grey = rng.uniform(0, 255, SIZE).astype(np.float32)
    both = describe(grey, ExtractOptions(patch_px=(32, 16)))
    alone = [describe(grey, ExtractOptions(patch_px=side)) for side in (16, 32)]
    np.testing.assert_array_equal(both.descriptors, np.concatenate([d.descriptors for d in alone]))
    np.testing.assert_array_equal(both.patch_px, np.repeat([16, 32], [len(d.descriptors) for d in alone]))
    assert both.n_candidates == sum(d.n_candidates for d in alone)


def test_a_grid_comes_back_from_its_lists():
    assert grid_of([2, 4]) == (2, 4)
    assert grid_of([[2, 4]]) == (2, 4)
    assert grid_of([[1, 1], [2, 4]]) == ((1, 1), (2, 4))
    assert patch_sides([32, 16, 32]) == (16, 32)


def test_patches_of_unknown_size_are_refused(rng):
    atoms = atoms_of(rng.normal(size=(5, 128)).astype(np.float32), 0.1, [16, 32])
    with pytest.raises(DataError, match="which patch has which"):
        features_of(np.zeros((2, 128), np.uint8), np.ones((2, 2)), atoms, PoolOptions())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The whole chain with two sizes of windows and a pyramid."""
    folder, work = tmp_path_factory.mktemp("pyramid"), Work()
    synthesize(folder / "embryos", n_genes=12, max_images=2, stage_ranges=STAGE_RANGES[:1])
    images = read_images(folder / "embryos")
    paths = {k: folder / f"{k}.h5" for k in ("descriptors", "dictionary", "features", "model", "predictions")}
    extract(images, paths["descriptors"], ExtractOptions(patch_px=(16, 32)), work)
    learn_dict([paths["descriptors"]], paths["dictionary"], LEARN, work)
    options = PoolOptions(grid=PYRAMID)
    pool([paths["descriptors"]], paths["dictionary"], paths["features"], options, work)
    train([paths["features"]], folder / "embryos" / "annotations.csv", paths["model"], CLASSIFY, work)
    annotate(paths["model"], images, paths["predictions"], work)
    return paths | {"images": images}


def test_new_images_get_the_features_that_the_model_learned_from(made):
    for kind in ("descriptors", "features", "model", "predictions"):
        verify_stored(made[kind])
    with open_stored(made["features"]) as features, open_stored(made["predictions"]) as predictions:
        columns, X, _ = read_features([features], STAGE_RANGES[0])
        groups, predicted = read_predictions(predictions, STAGE_RANGES[0])
    with open_stored(made["model"]) as model:
        weights = model.array(STAGE_RANGES[0], "scorer/weights")
        intercept = model.array(STAGE_RANGES[0], "scorer/intercept")
    rows_of = [[i for i, group in enumerate(columns["group"]) if group == name] for name in groups.name]
    pooled = np.stack([X[rows].max(axis=0) for rows in rows_of])
    pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
    np.testing.assert_allclose(predicted.decision_value, pooled @ weights.T + intercept, atol=1e-5)


def test_contributions_of_windows_of_all_sizes_sum_to_the_decision_value(made):
    for one in explain(made["model"], made["images"][:4]):
        assert one.split.total == pytest.approx(one.split.value, abs=1e-6)
        spread = sum(one.spread(number).sum() for number in range(len(one.images)))
        assert spread == pytest.approx(one.split.contribution.sum(), abs=1e-9)
        assert len(set(np.concatenate(one.sides_px).tolist())) == 2


@pytest.mark.parametrize("pooling", ["mean", "rms"])
def test_features_without_winners_go_through_files_too(made, tmp_path, pooling):
    options = PoolOptions(grid=PYRAMID, pooling=pooling)
    pool([made["descriptors"]], made["dictionary"], tmp_path / "f.h5", options, Work())
    assert verify_stored(tmp_path / "f.h5") == "features"
    with open_stored(tmp_path / "f.h5") as stored:
        assert stored.array(STAGE_RANGES[0], "winner").shape == (len(made["images"]), 0)

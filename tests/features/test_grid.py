"""Laws of pyramids and of patches of several sizes, from the codes to the annotation of new images."""

import numpy as np
import pytest
import scipy.sparse as sp

from flyannot.classifiers.answers import read_predicted
from flyannot.dataset.folder import read_images
from flyannot.dataset.synthetic import SynthesizeOptions
from flyannot.dataset.synthetic.generate import synthesize
from flyannot.descriptors.extract import DescribedPatches, describe_patches
from flyannot.descriptors.options import ExtractOptions, patch_sides
from flyannot.errors import DataError
from flyannot.features.grid import Grid, n_cells
from flyannot.features.image_features import atoms_of_features, features_of
from flyannot.features.options import PoolOptions
from flyannot.features.pooling import pool_image
from flyannot.steps.annotate import annotate_task
from flyannot.steps.engine.task import Execution, carry_out
from flyannot.steps.explain import explain
from flyannot.steps.extract import extract_task
from flyannot.steps.learn_dict import learn_task
from flyannot.steps.options import AnnotateOptions
from flyannot.steps.pool import pool_task
from flyannot.steps.train import train_task
from flyannot.store.features import read_features
from flyannot.store.reading import open_stored, verify_stored
from tests.small_embryos import CLASSIFY, LEARN, STAGE_RANGES

SIZE = (128, 320)
PYRAMID = ((1, 1), (2, 3))


@pytest.fixture
def coded(rng):
    Z = sp.random(80, 7, density=0.4, random_state=rng, data_rvs=lambda n: rng.normal(size=n), format="csr")
    return Z.astype(np.float32), rng.uniform((0, 0), SIZE, size=(80, 2)), rng.integers(0, 2, 80)


def test_a_pyramid_is_its_grids_one_after_the_other(coded):
    Z, centres_px, _ = coded
    whole = pool_image(Z, centres_px, SIZE, grid=PYRAMID)
    parts = [pool_image(Z, centres_px, SIZE, grid=(level,)) for level in PYRAMID]
    for name in ("features", "winner"):
        np.testing.assert_array_equal(getattr(whole, name), np.concatenate([getattr(p, name) for p in parts]))


def test_patches_of_each_size_are_pooled_as_if_alone(coded):
    Z, centres_px, window = coded
    whole = pool_image(Z, centres_px, SIZE, grid=PYRAMID, part=window, n_parts=2)
    features = []
    for level in PYRAMID:
        for number in (0, 1):
            mine = window == number
            features.append(pool_image(Z[mine], centres_px[mine], SIZE, grid=(level,)).features)
    np.testing.assert_array_equal(whole.features, np.concatenate(features))
    assert len(whole.features) == 7 * n_cells(PYRAMID, (16, 32)) == 7 * 14


def test_the_winner_is_a_patch_of_the_right_size(coded):
    Z, centres_px, window = coded
    pooled = pool_image(Z, centres_px, SIZE, part=window, n_parts=2)
    for k, patch in enumerate(pooled.winner):
        assert patch < 0 or (window[patch] == k // 7 and abs(Z[patch, k % 7]) == pooled.features[k])


def test_several_sizes_describe_what_each_describes_alone(rng):
    grey = rng.uniform(0, 255, SIZE).astype(np.float32)
    both = describe_patches(grey, ExtractOptions(patch_px=(32, 16)))
    alone = [describe_patches(grey, ExtractOptions(patch_px=side)) for side in (16, 32)]
    np.testing.assert_array_equal(both.descriptors, np.concatenate([d.descriptors for d in alone]))
    np.testing.assert_array_equal(both.patch_px, np.repeat([16, 32], [len(d.descriptors) for d in alone]))
    assert both.n_candidates == sum(d.n_candidates for d in alone)


def test_a_grid_comes_back_from_its_lists():
    for spelling in ("2x4", [2, 4], [[2, 4]], ((2, 4),)):
        assert Grid().parse(spelling) == ((2, 4),)
    assert Grid().parse("1x1+2x4") == Grid().parse([[1, 1], [2, 4]]) == ((1, 1), (2, 4))
    assert Grid().as_text(((1, 1), (2, 4))) == "1x1+2x4"
    assert patch_sides([32, 16, 32]) == (16, 32)


@pytest.mark.parametrize(
    "wrong", ["", "2", "2x", "0x4", "2x4+", "x", [], [2], [[2, 4], 3], [2.5, 1], None, 3]
)
def test_what_is_no_grid_is_refused(wrong):
    with pytest.raises(ValueError, match="rows x columns"):
        Grid().parse(wrong)


def test_patches_of_unknown_size_are_refused(rng):
    atoms = atoms_of_features(rng.normal(size=(5, 128)).astype(np.float32), 0.1, [16, 32])
    described = DescribedPatches(np.zeros((2, 128), np.uint8), np.ones((2, 2)), np.array([16, 24]))
    with pytest.raises(DataError, match="for patches of"):
        features_of(described, atoms, PoolOptions())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The whole chain with two sizes of patches and a pyramid."""
    folder, execution = tmp_path_factory.mktemp("pyramid"), Execution()
    embryos = SynthesizeOptions(n_genes=12, max_images=2, stage_range=STAGE_RANGES[:1])
    synthesize(folder / "embryos", embryos)
    images = read_images(folder / "embryos")
    paths = {k: folder / f"{k}.h5" for k in ("descriptors", "dictionary", "features", "model", "predictions")}
    carry_out(extract_task(images, paths["descriptors"], ExtractOptions(patch_px=(16, 32))), execution)
    carry_out(learn_task([paths["descriptors"]], paths["dictionary"], LEARN), execution)
    options = PoolOptions(grid=PYRAMID)
    carry_out(pool_task([paths["descriptors"]], paths["dictionary"], paths["features"], options), execution)
    carry_out(
        train_task([paths["features"]], folder / "embryos" / "annotations.csv", paths["model"], CLASSIFY),
        execution,
    )
    carry_out(annotate_task(paths["model"], images, paths["predictions"], AnnotateOptions()), execution)
    return paths | {"images": images}


def test_new_images_get_the_features_that_the_model_learned_from(made):
    for kind in ("descriptors", "features", "model", "predictions"):
        verify_stored(made[kind])
    with open_stored(made["features"]) as features, open_stored(made["predictions"]) as predictions:
        columns, X = read_features([features], STAGE_RANGES[0])
        groups, predicted = read_predicted(predictions, STAGE_RANGES[0])
    with open_stored(made["model"]) as model:
        weights = model.array(STAGE_RANGES[0], "model/scorer/weights")
        intercept = model.array(STAGE_RANGES[0], "model/scorer/intercept")
    rows_of = [[i for i, group in enumerate(columns["group"]) if group == name] for name in groups.name]
    pooled = np.stack([X[rows].max(axis=0) for rows in rows_of])
    pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
    np.testing.assert_allclose(predicted.decision_value, pooled @ weights.T + intercept, atol=1e-5)


def test_contributions_of_patches_of_all_sizes_sum_to_the_decision_value(made):
    for one in explain(made["model"], made["images"][:4]):
        assert one.split.total == pytest.approx(one.split.value, abs=1e-6)
        spread = sum(one.spread(number).sum() for number in range(len(one.images)))
        assert spread == pytest.approx(one.split.contribution.sum(), abs=1e-9)
        assert len(set(np.concatenate(one.sides_px).tolist())) == 2

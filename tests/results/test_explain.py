"""Tests of explanations: the parts add up to the decision value, and belong to the named patches."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image as Picture

from flyannot.dataset.folder import read_images
from flyannot.dataset.images import select_images
from flyannot.encode.pooling import NO_PATCH
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.images.geometry import STANDARD_PX
from flyannot.pipeline.options import AnnotateOptions
from flyannot.pipeline.steps.annotate import annotate_task
from flyannot.results.explain import explain
from flyannot.results.explanation_pictures import OPPOSES_RGB, SUPPORTS_RGB, TABLE, draw_explanations
from flyannot.terms import CLASSIFIERS
from flyannot.terms.answers import read_group_predictions
from flyannot.terms.explain import contribution_map, explain_group
from flyannot.terms.model import fit_model
from flyannot.terms.scorer import FitOptions
from tests.cli.test_cli import check_error
from tests.small_embryos import CLASSIFY, make, rows_of_csv


@pytest.fixture(scope="module")
def fitted_of():
    """Return a small model of every linear method, on random features."""
    rng = np.random.default_rng(5)
    X, Y = rng.random((30, 12)), rng.random((30, 3)) < 0.5
    genes = [f"g{i}" for i in range(30)]
    return {m: fit_model(m, X, Y, genes, rng=rng, options=FitOptions(n_folds=2)) for m in CLASSIFIERS}


def group(rng, n_images, n_features=12, n_patches=7):
    """Return pooled features of some images, a third of them without a patch."""
    features = rng.random((n_images, n_features)).astype(np.float32)
    winner = rng.integers(0, n_patches, features.shape).astype(np.int32)
    gone = rng.random(features.shape) < 0.3
    return np.where(gone, np.float32(0), features), np.where(gone, np.int32(NO_PATCH), winner)


@pytest.mark.parametrize("method", CLASSIFIERS)
@pytest.mark.parametrize("n_images", [1, 3])
@pytest.mark.parametrize("scale", [1.0, 0.03])
def test_the_parts_sum_to_the_decision_value(fitted_of, rng, method, n_images, scale):
    """Check it for features multiplied by any number."""
    fitted = fitted_of[method]
    features, winner = group(rng, n_images)
    X = features.max(axis=0)[None]
    values = fitted.decision_values(scale * X)[0]
    for term, split in enumerate(explain_group(fitted, range(3), scale * X, features, winner)):
        assert split.value == values[term] and split.without_patch == 0
        assert split.total == pytest.approx(split.value, rel=1e-12, abs=1e-13)
    X = features.astype(float).mean(axis=0)[None]
    (split,) = explain_group(fitted, [1], scale * X, features, winner, scheme="mean")
    assert split.total == pytest.approx(fitted.decision_values(scale * X)[0, 1], rel=1e-6)


def test_each_part_is_what_the_value_loses_with_the_features_of_that_patch(fitted_of, rng):
    fitted, (features, winner) = fitted_of["svm"], group(rng, 3)
    X = features.max(axis=0)[None]
    (split,) = explain_group(fitted, [1], X, features, winner)
    best = features.argmax(axis=0)
    for image, patch, contribution in zip(split.image, split.patch, split.contribution):
        mine = (best == image) & (winner[best, np.arange(12)] == patch)
        assert mine.any()
        without = fitted.decision_values(np.where(mine, 0, X))[0, 1]
        assert split.value - without == pytest.approx(contribution, abs=1e-12)


def test_a_map_holds_all_that_the_patches_contribute(rng):
    centres_px = np.array([[8, 8], [8, 16], [120, 312]], np.float32)
    slow = np.zeros(STANDARD_PX)
    slow[0:16, 0:16] += 1 / 256
    slow[0:16, 8:24] -= 3 / 256
    slow[112:128, 304:320] += 0.5 / 256
    for cell_px, expected in ((1, slow), (8, slow.reshape(16, 8, 40, 8).sum(axis=(1, 3)))):
        spread = contribution_map(centres_px, [1.0, -3.0, 0.5], 16, STANDARD_PX, cell_px)
        assert spread.shape == expected.shape and spread.sum() == pytest.approx(-1.5)
        np.testing.assert_allclose(spread, expected, atol=1e-15)
        several = contribution_map(centres_px, [[0, 0, 0], [1.0, -3.0, 0.5]], 16, STANDARD_PX, cell_px)
        np.testing.assert_allclose(several, [0 * expected, expected], atol=1e-15)


MEAN = {"scheme": "mean"}


@pytest.mark.parametrize(
    "change",
    [{}, {"method": "ridge"}, MEAN | {"normalisation": "none"}, MEAN | {"method": "coupled-ridge"}],
    ids=str,
)
def test_every_term_of_every_group_of_a_data_set_is_explained_exactly(chain, tmp_path, change):
    """Compare with the values of `flyannot annotate`."""
    model, out = tmp_path / "m.h5", tmp_path / "p.h5"
    make(chain.task("model", model, options=replace(CLASSIFY, **change)))
    images = read_images(chain.embryos)
    genes = sorted({image.gene for image in images})[::3]
    images = select_images(images, genes=genes)
    make(annotate_task(model, images, out, AnnotateOptions()))
    values = {}
    stored = open_stored_file(out, "predictions")
    for s in stored.stage_ranges:
        groups, predicted = read_group_predictions(stored, s)
        for g, name in enumerate(groups.name):
            values |= {(s, name, t): v for t, v in zip(predicted.terms, predicted.decision_value[g])}
    terms = sorted({term for _, _, term in values})
    explained = list(explain(model, images, terms=terms))
    assert len(explained) == len(values)
    for one in explained:
        assert one.split.value == pytest.approx(values[one.stage_range, one.group, one.term], rel=1e-9)
        assert one.split.total == pytest.approx(one.split.value, rel=1e-6)
        shown = sum(one.patches(number)[1].sum() for number in range(len(one.images)))
        assert shown + one.split.intercept == pytest.approx(one.split.value, rel=1e-6)


def test_pictures_and_the_table_hold_the_same_sum(flyannot, chain, tmp_path):
    gene = read_images(chain.embryos)[0].gene
    images = select_images(read_images(chain.embryos), genes=[gene], stage_ranges=["4-6"])
    listed = list(draw_explanations(explain(chain.model, images), tmp_path / "why"))
    assert len(listed) == 3, "the most probable terms"
    rows = rows_of_csv(tmp_path / "why" / TABLE)
    for one, names in listed:
        assert one.split.total == pytest.approx(one.split.value, rel=1e-6)
        mine = [float(row["contribution"]) for row in rows if row["term"] == one.term]
        assert sum(mine) + one.split.intercept == pytest.approx(one.split.value, rel=1e-6)
        for name in names:
            with Picture.open(tmp_path / "why" / name) as picture:
                assert picture.size[0] == 3 * STANDARD_PX[1] and picture.getextrema()[0] != (255, 255)
                scale = np.asarray(picture, int)[-35]  # the row in the middle of the scale below the text
            coloured = np.flatnonzero(np.ptp(scale, axis=1) > 30)
            left, right = coloured[[0, -1]]
            assert abs(left + right - len(scale) + 1) <= 1 and right - left > 280, "in the middle"
            near = [np.abs(scale[[left, right]] - rgb).sum(1).argmin() for rgb in (OPPOSES_RGB, SUPPORTS_RGB)]
            assert near == [0, 1], "from blue to orange"
            quarter = np.ptp(scale[[left, left + 75, left + 149]], axis=1)
            assert quarter[0] - 20 > quarter[1] > quarter[2] + 20, "fainter inwards"
            for beside in (scale[left - 200 : left - 5], scale[right + 5 : right + 200]):
                assert (beside.max(axis=1) < 100).any(), "a text on either side"
    said = flyannot("explain M E -o O", M=chain.model, E=chain.embryos, O=tmp_path / "why")
    check_error(said, 2, "not empty", "--force")


def test_what_cannot_be_explained_is_told_in_one_line(flyannot, chain, tmp_path):
    (tmp_path / "broken.png").write_bytes(b"not a picture")
    said = flyannot("explain M I --stage-range 4-6", M=chain.model, I=tmp_path / "broken.png", code=2)
    assert "broken.png" in said.err

"""A simulated curator and planted wrong terms: what is looked at, what is counted, what is found."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from benchmarks.inputs import labelled_pictures as inputs
from benchmarks.inputs.labelled_pictures import labelled_pictures
from benchmarks.items import ITEMS
from benchmarks.ours import queue, wrong_terms
from benchmarks.ours.queue import ALL, ORDERS, RANDOM, SHIPPED, Order, Split, first_looks, looks_to
from benchmarks.ours.quick_ridge import fit_quick_ridge
from benchmarks.ours.wrong_terms import doubts, first_part, found_parts, nearest_rates, planted
from flyannot.classifiers.calibration import calibrate
from flyannot.classifiers.training_set import LabelledRows


@pytest.fixture
def rows(rng):
    """Two terms of 240 genes, each showing in one of ten features; a third and a tenth carry them."""
    Y = np.arange(240)[:, None] % np.array([3, 10]) == 0
    X = 0.4 * rng.normal(size=(240, 10))
    X[:, :2] += 2.0 * Y
    return LabelledRows(X=X, Y=Y, genes=[f"g{i:03d}" for i in range(240)], terms=["gap", "pole cell"])


def test_the_best_terms_of_the_best_genes_are_looked_at_first():
    worth = np.array([[0.1, 0.5, 0.4], [0.9, 0.0, 0.1], [0.3, 0.3, 0.4]])
    is_open = np.array([[True, True, True], [False, True, True], [True, True, True]])
    assert first_looks(worth, is_open, 2, 2).tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert first_looks(worth, is_open, 2, 3).tolist() == [[0, 1, 1], [0, 0, 0], [1, 0, 1]], (
        "a gene is finished"
    )
    assert first_looks(worth, is_open, ALL, 99).tolist() == is_open.astype(int).tolist()


def test_the_looks_to_a_score_lie_between_the_points_of_the_curve():
    curve = np.array([[0, 0.5, 0], [100, 0.6, 3], [200, 0.8, 5]])
    assert looks_to(curve, 0.7) == pytest.approx(150)
    assert looks_to(curve, 0.4) == 0 and looks_to(curve, 0.9) is None


@pytest.mark.parametrize("name", ORDERS)
def test_a_curator_never_looks_twice_and_the_curve_begins_alike(rows, name):
    split = Split(rows.X, rows.Y, np.random.default_rng(3))
    curve = split.curve(ORDERS[name], np.random.default_rng(4))
    assert curve[0].tolist() == split.curve(ORDERS[RANDOM], np.random.default_rng(5))[0].tolist()
    steps = np.diff(curve[:, 0])
    assert curve.shape == (3, 3) and (steps >= 40).all() and (steps < 43).all(), "20 genes of two terms"
    assert (np.diff(curve[:, 2]) >= 0).all() and curve[-1, 2] < curve[-1, 0] and curve[-1, 1] > 0.8


def test_an_error_is_a_term_of_which_the_model_said_the_opposite(rows):
    """Whoever looks where the model is furthest from the truth finds more errors than anybody."""
    split = Split(rows.X, rows.Y, np.random.default_rng(3))
    worst = Order(lambda k: abs((k.probability > k.threshold) - rows.Y[split._hidden].astype(float)), ALL)
    found, at_random = (split.curve(o, np.random.default_rng(4))[1, 2] for o in (worst, ORDERS[RANDOM]))
    assert found >= at_random


def test_without_the_patterns_the_items_are_measured_on_synthetic_embryos(setup, monkeypatch):
    monkeypatch.setattr(inputs, "N_ATOMS", 24)
    monkeypatch.setattr(queue, "ORDERS", {name: ORDERS[name] for name in (RANDOM, SHIPPED)})
    setup = replace(setup, sizes={"n_synthetic": 60, "n_splits": 1, "n_repeats": 1})
    labelled, source = labelled_pictures(setup, 15)
    assert source.kind == "synthetic" and labelled.Y.shape == (60, len(labelled.terms)) and labelled.terms
    for module in (queue, wrong_terms):
        monkeypatch.setattr(module, "_MIN_GENES", 15)
    found = ITEMS["queue"].finding(setup)
    assert [row["order"] for row in found.rows] == [RANDOM, SHIPPED] and len(found.panels) == 2
    assert found.rows[0]["fewer"] == 0 and found.rows[0]["errors_last"] <= 40 * len(labelled.terms)
    found = ITEMS["wrong-terms"].finding(setup)
    assert all(0 <= row["found"] <= 1 for row in found.rows) and found.targets[0].value is not None


def test_two_of_a_hundred_terms_are_turned_round(rows, rng):
    each, as_many = (planted(rows.Y, p, rng) for p in (wrong_terms._EACH, wrong_terms._AS_MANY))
    n_given, n_others = rows.Y.sum(), (~rows.Y).sum()
    assert (each & rows.Y).sum() == round(0.02 * n_given) and (each & ~rows.Y).sum() == round(0.02 * n_others)
    assert (as_many & rows.Y).sum() == (as_many & ~rows.Y).sum() == round(0.02 * n_given)


def test_the_first_part_holds_the_largest():
    assert first_part(np.array([[3.0, 9.0], [7.0, 1.0]]), 0.5).tolist() == [[False, True], [True, False]]


def test_wrong_terms_that_show_in_the_features_are_found(rows):
    found = found_parts(rows.X, rows, wrong_terms._EACH, np.random.default_rng(0))
    assert found[wrong_terms.SHIPPED][0] > 0.7 > found["how rare the term is, no model"][0]


def test_a_gene_is_not_among_its_own_nearest(rows):
    turned = rows.Y.copy()
    turned[0] ^= True
    before, after = (nearest_rates(rows.X, one)[0] for one in (rows.Y, turned))
    assert np.abs(before - after).max() < 0.01, "but for the part of all genes"


def test_every_way_doubts_a_given_term_the_more_the_less_probable_it_is():
    curated = np.array([[True], [True], [False], [False]])
    p = np.array([[0.1], [0.9], [0.8], [0.2]])
    for name, one in doubts(p, p, np.full(p.shape, 0.5), curated, p > 0.5).items():
        if "rare" not in name:
            assert one[0, 0] > one[1, 0] and one[2, 0] > one[3, 0], name


def test_the_quick_ridge_is_ridge_regression_with_every_row_left_out_once(rows):
    """Beside its slow twin: scikit-learn's, fitted anew without each row."""
    X, truth = rows.X[:60], rows.Y[:60, 0]
    known = np.ones((60, 1), bool)
    model = fit_quick_ridge(X, truth[:, None], known)
    weight = np.where(truth, 0.5 / truth.sum(), 0.5 / (~truth).sum()) * 60
    A, wanted = np.hstack([X, np.ones((60, 1))]), np.where(truth, 1.0, -1.0)

    def fitted(kept):
        twin = Ridge(alpha=10.0, fit_intercept=False)
        return twin.fit(A[kept], wanted[kept], sample_weight=weight[kept]).coef_

    assert model.weights[:, 0] == pytest.approx(fitted(np.arange(60)))
    left_out = np.array([A[i] @ fitted(np.arange(60) != i) for i in range(60)])
    assert (model.slope[0], model.offset[0]) == pytest.approx(calibrate(left_out, truth), rel=1e-4)
    some = fit_quick_ridge(rows.X, rows.Y[:, :1], np.arange(240)[:, None] < 60)
    assert some.weights == pytest.approx(model.weights), "of rows in which nothing is known it learns nothing"

"""Tests of every classifier, and of entries that were not observed."""

from dataclasses import replace

import numpy as np
import pytest

from flyannot.files.hdf5.schema import find_shape_error
from flyannot.terms import CLASSIFIERS
from flyannot.terms.coupled_ridge import _dual_solver
from flyannot.terms.cross_validation import cross_validate
from flyannot.terms.feature_rows import inner_products
from flyannot.terms.group_outcomes import outcomes_from_json, outcomes_to_json
from flyannot.terms.metrics import TermOutcomes, auc, evaluate_term, score_terms
from flyannot.terms.model import LEAST_GENES, array_schema, fit_model, model_from_arrays
from flyannot.terms.options import BALANCED, EXPECTED_F1
from flyannot.terms.scorer import FitOptions
from flyannot.terms.training_set import LabelledRows
from tests.terms.labelled_kinds import labelled


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_a_classifier_learns_what_there_is_and_no_more(method, rng):
    X, Y, genes = labelled(rng)
    fitted = fit_model(method, X[:80], Y[:80], genes[:80], rng=rng)
    values = fitted.decision_values(X[80:])
    assert np.mean([auc(v, t) for v, t in zip(values.T, Y[80:].T)]) > 0.75
    shuffled = []
    for _ in range(4):
        noise = np.repeat(rng.permutation(Y[:80:2]), 2, axis=0)
        values = fit_model(method, X[:80], noise, genes[:80], rng=rng).decision_values(X[80:])
        shuffled += [auc(v, t) for v, t in zip(values.T, Y[80:].T)]
    assert abs(np.mean(shuffled) - 0.5) < 0.15


@pytest.mark.parametrize("operating_point", [EXPECTED_F1, BALANCED])
@pytest.mark.parametrize("method", CLASSIFIERS)
def test_arrays_are_all_of_a_classifier(method, operating_point, rng):
    X, Y, genes = labelled(rng)
    options = FitOptions(operating_point=operating_point)
    fitted = fit_model(method, X[:80], Y[:80], genes[:80], rng=rng, options=options)
    arrays = {name: array.copy() for name, array in fitted.arrays().items()}
    assert all(array.dtype.kind in "iuf" and array.ndim for array in arrays.values())
    sizes = {"n_terms": Y.shape[1], "n_features": X.shape[1]}
    assert find_shape_error(array_schema(method), arrays, "model", sizes) == ""
    has_no_threshold = operating_point == EXPECTED_F1
    assert set(array_schema(method)) - set(arrays) == ({"threshold"} if has_no_threshold else set())
    again = model_from_arrays(method, arrays)
    values = fitted.decision_values(X[80:])
    assert (again.decision_values(X[80:]) == values).all()
    assert (again.probabilities(values) == fitted.probabilities(values)).all()
    assert (again.answers(values) == fitted.answers(values)).all()


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_a_classifier_is_the_same_for_the_same_seed_and_any_threads(method, rng):
    X, Y, genes = labelled(rng)
    found = []
    for n in (1, 1, 2):
        options = FitOptions(n_threads=n)
        model = fit_model(method, X, Y, genes, rng=np.random.default_rng(2), options=options)
        found.append([array.tobytes() for array in model.arrays().values()])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_probabilities_rise_with_values_and_answers_follow_thresholds(method, rng):
    X, Y, genes = labelled(rng)
    fitted = fit_model(method, X, Y, genes, rng=rng, options=FitOptions(operating_point=BALANCED))
    values = np.sort(fitted.decision_values(X), axis=0)
    probabilities = fitted.probabilities(values)
    assert ((probabilities > 0) & (probabilities < 1)).all()
    assert (np.diff(probabilities, axis=0) >= 0).all()
    assert (np.diff(fitted.answers(values).astype(int), axis=0) >= 0).all()
    assert fitted.n_positive.tolist() == Y.sum(axis=0).tolist()


def test_probabilities_of_terms_of_few_genes_shrink_and_no_answer_changes(rng):
    options = FitOptions(operating_point=BALANCED)
    fitted = fit_model("svm", *labelled(rng), rng=rng, options=options)
    values, n_terms = np.linspace(-9, 9, 50)[:, None], len(fitted.n_genes)
    few, many = (replace(fitted, n_genes=np.full(n_terms, n)) for n in (LEAST_GENES - 1, LEAST_GENES))
    shrunk, whole = few.probabilities(values), many.probabilities(values)
    np.testing.assert_allclose(shrunk, whole * LEAST_GENES / (LEAST_GENES + 1))
    assert (np.argsort(shrunk, axis=0) == np.argsort(whole, axis=0)).all()
    answers = few.answers(values)
    assert (answers == many.answers(values)).all() and 0 < answers.sum() < answers.size
    assert (answers == (shrunk > few.probability_threshold)).all()


@pytest.fixture
def known(rng):
    """Return rows with terms, of which a third is not observed; one term is known for all rows."""
    X, Y, genes = labelled(rng)
    observed = np.repeat(rng.random((60, 3)) < 0.67, 2, axis=0)
    observed[:, 1] = True
    return X, Y, genes, observed


def arrays(method, X, Y, genes, observed):
    return fit_model(method, X, Y, genes, rng=np.random.default_rng(2), observed=observed).arrays()


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_what_is_not_observed_changes_no_bit_of_a_model(method, known):
    X, Y, genes, observed = known
    one, other = arrays(method, *known), arrays(method, X, np.where(observed, Y, ~Y), genes, observed)
    assert all((one[name] == other[name]).all() for name in one)
    full = arrays(method, X, Y, genes, None)
    assert any((one[name] != full[name]).any() for name in one if one[name].shape == full[name].shape)
    every = arrays(method, X, Y, genes, np.ones_like(observed))
    assert all((every[name] == full[name]).all() for name in full)
    assert one["n_groups"].tolist() == observed.sum(axis=0).tolist()


def test_a_term_is_fitted_as_if_the_other_rows_were_not_there(known):
    (X, Y, _, observed), cls = known, CLASSIFIERS["ridge"]
    mine = observed[:, 0]
    fitted = cls.fit_alpha(X, Y, 1.0, observed)
    alone = cls.fit_alpha(X[mine], Y[mine][:, :1], 1.0)
    np.testing.assert_allclose(fitted.decision_values(X)[:, 0], alone.decision_values(X)[:, 0], atol=1e-9)


@pytest.mark.parametrize("shape", [(5, 9000), (1100, 7), (1, 1)])
def test_inner_products_are_those_of_whole_matrices(rng, shape):
    """More columns than a block, and more rows than a tile."""
    X, mean = rng.normal(size=shape), rng.normal(size=shape[1])
    for some in (mean, 0.5):
        np.testing.assert_allclose(inner_products(X, mean=some), (X - some) @ (X - some).T, atol=1e-9)


def test_coupled_ridge_fits_a_term_on_the_rows_where_it_is_known(known):
    """Compare the filled closed form with the ridge regression of the known rows."""
    X, Y, _, observed = known
    mean = X.mean(axis=0)
    products = inner_products(X, mean=mean)
    scale, mine = ((X - mean) ** 2).sum() / len(X), observed[:, 0]
    dual = _dual_solver(products, Y.astype(float), observed)(0.3)
    assert np.abs(dual[~mine, 0]).max() < 1e-10, "a row that is not known pulls at nothing"
    centred = X[mine] - X[mine].mean(axis=0)
    gram = centred.T @ centred + 0.3 * scale * np.eye(X.shape[1])
    weights = np.linalg.solve(gram, centred.T @ (Y[mine, 0] - Y[mine, 0].mean()))
    np.testing.assert_allclose((X - mean).T @ dual[:, 0], weights, atol=1e-9)


def cross_validated(X, Y, genes, observed):
    rows = LabelledRows(X=X, Y=Y & observed, genes=genes.tolist(), terms=["a", "b", "c"], observed=observed)
    folds = {gene: number % 3 for number, gene in enumerate(sorted(set(genes)))}
    return cross_validate(rows, folds=folds, rng=np.random.default_rng(1), method="ridge")


def test_scores_are_those_of_what_is_observed(known):
    X, Y, genes, observed = known
    outcome = cross_validated(*known)
    assert np.isfinite(outcome.values).all(), "an answer for every group, also where nobody knows the truth"
    result = score_terms({"4-6": outcome})
    for j, row in enumerate(result["terms"]):
        mine = observed[:, j]
        values, yes = (matrix[mine, j] for matrix in (outcome.values, outcome.yes))
        expected = evaluate_term(values, yes, Y[mine, j], outcome.folds[mine])
        assert {name: row[name] for name in expected} == expected
        assert (row["n_groups"], row["n_positive"]) == (mine.sum(), Y[mine, j].sum())
    truth = np.where(observed, outcome.truth, ~outcome.truth)
    assert score_terms({"4-6": replace(outcome, truth=truth)}) == result


def test_what_is_not_observed_survives_the_file_of_scores(known):
    outcome = cross_validated(*known)
    names = [f"group{i}" for i in range(len(outcome.truth))]
    groups = outcomes_to_json(outcome, names, known[2].tolist())
    assert groups["truth"][0].count("?") == (~known[3][:, 0]).sum() and "?" not in groups["truth"][1]
    again = outcomes_from_json(groups)
    assert (again.observed == known[3]).all() and (again.truth == outcome.truth).all()
    flipped = replace(outcome, truth=np.where(known[3], outcome.truth, ~outcome.truth))
    assert outcomes_to_json(flipped, names, known[2].tolist()) == groups


def test_a_term_that_is_known_of_one_class_only_is_not_evaluated():
    truth = np.array([[True], [True], [False]])
    outcome = TermOutcomes(("a",), truth, truth * 1.0, truth, truth * 1.0, observed=truth)
    assert score_terms({"4-6": outcome})["terms"][0]["reason"] == "not evaluable: no negative group"

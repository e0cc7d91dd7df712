import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from flyannot import memory, svm
from flyannot.calibration import best_threshold, calibrate
from flyannot.crossval import cross_validate
from flyannot.errors import DataError, FlyannotError, InputError
from flyannot.folds import folds_of_genes
from flyannot.scores import auc, confusion, evaluate
from flyannot.svm import (
    TrainOptions,
    answers,
    decision_values,
    merge_images,
    probabilities,
    train_terms,
    training_bytes,
    untrainable,
)


def labelled(rng, n=80, p=30, n_terms=3, noise=2.0):
    """Rows whose terms follow hidden directions, one gene each; the last term is rare."""
    X = 5 + rng.normal(size=(n, p))
    signal = X @ rng.normal(size=(p, n_terms)) + noise * rng.normal(size=(n, n_terms))
    cut = np.quantile(signal, [0.5] * (n_terms - 1) + [0.9], axis=0).diagonal()
    return X, signal > cut, np.array([f"gene{i:03}" for i in range(n)])


def predicted(X, models):
    values = decision_values(X, models)
    return values, probabilities(values, models), answers(values, models)


@pytest.mark.parametrize("n_features", [20, 300])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_weights_are_those_of_liblinear_on_the_centred_features_themselves(C, n_features, rng):
    from sklearn.svm import LinearSVC

    X, Y, genes = labelled(rng, p=n_features)
    X[3] = X[4]  # a rank deficient set
    models = train_terms(X.astype(np.float32), Y, genes, rng=rng, options=TrainOptions(Cs=(C,)))
    X = X.astype(np.float32).astype(float)
    centred = X - X.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=1).mean())
    for model, positive in zip(models, Y.T):
        direct = LinearSVC(C=C, dual=False, class_weight="balanced", tol=1e-10).fit(centred / scale, positive)
        expected = direct.decision_function(centred / scale)
        assert np.abs(decision_values(X, [model])[:, 0] - expected).max() < 1e-3 * np.abs(expected).max()
        assert np.abs(model.weights - direct.coef_[0] / scale).max() < 1e-3 * np.abs(model.weights).max()


def test_scaling_and_shifting_the_features_changes_no_decision(rng):
    X, Y, genes = labelled(rng)
    plain = predicted(X, train_terms(X, Y, genes, rng=np.random.default_rng(1)))
    moved = predicted(70 * X - 3, train_terms(70 * X - 3, Y, genes, rng=np.random.default_rng(1)))
    for a, b in zip(plain, moved):
        assert np.allclose(a, b, atol=1e-4)


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads_and_any_other_terms(rng):
    X, Y, genes = labelled(rng)
    models = train_terms(X, Y, genes, rng=np.random.default_rng(1))
    threaded = train_terms(X, Y, genes, rng=np.random.default_rng(1), options=TrainOptions(n_threads=3))
    alone = train_terms(X, Y[:, 2:], genes, rng=np.random.default_rng(1))
    for a, b in [*zip(models, threaded), (models[2], alone[0])]:
        assert (a.weights == b.weights).all()
        assert replace(a, weights=None) == replace(b, weights=None)


def test_of_equally_good_values_of_C_the_smallest_is_taken(rng):
    X, Y, genes = labelled(rng)
    X[:, 0] += 1000.0 * Y[:, 0]  # separable by one feature: every C is perfect
    model = train_terms(X, Y[:, :1], genes, rng=rng, options=TrainOptions(Cs=(10.0, 0.1, 1.0)))[0]
    assert model.C == 0.1
    assert (model.n_groups, model.n_positive) == (80, Y[:, 0].sum())
    assert (answers(decision_values(X, [model]), [model])[:, 0] == Y[:, 0]).all()


def test_images_of_one_each_are_groups(rng):
    X, Y, genes = labelled(rng)
    grouped = train_terms(X, Y, genes, rng=np.random.default_rng(1))
    for merge in ("max", "mean"):
        options = TrainOptions(merge=merge)
        images = train_terms(X, Y, genes, rng=np.random.default_rng(1), bags=genes, options=options)
        assert (decision_values(X, images) == decision_values(X, grouped)).all()


def test_image_level_training_counts_and_judges_groups(rng):
    X, Y, genes = labelled(rng, n=40)
    rows = np.repeat(np.arange(40), rng.integers(1, 4, 40))
    images = X[rows] + 0.1 * rng.normal(size=(len(rows), X.shape[1]))
    models = train_terms(images, Y[rows], genes[rows], rng=rng, bags=genes[rows])
    assert models[0].n_groups == 40
    merged = merge_images(decision_values(images, models), genes[rows], "max")
    assert auc(merged[:, 0], Y[:, 0]) > 0.8


def test_merging_takes_the_largest_or_the_mean_of_a_groups_images():
    values, bags = np.array([[1.0, -4], [3, -2], [-5, 0]]), ["b", "b", "a"]
    assert merge_images(values, bags, "max").tolist() == [[-5, 0], [3, -2]]
    assert merge_images(values, bags, "mean").tolist() == [[-5, 0], [2, -3]]
    assert merge_images(values[:, 0], bags, "mean").tolist() == [-5, 2]
    with pytest.raises(InputError, match="median"):
        merge_images(values, bags, "median")


def test_a_term_needs_enough_genes_with_it_and_without_it():
    genes = ["a", "a", "b", "c", "d"]
    assert untrainable([1, 0, 1, 0, 0], genes) == ""
    assert untrainable([1, 1, 0, 0, 0], genes) == "1 positive gene, 2 needed"
    assert untrainable([0] * 5, genes) == "0 positive genes, 2 needed"
    assert untrainable([1] * 5, genes) == "0 negative genes, 2 needed"
    assert untrainable([1, 0, 1, 0, 0], genes, 3) == "2 positive genes, 3 needed"


def test_two_positive_genes_suffice(rng):
    X, Y, genes = labelled(rng)
    Y = np.zeros((80, 1), bool)
    Y[:2] = True
    model = train_terms(X, Y, genes, rng=rng)[0]
    assert np.isfinite([*model.weights, model.threshold, model.slope, model.offset]).all()


def test_features_that_say_nothing_give_the_frequency_of_the_term(rng):
    _, Y, genes = labelled(rng)
    models = train_terms(np.full((80, 4), 7.0), Y, genes, rng=rng)
    _, probability, _ = predicted(np.full((2, 4), 7.0), models)
    assert np.abs(probability - Y.mean(axis=0)).max() < 0.05


def test_bad_input_is_refused_in_words(rng):
    X, Y, genes = labelled(rng)
    with pytest.raises(InputError, match="term number 1 cannot be trained: 0 positive genes"):
        train_terms(X, Y & [True, False, True], genes, rng=rng)
    with pytest.raises(DataError, match="20 columns, the model 30"):
        decision_values(X[:, :20], train_terms(X, Y, genes, rng=rng))
    for wrong in (np.nan, np.inf):
        spoilt = X.copy()
        spoilt[7, 1] = wrong
        with pytest.raises(DataError, match="row 7 are not finite"):
            train_terms(spoilt, Y, genes, rng=rng)
    with pytest.raises(DataError, match="different genes"):
        train_terms(X, Y, genes, rng=rng, bags=np.arange(80) // 2)
    with pytest.raises(DataError, match="different terms"):
        train_terms(X, Y, np.arange(80) // 2, rng=rng, bags=np.arange(80) // 2)
    with pytest.raises(DataError, match="80, 79, 80 and 80 rows"):
        train_terms(X, Y[:-1], genes, rng=rng)
    with pytest.raises(InputError, match="cannot choose C"):
        train_terms(X, Y, genes, rng=rng, options=TrainOptions(Cs=()))


def test_a_fit_that_stops_too_early_is_an_error_and_not_a_model(rng, monkeypatch):
    from sklearn.exceptions import ConvergenceWarning

    X, Y, genes = labelled(rng)
    monkeypatch.setattr(svm, "_NEWTON_STEPS", 1)
    with pytest.warns(ConvergenceWarning), pytest.raises(FlyannotError, match="did not converge at C = 10"):
        train_terms(X, Y, genes, rng=rng, options=TrainOptions(Cs=(10.0,)))


def test_calibration_is_monotone_and_right_on_average(rng):
    values = 3 * rng.normal(size=4000) + 8
    truth = rng.random(4000) < 1 / (1 + np.exp(-(1.5 * (values - 8) - 2)))
    slope, offset = calibrate(values, truth)
    assert slope == pytest.approx(1.5, rel=0.1)
    assert offset == pytest.approx(-14, rel=0.1)
    assert (1 / (1 + np.exp(-(slope * values + offset)))).mean() == pytest.approx(truth.mean(), abs=1e-3)


def test_calibration_of_misleading_separable_or_constant_values_stays_finite():
    truth = np.array([True] * 2 + [False] * 8)
    assert calibrate(np.where(truth, -1.0, 1.0), truth)[0] == 0
    slope, offset = calibrate(np.where(truth, 1.0, -1.0), truth)
    # the two targets of Platt, 3/4 and 1/10, are met exactly
    assert 1 / (1 + np.exp(-(slope + offset))) == pytest.approx(3 / 4, abs=1e-4)
    assert 1 / (1 + np.exp(slope - offset)) == pytest.approx(1 / 10, abs=1e-4)
    slope, offset = calibrate(np.full(10, 3.0), truth)
    assert 1 / (1 + np.exp(-(3 * slope + offset))) == pytest.approx((2 * 3 / 4 + 8 / 10) / 10, abs=1e-6)


def youden(values, truth, threshold):
    tp, fp, fn, tn = confusion(values > threshold, truth)
    return tp / (tp + fn) + tn / (tn + fp) - 1


def test_no_threshold_has_a_larger_youden_index(rng):
    for _ in range(30):
        values, truth = rng.integers(0, 12, 25) / 3, rng.random(25) < 0.4
        if truth.all() or not truth.any():
            continue
        best = best_threshold(values, truth)
        others = np.unique(values)
        indices = [youden(values, truth, other) for other in others]
        assert youden(values, truth, best) == pytest.approx(max(indices))
        assert best >= others[np.flatnonzero(np.isclose(indices, max(indices)))[-1]]  # ties: the highest


def test_the_threshold_lies_between_neighbours_or_says_no_to_all():
    truth = np.array([False, False, True])
    assert best_threshold(np.array([0.0, 1, 3]), truth) == 2
    assert best_threshold(np.array([3.0, 2, 1]), truth) == 3
    close = np.array([0.0, 1.0, np.nextafter(1.0, 2)])
    assert (close > best_threshold(close, truth)).tolist() == truth.tolist()


def cross_validated(X, Y, genes, seed=0, **options):
    folds = folds_of_genes(genes, 5, np.random.default_rng(seed))
    terms = [f"term{j}" for j in range(Y.shape[1])]
    rng = np.random.default_rng(seed)
    return cross_validate(X, Y, genes, terms=terms, folds=folds, rng=rng, **options)


def test_labels_without_meaning_score_one_half(rng):
    """The leak test: 40 terms drawn at random, genes of several images that are almost equal."""
    rows = np.repeat(np.arange(60), 3)
    X = rng.normal(size=(60, 200))[rows] + 0.01 * rng.normal(size=(180, 200))
    Y = (rng.random((60, 40)) < 0.4)[rows]
    summary = evaluate({"4-6": cross_validated(X, Y, rows, options=TrainOptions(Cs=(0.1, 1.0)))})["summary"][
        "4-6"
    ]
    # one AUC of 24 x 36 genes in 5 folds has a deviation under 0.1; the mean of 40 under 0.1 / 40^(1/2)
    assert abs(summary["macro"]["auc"] - 0.5) < 4 * 0.1 / np.sqrt(40)
    assert summary["n_terms"] == 40


def test_labels_with_meaning_are_found(rng):
    X, Y, genes = labelled(rng, n=150, p=10, noise=0.5)
    summary = evaluate({"4-6": cross_validated(X, Y, genes)})["summary"]["4-6"]
    assert summary["macro"]["auc"] > 0.9
    assert summary["micro"]["accuracy"] > 0.8


def test_models_of_a_fold_never_see_its_labels(rng):
    X, Y, genes = labelled(rng)
    before = cross_validated(X, Y, genes)
    held_out = before.folds == 2
    changed = Y.copy()
    changed[held_out] = ~changed[held_out]
    after = cross_validated(X, changed, genes)
    for name in ("values", "yes", "probabilities"):
        assert (getattr(before, name)[held_out] == getattr(after, name)[held_out]).all()
    assert (before.values[~held_out] != after.values[~held_out]).any()


def test_cross_validation_judges_groups_of_images_and_explains_what_it_leaves_out(rng):
    X, Y, genes = labelled(rng, n=40)
    Y = np.column_stack([Y[:, 0], np.arange(40) < 3, np.ones(40, bool)])
    rows = rng.permutation(np.repeat(np.arange(40), 2))
    outcome = cross_validated(
        X[rows], Y[rows], genes[rows], bags=genes[rows], options=TrainOptions(merge="mean")
    )
    assert outcome.truth.shape == outcome.values.shape == outcome.yes.shape == (40, 3)
    assert (outcome.truth == Y).all()  # groups come in the order of their names
    assert outcome.reasons[1:] == (
        "not evaluable: 3 positive genes, 5 needed",
        "not evaluable: 0 negative genes, 5 needed",
    )
    result = evaluate({"4-6": outcome})
    assert result["summary"]["4-6"]["n_terms"] == 1
    assert result["terms"][0]["auc"] > 0.6


def test_a_term_whose_genes_fall_into_one_fold_is_not_evaluated(rng):
    X, Y, genes = labelled(rng, n=20)
    folds = {gene: i // 4 for i, gene in enumerate(genes)}
    Y = np.isin(np.arange(20), [0, 1, 2, 3, 4])[:, None]
    outcome = cross_validate(X, Y, genes, terms=["t"], folds=folds, rng=rng)
    assert outcome.reasons == ("not evaluable: outside fold 0 1 positive gene, 2 needed",)


def test_training_is_refused_when_the_memory_does_not_suffice(rng, monkeypatch):
    X, Y, genes = labelled(rng)
    monkeypatch.setattr(memory, "available_bytes", lambda: 3 * 2**20)
    with pytest.raises(
        FlyannotError, match=r"80 rows of 30 features needs about 16 MiB.*; 3 MiB are"
    ) as error:
        train_terms(X, Y, genes, rng=rng)
    assert error.value.exit_code == 1
    assert "fewer atoms" in error.value.fix


def test_the_estimate_covers_at_least_the_copies_that_are_made():
    n, p, node = 500, 8000, 16
    assert training_bytes(n, p, 1) > 8 * n * p + 2 * 8 * n * n + (8 + node) * n * n
    assert training_bytes(n, p, 1, 2) - training_bytes(n, p, 1) > (8 + node) * n * n
    assert training_bytes(p, n, 1) > (8 + node + 8) * n * p


@pytest.mark.skipif(sys.platform != "linux", reason="limits on addresses are tested on Linux")
def test_a_limit_on_addresses_ends_in_a_message_and_not_in_a_crash():
    script = """
import resource, numpy as np, sklearn.svm, scipy.linalg, scipy.optimize
from flyannot.memory import available_bytes
from flyannot.svm import train_terms
from flyannot.errors import FlyannotError
rng = np.random.default_rng(0)
X, Y = rng.random((300, 3000)), rng.random((300, 2)) < 0.3
resource.setrlimit(resource.RLIMIT_AS, (int(open("/proc/self/statm").read().split()[0]) * 4096 + 2**24,) * 2)
assert 0 < available_bytes() <= 2**24
try:
    train_terms(X, Y, np.arange(300), rng=rng)
except FlyannotError as error:
    print("refused:", error)
"""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, env=environment
    )
    assert (ended.returncode, ended.stdout[:8]) == (0, "refused:"), ended.stderr


def test_raw_pixels_reach_the_known_score_on_real_embryos(shared_data):
    import csv

    stored = np.load(shared_data / "wu2016" / "patterns.npz")
    carried = {}
    with open(shared_data / "wu2016" / "annotations.csv") as f:
        for row in csv.DictReader(f):
            carried.setdefault(row["gene"], set()).add(row["term"])
    genes = np.array(sorted(set(stored["gene"]) & set(carried)))
    patterns, gene_of_image = stored["patterns"], stored["gene"]
    X = np.array([patterns[gene_of_image == gene].mean(axis=0) for gene in genes])
    terms = sorted(set().union(*carried.values()))
    Y = np.array([[term in carried[gene] for term in terms] for gene in genes])
    frequent = np.argsort(-Y.sum(axis=0), kind="stable")[:10]
    outcome = cross_validated(X, Y[:, frequent], genes, options=TrainOptions(Cs=(0.1,)))
    assert 0.65 < evaluate({"4-6": outcome})["summary"]["4-6"]["macro"]["auc"] < 0.80

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from flyannot.classifiers import liblinear
from flyannot.classifiers.linear_svm import (
    TrainOptions,
    answers,
    decision_values,
    merge_images,
    probabilities,
    train_terms,
    training_bytes,
    untrainable,
)
from flyannot.errors import DataError, FlyannotError, InputError
from flyannot.runtime import memory
from flyannot.scores.metrics import auc


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
    monkeypatch.setattr(liblinear, "_NEWTON_STEPS", 1)
    with pytest.warns(ConvergenceWarning), pytest.raises(FlyannotError, match="did not converge at C = 10"):
        train_terms(X, Y, genes, rng=rng, options=TrainOptions(Cs=(10.0,)))


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
from flyannot.runtime.memory import available_bytes
from flyannot.classifiers.linear_svm import train_terms
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

import numpy as np
import pytest
from sklearn.linear_model import Ridge as SklearnRidge

from flyannot.classifiers import CLASSIFIERS, fit, from_arrays
from flyannot.classifiers.linear_svm import TrainOptions, merge_images
from flyannot.classifiers.propagation import FRACTION, METHODS, Span, fit_propagation, propagate, unit_rows
from flyannot.errors import DataError, InputError
from flyannot.scores.metrics import auc
from flyannot.sparse.coders.cd.encode import encode


def labelled(rng, n=120, p=40, n_terms=3):
    """Non-negative rows of eight kinds, some of which carry each term; two rows alike per gene."""
    kinds = rng.gamma(0.5, size=(8, p))
    kind = np.repeat(rng.integers(8, size=n // 2), 2)
    X = kinds[kind] + 0.6 * np.repeat(rng.gamma(0.5, size=(n // 2, p)), 2, axis=0)
    X += 0.05 * rng.gamma(0.5, size=(n, p))
    Y = np.array([kind < 5, kind % 2 == 0, (kind == 2) | (kind == 3)][:n_terms]).T
    return X, Y, np.repeat([f"gene{i}" for i in range(n // 2)], 2)


def test_siso_passes_terms_on_with_the_codes_of_the_full_lasso(rng):
    X, Y, _ = labelled(rng)
    A, queries = unit_rows(X[20:]).astype(float), unit_rows(X[:20]).astype(float)
    values = propagate(fit_propagation(X[20:], Y[20:], method="siso"), X[:20])
    for y, value in zip(queries[:5], values):
        z = encode(y[None], A, FRACTION * np.abs(A @ y).max(), tol=1e-7).toarray()[0]
        assert np.allclose(value, z @ Y[20:], atol=0.02)


def test_siso_says_the_same_in_a_space_of_more_dimensions_than_rows(rng):
    """Turned into 500 dimensions, with an offset in others that only the queries have."""
    X, Y, _ = labelled(rng)
    X = unit_rows(X).astype(float)
    X[30] = X[31]  # a row twice: the span has fewer dimensions than rows
    turn = np.linalg.qr(rng.normal(size=(500, 60)))[0].T
    wide = X @ turn[:40]
    narrow, turned = (
        propagate(fit_propagation(rows[20:], Y[20:], method="siso"), rows[:20]) for rows in (X, wide)
    )
    assert np.abs(narrow - turned).max() < 0.02 * np.abs(narrow).max()
    span = Span.of(wide[20:])
    queries = span.coordinates(wide[:20] + turn[50])
    assert span.rows.shape[1] <= 40 and np.allclose(queries @ span.rows.T, wide[:20] @ wide[20:].T, atol=1e-5)


def test_the_codes_of_hash_siso_end_as_those_of_siso(rng):
    X, Y, _ = labelled(rng, n=600)
    siso, hashed = (
        propagate(fit_propagation(X[40:], Y[40:], method=m), X[:40]) for m in ("siso", "hash-siso")
    )
    assert np.abs(siso - hashed).max() < 0.02 * np.abs(siso).max()


def test_without_its_ending_hash_siso_is_another_setting(rng):
    X, Y, _ = labelled(rng)
    quick = fit_propagation(X, Y, method="hash-siso", setting="none")
    assert auc(propagate(quick, X)[:, 0], Y[:, 0]) > 0.9


def test_neighbours_are_those_of_a_brute_force_search(rng):
    X, Y, _ = labelled(rng)
    values = propagate(fit_propagation(X[20:], Y[20:], method="knn", setting=7), X[:20])
    for x, value in zip(X[:20], values):
        cosine = [x @ a / np.linalg.norm(x) / np.linalg.norm(a) for a in X[20:]]
        nearest = sorted(range(len(cosine)), key=lambda i: -cosine[i])[:7]
        assert np.allclose(value, Y[20:][nearest].mean(axis=0))


@pytest.mark.parametrize("p", [40, 300])
def test_ridge_is_that_of_scikit_learn_on_rows_of_length_one(p, rng):
    X, Y, _ = labelled(rng, p=p)
    A = unit_rows(X).astype(float)
    expected = SklearnRidge(alpha=0.3).fit(A, Y.astype(float)).predict(A)
    assert np.allclose(propagate(fit_propagation(X, Y, method="ridge", setting=0.3), X), expected, atol=1e-6)


def test_rbf_svm_decides_as_scikit_learn_does(rng):
    from sklearn.svm import SVC

    from flyannot.classifiers.rbf_svm import RbfSvm

    X, Y, _ = labelled(rng)
    values = RbfSvm.fit(X, Y, (2.0, 0.6), rng=rng).decision_values(X)
    A = unit_rows(X).astype(float)
    for value, positive in zip(values.T, Y.T):
        svm = SVC(C=2.0, gamma=0.6, class_weight="balanced").fit(A, positive)
        assert np.allclose(value, svm.decision_function(A), atol=1e-2)


@pytest.mark.parametrize("method", METHODS)
def test_doubled_training_rows_and_their_order_change_nothing_that_matters(method, rng):
    X, Y, _ = labelled(rng)
    setting = {"knn": 6, "ridge": 0.5}.get(method)
    twice = {"knn": 12, "ridge": 1.0}.get(method)  # as many neighbours, and as much weight, per row
    once = propagate(fit_propagation(X[20:], Y[20:], method=method, setting=setting), X[:20])
    order = rng.permutation(200)
    X2, Y2 = np.tile(X[20:], (2, 1))[order], np.tile(Y[20:], (2, 1))[order]
    doubled = propagate(fit_propagation(X2, Y2, method=method, setting=twice), X[:20])
    assert np.allclose(once, doubled, atol=0.02)


@pytest.mark.parametrize("method", METHODS)
def test_the_length_of_a_row_is_nothing_and_a_row_of_zeros_is_legal(method, rng):
    X, Y, _ = labelled(rng)
    model = fit_propagation(X, Y, method=method)
    some = X[:5] * rng.uniform(0.1, 10, size=(5, 1))
    assert np.allclose(propagate(model, some), propagate(model, X[:5]), atol=1e-3)
    assert np.isfinite(propagate(model, np.zeros((2, X.shape[1])))).all()
    assert propagate(model, X[:0]).shape == (0, Y.shape[1])


def test_bad_calls_are_refused_in_words(rng):
    X, Y, genes = labelled(rng)
    with pytest.raises(InputError, match="zebra"):
        fit_propagation(X, Y, method="zebra")
    with pytest.raises(InputError, match="knn"):
        fit("knm", X, Y, genes, rng=rng)
    with pytest.raises(DataError):
        fit_propagation(X[:-1], Y)
    with pytest.raises(DataError):
        propagate(fit_propagation(X, Y), X[:, 1:])
    with pytest.raises(DataError):
        fit("ridge", X * np.nan, Y, genes, rng=rng)
    with pytest.raises(InputError, match="term number 1"):
        fit("ridge", X, np.where([True, False, True], Y, False), genes, rng=rng)


# Laws of every classifier of the table.


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_a_classifier_learns_what_there_is_and_no_more(method, rng):
    X, Y, genes = labelled(rng)
    fitted = fit(method, X[:80], Y[:80], genes[:80], rng=rng)
    values = fitted.decision_values(X[80:])
    assert np.mean([auc(v, t) for v, t in zip(values.T, Y[80:].T)]) > 0.75
    shuffled = []
    for _ in range(4):
        noise = np.repeat(rng.permutation(Y[:80:2]), 2, axis=0)
        values = fit(method, X[:80], noise, genes[:80], rng=rng).decision_values(X[80:])
        shuffled += [auc(v, t) for v, t in zip(values.T, Y[80:].T)]
    assert abs(np.mean(shuffled) - 0.5) < 0.15


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_arrays_are_all_of_a_classifier(method, rng):
    X, Y, genes = labelled(rng)
    fitted = fit(method, X[:80], Y[:80], genes[:80], rng=rng)
    arrays = {name: array.copy() for name, array in fitted.arrays().items()}
    assert all(array.dtype.kind in "iuf" and array.ndim for array in arrays.values())
    again = from_arrays(method, arrays)
    values = fitted.decision_values(X[80:])
    assert (again.decision_values(X[80:]) == values).all()
    assert (again.probabilities(values) == fitted.probabilities(values)).all()
    assert (again.answers(values) == fitted.answers(values)).all()


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_a_classifier_is_the_same_for_the_same_seed_and_any_threads(method, rng):
    X, Y, genes = labelled(rng)
    one, two = (
        fit(method, X, Y, genes, rng=np.random.default_rng(2), options=TrainOptions(n_threads=n))
        for n in (1, 2)
    )
    assert all((a == b).all() for a, b in zip(one.arrays().values(), two.arrays().values()))


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_probabilities_rise_with_values_and_answers_follow_thresholds(method, rng):
    X, Y, genes = labelled(rng)
    fitted = fit(method, X, Y, genes, rng=rng)
    values = np.sort(fitted.decision_values(X), axis=0)
    probabilities = fitted.probabilities(values)
    assert ((probabilities > 0) & (probabilities < 1)).all()
    assert (np.diff(probabilities, axis=0) >= 0).all()
    assert (np.diff(fitted.answers(values).astype(int), axis=0) >= 0).all()
    assert fitted.n_positive.tolist() == Y.sum(axis=0).tolist()


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_images_are_judged_as_their_group(method, rng):
    X, Y, genes = labelled(rng)
    bags = np.repeat(np.arange(len(X) // 2), 2)
    fitted = fit(method, X, Y, genes, rng=rng, bags=bags)
    assert (fitted.n_groups == len(X) // 2).all()
    merged = merge_images(fitted.decision_values(X), bags, "max")
    assert auc(merged[:, 0], Y[::2, 0]) > 0.8

"""Codes and atoms that are not negative."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Lasso

from flyannot import DictionaryLearning, SparseCoder
from flyannot.sparse.coders.nonnegative import encode_nonnegative
from flyannot.sparse.objective import duality_gap, objective
from tests.planted_samples import planted, unit_rows

LAM = 0.1


@pytest.fixture
def X(rng):
    return planted(600, 24, 16, 3, rng)[0]


def learned(X, **more):
    options = {"learner_params": {"variant": "quick"}, "alpha": LAM, "max_iter": 3, "random_state": 0}
    return DictionaryLearning(20, **options | more).fit(X)


# --- the coder ---


@pytest.mark.parametrize("n_atoms", [7, 60])
def test_codes_that_are_not_negative_meet_the_optimality_conditions(n_atoms, X, rng):
    """D (x - z D) is lam where a code is above zero, and at most lam elsewhere; and scikit-learn agrees."""
    D = rng.normal(size=(n_atoms, 16))
    D[3] = 0.0
    Z = SparseCoder(D, alpha=0.3, tol=1e-12, positive_code=True).transform(X[:40])
    Q = (X[:40] - Z @ D) @ D.T
    assert Z.min() == 0 < Z.max() and not Z[:, 3].any()
    assert np.abs(Q[Z > 0] - 0.3).max() < 1e-5 and Q.max() < 0.3 + 1e-5
    for x, z in zip(X[:5], Z):
        peer = Lasso(0.3 / 16, fit_intercept=False, positive=True, tol=1e-12, max_iter=100_000).fit(D.T, x)
        assert objective(x[None], D, z[None], 0.3) <= objective(x[None], D, peer.coef_[None], 0.3) + 1e-9


def test_its_gap_is_closed_in_any_company_by_any_number_of_threads(X, rng):
    D = unit_rows(rng.normal(size=(50, 16)))
    Z = encode_nonnegative(X, D, 0.2, tol=1e-6)
    assert (duality_gap(X, D, Z, 0.2, positive=True) <= 0.5e-6 * (X**2).sum(axis=1) + 1e-15).all()
    same = [encode_nonnegative(X, D, 0.2, tol=1e-6, n_threads=3)]
    same.append(sp.vstack([encode_nonnegative(part, D, 0.2, tol=1e-6) for part in np.array_split(X, 7)]))
    assert all(abs(Z - other).nnz == 0 for other in same)
    assert encode_nonnegative(X.astype(np.float32), D, 0.2).dtype == np.float32
    assert not encode_nonnegative(0 * X[:2], D, 0.2).nnz


# --- learning ---


@pytest.mark.parametrize("n_shares", [None, 4])
@pytest.mark.parametrize("signs", [(True, False), (False, True), (True, True)])
def test_what_is_learned_is_not_negative_and_explains_more_than_samples_do(n_shares, signs, X):
    code, atoms = signs
    X = np.abs(X) if atoms else X
    model = learned(X, n_shares=n_shares, positive_code=code, positive_dict=atoms)
    Z = model.transform(X)
    assert (Z.min() >= 0, model.components_.min() >= 0) == signs
    start = SparseCoder(unit_rows(X[:20]), alpha=LAM, positive_code=code)
    assert model.score(X) > start.score(X)
    last = model.trace_[-1]
    assert last.gap < 1e-6 and -last.objective == pytest.approx(model.score(X), rel=0.1)
    free = SparseCoder(model.components_, alpha=LAM)
    assert model.score(X) <= free.score(X) + 1e-4, "over the same atoms less freedom explains no more"


def test_a_dictionary_of_parts_is_found_again(rng):
    """Samples that add up non-negative atoms: what is learned are those."""
    D = unit_rows(np.where(rng.random((12, 30)) < 0.25, rng.random((12, 30)), 0) + 1e-9)
    Z = np.where(rng.random((3000, 12)) < 0.2, rng.uniform(0.5, 1, (3000, 12)), 0)
    model = DictionaryLearning(
        12, alpha=0.02, max_iter=15, positive_code=True, positive_dict=True, random_state=0,
        learner_params={"variant": "quick"},
    ).fit(Z @ D)  # fmt: skip
    found = (unit_rows(model.components_ + 1e-12) @ D.T).max(axis=0)
    assert np.sort(found)[2] > 0.98


# --- what cannot be ---


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda X: learned(X, learner="ol", learner_params=None, positive_code=True), 'learner="scc"'),
        (lambda X: learned(X, positive_dict=True, dict_init=X[:20]), "dict_init has negative numbers"),
        (lambda X: SparseCoder(X[:20], coder="siso", positive_code=True).transform(X), 'coder="cd"'),
    ],
)
def test_what_cannot_be_is_a_value_error_that_says_what_can(make, words, X):
    with pytest.raises(ValueError, match=words):
        make(X)


def test_codes_have_names(X):
    model = learned(X)
    assert model.get_feature_names_out().tolist() == [f"dictionarylearning{k}" for k in range(20)]
    coder = SparseCoder(model.components_[:3])
    assert coder.get_feature_names_out().tolist() == [f"sparsecoder{k}" for k in range(3)]

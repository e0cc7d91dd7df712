"""Tests of label propagation and ridge regression."""

import numpy as np
import pytest

from flyannot.encode.groups import unit_rows
from flyannot.sparse.coders.cd import encode
from flyannot.terms.feature_rows import CholeskyBasis, cross_products, inner_products
from flyannot.terms.ridge import Ridge
from flyannot.terms.siso import FRACTION, Siso
from tests.terms.labelled_kinds import labelled

METHODS = (Siso, Ridge)


def fitted(cls, X, Y, setting=None):
    """Return a scorer with one setting, by default the preferred."""
    setting = cls.settings(len(X))[0] if setting is None else setting
    return cls.fit_setting(X, Y, setting, rng=np.random.default_rng(0))


def test_siso_passes_terms_on_with_the_codes_of_the_full_lasso(rng):
    X, Y, _ = labelled(rng)
    A, queries = unit_rows(X[20:]).astype(float), unit_rows(X[:20]).astype(float)
    values = fitted(Siso, X[20:], Y[20:]).decision_values(X[:20])
    for y, value in zip(queries[:5], values):
        z = encode(y[None], A, FRACTION * np.abs(A @ y).max(), tol=1e-7).toarray()[0]
        assert np.allclose(value, z @ Y[20:], atol=0.02)


def test_siso_says_the_same_in_a_space_of_more_dimensions_than_rows(rng):
    """Rotate the rows into 500 dimensions, with an offset in others that only the queries have."""
    X, Y, _ = labelled(rng)
    X = unit_rows(X).astype(float)
    X[30] = X[31]  # a row twice: the span has fewer dimensions than rows
    turn = np.linalg.qr(rng.normal(size=(500, 60)))[0].T
    wide = X @ turn[:40]
    narrow, turned = (fitted(Siso, rows[20:], Y[20:]).decision_values(rows[:20]) for rows in (X, wide))
    assert np.abs(narrow - turned).max() < 0.02 * np.abs(narrow).max()
    basis = CholeskyBasis.from_products(inner_products(wide[20:]))
    queries = basis.project_rows(cross_products(wide[:20] + turn[50], wide[20:][basis.pivots]))
    assert basis.coordinates.shape[1] <= 40
    assert np.allclose(queries @ basis.coordinates.T, wide[:20] @ wide[20:].T, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_the_length_of_a_row_is_nothing_and_a_row_of_zeros_is_legal(method, rng):
    X, Y, _ = labelled(rng)
    model = fitted(method, X, Y)
    some = X[:5] * rng.uniform(0.1, 10, size=(5, 1))
    assert np.allclose(model.decision_values(some), model.decision_values(X[:5]), atol=1e-3)
    assert np.isfinite(model.decision_values(np.zeros((2, X.shape[1])))).all()
    assert model.decision_values(X[:0]).shape == (0, Y.shape[1])


def test_the_weight_is_two_thousandths_of_the_one_that_passes_nothing_on():
    """Use orthogonal rows: the code is the shrunk product, and smaller products pass no term on."""
    scale = np.array([1.0, 0.6, -0.3, 0.0025, 0.0015])
    X = np.zeros((1, 8))
    X[0, :5] = scale
    model = fitted(Siso, np.eye(8), np.eye(8, dtype=bool))
    shrunk = np.sign(X) * np.maximum(np.abs(X) - 0.002, 0)
    assert np.allclose(model.decision_values(X) * np.linalg.norm(X), shrunk, atol=2e-5)

"""Tests of label propagation by SISO, and of ridge regression."""

import numpy as np
import pytest

from benchmarks.siso.annotators import FRACTION, SISO, fitted_annotator
from flyannot.encode.groups import unit_rows
from flyannot.sparse.coders.cd import encode
from tests.terms.labelled_kinds import labelled


def answers(method, X, Y):
    """Return the function from queries to the values of an annotator that was fitted on labelled rows."""
    return fitted_annotator(method, X, Y, np.random.default_rng(0))[0]


def test_siso_passes_terms_on_with_the_codes_of_the_full_lasso(rng):
    X, Y, _ = labelled(rng)
    A, queries = unit_rows(X[20:]).astype(float), unit_rows(X[:20]).astype(float)
    values = answers(SISO, X[20:], Y[20:])(X[:20])
    for y, value in zip(queries[:5], values):
        z = encode(y[None], A, FRACTION * np.abs(A @ y).max(), tol=1e-7).toarray()[0]
        assert np.allclose(value, z @ Y[20:], atol=0.02)


def test_siso_says_the_same_in_a_space_of_more_dimensions_than_rows(rng):
    """Rotate the rows into 500 dimensions."""
    X, Y, _ = labelled(rng)
    X = unit_rows(X).astype(float)
    X[30] = X[31]  # a row twice: the span has fewer dimensions than rows
    turn = np.linalg.qr(rng.normal(size=(500, 60)))[0].T
    wide = X @ turn[:40]
    narrow, turned = (answers(SISO, rows[20:], Y[20:])(rows[:20]) for rows in (X, wide))
    assert np.abs(narrow - turned).max() < 0.02 * np.abs(narrow).max()


@pytest.mark.parametrize("method", [SISO, "ridge"])
def test_the_length_of_a_row_is_nothing_and_a_row_of_zeros_is_legal(method, rng):
    X, Y, _ = labelled(rng)
    decision_values = answers(method, X, Y)
    some = X[:5] * rng.uniform(0.1, 10, size=(5, 1))
    assert np.allclose(decision_values(some), decision_values(X[:5]), atol=1e-3)
    assert np.isfinite(decision_values(np.zeros((2, X.shape[1])))).all()
    assert decision_values(X[:0]).shape == (0, Y.shape[1])


def test_the_weight_is_two_thousandths_of_the_one_that_passes_nothing_on():
    """Use orthogonal rows: the code is the shrunk product, and smaller products pass no term on."""
    scale = np.array([1.0, 0.6, -0.3, 0.0025, 0.0015])
    X = np.zeros((1, 8))
    X[0, :5] = scale
    decision_values = answers(SISO, np.eye(8), np.eye(8, dtype=bool))
    shrunk = np.sign(X) * np.maximum(np.abs(X) - 0.002, 0)
    assert np.allclose(decision_values(X) * np.linalg.norm(X), shrunk, atol=2e-5)

"""Tests of label propagation by SISO, and of ridge regression."""

import numpy as np

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

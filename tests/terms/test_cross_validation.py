"""Tests of cross-validation by gene."""

import numpy as np

from flyannot.terms.cross_validation import cross_validate
from flyannot.terms.folds import assign_gene_folds
from flyannot.terms.metrics import score_terms
from flyannot.terms.training_set import LabelledRows
from tests.terms.labelled_kinds import labelled_directions as labelled


def cross_validated(X, Y, genes, seed=0, *, reasons=None, **options):
    folds = assign_gene_folds(genes, 5, np.random.default_rng(seed))
    terms = [f"term{j}" for j in range(Y.shape[1])]
    rng = np.random.default_rng(seed)
    rows = LabelledRows(X=X, Y=Y, genes=genes, terms=terms, reasons=reasons)
    return cross_validate(rows, folds=folds, rng=rng, **options)


def test_labels_without_meaning_score_one_half(rng):
    """Look for leaks: 40 random terms, and genes with several almost equal groups."""
    rows = np.repeat(np.arange(60), 3)
    X = rng.normal(size=(60, 200))[rows] + 0.01 * rng.normal(size=(180, 200))
    Y = (rng.random((60, 40)) < 0.4)[rows]
    outcome = cross_validated(X, Y, rows)
    summary = score_terms({"4-6": outcome})["summary"]["4-6"]
    # one AUC of 24 x 36 genes in 5 folds has a deviation under 0.1; the mean of 40 under 0.1 / 40^(1/2)
    assert abs(summary["macro"]["auc"] - 0.5) < 4 * 0.1 / np.sqrt(40)
    assert summary["n_terms"] == 40
    # calibration on values of the training rows, which are all fitted exactly, would be sure of itself
    assert np.abs(outcome.probabilities - Y.mean(axis=0)).mean() < 0.15


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


def test_what_is_left_out_is_explained(rng):
    X, Y, genes = labelled(rng, n=40)
    Y = np.column_stack([Y[:, 0], np.arange(40) < 3, np.ones(40, bool)])
    outcome = cross_validated(X, Y, genes)
    assert outcome.truth.shape == outcome.values.shape == outcome.yes.shape == (40, 3)
    assert (outcome.truth == Y).all()
    few = tuple(f"not evaluable: {genes} genes, 5 needed" for genes in ("3 positive", "0 negative"))
    assert outcome.reasons[1:] == few
    result = score_terms({"4-6": outcome})
    assert result["summary"]["4-6"]["n_terms"] == 1
    assert result["terms"][0]["auc"] > 0.6


def test_a_term_whose_genes_fall_into_one_fold_is_not_evaluated(rng):
    X, Y, genes = labelled(rng, n=20)
    folds = {gene: i // 4 for i, gene in enumerate(genes)}
    Y = np.isin(np.arange(20), [0, 1, 2, 3, 4])[:, None]
    outcome = cross_validate(LabelledRows(X=X, Y=Y, genes=genes, terms=["t"]), folds=folds, rng=rng)
    assert outcome.reasons == ("not evaluable: outside fold 0: 1 positive gene, 2 needed",)

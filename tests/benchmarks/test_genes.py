"""How many genes a term needs: what is drawn, and that more genes teach more."""

import numpy as np
import pytest

from benchmarks.ours.genes import drawn_rows, held_out_values, row_of
from flyannot.classifiers.feature_rows import unit_rows
from flyannot.classifiers.folds import gene_folds
from flyannot.classifiers.training_set import LabelledRows


@pytest.fixture
def rows(rng):
    """Sixty of 240 genes carry the term, which shows in one of 30 features, noisily."""
    Y = np.arange(240)[:, None] % 4 == 0
    X = rng.normal(size=(240, 30)) + 1.5 * Y * (np.arange(30) == 3)
    return LabelledRows(X=unit_rows(X), Y=Y, genes=[f"g{i:03d}" for i in range(240)], terms=["pole cell"])


def test_of_genes_without_the_term_the_same_part_is_drawn(rows, rng):
    chosen = drawn_rows(6, rows.Y[:, 0], np.arange(80, 240), rng)
    assert chosen.min() >= 80 and len(set(chosen.tolist())) == len(chosen) == 24
    assert rows.Y[chosen, 0].sum() == 6


def test_a_held_out_gene_has_no_say_in_its_own_value(rows, rng):
    folds = gene_folds(rows.genes, 5, rng)
    held_out = folds == 0
    other = LabelledRows(X=rows.X, Y=rows.Y ^ held_out[:, None], genes=rows.genes, terms=rows.terms)
    values = [held_out_values(40, one, folds, np.random.default_rng(0)) for one in (rows, other)]
    assert np.array_equal(values[0][held_out], values[1][held_out])


def test_more_genes_teach_more(rows, rng):
    folds = gene_folds(rows.genes, 5, rng)
    few, many = (row_of(n, rows, folds, 2, np.random.default_rng(1)) for n in (3, 40))
    assert 0.4 < few["auc"] < many["auc"] - 0.05
    for row in (few, many):
        assert row["auc_low"] < row["auc"] < row["auc_high"] and row["auc_10"] <= row["auc_90"]

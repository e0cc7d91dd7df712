"""Tests of the evidence for a term: numbers of genes, and an unbiased AUC."""

import numpy as np
import pytest

from flyannot.terms.metrics import auc
from flyannot.terms.model import LEAST_GENES, count_genes, held_out_aucs
from flyannot.terms.scorer import OutOfFoldValues, choose_setting
from flyannot.terms.training_set import ENOUGH_GROUPS


def held_out(values, folds):
    return OutOfFoldValues(values, values, np.repeat(folds[:, None], values.shape[1], axis=1))


def test_genes_are_counted_once_however_many_groups_they_have():
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 0]], bool)
    carry, lack = count_genes(Y, ["b", "b", "a", "b"], np.ones_like(Y))
    assert (carry.tolist(), lack.tolist()) == ([1, 1], [1, 1])


@pytest.mark.parametrize("n_positive", [LEAST_GENES - 1, LEAST_GENES, 25, 26])
def test_a_term_of_too_few_genes_is_untested_and_any_other_has_its_auc_within_folds(n_positive, rng):
    assert ENOUGH_GROUPS == LEAST_GENES, "as many as evaluate wants where no number is given"
    genes, folds = np.array([f"g{i}" for i in range(30)]), np.arange(30) % 3
    Y = (np.arange(30) < n_positive)[:, None]
    values = rng.normal(size=(30, 1)) + Y + 5 * folds[:, None]  # folds have no common scale
    area, low, high = np.ravel(held_out_aucs(held_out(values, folds), Y, genes, np.ones_like(Y)))
    if n_positive in (LEAST_GENES - 1, 26):
        assert np.isnan([area, low, high]).all()
    else:
        assert area == auc(values[:, 0], Y[:, 0], folds)
        assert low < area < high or (low, high) == (area, area) == (1, 1)


def test_the_interval_covers_the_truth_about_as_often_as_it_says(rng):
    """Use values without meaning, with the AUC 0.5: at least 83% of the 95% intervals contain it."""
    genes, folds = np.array([f"g{i}" for i in range(60)]), np.arange(60) % 3
    Y = np.repeat((np.arange(60) < 20)[:, None], 100, axis=1)
    _, low, high = held_out_aucs(held_out(rng.normal(size=Y.shape), folds), Y, genes, np.ones_like(Y))
    assert np.mean((low <= 0.5) & (high >= 0.5)) > 0.83


def test_the_best_of_many_settings_by_chance_does_not_flatter_what_is_scored(rng):
    """Choose among forty settings of noise: the best looks good only on the rows that chose it."""
    folds, chosen, scored = np.arange(60) % 3, [], []
    Y = (np.arange(60) < 15)[:, None]
    for _ in range(40):
        _, found = choose_setting(list(rng.normal(size=(40, 60, 1))), Y, folds)
        chosen.append(auc(found.values[:, 0], Y[:, 0], folds))
        scored.append(auc(found.scored[:, 0], Y[:, 0], folds))
    assert np.mean(chosen) > 0.65
    assert abs(np.mean(scored) - 0.5) < 0.05


def test_where_there_is_no_choice_all_held_out_values_are_scored(rng):
    values, folds = rng.normal(size=(30, 2)), np.arange(30) % 3
    number, found = choose_setting([values], np.repeat(np.arange(30)[:, None] < 9, 2, axis=1), folds)
    assert number == 0 and (found.scored == values).all() and (found.values == values).all()
    assert (found.folds == folds[:, None]).all()


def test_of_equally_good_settings_the_first_is_taken_and_others_must_be_better_by_the_margin():
    folds, truth = np.arange(20) % 2, (np.arange(20) < 8)[:, None]
    good, bad = truth + 0.0, 1.0 - truth
    assert choose_setting([good, good, bad], truth, folds)[0] == 0
    assert choose_setting([bad, good], truth, folds)[0] == 1
    assert choose_setting([bad, good], truth, folds, margin=1.1)[0] == 0

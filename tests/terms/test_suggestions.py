"""Tests of the suggested terms of a group."""

from itertools import product

import numpy as np
import pytest

from flyannot.terms.metrics import TermOutcomes, group_agreement, score_terms
from flyannot.terms.suggestions import answer_thresholds, expected_f1, suggestion_thresholds


def f1(first, second):
    """Return the F1 of two lists of terms, bool arrays (n_terms,); of two empty lists it is 1."""
    n = first.sum() + second.sum()
    return 2 * (first & second).sum() / n if n else 1.0


def expected_f1_by_enumeration(suggested, probability):
    """Return the expected F1 of a list of terms, from all lists that curators could give: the slow twin."""
    expected = 0.0
    for curated in map(np.array, product([False, True], repeat=len(probability))):
        expected += np.prod(np.where(curated, probability, 1 - probability)) * f1(suggested, curated)
    return expected


def test_expected_f1_is_the_mean_over_all_lists_that_curators_could_give(rng):
    probability = -np.sort(-(rng.random((20, 5)) ** 2), axis=1)
    for row, expected in zip(probability, expected_f1(probability)):
        slow = [expected_f1_by_enumeration(np.arange(5) < k, row) for k in range(6)]
        np.testing.assert_allclose(expected, slow, rtol=1e-12)


def test_no_list_of_terms_has_a_larger_expected_f1(rng):
    for scale in (0.05, 0.5, 1.0):  # with small probabilities, no term is suggested
        probability = scale * rng.random((15, 5))
        suggested = probability > suggestion_thresholds(probability)[:, None]
        assert scale > 0.05 or not suggested.all(axis=1).any()
        for of_group, row in zip(suggested, probability):
            lists = map(np.array, product([False, True], repeat=5))
            best = max(expected_f1_by_enumeration(one, row) for one in lists)
            assert expected_f1_by_enumeration(of_group, row) == pytest.approx(best, rel=1e-12)


def test_suggestions_do_not_depend_on_the_order_of_terms_or_on_other_groups(rng):
    probability = rng.random((700, 9))  # more than are computed at once
    thresholds = suggestion_thresholds(probability)
    order = rng.permutation(9)
    assert (suggestion_thresholds(probability[:, order]) == thresholds).all()
    assert (suggestion_thresholds(probability[650:651]) == thresholds[650]).all()


def test_equal_probabilities_are_suggested_together(rng):
    probability = rng.choice([0.1, 0.3, 0.6], (300, 8))
    thresholds = suggestion_thresholds(probability)
    assert not (probability == thresholds[:, None]).any()
    close = np.array([[0.9, 0.2, np.nextafter(0.2, 1), np.nextafter(0.2, 0), 0.01]])
    assert (close > suggestion_thresholds(close)[:, None])[0, 0]


def test_a_term_with_a_threshold_of_its_own_has_it_in_every_group(rng):
    probability = rng.random((4, 3))
    thresholds = np.array([0.1, 0.2, 0.3])
    assert (answer_thresholds(probability, np.ones(3, bool), thresholds) == thresholds).all()


def test_a_term_of_which_nothing_was_learned_changes_no_list_and_stays_open(rng):
    probability = rng.random((30, 4))
    probability[:, 1] = 0.7
    is_learned = np.array([True, False, True, True])
    own = np.array([0.1, 0.2, 0.3, 0.4])
    assert (answer_thresholds(probability, is_learned, own) == [0.1, 0.7, 0.3, 0.4]).all()
    thresholds = answer_thresholds(probability, is_learned)
    assert (thresholds[:, 1] == 0.7).all()
    alone = suggestion_thresholds(probability[:, is_learned])
    np.testing.assert_array_equal(thresholds[:, is_learned], np.repeat(alone[:, None], 3, axis=1))


def test_the_agreement_of_lists_counts_only_known_terms(rng):
    yes, truth, observed = rng.random((3, 40, 6)) < 0.4
    terms = tuple("abcdef")
    outcome = TermOutcomes(terms, truth, rng.random((40, 6)), yes, rng.random((40, 6)), observed=observed)
    agreement = group_agreement(outcome)
    for g in range(40):
        suggested, curated = yes[g] & observed[g], truth[g] & observed[g]
        n_either = (suggested | curated).sum()
        assert agreement["f1"][g] == pytest.approx(f1(suggested, curated))
        jaccard = (suggested & curated).sum() / n_either if n_either else 1.0
        assert agreement["jaccard"][g] == pytest.approx(jaccard)
    summary = score_terms({"4-6": outcome})["summary"]["all"]["groups"]
    assert summary == {name: pytest.approx(values.mean()) for name, values in agreement.items()}

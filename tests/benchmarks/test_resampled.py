"""The measures of annotation as measured are those of the scores; draws of genes vary about them."""

import numpy as np
import pytest

from benchmarks.scc.fig_5 import METRICS, resampled_metrics
from flyannot.scores.metrics import TermOutcomes, score_terms


def outcome_of(values, truth):
    return TermOutcomes(tuple("abcd"), truth, values, values > 0, np.arange(len(truth)) % 3)


@pytest.fixture
def made_up(rng):
    """Forty groups of twenty genes, four terms, values that know the truth in part."""
    truth = rng.random((40, 4)) < 0.4
    genes = [f"gene {i // 2}" for i in range(40)]
    return outcome_of(truth + rng.normal(size=(40, 4)) - 0.5, truth), genes


def test_without_drawing_the_averages_are_those_of_the_scores(made_up):
    outcome, genes = made_up
    measured, draws = resampled_metrics(outcome, genes)
    expected = score_terms({"4-6": outcome})["summary"]["all"]["weighted_top10"]
    for metric in METRICS:
        assert measured[metric] == pytest.approx(expected[metric], abs=1e-12)
        assert draws[metric].min() < measured[metric] < draws[metric].max()


def test_draws_are_of_the_same_genes_for_every_outcome(made_up):
    """So that what two outcomes have in common cancels out of their difference."""
    outcome, genes = made_up
    once, again = (resampled_metrics(outcome, genes)[1] for _ in range(2))
    assert all((once[metric] == again[metric]).all() for metric in METRICS)

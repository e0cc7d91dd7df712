"""Two lists for a curator: what to look at first, and curated terms to check.

What to look at first are terms of which no curator has said anything, three of a group: those that are
expected to teach the model most.  To check are terms that the curators gave or left out, and that models
which had not seen the gene contradict most: the first 5 %.  A term with a correction is on neither list.
"""

import numpy as np

from flyannot.scores.curation import PART_TO_CHECK, TERMS_PER_REVIEW, doubt_of_answer, information_of_verdict
from flyannot.scores.group_outcomes import outcomes_of_groups

LISTS = LOOK, CHECK = "look", "check"


class Queue:
    """Says of the terms of a group which list they are on; `scores` are those of a run, or None."""

    def __init__(self, scores):
        self._least = _least_doubt(scores or {})

    def mark(self, terms):
        """Set `queue` and `worth` of those of a group's `flyannot.report.groups.TermEntry`s that are on a
        list."""
        new = [one for one in terms if not one.reviewed and one.probability is not None]
        for one in new:
            if one.known and one.held_out and one.is_contradicted:
                found = float(doubt_of_answer(one.probability, one.curated, not one.curated))
                if found >= self._least:
                    one.queue, one.worth = CHECK, found
        asked = [one for one in new if not one.known and not one.says_nothing and one.n_genes]
        worth = [float(information_of_verdict(one.probability, one.n_genes)) for one in asked]
        for i in np.argsort(-np.array(worth), kind="stable")[:TERMS_PER_REVIEW]:
            asked[i].queue, asked[i].worth = LOOK, worth[i]


def _least_doubt(scores):
    """The doubt from which a curated term is to be checked; of scores without probabilities, infinity."""
    found = []
    for evaluated in (scores.get("evaluated") or {}).values():
        if evaluated["probability"] is not None and evaluated["fold"] is not None and evaluated["term"]:
            outcome = outcomes_of_groups(evaluated)
            known = np.ones(outcome.truth.shape, bool) if outcome.observed is None else outcome.observed
            found.append(doubt_of_answer(outcome.probabilities, outcome.truth, outcome.yes)[known])
    return float(np.quantile(np.concatenate(found), 1 - PART_TO_CHECK)) if found else np.inf

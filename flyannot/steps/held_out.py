"""A held-out test: predictions are scored as they are."""

from dataclasses import dataclass, replace

import numpy as np

from flyannot.classifiers.answers import read_predicted
from flyannot.classifiers.training_set import annotated_groups, observed_terms, truth_of
from flyannot.errors import InputError
from flyannot.runtime.wording import pluralise
from flyannot.scores.group_outcomes import group_outcomes
from flyannot.scores.metrics import TermOutcomes, score_terms
from flyannot.steps.engine.inputs import chosen_stage_ranges, is_synthetic
from flyannot.steps.evaluation import Evaluation
from flyannot.store.reading import open_stored


@dataclass(frozen=True, kw_only=True)
class HeldOutTest(Evaluation):
    """Of one file of predictions; of `train` only `exclude_terms` and `corrections` are used.

    It is a test if the genes are new to the model; a note says so if they are not.
    """

    def score(self, annotations, execution, out):
        if self.options.retrieval:
            raise InputError(
                f"{self.paths[0]} holds predictions, and what looks alike is found by features",
                fix="give the features that they were made from, or leave out --retrieval",
            )
        outcomes, evaluated, n_seen, n_groups, columns = {}, {}, 0, 0, []
        with open_stored(self.paths[0], "predictions") as stored:
            for stage_range in chosen_stage_ranges([stored], self.stage_ranges):
                groups, predicted = read_predicted(stored, stage_range)
                columns.append({"source": stored.array(stage_range, "source")})
                kept, carried = annotated_groups(groups, annotations, stage_range)
                rows = [groups.name.index(name) for name in kept.name]
                n_seen, n_groups = n_seen + int(predicted.in_training[rows].sum()), n_groups + len(rows)
                if rows:
                    outcome = _held_out(predicted, rows, carried)
                    known = observed_terms(kept, annotations, stage_range, outcome.terms)
                    outcome = outcomes[stage_range] = replace(outcome, observed=known)
                    evaluated[stage_range] = group_outcomes(outcome, kept.name, kept.gene_ids)
        if not outcomes:
            return None
        notes = [f"predictions of a model on {pluralise(n_groups, 'annotated group')}"]
        if n_seen:
            notes.append(
                f"warning: the model learned from the genes of {n_seen} of them; these scores flatter it"
            )
        more = {"notes": notes, "synthetic": is_synthetic(columns), "evaluated": evaluated}
        return score_terms(outcomes, excluded=self.train.exclude_terms) | more


def _held_out(predicted, rows, carried):
    """The outcome of one stage range; annotated terms that the model does not know are listed too."""
    unknown = sorted(set().union(*carried) - set(predicted.terms))
    terms = (*predicted.terms, *unknown)
    blank = np.zeros((len(rows), len(unknown)))
    return TermOutcomes(
        terms=terms,
        truth=truth_of(carried, terms),
        values=np.hstack([predicted.decision_value[rows], blank]),
        yes=np.hstack([predicted.yes[rows], blank]).astype(bool),
        probabilities=np.hstack([predicted.probability[rows], blank]),
        thresholds=np.tile(np.hstack([predicted.threshold, blank[0]]), (len(rows), 1)),
        reasons=("",) * len(predicted.terms) + ("the model does not know this term",) * len(unknown),
    )

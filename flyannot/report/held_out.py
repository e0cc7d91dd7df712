"""What cross-validation answered of the groups of a run, by models that had not seen the gene."""

from dataclasses import dataclass

from flyannot.scores.group_outcomes import outcomes_of_groups


@dataclass(frozen=True)
class Answer:
    """What a model says of one group and one term, and how well it tells the term apart.

    answer : yes, no or undetermined; threshold : the probability above which it is yes, or None
    auc, auc_interval : of the term, None where it is untested
    """

    answer: str
    probability: float
    threshold: float | None
    auc: float | None
    auc_interval: tuple | None


class HeldOut:
    """The answers of one stage range of a `flyannot.report.run_folder.Run`; none without scores."""

    def __init__(self, run, stage_range):
        scores = run.scores or {}
        evaluated = (scores.get("evaluated") or {}).get(stage_range)
        features = run.stored("features", stage_range)
        self._images = None if features is None else set(features.array(stage_range, "image"))
        self._outcome, self._groups = None, {}
        if evaluated and evaluated["probability"] is not None and evaluated["fold"] is not None:
            self._outcome = outcomes_of_groups(evaluated)
            self._groups = {group: i for i, group in enumerate(evaluated["group"])}
            self._terms = {r["term"]: r for r in scores["terms"] if r["stage_range"] == stage_range}

    def of_group(self, entry):
        """Term -> Answer, of the evaluated ones; empty for a group of other images than were evaluated."""
        i = self._groups.get(entry.name)
        images = {image.name for image in entry.images}
        if i is None or (self._images is not None and not images <= self._images):
            return {}
        return {term: self._answer(i, j, term) for j, term in enumerate(self._outcome.terms)}

    def _answer(self, i, j, term):
        outcome, row = self._outcome, self._terms[term]
        threshold = None if outcome.thresholds is None else float(outcome.thresholds[i, j])
        probability = float(outcome.probabilities[i, j])
        answer = "yes" if outcome.yes[i, j] else "no"
        if probability == threshold:  # nothing was learned: every group has this probability
            answer = "undetermined"
        interval = row.get("auc_interval")
        return Answer(answer, probability, threshold, row.get("auc"), interval and tuple(interval))

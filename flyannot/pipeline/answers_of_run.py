"""What a run knows of its predictions besides its model: the answers of cross-validation, what curators said,
and what was answered before they said otherwise."""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flyannot.base.errors import FlyannotError, InputError
from flyannot.dataset.paths import annotations_table
from flyannot.files.atomic_file import copy_file
from flyannot.files.digest import canonical_json, digest_of_file
from flyannot.files.hdf5.predictions import write_answers_of_run
from flyannot.files.hdf5.reading import StoredFile, open_stored
from flyannot.pipeline.engine.inputs import curated_annotations_of, digests_of_curated
from flyannot.terms.answers import read_predicted
from flyannot.terms.group_outcomes import is_cross_validated, outcomes_of_groups, read_scores
from flyannot.terms.training_set import annotated_groups, observed_terms, truth_of

PREDICTIONS, SCORES = "predictions.h5", "scores.json"
BEFORE = "before"  # beside them: both as they were before the run learned with other curated terms
_CURATED = {"annotations", "corrections"}  # of what scores were made from


@dataclass(frozen=True)
class AnswersOfRun:
    """What is added to the predictions of a run.

    scores : Path of the scores of the model; features : Path of what was cross-validated
    annotations : Path of the table of curated terms, or of its data set folder
    corrections : paths of tables of corrections
    """

    scores: Path
    features: Path
    annotations: Path
    corrections: tuple = ()

    @property
    def before(self):
        """Path of the predictions before the curated terms changed; it may not be there."""
        return self.scores.parent / BEFORE / PREDICTIONS

    def inputs(self):
        """Role -> digests, as the header of the predictions names them; InputError without scores."""
        if not self.scores.is_file():
            raise InputError(
                f"{self.scores} is not there: annotated genes have their answers from it",
                fix="make it first: flyannot run CONFIG --step evaluate",
            )
        digests = digests_of_curated(annotations_table(self.annotations), self.corrections)
        digests["scores"] = [digest_of_file(self.scores)]
        if self.before.is_file():
            with open_stored(self.before, "predictions") as stored:
                digests["predictions before"] = [stored.digest]
        return digests

    def write(self, file, header):
        """Add it to every stage range of an open HDF5 file of predictions, which has this Header."""
        scores = read_scores(self.scores)
        stored = StoredFile(file, self.before, header)
        annotations, _ = curated_annotations_of(self.annotations, corrections=self.corrections)
        margin = header.options["annotate"]["abstain_margin"]
        evaluated = self._evaluated_images()
        for s in stored.stage_ranges:
            groups, predicted = read_predicted(stored, s)
            names = _evaluated_names(groups, stored.array(s, "image"), evaluated.get(s, ()))
            probability, threshold, of_terms = _cross_validated_answers(scores, s, names, predicted.terms)
            is_held_out = np.isfinite(probability)
            probability = np.where(is_held_out, probability, predicted.probability)
            threshold = np.where(is_held_out, threshold, predicted.probability_threshold)
            near = np.abs(probability - threshold) <= margin
            arrays = {
                "probability": probability,
                "yes": np.where(is_held_out, probability > threshold, predicted.yes),
                "undetermined": np.where(is_held_out, near, predicted.undetermined),
                "answer_threshold": threshold,
                "held_out": is_held_out,
                "model_probability": predicted.probability,
                "curated": _curated_terms(groups, annotations, s, predicted.terms),
                "answer_before": self._answers_before(s, groups, predicted.terms),
            }
            for name, values in of_terms.items():
                arrays[name] = np.where(np.isfinite(values), values, getattr(predicted, name))
            write_answers_of_run(file[s], arrays)

    def _evaluated_images(self):
        """Stage range -> the names of the images that were cross-validated."""
        with open_stored(self.features, "features") as features:
            return {s: set(features.array(s, "image")) for s in features.stage_ranges}

    def _answers_before(self, stage_range, groups, terms):
        """Of every group and term the place in ANSWERS, int8 (n_groups, n_terms); -1 where there was none."""
        answers = np.full((len(groups), len(terms)), -1, np.int8)
        if self.before.is_file():
            with open_stored(self.before, "predictions") as stored:
                if stage_range not in stored.stage_ranges:
                    return answers
                then, predicted = read_predicted(stored, stage_range)
            now, before = _matching_entries(groups.name, then.name, terms, predicted.terms)
            answers[now] = predicted.answers[before]
        return answers


def _cross_validated_answers(scores, stage_range, names, terms):
    """Find the answers of models that had not seen the gene, by scores as in scores.json.

    Parameters
    ----------
    names : list of the names of groups
    terms : list of terms

    Returns
    -------
    probability, threshold : float64 (n_groups, n_terms); nan if a group was not evaluated for a term
    of_terms : dict, auc, auc_low, auc_high and precision -> float64 (n_terms,); nan if not evaluated
    """
    probability, threshold = np.full((2, len(names), len(terms)), np.nan)
    of_terms = {name: np.full(len(terms), np.nan) for name in ("auc", "auc_low", "auc_high", "precision")}
    evaluated = scores["evaluated"].get(stage_range)
    if not evaluated or not is_cross_validated(evaluated):
        return probability, threshold, of_terms
    outcome = outcomes_of_groups(evaluated)
    if outcome.thresholds is not None:
        here, there = _matching_entries(names, evaluated["group"], terms, outcome.terms)
        probability[here], threshold[here] = outcome.probabilities[there], outcome.thresholds[there]
    rows = {row["term"]: row for row in scores["terms"] if row["stage_range"] == stage_range}
    for j, term in enumerate(terms):
        if term in rows and not rows[term]["reason"]:
            row = rows[term]
            low, high = row.get("auc_interval") or (None, None)
            for values, value in zip(of_terms.values(), (row["auc"], low, high, row.get("precision"))):
                values[j] = np.nan if value is None else value
    return probability, threshold, of_terms


def _evaluated_names(groups, images, evaluated):
    """The names of the groups, "" of one with an image that was not cross-validated."""
    is_evaluated = [image in evaluated for image in images]
    return [
        name if all(is_evaluated[i] for i in rows) else "" for name, rows in zip(groups.name, groups.rows)
    ]


def _matching_entries(names, other_names, terms, other_terms):
    """Return what picks the same groups and terms out of two matrices (n_groups, n_terms)."""
    here, there = zip(_common_places(names, other_names), _common_places(terms, other_terms))
    return np.ix_(*here), np.ix_(*there)


def _common_places(names, others):
    """Return the places of the common names, in one order, in the first list and in the second."""
    places = {name: i for i, name in enumerate(others)}
    common = [i for i, name in enumerate(names) if name in places]
    return common, [places[names[i]] for i in common]


def _curated_terms(groups, annotations, stage_range, terms):
    """Whether curators gave each group each term, int8 (n_groups, n_terms); -1 where that is not known."""
    curated = np.full((len(groups), len(terms)), -1, np.int8)
    annotated, carried = annotated_groups(groups, annotations, stage_range)
    known = observed_terms(annotated, annotations, stage_range, terms)
    rows, _ = _common_places(groups.name, annotated.name)
    curated[rows] = np.where(known, truth_of(carried, terms), -1)
    return curated


def snapshot_previous_run(scores, made_now):
    """Keep the scores and the predictions of a run in its folder BEFORE while it learns with other curated
    terms, all else being equal; otherwise remove that folder.

    scores : Path of scores.json, which is to be made anew
    made_now : what the new scores are to be made from, with the options that are given

    Returns
    -------
    the scores that are kept, as `read_scores` returns them, or None
    """
    before = scores.parent / BEFORE
    predictions = scores.with_name(PREDICTIONS)
    changed = set()
    is_of_scores = False
    with suppress(FlyannotError):
        made_before = read_scores(scores)["made_from"]
        for role in {*made_before, *made_now} - {"model"}:
            was, now = made_before.get(role), made_now.get(role)
            if isinstance(now, dict):  # options: where none is given, the curated terms decide
                was = {name: (was or {}).get(name) for name in now}
            if canonical_json(was) != canonical_json(now):
                changed.add(role)
        with open_stored(predictions, "predictions") as stored:
            is_of_scores = stored.inputs.get("scores") == [digest_of_file(scores)]
    if not changed or not changed <= _CURATED:
        shutil.rmtree(before, ignore_errors=True)
    elif is_of_scores:  # of a run that was interrupted between the two, those before stay
        for path in (predictions, scores):
            copy_file(path, before / path.name)
    kept = before / scores.name
    return read_scores(kept) if kept.is_file() else None

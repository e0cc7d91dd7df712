"""Answers that only a run can add to its predictions.

These are the answers of cross-validation, the curated terms, and the answers of the previous run, before the
curated terms changed.
"""

import logging
import shutil
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from shlex import quote

import numpy as np

from flyannot.base.errors import FlyannotError, InputError
from flyannot.files.atomic_file import copy_file
from flyannot.files.digest import canonical_json, file_digest
from flyannot.files.hdf5.layout import list_objects, select_datasets
from flyannot.files.hdf5.predictions import write_run_answers
from flyannot.files.hdf5.reading import StoredFile, open_stored_file
from flyannot.pipeline.engine.curated_terms import CuratedTerms
from flyannot.terms.answers import read_group_predictions
from flyannot.terms.group_outcomes import is_cross_validated, outcomes_from_json, read_scores
from flyannot.terms.training_set import annotated_groups, observed_terms, truth_matrix

log = logging.getLogger("flyannot")
PREDICTIONS, SCORES = "predictions.h5", "scores.json"
BEFORE = "before"  # folder beside them, with both files from before the curated terms changed
_CURATED = {"annotations", "corrections"}  # inputs of scores


def _read_scores(path):
    """Read a scores.json as `read_scores` does, or return what was read if the file is the same.

    Without a path, nothing was evaluated.
    """
    return _parse_scores(path, file_digest(path)) if path else {"evaluated": {}}


@lru_cache(maxsize=1)
def _parse_scores(path, digest):
    return read_scores(path)


@dataclass(frozen=True)
class RunAnswers:
    """The files of a run from which answers are added to its predictions.

    curated : CuratedTerms
    scores : Path of scores.json; None if a supplied model suggests terms, since none can be learned
    features : Path of the features file that was cross-validated; None without scores
    """

    curated: CuratedTerms
    scores: Path | None = None
    features: Path | None = None

    def check(self):
        """Check the scores before predictions are made.

        Raises
        ------
        InputError
            If there is no scores.json.
        DataError
            If it is damaged.
        """
        if self.scores and not self.scores.is_file():
            raise InputError(
                f"{self.scores} does not exist, and annotated genes get their answers from it",
                fix="make it first: flyannot run CONFIG --step evaluate",
            )
        _read_scores(self.scores)

    def add_inputs(self, header, made=()):
        """Return the Header of the predictions with the digests of the files that the answers come from."""
        self.check()
        inputs = header.inputs | self.curated.digests
        if self.scores:
            inputs |= {"scores": [file_digest(self.scores)]}
        previous = _read_previous(self.scores).digest
        return replace(header, inputs=inputs | ({"predictions before": [previous]} if previous else {}))

    def write(self, file, header):
        """Add the answers of the run to every stage range of an open predictions file.

        file : h5py.File, open for writing; header : its Header
        """
        scores = _read_scores(self.scores)
        previous = _read_previous(self.scores)
        previous.warn()
        stored = StoredFile(Path(file.filename), header, select_datasets(list_objects(file)), h5=file)
        margin = header.options["annotate"]["abstain_margin"]
        evaluated = self._evaluated_images()
        for s in stored.stage_ranges:
            groups, predicted = read_group_predictions(stored, s)
            names = _evaluated_names(groups, stored.read_array(s, "image"), evaluated.get(s, ()))
            probability, threshold, of_terms = _cross_validated_answers(scores, s, names, predicted.terms)
            is_held_out = np.isfinite(probability)
            probability = np.where(is_held_out, probability, predicted.probability)
            threshold = np.where(is_held_out, threshold, predicted.answer_threshold)
            near = np.abs(probability - threshold) <= margin
            arrays = {
                "probability": probability,
                "yes": np.where(is_held_out, probability > threshold, predicted.yes),
                "undetermined": np.where(is_held_out, near, predicted.undetermined),
                "answer_threshold": threshold,
                "held_out": is_held_out,
                "model_probability": predicted.probability,
                "curated": _curated_terms(groups, self.curated.annotations, s, predicted.terms),
                "answer_before": previous.answers_of(s, groups, predicted.terms),
            }
            is_evaluated = np.isfinite(of_terms["auc"])
            for name, values in of_terms.items():  # a term that was never suggested has no precision
                arrays[name] = np.where(is_evaluated, values, getattr(predicted, name))
            write_run_answers(file[s], arrays)

    def _evaluated_images(self):
        """Return stage range -> the set of names of the images that were cross-validated."""
        if self.features is None:
            return {}
        features = open_stored_file(self.features, "features")
        return {s: set(features.read_array(s, "image")) for s in features.stage_ranges}


@dataclass(frozen=True)
class _PreviousRun:
    """The scores and answers of the run before the curated terms changed, from the folder `before`.

    folder : Path of the folder
    scores : dict of its scores; None if there are none to compare with
    digest : str, digest of its predictions, "" if there are none to compare with
    answers : dict from each stage range to names of groups, terms, and answers as indices in ANSWERS, int8
        (n_groups, n_terms)
    fault : str, why its files are left out; "" if they are used, or if there are none
    """

    folder: Path
    scores: dict | None = None
    digest: str = ""
    answers: dict = field(default_factory=dict)
    fault: str = ""

    def answers_of(self, stage_range, groups, terms):
        """Return the answers for some groups and terms, int8 (n_groups, n_terms); -1 if there was none."""
        found = np.full((len(groups), len(terms)), -1, np.int8)
        if stage_range in self.answers:
            names, terms_then, answers = self.answers[stage_range]
            now, before = _matching_entries(groups.name, names, terms, terms_then)
            found[now] = answers[before]
        return found

    def warn(self):
        """Log a warning if the files are left out."""
        if self.fault:
            log.warning(
                "warning: %s %s: today's answers are compared with none; remove it with: rm -r %s",
                self.folder,
                self.fault,
                quote(str(self.folder)),
            )


def _read_previous(scores):
    """Read the folder `before` beside scores.json as a _PreviousRun.

    Its files are used only if they are whole, and of the run to which scores.json belongs.

    scores : Path of scores.json, or None
    """
    folder = scores.parent / BEFORE if scores else Path()
    if not scores or not folder.is_dir():
        return _PreviousRun(folder)
    try:
        kept = _read_scores(folder / SCORES)
        answers = {}
        stored = open_stored_file(folder / PREDICTIONS, "predictions")
        for s in stored.stage_ranges:
            groups, predicted = read_group_predictions(stored, s)
            answers[s] = groups.name, predicted.terms, predicted.answers
        is_pair = stored.inputs.get("scores") == [file_digest(folder / SCORES)]
        digest = stored.digest
    except FlyannotError:
        return _PreviousRun(folder, fault="is damaged or incomplete")
    if not is_pair or not _changed_inputs(kept["made_from"], _read_scores(scores)["made_from"]) <= _CURATED:
        return _PreviousRun(folder, fault="is of another run")
    return _PreviousRun(folder, kept, digest, answers)


def _cross_validated_answers(scores, stage_range, names, terms):
    """Look up the predictions of cross-validation: each is by a model that was not trained on the gene.

    Parameters
    ----------
    scores : dict, the contents of scores.json
    stage_range : str
    names : list of the names of groups
    terms : list of terms

    Returns
    -------
    probability, threshold : float64 arrays (n_groups, n_terms); nan if a group was not evaluated for a term
    of_terms : dict, auc, auc_low, auc_high and precision -> float64 (n_terms,); nan if not evaluated
    """
    probability, threshold = np.full((2, len(names), len(terms)), np.nan)
    of_terms = {name: np.full(len(terms), np.nan) for name in ("auc", "auc_low", "auc_high", "precision")}
    evaluated = scores["evaluated"].get(stage_range)
    if not evaluated or not is_cross_validated(evaluated):
        return probability, threshold, of_terms
    outcome = outcomes_from_json(evaluated)
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
    """Return the name of each group, or "" if one of its images was not cross-validated.

    Parameters
    ----------
    groups : Groups
    images : list of the names of all images
    evaluated : set of the names of the images that were cross-validated
    """
    is_evaluated = [image in evaluated for image in images]
    is_whole = [all(is_evaluated[i] for i in rows) for rows in groups.rows]
    return [name if whole else "" for name, whole in zip(groups.name, is_whole)]


def _matching_entries(names, other_names, terms, other_terms):
    """Find the groups and terms that two matrices (n_groups, n_terms) have in common.

    Parameters
    ----------
    names, other_names : lists of the names of the groups of the first and of the second matrix
    terms, other_terms : lists of their terms

    Returns
    -------
    entries, other_entries : indices that select the common entries of each matrix, in one order
    """
    _, groups_here, groups_there = np.intersect1d(names, other_names, return_indices=True)
    _, terms_here, terms_there = np.intersect1d(terms, other_terms, return_indices=True)
    return np.ix_(groups_here, terms_here), np.ix_(groups_there, terms_there)


def _curated_terms(groups, annotations, stage_range, terms):
    """Return 1 where curators gave the term to the group, 0 where they did not, -1 if unknown.

    The array is int8 (n_groups, n_terms).
    """
    curated = np.full((len(groups), len(terms)), -1, np.int8)
    annotated, carried = annotated_groups(groups, annotations, stage_range)
    known = observed_terms(annotated, annotations, stage_range, terms)
    rows = np.flatnonzero(np.isin(groups.name, annotated.name))
    curated[rows] = np.where(known, truth_matrix(carried, terms), -1)
    return curated


def snapshot_previous_run(scores, made_now):
    """Copy the scores and predictions of a run to its folder `before`, if only curated terms have changed.

    If anything else changed, the folder is removed.

    Parameters
    ----------
    scores : Path of scores.json, which is about to be replaced
    made_now : dict, the inputs and options of the new scores

    Returns
    -------
    kept : dict, the copied scores as `read_scores` returns them; None if there is no copy
    """
    before = scores.parent / BEFORE
    predictions = scores.with_name(PREDICTIONS)
    changed = set()
    is_of_scores = False
    with suppress(FlyannotError):
        changed = _changed_inputs(_read_scores(scores)["made_from"], made_now)
        stored = open_stored_file(predictions, "predictions")
        is_of_scores = stored.inputs.get("scores") == [file_digest(scores)]
    if not changed or not changed <= _CURATED:
        shutil.rmtree(before, ignore_errors=True)
    elif is_of_scores:  # otherwise the run was interrupted between the two, and the older copies stay
        for path in (predictions, scores):
            copy_file(path, before / path.name)
    previous = _read_previous(scores)
    previous.warn()
    return previous.scores


def _changed_inputs(made_before, made_now):
    """Return the set of inputs and options, except the model, that differ between two scores.

    made_before, made_now : dicts, their inputs and options
    """
    changed = set()
    for role in {*made_before, *made_now} - {"model"}:
        was, now = made_before.get(role), made_now.get(role)
        if isinstance(now, dict) and isinstance(was, dict):  # open options follow from the curated terms
            now = {name: value for name, value in now.items() if value is not None}
            was = {name: was.get(name) for name in now}
        if canonical_json(was) != canonical_json(now):
            changed.add(role)
    return changed

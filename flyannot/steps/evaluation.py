"""What is evaluated, and how; scores.json, which is up to date while what it was made from is; comparison."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flyannot.classifiers.options import TrainOptions
from flyannot.dataset.paths import annotations_table
from flyannot.errors import DataError, FlyannotError, InputError
from flyannot.runtime.atomic_file import write_text
from flyannot.runtime.digest import digest_of_file
from flyannot.runtime.wording import pluralise
from flyannot.scores.bootstrap import add_confidence, compare_outcomes
from flyannot.scores.group_outcomes import json_of_scores, read_scores
from flyannot.steps.engine.inputs import (
    curated_annotations_of,
    digests_of_curated,
    refuse_unknown_excluded_terms,
)
from flyannot.steps.engine.task import Execution, Outcome, Task
from flyannot.steps.options import EvaluateOptions
from flyannot.store.reading import open_stored
from flyannot.store.writing import changes_in_header

_ENOUGH_GENES = "annotate more genes: scores are worth having from 20 or so of a term"


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The base of what can be evaluated: features, pixels, predictions.

    paths : of what is scored
    annotations_csv : Path, of the table or of its data set folder
    train : TrainOptions
    options : EvaluateOptions
    seed : int
    stage_ranges : those to evaluate; () for all
    model : digest of the model file whose scores these are; None if there is none
    """

    paths: tuple
    annotations_csv: Path
    train: TrainOptions = TrainOptions()
    options: EvaluateOptions = EvaluateOptions()
    seed: int = 0
    stage_ranges: tuple = ()
    model: str | None = None

    def __post_init__(self):
        object.__setattr__(self, "annotations_csv", annotations_table(self.annotations_csv))

    def scored(self):
        """The digests of what is scored."""
        return digests_of_files(self.paths)

    def fitted(self, annotations=None):
        """The same, with numbers of the groups where options were left open."""
        return self

    def score(self, annotations, execution, out):
        """The result but for what all evaluations add; None if no gene is annotated."""
        raise NotImplementedError

    def result(self, execution=None, out=None):
        """Score against curated terms.

        Parameters
        ----------
        execution : flyannot.steps.engine.task.Execution
        out : Path of the file that gets the scores, beside which a cluster finds what it needs; without one,
            folds are evaluated on this machine

        Returns
        -------
        result : dict, as `flyannot.scores.metrics.score_terms` returns, with `notes` (sentences), `synthetic`
            (whether images were), `evaluated` (what was predicted for every group:
            `flyannot.scores.group_outcomes`), `model` (the digest of the model whose scores these are, or
            None) and `made_from`, the digests of the inputs and the options

        Raises
        ------
        InputError
            If no gene is annotated.
        """
        annotations, changes = self.curated()
        refuse_unknown_excluded_terms(self.train.exclude_terms, annotations, self.annotations_csv)
        fitted = self.fitted(annotations)
        result = fitted.score(annotations, execution or Execution(), out)
        if result is None:
            raise InputError(
                f"no gene of {self.paths[0]} is annotated in {self.annotations_csv}",
                fix="check that genes and stage ranges are spelled alike in both",
            )
        result["notes"] += changes
        return add_confidence(result) | {"model": self.model, "made_from": fitted.made_from()}

    def curated(self):
        """The Annotations, and sentences on what corrections changed."""
        train, options = self.train, self.options
        return curated_annotations_of(
            self.annotations_csv, corrections=train.corrections, roll_up=options.roll_up
        )

    def made_from(self):
        """What the scores follow from: digests of the inputs, and options."""
        return {
            "scored": self.scored(),
            **digests_of_curated(self.annotations_csv, self.train.corrections),
            "train": self.train.as_header(),
            "evaluate": self.options.as_header(),
            "roll_up": [digest_of_file(path) for path in self.options.roll_up],
            "seed": self.seed,
            "stage_ranges": list(self.stage_ranges),
            "model": self.model,
        }


def digests_of_files(paths):
    """The content digest of each HDF5 file."""
    digests = []
    for path in paths:
        with open_stored(path) as stored:
            digests.append(stored.digest)
    return digests


def evaluate_task(evaluation, json_file, scores_before=lambda made_now: None):
    """The `flyannot.steps.engine.task.Task` of a file with the scores of an `Evaluation`.

    `scores_before` is called with what they are to be made from, by the options that are given, and returns
    the scores to compare them with, or None.
    """

    def make(execution):
        before = scores_before(evaluation.made_from())
        result = evaluation.result(execution, json_file)
        if before is not None:
            result["notes"] += effect_of_curation(before, result)
        write_text(json_file, json_of_scores(result))
        return Outcome(json_file, True)

    def why():
        return _difference(json_file, evaluation.fitted().made_from())

    inputs = (*evaluation.paths, evaluation.annotations_csv, *evaluation.train.corrections)
    return Task(json_file, why, make, inputs, is_replaced=True)


def _difference(json_file, made_now):
    """Why the scores must be made anew; empty if they are up to date."""
    if not json_file.exists():
        return "it is not there yet"
    try:
        made_before = read_scores(json_file)["made_from"]
    except DataError:
        return "it is damaged"
    except InputError:
        raise InputError(
            f"{json_file} exists and does not hold scores", fix="name another file with --json"
        ) from None
    return ", ".join(changes_in_header(made_before, made_now))


def model_of_scores(json_file):
    """{"model": digest} of the model whose scores a file holds; {} where they are of none."""
    model = read_scores(json_file)["made_from"].get("model")
    return {"model": model} if model else {}


def compare_files(first, second):
    """Compare two files of `flyannot evaluate --json`.

    Returns
    -------
    comparison : dict, as `flyannot.scores.bootstrap.compare_outcomes` returns

    Raises
    ------
    InputError
        If a file is missing, or they have no stage range, term and group in common.
    DataError
        If a file does not hold scores with the values of every group.
    """
    scores = [read_scores(path) for path in (first, second)]
    try:
        comparison = compare_outcomes(*scores)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise DataError(
            f"{first} or {second} is damaged ({error})", fix="make both again with --json"
        ) from error
    if comparison["mean"] is None:
        raise InputError(
            f"{first} and {second} have no term and group in common",
            fix="compare two evaluations of the same data set",
        )
    return comparison


def effect_of_curation(before, now):
    """What other curated terms changed, a list of sentences; both results are as `read_scores` returns them.

    The means are over the terms that were evaluated both times, on the same groups, by the curated terms as
    they are now: a term that is evaluated no longer would raise or lower a plain mean.
    """
    mean, sentences = compare_outcomes(before, now)["mean"], []
    of_results = [{(row["stage_range"], row["term"]): row for row in of["terms"]} for of in (before, now)]
    was, evaluated = ({key for key, row in rows.items() if not row["reason"]} for rows in of_results)
    if mean:
        low, high = mean["interval"] or (np.nan, np.nan)
        sentences.append(
            f"learned with other curated terms: over the same {pluralise(len(was & evaluated), 'term')} and "
            f"genes, the mean AUC was {mean['first']:.3f} and is {mean['second']:.3f} "
            f"({mean['difference']:+.3f}, 95 % interval {low:+.3f} to {high:+.3f})"
        )
    for stage_range, term in sorted(was - evaluated):
        row = of_results[1].get((stage_range, term), {"reason": "no gene with images has it any more"})
        why = row["reason"].removeprefix("not evaluable: ")
        sentences.append(f"warning: no longer evaluated: {term} ({stage_range}): {why}")
    if new := sorted(evaluated - was):
        sentences.append(f"evaluated for the first time: {', '.join(f'{term} ({s})' for s, term in new)}")
    return sentences


def nothing_evaluated(result):
    """The FlyannotError that says what is missing where not one term could be evaluated; None if one was.

    Parameters
    ----------
    result : dict, as `read_scores` returns
    """
    if result["summary"]["all"]["n_terms"]:
        return None
    parts = result["evaluated"].values()
    n_genes = len({gene for part in parts for gene in part["gene"]})
    genes = pluralise(n_genes, "gene is", "genes are")
    most = max((row["n_positive"] for row in result["terms"]), default=0)
    if all(part["fold"] is None for part in parts):
        missing, more = "the model has no term that some of them carry and others lack", ""
    else:
        folds = result["made_from"]["evaluate"]["folds"]
        least = max(folds, result["made_from"]["train"]["min_groups"])
        if most < least:
            wanted = f"and at least {least} genes with a term and {folds} without it are needed"
        else:
            wanted = f"and in {folds} folds too few genes with it, or without it, are left to learn from"
        missing = f"{most} carry the most frequent term, {wanted}"
        more = "; --folds and --min-groups lower what is needed"
    return FlyannotError(
        f"nothing could be evaluated: {genes} annotated, {missing}", fix=_ENOUGH_GENES + more
    )

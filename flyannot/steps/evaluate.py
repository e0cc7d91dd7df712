"""How good are the terms?  Scores of features or of predictions, kept in a JSON file."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from flyannot.classifiers.options import ClassifyOptions
from flyannot.dataset.folder import annotations_table, read_images
from flyannot.errors import DataError, InputError
from flyannot.runtime.atomic_file import write_text
from flyannot.runtime.digest import digest_of_file, digest_of_json
from flyannot.runtime.resources import one_blas_thread
from flyannot.scores.bootstrap import add_confidence
from flyannot.scores.group_outcomes import json_of_scores, read_scores
from flyannot.steps.cross_validate import cross_validate_features, read_pixels
from flyannot.steps.curated_terms import curated_annotations_of, digests_of_curated
from flyannot.steps.engine.file_options import classify_options
from flyannot.steps.engine.inputs import chosen_stage_ranges, open_all, require_known_terms
from flyannot.steps.engine.task import Execution, Outcome, Task
from flyannot.steps.extract import identity_of_extract, in_order
from flyannot.steps.options import EvaluateOptions
from flyannot.steps.retrieval import score_retrieval
from flyannot.steps.score_predictions import score_predictions
from flyannot.store.features import StoredFeatures
from flyannot.store.reading import kind_of_file, open_stored
from flyannot.store.writing import option_changes


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What is evaluated, and how.

    paths : features files (read as if they were one), one predictions file, or with `options.pixels` the
        folder of a data set
    annotations_csv : Path, of the table or of its data set folder
    classify : ClassifyOptions; of predictions only `exclude_terms` is used
    options : EvaluateOptions
    seed : int
    stage_ranges : those to evaluate; () for all
    model : digest of the model file whose scores these are; None if there is none
    """

    paths: tuple
    annotations_csv: Path
    classify: ClassifyOptions = ClassifyOptions()
    options: EvaluateOptions = EvaluateOptions()
    seed: int = 0
    stage_ranges: tuple = ()
    model: str | None = None

    def __post_init__(self):
        object.__setattr__(self, "annotations_csv", annotations_table(self.annotations_csv))


def evaluation_of_model(model, paths, annotations_csv, options, corrections=()):
    """The Evaluation that cross-validates what a model was trained on, by the options and seed it was
    trained with.

    Raises
    ------
    InputError
        If the model was trained on other features, annotations or corrections.
    """
    with open_stored(model, "model") as stored:
        inputs, seed, digest = stored.inputs, stored.seed, stored.digest
        classify = classify_options(stored)
        stage_ranges = tuple(stored.options["classify"]["stage_ranges"])
    annotations_csv = annotations_table(annotations_csv)
    found = {"features": _digests(paths), "corrections": []} | digests_of_curated(
        annotations_csv, corrections
    )
    for role, digests in found.items():
        if sorted(inputs.get(role, [])) != sorted(digests):
            raise InputError(
                f"{model} was trained on other {role}: its scores would not be its own",
                fix=f"name the {role} that it was trained on, or leave out --model",
            )
    classify = replace(classify, corrections=corrections)
    return Evaluation(
        paths=tuple(paths), annotations_csv=annotations_csv, classify=classify, options=options, seed=seed,
        stage_ranges=stage_ranges, model=digest,
    )  # fmt: skip


def evaluate_files(evaluation, execution=None, *, out=None):
    """Score features or predictions against curated terms.

    Parameters
    ----------
    evaluation : Evaluation
    execution : flyannot.steps.engine.task.Execution
    out : Path of the file that gets the scores, beside which a cluster finds what it needs; without one,
        folds are evaluated on this machine

    Returns
    -------
    result : dict, as `flyannot.scores.metrics.score_terms` returns, with `notes` (sentences), `synthetic`
        (whether images were), `evaluated` (what was predicted for every group:
        `flyannot.scores.group_outcomes`),
        `model` (the digest of the model whose scores these are, or None) and `made_from`, the digests of the
        inputs and the options
    """
    paths, options, classify = evaluation.paths, evaluation.options, evaluation.classify
    is_predictions = options.pixels is None and kind_of_file(paths[0]) == "predictions"
    annotations, changes = curated_annotations_of(
        evaluation.annotations_csv, corrections=classify.corrections, roll_up=options.roll_up
    )
    require_known_terms(classify.exclude_terms, annotations, evaluation.annotations_csv)
    if options.retrieval and is_predictions:
        raise InputError(
            f"{paths[0]} holds predictions, and what looks alike is found by features",
            fix="give the features that they were made from, or leave out --retrieval",
        )
    if is_predictions:
        result = score_predictions(paths[0], annotations, classify.exclude_terms, evaluation.stage_ranges)
    else:
        with ExitStack() as stack:
            stack.enter_context(one_blas_thread())
            if options.pixels is None:
                files = stack.enter_context(open_all(paths, "features"))
                chosen = chosen_stage_ranges(files, evaluation.stage_ranges)
                features = {s: StoredFeatures(files, s) for s in chosen}
                loaded = {s: (one.columns, one) for s, one in features.items()}
            else:
                loaded = read_pixels(paths[0], evaluation.stage_ranges, options.pixels)
            result = cross_validate_features(
                loaded,
                annotations,
                classify,
                options,
                seed=evaluation.seed,
                execution=execution or Execution(),
                out=out,
            )
            if options.retrieval and result is not None:
                result["retrieval"] = score_retrieval(loaded, annotations, classify.exclude_terms)
    if result is None:
        raise InputError(
            f"no gene of {paths[0]} is annotated in {evaluation.annotations_csv}",
            fix="check that genes and stage ranges are spelled alike in both",
        )
    result["notes"] += changes
    return add_confidence(result) | {"model": evaluation.model, "made_from": _made_from(evaluation)}


def evaluate_task(evaluation, json_file):
    """The `flyannot.steps.engine.task.Task` of a file of scores."""

    def make(execution):
        write_text(json_file, json_of_scores(evaluate_files(evaluation, execution, out=json_file)))
        return Outcome(json_file, True)

    inputs = (*evaluation.paths, evaluation.annotations_csv, *evaluation.classify.corrections)
    return Task(json_file, lambda: _difference(json_file, _made_from(evaluation)), make, inputs,
                is_replaced=True)  # fmt: skip


def _digests(paths):
    digests = []
    for path in paths:
        with open_stored(path) as stored:
            digests.append(stored.digest)
    return digests


def _made_from(evaluation):
    options = evaluation.options
    if options.pixels is None:
        scored = _digests(evaluation.paths)
    else:
        images = [identity_of_extract(image) for image in in_order(read_images(evaluation.paths[0]))]
        scored = [digest_of_json(images)]
    return {
        "scored": scored,
        **digests_of_curated(evaluation.annotations_csv, evaluation.classify.corrections),
        "classify": evaluation.classify.as_header(),
        "evaluate": options.as_header(),
        "roll_up": [digest_of_file(path) for path in options.roll_up],
        "seed": evaluation.seed,
        "stage_ranges": list(evaluation.stage_ranges),
        "model": evaluation.model,
    }


def _difference(json_file, made_from):
    """Why the scores must be made anew; empty if they are up to date."""
    if not json_file.exists():
        return "it is not there yet"
    try:
        found = read_scores(json_file)["made_from"]
    except DataError:
        return "it is damaged"
    except InputError:
        raise InputError(
            f"{json_file} exists and does not hold scores", fix="name another file with --json"
        ) from None
    return ", ".join(option_changes(found, made_from))

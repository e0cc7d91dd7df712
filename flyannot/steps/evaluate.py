"""How good are the terms?  Scores of features or of predictions, kept in a JSON file."""

import json
import logging

from flyannot.dataset.folder import read_images
from flyannot.errors import InputError
from flyannot.runtime.atomic_file import write_text
from flyannot.runtime.blas_threads import one_blas_thread
from flyannot.runtime.digest import canonical_json, digest_of_file, digest_of_json
from flyannot.scores.bootstrap import with_confidence
from flyannot.scores.group_outcomes import scores_json
from flyannot.steps.cross_validate import Validation, cross_validate_features, read_feature_files, read_pixels
from flyannot.steps.extract import identity, in_order
from flyannot.steps.output import ask, is_dry_run, keep_apart
from flyannot.steps.score_predictions import score_predictions
from flyannot.store.reading import kind_of, open_stored
from flyannot.store.writing import option_changes

log = logging.getLogger("flyannot")


def evaluate_files(
    paths, annotations_csv, options, *, validation=None, stage_ranges=None, json_file=None, pixels=None
):
    """Score features or predictions against curated terms.

    Parameters
    ----------
    paths : list of Path, features files (read as if they were one) or one predictions file
    annotations_csv : Path
    options : flyannot.steps.train.ClassifyOptions; of predictions only `exclude_terms` is used
    validation : Validation
    stage_ranges : the stage ranges to judge; None for all
    pixels : (rows, columns) or None; the path is then that of a data set folder, and its images' grey levels,
        averaged over a grid of cells, are the features
    json_file : Path or None; the result is written there, and taken from there if it is up to date

    Returns
    -------
    result : dict, as `flyannot.scores.metrics.evaluate` returns, with `notes` (sentences), `synthetic`
        (whether images were), `judged` (what was said of every group: `flyannot.scores.group_outcomes`), and
        `made_from`, the digests of the inputs and the options
    """
    validation = validation or Validation()
    if json_file:
        keep_apart(json_file, [*paths, annotations_csv])
    scored = _scored(paths, pixels)
    made_from = _made_from(scored, annotations_csv, options, validation, stage_ranges)
    why = _difference(json_file, made_from)
    if not why:
        log.info("up to date: %s", json_file)
        return json.loads(json_file.read_text())
    if is_dry_run():
        ask(json_file, why)
    if pixels is None and kind_of(paths[0]) == "predictions":
        excluded = options.rows.exclude_terms
        result = score_predictions(paths[0], annotations_csv, excluded, stage_ranges, validation.roll_up)
    else:
        with one_blas_thread():
            if pixels is None:
                loaded = read_feature_files(paths, stage_ranges)
            else:
                loaded = read_pixels(paths[0], stage_ranges, pixels), "mean"
            result = cross_validate_features(loaded, annotations_csv, options, validation, paths[0])
    result = with_confidence(result) | {"made_from": made_from}
    if json_file:
        write_text(json_file, scores_json(result))
    return result


def _scored(paths, pixels):
    """The digests of what is scored."""
    if pixels is not None:
        images = [identity(image) for image in in_order(read_images(paths[0]))]
        return [digest_of_json([images, list(pixels)])]
    digests = []
    for path in paths:
        with open_stored(path) as stored:
            digests.append(stored.digest)
    return digests


def _made_from(scored, annotations_csv, options, validation, stage_ranges):
    return {
        "scored": scored,
        "annotations": digest_of_file(annotations_csv) if annotations_csv.is_file() else None,
        "options": json.loads(canonical_json(options.as_dict())),
        "n_folds": validation.n_folds,
        "seed": validation.seed,
        **({"inner": True} if validation.inner else {}),
        **({"roll_up": [digest_of_file(path) for path in validation.roll_up]} if validation.roll_up else {}),
        "stage_ranges": list(stage_ranges or ()),
    }


def _difference(json_file, made_from):
    """Why the scores must be made anew; empty if they are up to date."""
    if json_file is None or not json_file.exists():
        return "it is not there yet"
    try:
        scores = json.loads(json_file.read_text())
        found = scores["made_from"]
    except (ValueError, KeyError, TypeError, OSError):
        raise InputError(
            f"{json_file} exists and does not hold scores", fix="name another file with --json"
        ) from None
    if "judged" not in scores or not {"ranked_terms", "ece"} <= set(scores["summary"]["all"]):
        return "it was made by an older version, which kept less"
    return ", ".join(option_changes(found, made_from))

"""How good are the terms?  Cross-validation on features, or a held-out test on predictions."""

import json
import logging
from dataclasses import dataclass

import numpy as np

from flyannot.atomic import write_text
from flyannot.confidence import with_confidence
from flyannot.coverage import notes_on_columns
from flyannot.crossval import cross_validate, joined
from flyannot.dataset import read_annotations, read_images
from flyannot.errors import InputError
from flyannot.executor import one_library_thread
from flyannot.folds import folds_of_genes
from flyannot.judged import judged_groups, scores_json
from flyannot.ontology import read_ontology, with_parent_terms
from flyannot.pixels import pixel_features
from flyannot.scores import Outcome, evaluate
from flyannot.selection import select_images
from flyannot.stage_ranges import STAGE_RANGES, rng_for
from flyannot.steps.extract import identity, image_columns, in_order
from flyannot.steps.inputs import chosen_stage_ranges, open_all, require_known_terms
from flyannot.steps.output import ask, is_dry_run, keep_apart
from flyannot.store.digest import canonical_json, digest_of_file, digest_of_json
from flyannot.store.features import read_features
from flyannot.store.predictions import read_predictions
from flyannot.store.reading import kind_of, open_stored
from flyannot.store.writing import option_changes
from flyannot.training_set import annotated_groups, training_set

log = logging.getLogger("flyannot")


@dataclass(frozen=True)
class Validation:
    """How features are cross-validated.  `jobs` does not change the result.

    roll_up: OBO files; a gene that has a term then has all its parents among the terms too.
    inner: judge within the training genes of every fold, so that nothing is chosen by the folds that test.
    """

    n_folds: int = 5
    seed: int = 0
    jobs: int = 1
    inner: bool = False
    roll_up: tuple = ()


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
    result : dict, as `flyannot.scores.evaluate` returns, with `notes` (sentences), `synthetic`
        (whether images were), `judged` (what was said of every group: `flyannot.judged`), and
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
        result = _score_predictions(paths[0], annotations_csv, excluded, stage_ranges, validation.roll_up)
    else:
        with one_library_thread():
            if pixels is None:
                loaded = _read_features(paths, stage_ranges)
            else:
                loaded = _read_pixels(paths[0], stage_ranges, pixels), "mean"
            result = _cross_validate(loaded, annotations_csv, options, validation, paths[0])
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


def _read_features(paths, stage_ranges):
    """Columns, features and patch counts by stage range, and how the features were pooled."""
    with open_all(paths, "features") as files:
        chosen = chosen_stage_ranges(files, stage_ranges)
        return {s: read_features(files, s) for s in chosen}, files[0].options["pooling"]


def _read_pixels(data_set, stage_ranges, grid):
    """As `_read_features`, of the grey levels of images; each counts as one patch."""
    images = select_images(in_order(read_images(data_set)), stage_ranges=stage_ranges or ())
    loaded = {}
    for s in STAGE_RANGES:
        mine = [image for image in images if image.stage_range == s]
        if mine:
            X = pixel_features([image.path for image in mine], grid)
            columns = image_columns(mine) | {"source": [image.source for image in mine]}
            loaded[s] = columns, X, np.ones((len(mine), 1), np.int32)
    return loaded


def _cross_validate(loaded, annotations_csv, options, validation, path):
    """Split by gene over all stage ranges at once."""
    annotations, seed = _annotations(annotations_csv, validation.roll_up), validation.seed
    require_known_terms(options.rows.exclude_terms, annotations, annotations_csv)
    loaded, pooling = loaded
    sets = {s: training_set(loaded[s], annotations, s, options.rows, pooling=pooling) for s in loaded}
    sets = {s: found for s, found in sets.items() if len(found)}
    if not sets:
        raise _nothing_annotated(path, annotations_csv)
    genes = sorted({gene for found in sets.values() for gene in found.genes})
    folds = folds_of_genes(genes, validation.n_folds, np.random.default_rng(seed))
    judge = _judge_inside if validation.inner else _judge
    outcomes, members = judge(sets, folds, options, validation)
    covered = notes_on_columns({s: columns for s, (columns, *_) in loaded.items()}, annotations)
    how = "within the training genes of each fold of a" if validation.inner else "a"
    notes = [
        f"{how} {validation.n_folds}-fold cross-validation, split by gene over all stage ranges: "
        f"{len(genes)} genes",
        *covered,
    ]
    judged = {
        s: judged_groups(
            o, [sets[s].groups.name[g] for g in members[s]], [sets[s].groups.gene_ids[g] for g in members[s]]
        )
        for s, o in outcomes.items()
    }
    return evaluate(outcomes) | {"notes": notes, "synthetic": _is_synthetic(loaded), "judged": judged}


def _judge(sets, folds, options, validation):
    """The outcome of every stage range, and the numbers of its groups in the outcome's order."""
    outcomes = {
        s: cross_validate(
            found,
            folds=folds,
            rng=rng_for(validation.seed, s),
            method=options.method,
            options=options.trainer(validation.jobs),
        )
        for s, found in sets.items()
    }
    return outcomes, {s: np.arange(len(found.groups)) for s, found in sets.items()}


def _judge_inside(sets, folds, options, validation):
    """As `_judge`, once within the training genes of every fold; the genes of the fold take no part."""
    parts, members = {s: [] for s in sets}, {s: [] for s in sets}
    for fold in range(validation.n_folds):
        training = [gene for gene, of_gene in folds.items() if of_gene != fold]
        inner = folds_of_genes(training, validation.n_folds, np.random.default_rng([validation.seed, fold]))
        inside = {s: found.of_genes(inner) for s, found in sets.items()}
        inside = {s: found for s, found in inside.items() if len(found)}
        outcomes, _ = _judge(inside, inner, options, validation)
        for s, outcome in outcomes.items():
            parts[s].append(outcome)
            members[s] += [sets[s].groups.name.index(name) for name in inside[s].groups.name]
    return {s: joined(found) for s, found in parts.items() if found}, members


def _score_predictions(path, annotations_csv, excluded, stage_ranges, roll_up=()):
    """A held-out test, if the genes are new to the model; a note says so if they are not."""
    annotations = _annotations(annotations_csv, roll_up)
    require_known_terms(excluded, annotations, annotations_csv)
    outcomes, judged, seen, total, columns = {}, {}, 0, 0, {}
    with open_stored(path, "predictions") as stored:
        for stage_range in chosen_stage_ranges([stored], stage_ranges):
            groups, predicted = read_predictions(stored, stage_range)
            columns[stage_range] = ({"source": stored.array(stage_range, "source")},)
            kept, carried = annotated_groups(groups, annotations, stage_range)
            rows = [groups.name.index(name) for name in kept.name]
            seen, total = seen + int(predicted.in_training[rows].sum()), total + len(rows)
            if rows:
                outcome = outcomes[stage_range] = _held_out(predicted, rows, carried)
                judged[stage_range] = judged_groups(outcome, kept.name, kept.gene_ids)
    if not outcomes:
        raise _nothing_annotated(path, annotations_csv)
    notes = [f"predictions of a model on {total} annotated groups"]
    if seen:
        notes.append(f"warning: the model learned from the genes of {seen} of them; these scores flatter it")
    more = {"notes": notes, "synthetic": _is_synthetic(columns), "judged": judged}
    return evaluate(outcomes, excluded=excluded) | more


def _annotations(annotations_csv, roll_up):
    annotations = read_annotations(annotations_csv)
    return with_parent_terms(annotations, read_ontology(*roll_up)) if roll_up else annotations


def _nothing_annotated(path, annotations_csv):
    return InputError(
        f"no gene of {path} is annotated in {annotations_csv}",
        fix="check that genes and stage ranges are spelled alike in both",
    )


def _held_out(predicted, rows, carried):
    """The outcome of one stage range; annotated terms that the model does not know are listed too."""
    unknown = sorted(set().union(*carried) - set(predicted.terms))
    terms = (*predicted.terms, *unknown)
    truth = np.array([[t in carries for t in terms] for carries in carried], bool)
    blank = np.zeros((len(rows), len(unknown)))
    return Outcome(
        terms=terms,
        truth=truth,
        values=np.hstack([predicted.decision_value[rows], blank]),
        yes=np.hstack([predicted.yes[rows], blank]).astype(bool),
        probabilities=np.hstack([predicted.probability[rows], blank]),
        reasons=("",) * len(predicted.terms) + ("the model does not know this term",) * len(unknown),
    )


def _is_synthetic(loaded):
    return any("synthetic" in columns["source"] for columns, *_ in loaded.values())

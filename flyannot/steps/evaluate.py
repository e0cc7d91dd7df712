"""How good are the terms?  Cross-validation on features, or a held-out test on predictions."""

from contextlib import ExitStack

import numpy as np

from flyannot.crossval import cross_validate
from flyannot.dataset import read_annotations
from flyannot.errors import InputError
from flyannot.folds import folds_of_genes
from flyannot.scores import Outcome, evaluate
from flyannot.stage_ranges import STAGE_RANGES, rng_for
from flyannot.steps.learn_dict import chosen_stage_ranges, the_same
from flyannot.store.features import read_features
from flyannot.store.predictions import read_predictions
from flyannot.store.reading import open_stored
from flyannot.training_set import annotated_groups, training_set


def evaluate_features(paths, annotations_csv, options, *, n_folds=5, seed=0, stage_ranges=None, jobs=1):
    """Cross-validate, split by gene over all stage ranges at once.

    Parameters
    ----------
    paths : list of Path of features files, read as if they were one
    annotations_csv : Path
    options : flyannot.steps.train.ClassifyOptions
    n_folds : int >= 2
    seed : int
    stage_ranges : the stage ranges to judge; None for all that the features have

    Returns
    -------
    result : dict, as `flyannot.scores.evaluate` returns, with `notes`, a list of sentences
    """
    annotations = read_annotations(annotations_csv)
    with ExitStack() as stack:
        files = [stack.enter_context(open_stored(path, "features")) for path in paths]
        chosen = chosen_stage_ranges(files, stage_ranges)
        pooling = the_same(files, "options")["pooling"]
        loaded = {s: read_features(files, s) for s in chosen}
    sets = {
        s: training_set(loaded[s], annotations, s, options.rows, pooling=pooling) for s in chosen
    }
    sets = {s: found for s, found in sets.items() if len(found.groups)}
    if not sets:
        raise InputError(
            f"no gene of {paths[0]} is annotated in {annotations_csv}",
            fix="check that genes and stage ranges are spelled alike in both",
        )
    genes = sorted({gene for found in sets.values() for gene in found.genes})
    folds = folds_of_genes(genes, n_folds, np.random.default_rng(seed))
    outcomes = {
        s: _with_left_out(found, cross_validate(
            found.X, found.Y, found.genes, terms=found.terms, folds=folds, rng=rng_for(seed, s),
            bags=found.bags, options=options.trainer(jobs),
        ))
        for s, found in sets.items()
    }  # fmt: skip
    notes = [f"{n_folds}-fold cross-validation, split by gene over all stage ranges: {len(genes)} genes"]
    return evaluate(outcomes) | {"notes": notes + _synthetic(loaded)}


def evaluate_predictions(path, annotations_csv, *, excluded=(), stage_ranges=None):
    """Score the predictions of a model on annotated groups: a held-out test if their genes are new.

    Returns
    -------
    result : as `evaluate_features`
    """
    annotations = read_annotations(annotations_csv)
    outcomes, seen, total, columns = {}, 0, 0, {}
    with open_stored(path, "predictions") as stored:
        for stage_range in chosen_stage_ranges([stored], stage_ranges):
            groups, predicted = read_predictions(stored, stage_range)
            columns[stage_range] = ({"source": stored.array(stage_range, "source")},)
            kept, carried = annotated_groups(groups, annotations, stage_range)
            rows = [groups.name.index(name) for name in kept.name]
            seen, total = seen + int(predicted.in_training[rows].sum()), total + len(rows)
            if rows:
                outcomes[stage_range] = _held_out(predicted, rows, carried)
    if not outcomes:
        raise InputError(
            f"no gene of {path} is annotated in {annotations_csv}",
            fix="check that genes and stage ranges are spelled alike in both",
        )
    notes = [f"predictions of a model on {total} annotated groups"]
    if seen:
        notes.append(f"warning: the model learned from the genes of {seen} of them; these scores flatter it")
    return evaluate(outcomes, excluded=excluded) | {"notes": notes + _synthetic(columns)}


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


def _with_left_out(found, outcome):
    """The outcome with columns for the terms that took no part, so that they are listed with a reason."""
    left = list(found.reasons)
    n_groups = len(outcome.truth)
    blank = np.zeros((n_groups, len(left)))
    marks = np.zeros((n_groups, len(left)), bool)
    for j, term in enumerate(left):
        marks[: found.n_positive[term], j] = True  # only their number is read: the term has a reason
    probability = outcome.probabilities
    return Outcome(
        terms=(*outcome.terms, *left),
        truth=np.hstack([outcome.truth, marks]),
        values=np.hstack([outcome.values, blank]),
        yes=np.hstack([outcome.yes, marks]),
        folds=outcome.folds,
        probabilities=None if probability is None else np.hstack([probability, blank]),
        reasons=(*(outcome.reasons or ("",) * len(outcome.terms)), *found.reasons.values()),
    )


def _synthetic(loaded):
    sources = {source for columns, *_ in loaded.values() for source in columns["source"]}
    return ["the images are SYNTHETIC; these scores say nothing about real embryos"] if "synthetic" in sources else []


def scored_stage_ranges(result):
    """The stage ranges of a result, in the order of development."""
    return [s for s in STAGE_RANGES if s in result["summary"]]

"""Cross-validation on features, split by gene over all stage ranges at once."""

import logging
from dataclasses import replace

import numpy as np

from flyannot.classifiers.cross_validation import cross_validate, joined_outcomes
from flyannot.classifiers.folds import folds_of_genes
from flyannot.classifiers.training_set import training_set
from flyannot.dataset.coverage import notes_on_columns
from flyannot.dataset.folder import read_images
from flyannot.dataset.selection import select_images
from flyannot.features.pixel_baseline import pixel_features
from flyannot.scores.group_outcomes import group_outcomes
from flyannot.scores.metrics import evaluate
from flyannot.stage_ranges import STAGE_RANGES, rng_for
from flyannot.steps.count import Count
from flyannot.steps.curated_terms import is_synthetic
from flyannot.steps.elsewhere import elsewhere
from flyannot.steps.extract import image_columns, in_order
from flyannot.steps.inputs import chosen_stage_ranges, open_all
from flyannot.store.features import read_features

log = logging.getLogger("flyannot")


def read_feature_files(paths, stage_ranges):
    """Columns and features by stage range."""
    with open_all(paths, "features") as files:
        return {s: read_features(files, s) for s in chosen_stage_ranges(files, stage_ranges)}


def read_pixels(data_set, stage_ranges, grid):
    """As `read_feature_files`, of the grey levels of images."""
    images = select_images(in_order(read_images(data_set)), stage_ranges=stage_ranges or ())
    loaded = {}
    for s in STAGE_RANGES:
        mine = [image for image in images if image.stage_range == s]
        if mine:
            X = pixel_features([image.path for image in mine], grid)
            columns = image_columns(mine) | {"source": [image.source for image in mine]}
            loaded[s] = columns, X
    return loaded


def cross_validate_features(loaded, annotations, options, evaluation, *, seed, execution, out=None):
    """Split by gene over all stage ranges at once.

    Parameters
    ----------
    loaded : dict, stage range -> (columns, features)
    annotations : flyannot.dataset.folder.Annotations
    options : flyannot.classifiers.options.ClassifyOptions
    evaluation : flyannot.steps.options.EvaluateOptions
    execution : flyannot.steps.tasks.Execution
    out : as of `flyannot.steps.evaluate.evaluate_files`

    Returns
    -------
    result : dict, as `flyannot.scores.metrics.evaluate` returns, with `notes`, `synthetic` and `evaluated`;
        None if no gene is annotated
    """
    sets = {
        s: training_set(columns, features, annotations, s, options)
        for s, (columns, features) in loaded.items()
    }
    sets = {s: found for s, found in sets.items() if len(found)}
    covered = notes_on_columns({s: columns for s, (columns, _) in loaded.items()}, annotations)
    if not sets:
        for note in covered:
            log.info("note: %s", note)
        return None
    genes = sorted({gene for found in sets.values() for gene in found.genes})
    if len(genes) < evaluation.folds:
        sets, folds, validate = _without_any(sets, evaluation.folds), dict.fromkeys(genes, 0), _plain
    else:
        folds = folds_of_genes(genes, evaluation.folds, np.random.default_rng(seed))
        validate = _nested if evaluation.nested else _plain
    n_terms = sum(len(found.terms) for found in sets.values()) * evaluation.folds
    count = Count(execution.progress, n_terms * (evaluation.folds if evaluation.nested else 1), "term")
    fit_options = options.fit_options(
        execution.jobs, on_terms=count.add, elsewhere=elsewhere(execution.workers, out)
    )
    outcomes, members = validate(sets, folds, options.method, fit_options, seed=seed)
    count.finish()
    how = "nested: within the training genes of each fold of a" if evaluation.nested else "a"
    notes = [
        f"{how} {evaluation.folds}-fold cross-validation, split by gene over all stage ranges: "
        f"{len(genes)} genes",
        *covered,
    ]
    evaluated = {
        s: group_outcomes(
            o, [sets[s].groups.name[g] for g in members[s]], [sets[s].genes[g] for g in members[s]]
        )
        for s, o in outcomes.items()
    }
    more = {"notes": notes, "synthetic": is_synthetic(c for c, _ in loaded.values()), "evaluated": evaluated}
    return evaluate(outcomes) | more


def _without_any(sets, n_folds):
    """The same with a reason for every term: there are fewer genes than folds."""
    too_few = f"not evaluable: fewer genes than {n_folds} folds"
    return {s: replace(one, reasons=[why or too_few for why in one.reasons]) for s, one in sets.items()}


def _plain(sets, folds, method, options, *, seed):
    """The outcome of every stage range, and the numbers of its groups in the outcome's order."""
    outcomes = {
        s: cross_validate(found, folds=folds, rng=rng_for(seed, s), method=method, options=options)
        for s, found in sets.items()
    }
    return outcomes, {s: np.arange(len(found.groups)) for s, found in sets.items()}


def _nested(sets, folds, method, options, *, seed):
    """As `_plain`, once within the training genes of every fold; the genes of the fold take no part."""
    parts, members = {s: [] for s in sets}, {s: [] for s in sets}
    n_folds = max(folds.values()) + 1
    for fold in range(n_folds):
        training = [gene for gene, of_gene in folds.items() if of_gene != fold]
        inner = folds_of_genes(training, n_folds, np.random.default_rng([seed, fold]))
        inside = {s: found.of_genes(inner) for s, found in sets.items()}
        inside = {s: found for s, found in inside.items() if len(found)}
        outcomes, _ = _plain(inside, inner, method, options, seed=seed)
        for s, outcome in outcomes.items():
            parts[s].append(outcome)
            members[s] += [sets[s].groups.name.index(name) for name in inside[s].groups.name]
    return {s: joined_outcomes(found) for s, found in parts.items() if found}, members

"""Cross-validation on features, split by gene over all stage ranges at once."""

import logging
from dataclasses import replace

import numpy as np

from flyannot.classifiers.cross_validation import cross_validate, joined_outcomes
from flyannot.classifiers.folds import folds_of_genes
from flyannot.classifiers.training_set import curated_groups
from flyannot.dataset.coverage import notes_on_columns
from flyannot.dataset.folder import read_images
from flyannot.dataset.selection import select_images
from flyannot.features.groups import HeldFeatures
from flyannot.features.pixel_baseline import pixel_features
from flyannot.runtime.dask_cluster import cluster_runner
from flyannot.scores.group_outcomes import group_outcomes
from flyannot.scores.metrics import score_terms
from flyannot.stage_ranges import STAGE_RANGES, rng_for
from flyannot.steps.curated_terms import is_synthetic
from flyannot.steps.engine.count import Count
from flyannot.steps.extract import image_columns, in_order

log = logging.getLogger("flyannot")


def read_pixels(data_set, stage_ranges, grid):
    """The grey levels of images: columns and features by stage range."""
    images = select_images(in_order(read_images(data_set)), stage_ranges=stage_ranges or ())
    loaded = {}
    for s in STAGE_RANGES:
        mine = [image for image in images if image.stage_range == s]
        if mine:
            X = pixel_features([image.address for image in mine], grid)
            loaded[s] = image_columns(mine), HeldFeatures(X)
    return loaded


def cross_validate_features(loaded, annotations, options, evaluation, *, seed, execution, out=None):
    """Split by gene over all stage ranges at once.

    Parameters
    ----------
    loaded : dict, stage range -> (image columns, features as
        `flyannot.features.groups.pooled_columns` takes them); the features of one at a time are looked at
    annotations : flyannot.dataset.folder.Annotations
    options : flyannot.classifiers.options.ClassifyOptions
    evaluation : flyannot.steps.options.EvaluateOptions
    execution : flyannot.steps.engine.task.Execution
    out : as of `flyannot.steps.evaluate.evaluate_files`

    Returns
    -------
    result : dict, as `flyannot.scores.metrics.score_terms` returns, with `notes`, `synthetic` and
        `evaluated`; None if no gene is annotated
    """
    curated = {s: curated_groups(columns, annotations, s, options) for s, (columns, _) in loaded.items()}
    curated = {s: found for s, found in curated.items() if len(found)}
    covered = notes_on_columns({s: columns for s, (columns, _) in loaded.items()}, annotations)
    if not curated:
        for note in covered:
            log.info("note: %s", note)
        return None
    genes = sorted({gene for found in curated.values() for gene in found.groups.gene_ids})
    if len(genes) < evaluation.folds:
        curated, folds, validate = _without_any(curated, evaluation.folds), dict.fromkeys(genes, 0), _plain
    else:
        folds = folds_of_genes(genes, evaluation.folds, np.random.default_rng(seed))
        validate = _nested if evaluation.nested else _plain
    n_terms = sum(len(found.terms) for found in curated.values()) * evaluation.folds
    count = Count(execution.progress, n_terms * (evaluation.folds if evaluation.nested else 1), "term")
    fit_options = options.fit_options(
        execution.jobs, on_terms=count.add, elsewhere=cluster_runner(execution.workers, out)
    )
    outcomes, evaluated = {}, {}
    for s, found in curated.items():
        rows = found.training_set(loaded[s][1], options, execution.jobs)
        outcomes[s], members = validate(rows, s, folds, options.method, fit_options, seed=seed)
        names = [[column[g] for g in members] for column in (found.groups.name, rows.genes)]
        evaluated[s] = group_outcomes(outcomes[s], *names)
    count.finish()
    how = "nested: within the training genes of each fold of a" if evaluation.nested else "a"
    notes = [
        f"{how} {evaluation.folds}-fold cross-validation, split by gene over all stage ranges: "
        f"{len(genes)} genes",
        *covered,
    ]
    more = {"notes": notes, "synthetic": is_synthetic(c for c, _ in loaded.values()), "evaluated": evaluated}
    return score_terms(outcomes) | more


def _without_any(curated, n_folds):
    """The same with a reason for every term: there are fewer genes than folds."""
    too_few = f"not evaluable: fewer genes than {n_folds} folds"
    return {s: replace(one, reasons=[why or too_few for why in one.reasons]) for s, one in curated.items()}


def _plain(rows, stage_range, folds, method, options, *, seed):
    """The outcome of a stage range, and the numbers of its groups in the outcome's order."""
    rng = rng_for(seed, stage_range)
    outcome = cross_validate(rows, folds=folds, rng=rng, method=method, options=options)
    return outcome, np.arange(len(rows))


def _nested(rows, stage_range, folds, method, options, *, seed):
    """As `_plain`, once within the training genes of every fold; the genes of the fold take no part."""
    parts, members, n_folds = [], [], max(folds.values()) + 1
    number = {name: g for g, name in enumerate(rows.groups.name)}
    for fold in range(n_folds):
        training = [gene for gene, of_gene in folds.items() if of_gene != fold]
        inner = folds_of_genes(training, n_folds, np.random.default_rng([seed, fold]))
        inside = rows.of_genes(inner)
        if len(inside):
            parts.append(_plain(inside, stage_range, inner, method, options, seed=seed)[0])
            members += [number[name] for name in inside.groups.name]
    return joined_outcomes(parts), members

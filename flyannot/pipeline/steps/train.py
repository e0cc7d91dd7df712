"""From features.h5 and annotations.csv to model.h5."""

import logging
from dataclasses import replace

import numpy as np

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import stage_range_rng
from flyannot.base.text import pluralise
from flyannot.dataset.folder import coverage_notes_from_columns
from flyannot.dataset.paths import find_annotation_table
from flyannot.files.hdf5.dictionary import read_dictionary
from flyannot.files.hdf5.features import StoredFeatures
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.model import BASE_MODEL, write_model
from flyannot.files.hdf5.writing import create_stored_file
from flyannot.jobs.resources import limit_blas_threads
from flyannot.pipeline.engine.inputs import (
    choose_stage_ranges,
    curated_digests,
    digests_by_path,
    open_compatible,
    read_curated_annotations,
    refuse_unknown_excluded_terms,
)
from flyannot.pipeline.engine.task import FileTask, Outcome, ProgressCount
from flyannot.pipeline.models.loaded_model import StageRangeModel, adapted_options, load_base_models
from flyannot.terms.adaptation import Adapter
from flyannot.terms.answers import describe_weak_terms, model_terms
from flyannot.terms.model import empty_model, fit_model, untrainable_reason
from flyannot.terms.scorer import FitOptions, list_observed_rows
from flyannot.terms.training_set import build_training_set, default_min_groups, observed_terms
from flyannot.terms.unlikeness import NoveltyReference

log = logging.getLogger("flyannot")


def build_task(request):
    """Build the Task that trains models, for a StepRequest of `flyannot train`."""
    (annotations,) = request.inputs["annotations"]
    more = {"seed": request.seed, "stage_ranges": request.selection.stage_range}
    return train_task(request.inputs["features"], annotations, request.out, request.options, **more)


def train_task(paths, annotations_csv, out, options, *, seed=0, stage_ranges=None):
    """Build the task that trains one model per stage range.

    Parameters
    ----------
    paths : list of Path of features files, which count as one
    annotations_csv : Path of the table or of its data set folder
    out : Path of the model file
    options : TrainOptions
    seed : int
    stage_ranges : the stage ranges to train; None for all in the features

    Returns
    -------
    task : Task; it raises an InputError if no term of any stage range can be trained
    """
    annotations_csv = find_annotation_table(annotations_csv)
    options = adapted_options(options)
    with open_compatible(paths, "features") as files:
        annotations, changes = read_curated_annotations(annotations_csv, corrections=options.corrections)
        refuse_unknown_excluded_terms(options.exclude_terms, annotations, annotations_csv)
        chosen = choose_stage_ranges(files, stage_ranges)
        if options.min_groups is None:
            columns = {s: StoredFeatures(files, s).columns for s in chosen}
            enough = default_min_groups(columns, annotations, options.exclude_terms)
            options = replace(options, min_groups=enough)
        digests = digests_by_path(files)
        made_with = files[0].options | {"train": options.to_header() | {"stage_ranges": chosen}}
        made_of = {"features": list(digests.values())}
        made_of |= curated_digests(annotations_csv, options.corrections)
        base, _ = load_base_models(options.adapt, files)
        made_of |= {BASE_MODEL: base} if base else {}
        header = Header("model", made_with, made_of, seed)

    def make(execution):
        for sentence in changes:
            log.info("note: %s", sentence)
        with open_compatible(paths, "features", digests=digests) as files:
            _, bases = load_base_models(options.adapt, files)
            trained = _train(files, annotations, chosen, options, seed, execution, bases)
            if not any(learned.terms for learned in trained.values()):
                raise InputError(
                    f"no term can be trained from {annotations_csv} and {paths[0]}",
                    fix="lower min-groups, or check that genes are spelled alike in both",
                )
            with create_stored_file(out, header) as file:
                for s, learned in trained.items():
                    first = next((file for file in files if s in file.stage_ranges), None)
                    D = read_dictionary(first, s) if s in chosen else bases[s].encoder.D
                    model = learned.model
                    known = learned.known.arrays() if learned.known else {}
                    of_model = model.method, model.arrays(), learned.train_genes
                    write_model(file, s, D, learned.terms, *of_model, known)
        for s, learned in trained.items():
            if weak := describe_weak_terms(model_terms(learned.terms, learned.model)):
                log.warning("warning: %s: %s. Which: flyannot show %s", s, weak, out)
        summary = [
            f"{s:>5}: {pluralise(len(one.terms), 'term')} from {pluralise(len(one.train_genes), 'gene')}"
            for s, one in trained.items()
        ]
        return Outcome(out, True, "\n".join(summary))

    made_from = [*paths, annotations_csv, *options.corrections, *filter(None, [options.adapt])]
    return FileTask(out, header, make, made_from)


def _train(files, annotations, stage_ranges, options, seed, execution, bases):
    """Train the models of all stage ranges, with the features of one stage range at a time in memory.

    Parameters
    ----------
    files : list of StoredFile of features
    annotations : Annotations
    stage_ranges : list of str
    options : TrainOptions
    seed : int
    execution : Execution
    bases : dict, stage range -> StageRangeModel to adapt

    Returns
    -------
    trained : dict, stage range -> StageRangeModel, also of stage ranges that only the model to adapt has
    """
    features = {s: StoredFeatures(files, s) for s in stage_ranges}
    columns = {s: stored.columns for s, stored in features.items()}
    for note in coverage_notes_from_columns(columns, annotations):
        log.info("note: %s", note)
    curated = {s: build_training_set(of_range, annotations, s, options) for s, of_range in columns.items()}
    n_terms = sum(len(groups.terms) for groups in curated.values())
    count = ProgressCount(execution.progress, n_terms, "term")
    fit_options = FitOptions.of_training(options, execution.jobs, on_terms=count.add)
    with limit_blas_threads():
        trained = {
            s: _train_stage_range(groups, features[s], options, fit_options, stage_range_rng(seed, s))
            for s, groups in curated.items()
            if s not in bases
        }
        for s, base in bases.items():
            trained[s] = base
            if s in curated and len(curated[s]):
                observed = observed_terms(curated[s].groups, annotations, s, base.terms)
                more = options, fit_options, stage_range_rng(seed, s)
                trained[s] = _adapt_stage_range(base, curated[s], observed, features[s], *more)
    count.finish()
    return trained


def _train_stage_range(curated, features, options, fit_options, rng):
    """Train the model of one stage range, and return a StageRangeModel.

    Parameters
    ----------
    curated : TrainingSet
    features : StoredFeatures
    options : TrainOptions
    fit_options : FitOptions
    rng : numpy Generator
    """
    genes = frozenset(curated.groups.gene_ids)
    kept = _trainable_terms(curated)
    if not kept:
        known = _known_images(features, curated.groups, rng)
        return StageRangeModel(None, [], empty_model(features.shape[1]), genes, known, options)
    fit_options.on_terms(len(curated.terms) - len(kept))
    rows = curated.with_features(features, options, fit_options.n_threads)
    known = {"genes": rows.genes, "observed": rows.observed[:, kept]}
    model = fit_model(options.method, rows.X, rows.Y[:, kept], **known, rng=rng, options=fit_options)
    model = replace(model, scorer=rows.in_features(model.scorer))
    # This comes after the fit, so that the fit draws the same random numbers as in earlier versions.
    known = _known_images(features, curated.groups, rng)
    return StageRangeModel(None, [curated.terms[j] for j in kept], model, genes, known, options)


def _trainable_terms(curated):
    """Return the numbers of the terms of a TrainingSet that can be trained."""
    genes = np.asarray(curated.groups.gene_ids)
    return [
        j
        for j, rows in enumerate(list_observed_rows(curated.observed))
        if not curated.reasons[j] and not untrainable_reason(curated.Y[rows, j], genes[rows])
    ]


def _adapt_stage_range(base, curated, observed, features, options, fit_options, rng):
    """Adapt the model of one stage range to curated terms, and return a StageRangeModel.

    It has all terms of the model that is adapted, and then those that only the curated groups have.  Unusual
    images are recognised by the training images of the model that is adapted.

    Parameters
    ----------
    base : StageRangeModel to adapt
    curated : TrainingSet
    observed : bool array (n_groups, n_base_terms), True where it is known whether a group has a term
    features, options, fit_options, rng : as in `_train_stage_range`
    """
    column = {term: j for j, term in enumerate(curated.terms)}
    added = [j for j in _trainable_terms(curated) if curated.terms[j] not in base.terms]
    terms = [*base.terms, *(curated.terms[j] for j in added)]
    blank = np.zeros(len(curated), bool)
    Y = np.column_stack([curated.Y[:, column[term]] if term in column else blank for term in terms])
    is_excluded = np.isin(base.terms, options.exclude_terms)
    observed = np.hstack([observed & ~is_excluded, curated.observed[:, added]])
    fit_options.on_terms(len(curated.terms) - len(terms))
    adapter = Adapter(base.model, base.terms)
    rows = curated.with_logits(adapter, features, options, fit_options.n_threads)
    more = {"terms": terms, "observed": observed, "rng": rng, "options": fit_options}
    model = adapter.in_features(adapter.fit(rows.X, Y & observed, rows.genes, **more), rows.in_features)
    return replace(base, terms=terms, model=model, train_genes=base.train_genes.union(rows.genes))


def _known_images(features, groups, rng):
    """Return the NoveltyReference of the images of some groups.

    features : StoredFeatures of all images; groups : Groups; rng : numpy Generator
    """
    genes = [""] * len(features)
    for gene, images in zip(groups.gene_ids, groups.rows):
        for i in images:
            genes[i] = gene
    learned_from = np.flatnonzero(genes)
    blocks = features.iterate_blocks()
    return NoveltyReference.from_images(blocks, learned_from, genes, features.columns["view"], rng)

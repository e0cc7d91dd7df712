"""From features.h5 and annotations.csv to model.h5."""

import logging
from dataclasses import replace

import numpy as np

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import stage_range_rng
from flyannot.base.text import pluralise
from flyannot.dataset.folder import coverage_notes_from_columns
from flyannot.files.hdf5.dictionary import read_dictionary
from flyannot.files.hdf5.features import StoredFeatures
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.model import BASE_MODEL, write_model
from flyannot.files.hdf5.writing import create_stored_file
from flyannot.jobs.resources import limit_blas_threads
from flyannot.pipeline.engine.curated_terms import CuratedTerms
from flyannot.pipeline.engine.inputs import choose_stage_ranges, digests_by_path, open_compatible
from flyannot.pipeline.engine.task import FileTask, Outcome, ProgressCount
from flyannot.pipeline.models.loaded_model import StageRangeModel, adapted_options, load_base_models
from flyannot.terms.adaptation import MOST_VALUES, Adaptation, TrainingRows
from flyannot.terms.answers import describe_weak_terms, model_terms
from flyannot.terms.folds import split_by_gene
from flyannot.terms.model import empty_model, fit_model
from flyannot.terms.scorer import FitOptions
from flyannot.terms.training_set import build_training_set, default_min_groups, trainable_terms, training_rows
from flyannot.terms.unlikeness import NoveltyReference

log = logging.getLogger("flyannot")


def build_task(request):
    """Build the Task that trains models, for a StepRequest of `flyannot train`."""
    (annotations,) = request.inputs["annotations"]
    selection = request.selection
    curated = request.curated or CuratedTerms(annotations, request.options.corrections, selection.columns)
    more = {"seed": request.seed, "stage_ranges": selection.stage_range}
    return ModelTask(request.inputs["features"], curated, request.out, request.options, **more)


class ModelTask(FileTask):
    """The task that trains one model per stage range.

    It raises an InputError if no term of any stage range can be trained.

    Parameters
    ----------
    paths : list of Path of features files, which count as one
    curated : CuratedTerms, with the corrections of the options
    out : Path of the model file
    options : TrainOptions
    seed : int
    stage_ranges : the stage ranges to train; None for all in the features
    """

    def __init__(self, paths, curated, out, options, *, seed=0, stage_ranges=None):
        options = adapted_options(options)
        files = open_compatible(paths, "features")
        curated.require_known(options.exclude_terms)
        chosen = choose_stage_ranges(files, stage_ranges)
        if options.min_groups is None:
            columns = {s: StoredFeatures(files, s).columns for s in chosen}
            enough = default_min_groups(columns, curated.annotations, options.exclude_terms)
            options = replace(options, min_groups=enough)
        self._digests = digests_by_path(files)
        base, _ = load_base_models(options.adapt, files)
        made_with = files[0].options | {"train": options.to_header() | {"stage_ranges": chosen}}
        made_of = {"features": list(self._digests.values())} | curated.digests
        made_of |= {BASE_MODEL: base} if base else {}
        self._curated, self._options, self._stage_ranges = curated, options, chosen
        inputs = [*paths, curated.table, *options.corrections, *filter(None, [options.adapt])]
        super().__init__(out, Header("model", made_with, made_of, seed), inputs)

    def make(self, execution):
        for sentence in self._curated.changes:
            log.info("note: %s", sentence)
        files = open_compatible(self._digests, "features", digests=self._digests)
        _, bases = load_base_models(self._options.adapt, files)
        trained = self._train(files, bases, execution)
        if not any(learned.terms for learned in trained.values()):
            raise InputError(
                f"no term can be trained from {self._curated.source} and {files[0].path}",
                fix="lower min-groups, or check that genes are spelled alike in both",
            )
        with create_stored_file(self.path, self._header) as file:
            for s, learned in trained.items():
                first = next((file for file in files if s in file.stage_ranges), None)
                is_new = s in self._stage_ranges
                D = read_dictionary(first, s) if is_new else bases[s].encoder.D
                model = learned.model
                known = learned.known.arrays() if learned.known else {}
                of_model = model.method, model.arrays(), learned.train_genes
                write_model(file, s, D, learned.terms, *of_model, known, learned.rows and vars(learned.rows))
        for s, learned in trained.items():
            if weak := describe_weak_terms(model_terms(learned.terms, learned.model)):
                log.warning("warning: %s: %s. Which: flyannot show %s", s, weak, self.path)
        summary = [
            f"{s:>5}: {pluralise(len(one.terms), 'term')} from {pluralise(len(one.train_genes), 'gene')}"
            for s, one in trained.items()
        ]
        return Outcome(self.path, True, "\n".join(summary))

    def _train(self, files, bases, execution):
        """Train the models of all stage ranges, with the features of one stage range at a time in memory.

        Parameters
        ----------
        files : list of StoredFile of features
        bases : dict, stage range -> StageRangeModel to adapt
        execution : Execution

        Returns
        -------
        trained : dict, stage range -> StageRangeModel, also of stage ranges that only the model to adapt has
        """
        options, seed, annotations = self._options, self._header.seed, self._curated.annotations
        features = {s: StoredFeatures(files, s) for s in self._stage_ranges}
        columns = {s: stored.columns for s, stored in features.items()}
        for note in coverage_notes_from_columns(columns, annotations):
            log.info("note: %s", note)
        curated = {s: build_training_set(of, annotations, s, options) for s, of in columns.items()}
        n_terms = sum(len(groups.terms) for groups in curated.values())
        count = ProgressCount(execution.progress, n_terms, "term")
        fit_options = FitOptions.of_training(options, execution.workers.jobs, on_terms=count.add)
        with limit_blas_threads():
            trained = {
                s: _train_stage_range(groups, features[s], options, fit_options, stage_range_rng(seed, s))
                for s, groups in curated.items()
                if s not in bases
            }
            if bases:
                n_folds = default_min_groups(columns, annotations, options.exclude_terms)
                genes = {gene for groups in curated.values() for gene in groups.genes}
                folds = split_by_gene(genes, n_folds, seed)  # as in `evaluate`
            for s, base in bases.items():
                trained[s] = base
                if s in curated and len(curated[s]):
                    about = base, curated[s], features[s], annotations, s, options, fit_options.n_threads
                    trained[s], said = Adaptation(*about, seed).train(folds, fit_options)
                    log.info("note: %s: %s", s, said)
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
    kept = trainable_terms(curated)
    if not kept:
        known = _known_images(features, curated.groups, rng)
        return StageRangeModel(None, [], empty_model(features.shape[1]), genes, known, options)
    fit_options.on_terms(len(curated.terms) - len(kept))
    rows = curated.with_features(features, options, fit_options.n_threads)
    known = {"genes": rows.genes, "observed": rows.observed[:, kept]}
    model = fit_model(options.method, rows.X, rows.Y[:, kept], **known, rng=rng, options=fit_options)
    model = replace(model, scorer=rows.in_features(model.scorer))
    carried = None
    if len(curated) * features.shape[1] <= MOST_VALUES:
        X = training_rows(features.iterate_blocks(), curated.groups, options)
        carried = TrainingRows.from_features(X, rows.genes, rows.Y[:, kept], rows.observed[:, kept])
    # This comes after the fit, so that the fit draws the same random numbers as in earlier versions.
    known = _known_images(features, curated.groups, rng)
    terms = [curated.terms[j] for j in kept]
    return StageRangeModel(None, terms, model, genes, known, options, carried)


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

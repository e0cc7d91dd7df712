"""Scores of terms, by cross-validation that is split by gene over all stage ranges, or by a held-out test."""

import logging
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from flyannot.base.errors import DataError, InputError
from flyannot.base.stage_ranges import stage_range_rng
from flyannot.base.text import pluralise
from flyannot.dataset.folder import coverage_notes_from_columns
from flyannot.files.atomic_file import write_text
from flyannot.files.digest import file_digest
from flyannot.files.hdf5.features import StoredFeatures
from flyannot.files.hdf5.model import BASE_MODEL
from flyannot.files.hdf5.reading import open_stored_file, read_file_kind
from flyannot.files.hdf5.supplied import resolve_model_path
from flyannot.files.hdf5.writing import describe_changes
from flyannot.jobs.resources import limit_blas_threads
from flyannot.pipeline.answers.answers_of_run import snapshot_previous_run
from flyannot.pipeline.answers.evaluation import describe_curation_effect
from flyannot.pipeline.engine.curated_terms import CuratedTerms
from flyannot.pipeline.engine.inputs import (
    choose_stage_ranges,
    has_synthetic_images,
    open_compatible,
    read_header_options,
    read_options,
)
from flyannot.pipeline.engine.task import Execution, Outcome, ProgressCount, Task
from flyannot.pipeline.models.loaded_model import adapted_options, load_base_models
from flyannot.pipeline.options import EvaluateOptions
from flyannot.terms.adaptation import Adaptation
from flyannot.terms.answers import read_group_predictions
from flyannot.terms.bootstrap import add_confidence
from flyannot.terms.cross_validation import cross_validate, join_outcomes
from flyannot.terms.folds import assign_gene_folds, split_by_gene
from flyannot.terms.group_outcomes import format_scores_json, outcomes_to_json, read_scores
from flyannot.terms.metrics import TermOutcomes, score_terms
from flyannot.terms.options import TrainOptions
from flyannot.terms.scorer import FitOptions
from flyannot.terms.training_set import (
    ENOUGH_GROUPS,
    annotated_groups,
    build_training_set,
    default_min_groups,
    observed_terms,
    truth_matrix,
)

log = logging.getLogger("flyannot")
_LEARNED = "the model learned from the genes of {n} of these {what}; these scores flatter it"
_INPUTS = {name: name for name in ("annotations", "corrections", BASE_MODEL)} | {"scored": "features"}


def build_task(request):
    """Build the Task that scores the model of a run, for a StepRequest."""
    (model,) = request.inputs["model"]
    curated = request.curated
    if request.options.roll_up:
        curated = replace(curated, roll_up=request.options.roll_up, listed=None)
    more = request.options, request.run.options["train"].adapt
    evaluation = build_model_evaluation(model, request.inputs["features"], curated, *more)
    return ScoresTask(evaluation, request.out, partial(snapshot_previous_run, request.out))


def build_evaluation(paths, curated, **more):
    """Build the CrossValidation of features files, or the HeldOutTest of a predictions file.

    Parameters
    ----------
    paths : Paths of the files, all of one kind
    curated : CuratedTerms
    more : other fields of `Evaluation`
    """
    evaluation = HeldOutTest if read_file_kind(paths[0]) == "predictions" else CrossValidation
    return evaluation(paths=tuple(paths), curated=curated, **more)


def build_model_evaluation(model, paths, curated, options, adapt=None):
    """Build the CrossValidation that tests how a model was trained: with its data, options and seed.

    Parameters
    ----------
    model : Path of the model file
    paths : Paths of the features files on which it was trained
    curated : CuratedTerms
    options : EvaluateOptions
    adapt : Path of the model that was adapted, or None

    Raises
    ------
    InputError
        If the model was trained on other features, annotations or corrections, or adapted from another model.
    """
    stored = open_stored_file(model, "model")
    inputs = stored.inputs
    seed = stored.seed
    digest = stored.digest
    train = read_options(stored, TrainOptions)
    stage_ranges = read_header_options(stored, "train", lambda of: tuple(of["stage_ranges"]))
    base = content_digests([resolve_model_path(adapt)]) if adapt else []
    named = {"features": content_digests(paths), "corrections": [], BASE_MODEL: base}
    named |= curated.digests
    for role, digests in named.items():
        if sorted(inputs.get(role, [])) != sorted(digests):
            raise InputError(
                f"{model} was trained on other {role}, so the scores would belong to another model",
                fix=f"name the {role} that it was trained on, or leave out --model",
            )
    train = replace(train, corrections=curated.corrections, adapt=adapt)
    more = {"train": train, "options": options, "seed": seed, "stage_ranges": stage_ranges, "model": digest}
    return CrossValidation(paths=tuple(paths), curated=curated, **more)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The base class of evaluations of features and of predictions.

    paths : tuple of paths of the files to score
    curated : CuratedTerms
    train : TrainOptions
    options : EvaluateOptions
    seed : int
    stage_ranges : tuple of the stage ranges to evaluate; () for all
    model : digest of the model file that the scores belong to, or None
    """

    paths: tuple
    curated: CuratedTerms
    train: TrainOptions = TrainOptions()
    options: EvaluateOptions = EvaluateOptions()
    seed: int = 0
    stage_ranges: tuple = ()
    model: str | None = None

    def input_digests(self):
        """Return the digests of the files to score."""
        return content_digests(self.paths)

    def with_chosen_options(self):
        """Return a copy in which open options get a value that fits the numbers of annotated groups."""
        return self

    def score(self, execution):
        """Score the terms; a subclass defines it.

        Parameters
        ----------
        execution : Execution

        Returns
        -------
        result : dict with the keys terms, summary, notes, synthetic and evaluated of `result`; None if no
            gene is annotated
        """
        raise NotImplementedError

    def result(self, execution=None):
        """Score the terms against curated ones.

        Parameters
        ----------
        execution : Execution, with the workers and the progress function; None for this process alone

        Returns
        -------
        result : dict, as `score_terms` returns, with these additional keys:

            - notes : list of sentences for the user
            - synthetic : bool, True if images were drawn by a program
            - evaluated : dict, the predictions for every group as `outcomes_to_json` returns them
            - model : digest of the model that was evaluated, or None
            - made_from : dict of the digests of all inputs, and of all options

        Raises
        ------
        InputError
            If no gene is annotated.
        """
        self.curated.require_known(self.train.exclude_terms)
        chosen = self.with_chosen_options()
        result = chosen.score(execution or Execution())
        if result is None:
            raise InputError(
                f"no gene of {self.paths[0]} is annotated in {self.curated.source}",
                fix="check that genes and stage ranges are spelled alike in both",
            )
        result["notes"] += self.curated.changes
        return add_confidence(result) | {"model": self.model, "made_from": chosen.made_from()}

    def made_from(self):
        """Return all that the scores depend on: digests of the inputs, and options."""
        return {
            "scored": self.input_digests(),
            **self.curated.digests,
            **({BASE_MODEL: content_digests([self.train.adapt])} if self.train.adapt else {}),
            "train": self.train.to_header(),
            "evaluate": self.options.to_header(),
            "roll_up": [file_digest(path) for path in self.options.roll_up],
            "seed": self.seed,
            "stage_ranges": list(self.stage_ranges),
            "model": self.model,
        }


def content_digests(paths):
    """Return the content digest of each HDF5 file."""
    return [open_stored_file(path).digest for path in paths]


@dataclass(frozen=True, kw_only=True)
class CrossValidation(Evaluation):
    """A cross-validation of models that are trained on features files.

    Several files count as one.
    """

    def open_features(self):
        """Return a dict, stage range -> (columns of its images, StoredFeatures).

        Features are read when they are used, so that only one stage range at a time is in memory.
        """
        files = open_compatible(self.paths, "features")
        features = {s: StoredFeatures(files, s) for s in choose_stage_ranges(files, self.stage_ranges)}
        return {s: (stored.columns, stored) for s, stored in features.items()}

    def read_columns(self):
        """Return a dict, stage range -> columns of its images."""
        return {s: columns for s, (columns, _) in self.open_features().items()}

    def with_chosen_options(self):
        if self.train.adapt and self.options.nested:
            raise InputError("an adapted model has no nested scores", fix="leave out --nested")
        train, options = adapted_options(self.train), self.options
        if train.min_groups is None or options.folds is None:
            enough = default_min_groups(self.read_columns(), self.curated.annotations, train.exclude_terms)
            train = replace(train, min_groups=train.min_groups or enough)
            options = replace(options, folds=options.folds or enough)
        return replace(self, train=train, options=options)

    def score(self, execution):
        with limit_blas_threads():
            return self._cross_validate_all(self.open_features(), execution)

    def _cross_validate_all(self, loaded, execution):
        """Cross-validate all stage ranges with one split of all genes; the result is as in `score`.

        loaded : dict, as `open_features` returns; the other parameters are as in `score`
        """
        train, options, annotations = self.train, self.options, self.curated.annotations
        n_folds = options.folds or ENOUGH_GROUPS
        bases = {}
        if train.adapt:
            files = open_compatible(self.paths, "features")
            _, bases = load_base_models(train.adapt, files)
        columns = {s: of_range for s, (of_range, _) in loaded.items()}
        curated = {s: build_training_set(of_range, annotations, s, train) for s, of_range in columns.items()}
        curated = {s: groups for s, groups in curated.items() if len(groups)}
        covered = coverage_notes_from_columns(columns, annotations)
        if not curated:
            for note in covered:
                log.info("note: %s", note)
            return None
        genes = {gene for groups in curated.values() for gene in groups.groups.gene_ids}
        folds = split_by_gene(genes, n_folds, self.seed)
        if len(genes) < n_folds:
            too_few = f"not evaluable: fewer genes than {n_folds} folds"
            for s, groups in curated.items():
                curated[s] = replace(groups, reasons=[why or too_few for why in groups.reasons])
            validate = _cross_validate
        else:
            validate = _cross_validate_nested if options.nested else _cross_validate
        n_terms = sum(len(groups.terms) for groups in curated.values())
        n_fits = n_folds ** (2 if options.nested else 1)
        count = ProgressCount(execution.progress, n_terms * n_fits, "term")
        fit_options = FitOptions.of_training(train, execution.workers.jobs, on_terms=count.add)
        outcomes, evaluated, compared = {}, {}, []
        for s, groups in curated.items():
            names = [groups.groups.name, groups.genes]
            if s in bases:
                about = bases[s], groups, loaded[s][1], annotations, s, train, fit_options.n_threads
                outcomes[s], _, said = Adaptation(*about, self.seed).compare(folds, fit_options)
                compared.append(f"{s}: {said}")
                if n_seen := len(bases[s].train_genes.intersection(groups.genes)):
                    compared.append(f"warning: {s}: {_LEARNED.format(n=n_seen, what='genes')}")
            else:
                rows = groups.with_features(loaded[s][1], train, execution.workers.jobs)
                outcomes[s], members = validate(rows, s, folds, train.method, fit_options, seed=self.seed)
                names = [[column[g] for g in members] for column in names]
            evaluated[s] = outcomes_to_json(outcomes[s], *names)
        count.finish()
        how = "nested: within the training genes of each fold of a" if options.nested else "a"
        split = f"{n_folds}-fold cross-validation, split by gene over all stage ranges"
        is_drawn = has_synthetic_images(columns.values())
        notes = [f"{how} {split}: {len(genes)} genes", *covered, *compared]
        return score_terms(outcomes) | {"notes": notes, "synthetic": is_drawn, "evaluated": evaluated}


@dataclass(frozen=True, kw_only=True)
class HeldOutTest(Evaluation):
    """A test of the answers in one predictions file against curated terms.

    It is a fair test if the model was not trained on these genes; otherwise a note says so. Of the options
    in `train`, only `exclude_terms` and `corrections` are used.
    """

    def score(self, execution):
        annotations = self.curated.annotations
        outcomes = {}
        evaluated = {}
        n_seen = 0
        n_groups = 0
        columns = []
        stored = open_stored_file(self.paths[0], "predictions")
        for stage_range in choose_stage_ranges([stored], self.stage_ranges):
            groups, predicted = read_group_predictions(stored, stage_range)
            columns.append({"source": stored.read_array(stage_range, "source")})
            kept, carried = annotated_groups(groups, annotations, stage_range)
            rows = [groups.name.index(name) for name in kept.name]
            n_seen += int(predicted.in_training[rows].sum())
            n_groups += len(rows)
            if rows:
                outcome = _build_outcome(predicted, rows, carried)
                known = observed_terms(kept, annotations, stage_range, outcome.terms)
                outcome = outcomes[stage_range] = replace(outcome, observed=known)
                evaluated[stage_range] = outcomes_to_json(outcome, kept.name, kept.gene_ids)
        if not outcomes:
            return None
        notes = [f"predictions of a model on {pluralise(n_groups, 'annotated group')}"]
        if n_seen:
            notes.append(f"warning: {_LEARNED.format(n=n_seen, what='groups')}")
        more = {"notes": notes, "synthetic": has_synthetic_images(columns), "evaluated": evaluated}
        return score_terms(outcomes, excluded=self.train.exclude_terms) | more


def _build_outcome(predicted, rows, carried):
    """Return the TermOutcomes of the annotated groups of one stage range.

    Curated terms that the model does not know are included, each with the reason.

    Parameters
    ----------
    predicted : GroupPredictions
    rows : list of the numbers of the annotated groups
    carried : list with the set of curated terms of each of these groups
    """
    unknown = sorted(set().union(*carried) - set(predicted.terms))
    terms = (*predicted.terms, *unknown)
    blank = np.zeros((len(rows), len(unknown)))
    probability = predicted.model_probability[rows]
    above = probability > predicted.model_threshold[rows]
    yes = np.where(predicted.held_out[rows], above, predicted.yes[rows])
    return TermOutcomes(
        terms=terms,
        truth=truth_matrix(carried, terms),
        values=np.hstack([predicted.decision_value[rows], blank]),
        yes=np.hstack([yes, blank]).astype(bool),
        probabilities=np.hstack([probability, blank]),
        thresholds=np.hstack([predicted.model_threshold[rows], blank]),
        reasons=("",) * len(predicted.terms) + ("the model does not know this term",) * len(unknown),
    )


def _cross_validate(rows, stage_range, folds, method, options, *, seed):
    """Cross-validate one stage range.

    Parameters
    ----------
    rows : LabelledRows
    stage_range : str
    folds : dict from gene to fold
    method : name in CLASSIFIERS
    options : FitOptions
    seed : int

    Returns
    -------
    outcome : TermOutcomes
    members : int array, the number of the group of each row of the outcome
    """
    rng = stage_range_rng(seed, stage_range)
    outcome = cross_validate(rows, folds=folds, rng=rng, method=method, options=options)
    return outcome, np.arange(len(rows))


def _cross_validate_nested(rows, stage_range, folds, method, options, *, seed):
    """Leave out one fold after the other, and cross-validate on the genes of the other folds alone.

    The parameters and the result are as in `_cross_validate`. A group appears once for each fold but its
    own.
    """
    parts = []
    members = []
    n_folds = max(folds.values()) + 1
    number = {name: g for g, name in enumerate(rows.groups.name)}
    for fold in range(n_folds):
        training = [gene for gene, of_gene in folds.items() if of_gene != fold]
        inner = assign_gene_folds(training, n_folds, np.random.default_rng([seed, fold]))
        inside = rows.select_genes(inner)
        if len(inside):
            outcome, _ = _cross_validate(inside, stage_range, inner, method, options, seed=seed)
            parts.append(outcome)
            members += [number[name] for name in inside.groups.name]
    return join_outcomes(parts), members


class ScoresTask(Task):
    """A task that writes the scores of an Evaluation to a JSON file.

    Parameters
    ----------
    evaluation : Evaluation
    json_file : Path
    scores_before : function of the inputs and options of the new scores
        It returns earlier scores (a dict) to compare with, or None.
    """

    is_replaced = True

    def __init__(self, evaluation, json_file, scores_before=lambda made_now: None):
        train = evaluation.train
        inputs = (*evaluation.paths, evaluation.curated.table, *evaluation.curated.corrections)
        inputs += (train.adapt,) if train.adapt else ()
        super().__init__(json_file, inputs)
        self._evaluation = evaluation
        self._scores_before = scores_before

    def stale_reason(self, *, is_verified=True):
        if not self.path.exists():
            return "it is not there yet"
        try:
            made_before = read_scores(self.path)["made_from"]
        except DataError:
            return "it is damaged"
        except InputError:
            raise InputError(
                f"{self.path} exists and does not contain scores", fix="name another file with --json"
            ) from None
        made_now = self._evaluation.with_chosen_options().made_from()
        return ", ".join(describe_changes(made_before, made_now, inputs=_INPUTS))

    def make(self, execution):
        before = self._scores_before(self._evaluation.made_from())
        result = self._evaluation.result(execution)
        if before is not None:
            result["notes"] += describe_curation_effect(before, result)
        write_text(self.path, format_scores_json(result))
        return Outcome(self.path, True)

"""How good are the terms?  Cross-validation, split by gene over all stage ranges; or a held-out test."""

import logging
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from flyannot.base.errors import DataError, InputError
from flyannot.base.stage_ranges import rng_for
from flyannot.base.text import pluralise
from flyannot.dataset.folder import notes_on_columns
from flyannot.dataset.paths import annotations_table
from flyannot.files.atomic_file import write_text
from flyannot.files.digest import digest_of_file
from flyannot.files.hdf5.features import StoredFeatures
from flyannot.files.hdf5.reading import kind_of_file, open_stored
from flyannot.files.hdf5.writing import changes_in_header
from flyannot.jobs.resources import one_blas_thread
from flyannot.pipeline.answers_of_run import snapshot_previous_run
from flyannot.pipeline.engine.inputs import (
    choose_stage_ranges,
    curated_annotations_of,
    digests_of_curated,
    is_synthetic,
    open_all,
    options_from,
    refuse_unknown_excluded_terms,
)
from flyannot.pipeline.engine.task import Execution, Outcome, ProgressCount, Task
from flyannot.pipeline.evaluation import describe_curation_effect
from flyannot.pipeline.options import EvaluateOptions
from flyannot.terms.answers import read_predicted
from flyannot.terms.bootstrap import add_confidence
from flyannot.terms.cross_validation import cross_validate, joined_outcomes
from flyannot.terms.folds import assign_gene_folds
from flyannot.terms.group_outcomes import group_outcomes, json_of_scores, read_scores
from flyannot.terms.metrics import TermOutcomes, score_terms
from flyannot.terms.options import TrainOptions
from flyannot.terms.training_set import (
    ENOUGH_GROUPS,
    annotated_groups,
    curated_groups,
    enough_groups_of_columns,
    observed_terms,
    truth_of,
)

log = logging.getLogger("flyannot")


def build_task(request):
    """Build the Task for a request, `StepRequest`: the scores of the model of a run."""
    (model,) = request.inputs["model"]
    (annotations,) = request.inputs["annotations"]
    corrections = request.run.options["train"].corrections
    evaluation = cross_validation_of_model(
        model, request.inputs["features"], annotations, request.options, corrections
    )
    return ScoresTask(evaluation, request.out, partial(snapshot_previous_run, request.out))


def evaluation_of_files(paths, annotations_csv, **more):
    """Return the `Evaluation` of features files, or of a predictions file; `more` has its other fields."""
    evaluation = HeldOutTest if kind_of_file(paths[0]) == "predictions" else CrossValidation
    return evaluation(paths=tuple(paths), annotations_csv=annotations_csv, **more)


def cross_validation_of_model(model, paths, annotations_csv, options, corrections=()):
    """The CrossValidation of what a model was trained on, by the options and seed it was trained with.

    Raises
    ------
    InputError
        If the model was trained on other features, annotations or corrections.
    """
    with open_stored(model, "model") as stored:
        inputs = stored.inputs
        seed = stored.seed
        digest = stored.digest
        train = options_from(stored, TrainOptions)
        stage_ranges = tuple(stored.options["train"]["stage_ranges"])
    annotations_csv = annotations_table(annotations_csv)
    named = {"features": file_digests(paths), "corrections": []}
    named |= digests_of_curated(annotations_csv, corrections)
    for role, digests in named.items():
        if sorted(inputs.get(role, [])) != sorted(digests):
            raise InputError(
                f"{model} was trained on other {role}: its scores would not be its own",
                fix=f"name the {role} that it was trained on, or leave out --model",
            )
    return CrossValidation(
        paths=tuple(paths),
        annotations_csv=annotations_csv,
        train=replace(train, corrections=corrections),
        options=options,
        seed=seed,
        stage_ranges=stage_ranges,
        model=digest,
    )


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The base of what can be evaluated: features and predictions.

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
        return file_digests(self.paths)

    def fitted(self, annotations=None):
        """The same, with numbers of the groups where options were left open."""
        return self

    def score(self, annotations, execution):
        """The result but for what all evaluations add; None if no gene is annotated."""
        raise NotImplementedError

    def result(self, execution=None):
        """Score against curated terms.

        Parameters
        ----------
        execution : Execution

        Returns
        -------
        result : dict, as `flyannot.terms.metrics.score_terms` returns, with `notes` (sentences), `synthetic`
            (whether images were), `evaluated` (what was predicted for every group:
            `flyannot.terms.group_outcomes`), `model` (the digest of the model whose scores these are, or
            None) and `made_from`, the digests of the inputs and the options

        Raises
        ------
        InputError
            If no gene is annotated.
        """
        annotations, changes = self.curated()
        refuse_unknown_excluded_terms(self.train.exclude_terms, annotations, self.annotations_csv)
        fitted = self.fitted(annotations)
        result = fitted.score(annotations, execution or Execution())
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
            "train": self.train.to_header(),
            "evaluate": self.options.to_header(),
            "roll_up": [digest_of_file(path) for path in self.options.roll_up],
            "seed": self.seed,
            "stage_ranges": list(self.stage_ranges),
            "model": self.model,
        }


def file_digests(paths):
    """The content digest of each HDF5 file."""
    digests = []
    for path in paths:
        with open_stored(path) as stored:
            digests.append(stored.digest)
    return digests


@dataclass(frozen=True, kw_only=True)
class CrossValidation(Evaluation):
    """Of features files, read as if they were one."""

    @contextmanager
    def loaded(self):
        """Yield stage range -> (image columns, features as `pooled_columns` takes them).

        The features of one stage range at a time are in memory.
        """
        with open_all(self.paths, "features") as files:
            features = {s: StoredFeatures(files, s) for s in choose_stage_ranges(files, self.stage_ranges)}
            yield {s: (stored.columns, stored) for s, stored in features.items()}

    def columns(self):
        """Stage range -> image columns."""
        with self.loaded() as loaded:
            return {s: columns for s, (columns, _) in loaded.items()}

    def fitted(self, annotations=None):
        train, options = self.train, self.options
        if train.min_groups is None or options.folds is None:
            annotations = annotations or self.curated()[0]
            enough = enough_groups_of_columns(self.columns(), annotations, train.exclude_terms)
            train = replace(train, min_groups=train.min_groups or enough)
            options = replace(options, folds=options.folds or enough)
        return replace(self, train=train, options=options)

    def score(self, annotations, execution):
        with self.loaded() as loaded, one_blas_thread():
            return self._cross_validate_all(loaded, annotations, execution)

    def _cross_validate_all(self, loaded, annotations, execution):
        """The result, split by gene over all stage ranges at once; None if no gene is annotated."""
        train, options = self.train, self.options
        n_folds = options.folds or ENOUGH_GROUPS
        curated = {s: curated_groups(columns, annotations, s, train) for s, (columns, _) in loaded.items()}
        curated = {s: groups for s, groups in curated.items() if len(groups)}
        covered = notes_on_columns({s: columns for s, (columns, _) in loaded.items()}, annotations)
        if not curated:
            for note in covered:
                log.info("note: %s", note)
            return None
        genes = sorted({gene for groups in curated.values() for gene in groups.groups.gene_ids})
        if len(genes) < n_folds:
            too_few = f"not evaluable: fewer genes than {n_folds} folds"
            for s, groups in curated.items():
                curated[s] = replace(groups, reasons=[why or too_few for why in groups.reasons])
            folds = dict.fromkeys(genes, 0)
            validate = _cross_validate
        else:
            folds = assign_gene_folds(genes, n_folds, np.random.default_rng(self.seed))
            validate = _cross_validate_nested if options.nested else _cross_validate
        n_terms = sum(len(groups.terms) for groups in curated.values())
        n_fits = n_folds ** (2 if options.nested else 1)
        count = ProgressCount(execution.progress, n_terms * n_fits, "term")
        fit_options = train.fit_options(execution.jobs, on_terms=count.add)
        outcomes, evaluated = {}, {}
        for s, groups in curated.items():
            rows = groups.with_features(loaded[s][1], train, execution.jobs)
            outcomes[s], members = validate(rows, s, folds, train.method, fit_options, seed=self.seed)
            names = [[column[g] for g in members] for column in (groups.groups.name, rows.genes)]
            evaluated[s] = group_outcomes(outcomes[s], *names)
        count.finish()
        how = "nested: within the training genes of each fold of a" if options.nested else "a"
        split = f"{n_folds}-fold cross-validation, split by gene over all stage ranges"
        is_drawn = is_synthetic(columns for columns, _ in loaded.values())
        notes = [f"{how} {split}: {len(genes)} genes", *covered]
        return score_terms(outcomes) | {"notes": notes, "synthetic": is_drawn, "evaluated": evaluated}


@dataclass(frozen=True, kw_only=True)
class HeldOutTest(Evaluation):
    """Of one file of predictions; of `train` only `exclude_terms` and `corrections` are used.

    What the model itself says is scored. It is a test if the genes are new to the model; a note says so if
    they are not.
    """

    def score(self, annotations, execution):
        outcomes = {}
        evaluated = {}
        n_seen = 0
        n_groups = 0
        columns = []
        with open_stored(self.paths[0], "predictions") as stored:
            for stage_range in choose_stage_ranges([stored], self.stage_ranges):
                groups, predicted = read_predicted(stored, stage_range)
                columns.append({"source": stored.array(stage_range, "source")})
                kept, carried = annotated_groups(groups, annotations, stage_range)
                rows = [groups.name.index(name) for name in kept.name]
                n_seen += int(predicted.in_training[rows].sum())
                n_groups += len(rows)
                if rows:
                    outcome = _build_outcome(predicted, rows, carried)
                    known = observed_terms(kept, annotations, stage_range, outcome.terms)
                    outcome = outcomes[stage_range] = replace(outcome, observed=known)
                    evaluated[stage_range] = group_outcomes(outcome, kept.name, kept.gene_ids)
        if not outcomes:
            return None
        notes = [f"predictions of a model on {pluralise(n_groups, 'annotated group')}"]
        if n_seen:
            notes.append(
                f"warning: the model learned from the genes of {n_seen} of them; these scores flatter it"
            )
        more = {"notes": notes, "synthetic": is_synthetic(columns), "evaluated": evaluated}
        return score_terms(outcomes, excluded=self.train.exclude_terms) | more


def _build_outcome(predicted, rows, carried):
    """The outcome of one stage range; annotated terms that the model does not know are listed too."""
    unknown = sorted(set().union(*carried) - set(predicted.terms))
    terms = (*predicted.terms, *unknown)
    blank = np.zeros((len(rows), len(unknown)))
    probability = predicted.model_probability[rows]
    above = probability > predicted.probability_threshold
    yes = np.where(predicted.held_out[rows], above, predicted.yes[rows])
    return TermOutcomes(
        terms=terms,
        truth=truth_of(carried, terms),
        values=np.hstack([predicted.decision_value[rows], blank]),
        yes=np.hstack([yes, blank]).astype(bool),
        probabilities=np.hstack([probability, blank]),
        thresholds=np.tile(np.hstack([predicted.probability_threshold, blank[0]]), (len(rows), 1)),
        reasons=("",) * len(predicted.terms) + ("the model does not know this term",) * len(unknown),
    )


def _cross_validate(rows, stage_range, folds, method, options, *, seed):
    """The outcome of a stage range, and the numbers of its groups in the outcome's order."""
    rng = rng_for(seed, stage_range)
    outcome = cross_validate(rows, folds=folds, rng=rng, method=method, options=options)
    return outcome, np.arange(len(rows))


def _cross_validate_nested(rows, stage_range, folds, method, options, *, seed):
    """Cross-validate once within the training genes of every fold, whose own genes take no part."""
    parts = []
    members = []
    n_folds = max(folds.values()) + 1
    number = {name: g for g, name in enumerate(rows.groups.name)}
    for fold in range(n_folds):
        training = [gene for gene, of_gene in folds.items() if of_gene != fold]
        inner = assign_gene_folds(training, n_folds, np.random.default_rng([seed, fold]))
        inside = rows.of_genes(inner)
        if len(inside):
            parts.append(_cross_validate(inside, stage_range, inner, method, options, seed=seed)[0])
            members += [number[name] for name in inside.groups.name]
    return joined_outcomes(parts), members


class ScoresTask(Task):
    """A JSON file with the scores of an `Evaluation`.

    scores_before : function of what the scores are to be made from, by the options that are given, to the
        scores to compare them with, or None
    """

    is_replaced = True

    def __init__(self, evaluation, json_file, scores_before=lambda made_now: None):
        inputs = (*evaluation.paths, evaluation.annotations_csv, *evaluation.train.corrections)
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
        made_before |= {"evaluate": EvaluateOptions.without_gone(made_before.get("evaluate", {}))}
        return ", ".join(changes_in_header(made_before, self._evaluation.fitted().made_from()))

    def make(self, execution):
        before = self._scores_before(self._evaluation.made_from())
        result = self._evaluation.result(execution)
        if before is not None:
            result["notes"] += describe_curation_effect(before, result)
        write_text(self.path, json_of_scores(result))
        return Outcome(self.path, True)

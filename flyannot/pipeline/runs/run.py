"""Runs of all steps, from a data set to terms, scores and a report."""

import logging
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from shlex import quote

import numpy as np

from flyannot.base.errors import FlyannotError, InputError, did_you_mean
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.dataset.folder import check_tables
from flyannot.dataset.ontology import read_ontology
from flyannot.dataset.paths import ANNOTATIONS as TABLE_OF_TERMS
from flyannot.dataset.paths import IMAGES, find_annotation_table, find_table, has_table
from flyannot.dataset.table_warnings import raise_errors
from flyannot.encode.options import PoolOptions
from flyannot.files.digest import cache_digests
from flyannot.files.hdf5 import supplied
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.images.extract import choose_stride, count_candidate_patches
from flyannot.images.options import ExtractOptions
from flyannot.pipeline.chain import STEPS, find_producing_step
from flyannot.pipeline.engine.images import image_columns, read_selected_images
from flyannot.pipeline.engine.inputs import (
    read_curated_annotations,
    read_options,
    refuse_unknown_excluded_terms,
)
from flyannot.pipeline.engine.step import ANNOTATIONS, StepRequest
from flyannot.pipeline.engine.task import describe_plan, run_task
from flyannot.pipeline.loaded_model import adapted_options
from flyannot.pipeline.options import LearnOptions
from flyannot.pipeline.runs.configuration import RECORD
from flyannot.terms.training_set import build_training_set, default_min_groups

log = logging.getLogger("flyannot")
_SUGGESTING_STEP = "annotate"  # it uses a supplied model if there are no curated terms
_OF_BASE = "dictionary"  # a run that adapts a model does not learn one
_MIN_GENES = 2  # a term is learned from at least as many genes with it, and as many without it


@contextmanager
def suppress_warnings():
    """Log no warnings of flyannot within the block; `check_run` reports what is odd in the tables."""

    def is_no_warning(record):
        return record.levelno != logging.WARNING

    log.addFilter(is_no_warning)
    try:
        yield
    finally:
        log.removeFilter(is_no_warning)


def explain_missing_terms(configuration):
    """Return in words why a run has no curated terms to learn from.

    The text is empty if there are curated terms.  It is also empty if the run makes its data set itself, or
    if the data set does not exist or cannot be read.
    """
    folder = configuration.data_set
    train = configuration.options["train"]
    if configuration.makes_data_set or not folder.is_dir():
        return ""
    if not train.corrections and not has_table(folder, TABLE_OF_TERMS):
        return f"{folder} has no {TABLE_OF_TERMS}"
    if train.min_groups is not None:
        return ""
    tables = (find_table(folder, name) for name in (IMAGES, TABLE_OF_TERMS))
    changed = tuple(path.stat().st_mtime_ns for path in (*tables, *train.corrections) if path.exists())
    return _explain_too_few_genes(folder, configuration.options["select"], train, changed)


@lru_cache(maxsize=4)
def _explain_too_few_genes(folder, selection, train, changed):
    """Return in words why nothing can be learned from the tables of a folder.

    `changed` has the times of their last changes, so that the cache notices a new version.
    """
    try:
        with suppress_warnings():
            images = read_selected_images(folder, selection)
            annotations, _ = read_curated_annotations(folder, corrections=train.corrections)
    except FlyannotError:
        return ""
    curated = _curated_groups(images, annotations, train)
    if not curated or _can_learn(curated):
        return ""
    genes = pluralise(_count_genes(curated), "gene with images has", "genes with images have")
    return (
        f"no term can be learned: only {genes} terms in {folder}, and a term needs {_MIN_GENES} genes with "
        f"it and {_MIN_GENES} without it in one stage range"
    )


def has_curated_terms(configuration):
    """Return whether a run has, or may have, curated terms to learn from."""
    return not explain_missing_terms(configuration)


def choose_supplied_model(configuration):
    """Return the path of the supplied model that suggests terms for a run without curated terms.

    Returns None if there are curated terms, or if no supplied model knows a stage range of the images.
    """
    if has_curated_terms(configuration):
        return None
    return supplied.find_supplied_model(_read_stage_ranges(configuration))


def _read_stage_ranges(configuration):
    """Return the set of stage ranges of the images that a run selects from its data set."""
    images = read_selected_images(configuration.data_set, configuration.options["select"])
    return {image.stage_range for image in images}


def with_base_model(configuration):
    """Return the configuration of a run that adapts a model, with the options by which its features are made.

    A run adapts the model that `[train] adapt` names.  Without it, a run with corrections but no
    annotations.csv adapts the supplied model that suggested the terms.  That model must know all stage ranges
    of the images.  Any other configuration is returned unchanged.
    """
    train = configuration.options["train"]
    if train.adapt is None and (path := _find_suggesting_model(configuration)):
        train = replace(train, adapt=path)
    if train.adapt is None or not has_curated_terms(configuration):
        return configuration
    train = adapted_options(train)
    with open_stored_file(train.adapt, "model") as stored:
        kinds = ExtractOptions, LearnOptions, PoolOptions
        made = {kind.table: read_options(stored, kind) for kind in kinds}
    return replace(configuration, options={**configuration.options, **made, "train": train})


def _find_suggesting_model(configuration):
    """Return the path of the supplied model whose suggestions the corrections of a run are about, or None."""
    folder = configuration.data_set
    if configuration.makes_data_set or not configuration.options["train"].corrections:
        return None
    if not folder.is_dir() or has_table(folder, TABLE_OF_TERMS):
        return None
    wanted = _read_stage_ranges(configuration)
    path = supplied.find_supplied_model(wanted)
    if path:
        with open_stored_file(path, "model") as stored:
            path = path if wanted <= set(stored.stage_ranges) else None
    return path


def _adapts_model(configuration):
    """Return whether a run, by its configuration from `with_base_model`, adapts a model."""
    return configuration.options["train"].adapt is not None and has_curated_terms(configuration)


def uses_supplied_model(step, configuration):
    """Return whether a step of a run uses a supplied model, whose options are not the run's."""
    return step.name == _SUGGESTING_STEP and choose_supplied_model(configuration) is not None


def list_steps(configuration):
    """Return the list of the `Step`s of a run, in order.

    Without curated terms, the steps that need them or their results are left out.  A run that adapts a model
    makes features with its dictionary, so that learn-dict is left out.
    """
    configuration = with_base_model(configuration)
    is_adapting = _adapts_model(configuration)
    steps = []
    absent = set() if has_curated_terms(configuration) else {ANNOTATIONS}
    for step in STEPS.values():
        lacks = absent.intersection(given.holds for given in step.reads)
        if lacks and not uses_supplied_model(step, configuration):
            absent.add(step.kind)
        elif step.name in configuration.options and not (is_adapting and step.kind == _OF_BASE):
            steps.append(step)
    return steps


def describe_omitted_steps(configuration):
    """Return in words which steps are left out for lack of terms, and how to add terms; or ""."""
    why = explain_missing_terms(configuration)
    if not why:
        return ""
    present = [step.name for step in list_steps(configuration)]
    absent = [name for name in configuration.options if name in STEPS and name not in present]
    record = quote(str(configuration.output / RECORD))
    return (
        f"{why}; left out: {', '.join(absent)}. Give terms on the page, download corrections.csv, and run: "
        f"flyannot run {record} --corrections corrections.csv"
    )


def step_output_path(step, configuration):
    """Return the path of the output of a step."""
    return configuration.output / step.makes if step.makes else configuration.data_set


def build_run_task(step, configuration):
    """Build the `Task` of a step of a run; all earlier steps must be done."""

    configuration = with_base_model(configuration)
    supplied = choose_supplied_model(configuration)
    instead = {"model": supplied} if supplied else {}
    if _adapts_model(configuration):
        instead = {_OF_BASE: configuration.options["train"].adapt}

    def find_path(kind):
        return instead.get(kind) or step_output_path(find_producing_step(kind, step), configuration)

    inputs = step.input_paths(configuration.data_set, find_path)
    if supplied:  # the supplied model was not trained on these genes
        inputs = {name: paths for name, paths in inputs.items() if name not in ("scores", "annotations")}
    request = StepRequest(
        inputs=inputs,
        out=step_output_path(step, configuration),
        options=configuration.options[step.name],
        selection=configuration.options["select"],
        seed=configuration.seed,
        run=configuration,
    )
    if step.name == "extract" and supplied:  # both read the pictures
        also = build_run_task(STEPS[_SUGGESTING_STEP], configuration)
        request = replace(request, also=(also,))
    return step.build_task(request)


def run_all_steps(steps, configuration, execution):
    """Run steps one after the other; outdated files in the output folder are replaced.

    Yields
    ------
    step, task, outcome : Step, Task and Outcome of each step when it ends
    """
    with cache_digests():
        for step in steps:
            log.info("[%s]", step.name)
            task = build_run_task(step, configuration)
            yield step, task, run_task(task, replace(execution, force=True))


def find_step(configuration, name):
    """Return the step of a run with this name.

    Raises
    ------
    InputError
        If the run has no such step.
    """
    steps = {step.name: step for step in list_steps(configuration)}
    if name not in steps:
        why = describe_omitted_steps(configuration) if name in STEPS else did_you_mean(name, steps).strip()
        raise InputError(
            f'this run has no step "{name}". {why}'.strip(), fix=f"use one of {', '.join(steps)}"
        )
    return steps[name]


def describe_first_outdated(steps, configuration):
    """Describe the first output that would be written, or return "" if all are up to date.

    Later outputs depend on this one, so nothing can be said about them.
    """
    for step in steps:
        task = build_run_task(step, configuration)
        task.check_outputs()
        if why := task.stale_reason():
            return describe_plan(task, why, "would write")
    return ""


def check_run(configuration):
    """Refuse a configuration with which one of the steps would fail.

    The data set is checked too, unless the run makes it.

    Raises
    ------
    InputError
        If an ontology or a table cannot be read, or if nothing can be learned with the given options.
    """
    options = configuration.options
    for paths in (options["annotate"].ontology, options["evaluate"].roll_up, options["report"].ontology):
        read_ontology(*paths)
    if not configuration.makes_data_set or (configuration.data_set / "images.csv").exists():
        _check_data_set(configuration)


def _check_data_set(configuration):
    folder = configuration.data_set
    options = configuration.options
    select = options["select"]
    gives_stages = select.guess_stages or len(select.stage_range) == 1  # to rows without one
    raise_errors(folder, check_tables(folder, unknown_stage="" if gives_stages else None)[0])
    images = read_selected_images(folder, select)
    train = options["train"]
    count_candidate_patches(choose_stride(options["extract"], len(images)))  # an error if no patch fits
    table = find_annotation_table(folder)  # an error if a table has almost this name
    if has_table(folder, TABLE_OF_TERMS) or train.corrections:
        annotations, _ = read_curated_annotations(folder, corrections=train.corrections)
        given = table if table.exists() else " and ".join(path.name for path in train.corrections)
        refuse_unknown_excluded_terms(train.exclude_terms, annotations, given)
        curated = _curated_groups(images, annotations, train)
        if not curated:
            raise InputError(
                f"no gene of {folder} is annotated in {given}",
                fix="check that genes and stage ranges are spelled alike in both",
            )
        _check_numbers(curated, train, options["evaluate"].folds, given)


def _curated_groups(images, annotations, train):
    """Return a dict: stage range -> TrainingSet of the annotated groups, as the step `train` makes it."""
    columns = {s: image_columns([i for i in images if i.stage_range == s]) for s in STAGE_RANGES}
    if train.min_groups is None:
        enough = default_min_groups(columns, annotations, train.exclude_terms)
        train = replace(train, min_groups=enough)
    curated = {s: build_training_set(of_range, annotations, s, train) for s, of_range in columns.items()}
    return {s: groups for s, groups in curated.items() if len(groups)}


def _count_genes(curated):
    return len({gene for groups in curated.values() for gene in groups.genes})


def _can_learn(curated):
    """Return whether any term has enough groups, and `_MIN_GENES` genes with it and as many without."""
    for groups in curated.values():
        genes = np.asarray(groups.genes)
        for truth, observed, reason in zip(groups.Y.T, groups.observed.T, groups.reasons):
            counts = [len(set(genes[observed & (truth == has_term)])) for has_term in (True, False)]
            if not reason and min(counts) >= _MIN_GENES:
                return True
    return False


def _check_numbers(curated, train, folds, given):
    """Refuse numbers in [train] and [evaluate] with which nothing can be learned or tested."""
    n_genes = _count_genes(curated)
    n_groups = [
        int(n)
        for groups in curated.values()
        for term, n in zip(groups.terms, groups.Y.sum(axis=0))
        if term not in train.exclude_terms
    ]
    most = max(n_groups, default=0)
    if train.min_groups and most < train.min_groups:
        count = pluralise(most, "group with images has", "groups with images have")
        raise InputError(
            f"no term of {given} can be learned: at most {count} the same term, and min-groups is "
            f"{train.min_groups}",
            fix="remove min-groups from [train], and flyannot chooses it by the data",
        )
    if train.min_groups and not _can_learn(curated):
        raise InputError(
            f"no term of {given} can be learned: no term with enough genes is known to be absent from "
            f"{_MIN_GENES} genes",
            fix="reject a term for genes that do not show it; a missing verdict does not count as absence",
        )
    if folds and n_genes < folds:
        raise InputError(
            f"{pluralise(n_genes, 'gene')} cannot be split into {folds} folds",
            fix="remove folds from [evaluate], and flyannot chooses it by the data",
        )

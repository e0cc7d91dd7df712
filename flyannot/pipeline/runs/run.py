"""The whole chain: from a data set to terms, scores and a page, one step after the other."""

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
from flyannot.dataset.paths import IMAGES, annotations_table, has_table, table_of_data_set
from flyannot.dataset.table_warnings import raise_errors
from flyannot.files.digest import remembered_digests
from flyannot.files.hdf5.supplied import supplied_model_for
from flyannot.images.extract import n_candidate_patches, options_for_images
from flyannot.pipeline.chain import STEPS, maker_of
from flyannot.pipeline.engine.images import image_columns, selected_images
from flyannot.pipeline.engine.inputs import (
    curated_annotations_of,
    refuse_unknown_excluded_terms,
)
from flyannot.pipeline.engine.step import ANNOTATIONS, StepRequest
from flyannot.pipeline.engine.task import run_task
from flyannot.pipeline.runs.configuration import RECORD
from flyannot.terms.training_set import curated_groups, enough_groups_of_columns

log = logging.getLogger("flyannot")
_SUGGESTS = "annotate"  # the step that a supplied model takes part in
_LEAST_GENES = 2  # with a term, and without it, to learn it from: `flyannot.terms.model.untrainable`


@contextmanager
def quiet_log():
    """Show no warnings meanwhile: `check_run` says what is odd in the tables."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def why_nothing_to_learn(configuration):
    """Why a run has no curated terms to learn from, nor will have, in words; "" if it has, and of a data set
    that is not here, of which nothing can be said, or whose tables cannot be read."""
    folder, train = configuration.data_set, configuration.options["train"]
    if configuration.makes_data_set or not folder.is_dir():
        return ""
    if not train.corrections and not has_table(folder, TABLE_OF_TERMS):
        return f"{folder} has no {TABLE_OF_TERMS}"
    if train.min_groups is not None:
        return ""
    tables = (table_of_data_set(folder, name) for name in (IMAGES, TABLE_OF_TERMS))
    changed = tuple(path.stat().st_mtime_ns for path in (*tables, *train.corrections) if path.exists())
    return _too_few_genes(folder, configuration.options["select"], train, changed)


@lru_cache(maxsize=4)
def _too_few_genes(folder, selection, train, changed):
    """Return why nothing can be learned from the tables of a folder, which were `changed` at these times."""
    try:
        with quiet_log():
            images = selected_images(folder, selection)
            annotations, _ = curated_annotations_of(folder, corrections=train.corrections)
    except FlyannotError:
        return ""
    curated = _curated_groups(images, annotations, train)
    if not curated or _can_learn(curated):
        return ""
    genes = pluralise(_count_genes(curated), "gene with images has", "genes with images have")
    return (
        f"{genes} terms in {folder}: no term can be learned, which takes {_LEAST_GENES} genes with it and "
        f"{_LEAST_GENES} without, in one stage range"
    )


def has_terms(configuration):
    """Whether a run has, or may have, curated terms to learn from."""
    return not why_nothing_to_learn(configuration)


def supplied_model(configuration):
    """The model that comes with flyannot and suggests terms where a run has none to learn from: its path, or
    None where none knows a stage range of the images."""
    if has_terms(configuration):
        return None
    images = selected_images(configuration.data_set, configuration.options["select"])
    return supplied_model_for({image.stage_range for image in images})


def model_is_supplied(step, configuration):
    """Whether a step of a run takes a supplied model, which was made with options of its own."""
    return step.name == _SUGGESTS and supplied_model(configuration) is not None


def steps_of(configuration):
    """The steps of a run, in order: a list of `Step`.

    Where there are no curated terms, those that need them, or what is made of them, are left out.
    """
    steps, absent = [], set() if has_terms(configuration) else {ANNOTATIONS}
    for step in STEPS.values():
        lacks = absent.intersection(given.holds for given in step.reads)
        if lacks and not model_is_supplied(step, configuration):
            absent.add(step.kind)
        elif step.name in configuration.options:
            steps.append(step)
    return steps


def steps_left_out(configuration):
    """Which steps a run lacks for want of terms, and how it comes by them, in words; "" if it lacks none."""
    why = why_nothing_to_learn(configuration)
    if not why:
        return ""
    present = [step.name for step in steps_of(configuration)]
    absent = [name for name in configuration.options if name in STEPS and name not in present]
    record = quote(str(configuration.output / RECORD))
    return (
        f"{why}: {', '.join(absent)} are left out. Give terms on "
        f"the page, download corrections.csv, then: flyannot run {record} --corrections corrections.csv"
    )


def path_in_run(step, configuration):
    """Where the output of a step lies."""
    return configuration.output / step.makes if step.makes else configuration.data_set


def task_in_run(step, configuration):
    """The `Task` of a step of a run, once all steps before it are done."""

    supplied = supplied_model(configuration)

    def path_of_kind(kind):
        is_supplied = supplied and kind == "model"
        return supplied if is_supplied else path_in_run(maker_of(kind, step), configuration)

    inputs = step.paths_read(configuration.data_set, path_of_kind)
    if supplied:  # it learned from none of these genes
        inputs = {name: paths for name, paths in inputs.items() if name not in ("scores", "annotations")}
    request = StepRequest(
        inputs=inputs,
        out=path_in_run(step, configuration),
        options=configuration.options[step.name],
        selection=configuration.options["select"],
        seed=configuration.seed,
        run=configuration,
    )
    return step.task_of(request)


def run_all_steps(steps, configuration, execution):
    """Carry out steps of a run; its folder is its own, so that outdated files are replaced.

    Yields
    ------
    step, task, outcome : each Step, its Task and its Outcome, as it ends
    """
    with remembered_digests():
        for step in steps:
            log.info("[%s]", step.name)
            task = task_in_run(step, configuration)
            yield step, task, run_task(task, replace(execution, force=True))


def step_named(configuration, name):
    """The step of that name of a run.

    Raises
    ------
    InputError
        If the run has none.
    """
    steps = {step.name: step for step in steps_of(configuration)}
    if name not in steps:
        why = steps_left_out(configuration) if name in STEPS else did_you_mean(name, steps).strip()
        raise InputError(
            f'this run has no step "{name}". {why}'.strip(), fix=f"use one of {', '.join(steps)}"
        )
    return steps[name]


def first_outdated_step(steps, configuration):
    """Return the first step that would make something, as (name, path, why); None if all is up to date.

    A plan cannot look past an output that is missing: what follows depends on it.
    """
    for step in steps:
        task = task_in_run(step, configuration)
        task.check_outputs()
        if why := task.stale_reason():
            return step.name, task.path, why
    return None


def check_run(configuration):
    """Refuse a configuration with which one of the steps would fail.

    The data set is checked too, unless the run itself is to make it.

    Raises
    ------
    InputError
        All that is wrong of the numbers is in one.
    """
    options = configuration.options
    for paths in (options["annotate"].ontology, options["evaluate"].roll_up, options["report"].ontology):
        read_ontology(*paths)
    if not configuration.makes_data_set or (configuration.data_set / "images.csv").exists():
        _check_data_set(configuration)


def _check_data_set(configuration):
    folder, options = configuration.data_set, configuration.options
    raise_errors(folder, check_tables(folder)[0])
    images, train = selected_images(folder, options["select"]), options["train"]
    n_candidate_patches(options_for_images(options["extract"], len(images)))  # refused if none fits
    table = annotations_table(folder)  # refused if it has nearly that name
    if has_table(folder, TABLE_OF_TERMS) or train.corrections:
        annotations, _ = curated_annotations_of(folder, corrections=train.corrections)
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
    """Return stage range -> TrainingSet of the annotated groups of images, as the step `train` has it."""
    columns = {s: image_columns([i for i in images if i.stage_range == s]) for s in STAGE_RANGES}
    if train.min_groups is None:
        enough = enough_groups_of_columns(columns, annotations, train.exclude_terms)
        train = replace(train, min_groups=enough)
    curated = {s: curated_groups(of_range, annotations, s, train) for s, of_range in columns.items()}
    return {s: groups for s, groups in curated.items() if len(groups)}


def _count_genes(curated):
    return len({gene for groups in curated.values() for gene in groups.genes})


def _can_learn(curated):
    """Return whether a term is known of enough groups, and of `_LEAST_GENES` genes with and without it."""
    for groups in curated.values():
        genes = np.asarray(groups.genes)
        for truth, observed, reason in zip(groups.Y.T, groups.observed.T, groups.reasons):
            counts = [len(set(genes[observed & (truth == has_term)])) for has_term in (True, False)]
            if not reason and min(counts) >= _LEAST_GENES:
                return True
    return False


def _check_numbers(curated, train, folds, given):
    """Refuse numbers of [train] and [evaluate] with which nothing can be learned from what is curated."""
    n_genes, fix = _count_genes(curated), "leave it out, and it is fitted to the data"
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
            f"no term of {given} can be learned: at most {count} the same term, and min-groups of [train] is "
            f"{train.min_groups}",
            fix=fix,
        )
    if train.min_groups and not _can_learn(curated):
        raise InputError(
            f"no term of {given} can be learned: of those with enough genes "
            f"none is known to be absent from {_LEAST_GENES} genes",
            fix="reject it for genes that do not show it: without a verdict it does not count as absent",
        )
    if folds and n_genes < folds:
        raise InputError(
            f"{pluralise(n_genes, 'gene')} cannot be split into {folds} folds, as [evaluate] asks for",
            fix=fix,
        )

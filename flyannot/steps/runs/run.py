"""The whole chain: from a data set to terms, scores and a page, one step after the other."""

import logging
from collections import Counter, defaultdict
from dataclasses import replace
from shlex import quote

import numpy as np

from flyannot.classifiers.folds import folds_of_genes
from flyannot.dataset.ontology import read_ontology
from flyannot.dataset.paths import ANNOTATIONS as TABLE_OF_TERMS
from flyannot.dataset.paths import annotations_table, has_table
from flyannot.descriptors.extract import n_candidate_patches
from flyannot.errors import InputError, did_you_mean
from flyannot.runtime.digest import remembered_digests
from flyannot.runtime.wording import pluralise
from flyannot.steps.chain import STEPS
from flyannot.steps.engine.images import genes_of_groups, selected_images
from flyannot.steps.engine.inputs import (
    curated_annotations_of,
    refuse_unknown_excluded_terms,
)
from flyannot.steps.engine.step import ANNOTATIONS, Asked
from flyannot.steps.engine.task import run_task, why_not_up_to_date
from flyannot.steps.runs.configuration import RECORD
from flyannot.store.supplied import supplied_models

log = logging.getLogger("flyannot")
_SUGGESTS = "annotate"  # the step that a supplied model takes part in
_LEAST_WITHOUT = 2  # genes that lack a term, to learn it from: `flyannot.classifiers.model.untrainable`


def has_terms(configuration):
    """Whether a run has, or will have, curated terms to learn from; true too of a data set that is not here,
    of which nothing can be said."""
    given = configuration.makes_data_set or bool(configuration.options["train"].corrections)
    return given or not configuration.data_set.is_dir() or has_table(configuration.data_set, TABLE_OF_TERMS)


def supplied_model(configuration):
    """The model that comes with flyannot and suggests terms where a run has none to learn from: its path, or
    None where none knows a stage range of the images."""
    if has_terms(configuration):
        return None
    images = selected_images(configuration.data_set, configuration.options["select"])
    asked = {image.stage_range for image in images}
    return next((m.path for m in supplied_models().values() if asked.intersection(m.stage_ranges)), None)


def model_is_supplied(step, configuration):
    """Whether a step of a run takes a supplied model, which was made with options of its own."""
    return step.name == _SUGGESTS and supplied_model(configuration) is not None


def steps_of(configuration):
    """The steps of a run, in order: a list of `flyannot.steps.engine.step.Step`.

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
    if has_terms(configuration):
        return ""
    present = [step.name for step in steps_of(configuration)]
    absent = [name for name in configuration.options if name in STEPS and name not in present]
    record = quote(str(configuration.output / RECORD))
    return (
        f"{configuration.data_set} has no {TABLE_OF_TERMS}: {', '.join(absent)} are left out. Give terms on "
        f"the page, download corrections.csv, then: flyannot run {record} --corrections corrections.csv"
    )


def path_in_run(step, configuration):
    """Where the output of a step lies."""
    return configuration.output / step.makes if step.makes else configuration.data_set


def task_in_run(step, configuration):
    """The `flyannot.steps.engine.task.Task` of a step of a run, once all steps before it are done."""

    def path_of_kind(kind):
        supplied = supplied_model(configuration) if kind == "model" else None
        return supplied or configuration.output / f"{kind}.h5"

    asked = Asked(
        inputs=step.paths_read(configuration.data_set, path_of_kind),
        out=path_in_run(step, configuration),
        options=configuration.options[step.name],
        selection=configuration.options["select"],
        seed=configuration.seed,
        run=configuration,
    )
    return step.task_of(asked)


def run_all_steps(steps, configuration, execution):
    """Carry out steps of a run; its folder is its own, so that outdated files are replaced.

    Yields
    ------
    step, task, outcome : each Step, its Task and its Outcome, as it ends
    """
    with remembered_digests():
        for step in steps:
            log.info("[%s]", step.name, extra={"step": step.name})
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
    """The first step that would make something, as (name, path, why); None if all is up to date.

    A plan cannot look past an output that is missing: what follows depends on it.
    """
    for step in steps:
        task = task_in_run(step, configuration)
        why = why_not_up_to_date(task)
        if why:
            return step.name, task.path, "\n".join(filter(None, (why, task.estimate())))
    return None


def check_run(configuration):
    """Refuse a configuration with which one of the steps would fail.

    The data set is checked too, unless the run itself is to make it.

    Raises
    ------
    InputError
    """
    options = configuration.options
    if options["evaluate"].pixels is not None:
        raise InputError(
            "[evaluate] pixels is for `flyannot evaluate` and `flyannot ablate`: a run scores its features",
            fix="leave it out of the configuration",
        )
    for paths in (options["annotate"].ontology, options["evaluate"].roll_up, options["report"].ontology):
        read_ontology(*paths)
    if not configuration.makes_data_set or (configuration.data_set / "images.csv").exists():
        _check_data_set(configuration)


def _check_data_set(configuration):
    folder, options = configuration.data_set, configuration.options
    images, train = selected_images(folder, options["select"]), options["train"]
    if not options["extract"].multiple_embryos:  # how many embryos there are is not known
        n_images = Counter(image.stage_range for image in images)
        _check_atoms(n_images, n_candidate_patches(options["extract"]), options["learn-dict"])
    table = annotations_table(folder)  # refused if it has nearly that name
    if not has_terms(configuration):
        return
    annotations, _ = curated_annotations_of(folder, corrections=train.corrections)
    given = table if table.exists() else " and ".join(path.name for path in train.corrections)
    refuse_unknown_excluded_terms(train.exclude_terms, annotations, given)
    groups = genes_of_groups(images, annotations)
    annotated = [key for key in groups.values() if key in annotations.terms_by_gene]
    if not annotated:
        raise InputError(
            f"no gene of {folder} is annotated in {given}",
            fix="check that genes and stage ranges are spelled alike in both",
        )
    folds_of_genes([gene for gene, _ in annotated], options["evaluate"].folds, np.random.default_rng(0))
    _check_terms(annotated, annotations, given, train)


def _check_atoms(n_images, n_per_image, learn):
    together = [n_images] if learn.shared else [{s: n} for s, n in n_images.items()]
    for n_of_stage_range in together:
        n_together = sum(n_of_stage_range.values())
        n_patches = learn.n_most(n_together * n_per_image)
        if n_patches < learn.n_atoms:
            raise InputError(
                f"stage range {', '.join(n_of_stage_range)} has at most "
                f"{pluralise(n_patches, 'patch', 'patches')} ({pluralise(n_together, 'image')}), "
                f"too few for {pluralise(learn.n_atoms, 'atom')}",
                fix=f"lower n-atoms in [learn-dict] (--set learn-dict.n-atoms={max(1, n_patches // 10)}) or "
                "stride-px in [extract], or add images",
            )


def _check_terms(annotated, annotations, given, train):
    counts = defaultdict(Counter)
    for gene, stage_range in annotated:
        counts[stage_range].update(annotations.terms_by_gene[gene, stage_range])
    most = {
        s: max((n for term, n in of_terms.items() if term not in train.exclude_terms), default=0)
        for s, of_terms in counts.items()
    }
    if max(most.values()) < train.min_groups:
        best = max(most, key=lambda s: most[s])
        groups = pluralise(most[best], "group with images has", "groups with images have")
        raise InputError(
            f"no term of {given} can be learned: at most {groups} the same term "
            f"(in stage range {best}), and min-groups is {train.min_groups}",
            fix="lower min-groups in [train], or add images of genes with terms",
        )
    frequent = [(term, s) for s in counts for term, n in counts[s].items() if n >= train.min_groups]
    if not any(_n_without(term, s, annotated, annotations) >= _LEAST_WITHOUT for term, s in frequent):
        raise InputError(
            f"no term of {given} can be learned: of those with enough genes ({frequent[0][0]} and others) "
            f"none is known to be absent from {_LEAST_WITHOUT} genes",
            fix="reject it for genes that do not show it: without a verdict it does not count as absent",
        )


def _n_without(term, stage_range, annotated, annotations):
    """Of how many genes it is known that they lack a term."""
    return sum(
        term not in annotations.terms_by_gene[key] and term in annotations.known_only.get(key, (term,))
        for key in set(annotated)
        if key[1] == stage_range
    )

"""The whole chain: from a data set to terms, scores and a page, one step after the other."""

import logging
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np

from flyannot.classifiers.folds import folds_of_genes
from flyannot.dataset.ontology import read_ontology
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
from flyannot.steps.engine.step import Asked
from flyannot.steps.engine.task import run_task, why_not_up_to_date

log = logging.getLogger("flyannot")


def steps_of(configuration):
    """The steps of a run, in order: a list of `flyannot.steps.engine.step.Step`."""
    return [step for step in STEPS.values() if step.name in configuration.options]


def path_in_run(step, configuration):
    """Where the output of a step lies."""
    return configuration.output / step.makes if step.makes else configuration.data_set


def task_in_run(step, configuration):
    """The `flyannot.steps.engine.task.Task` of a step of a run, once all steps before it are done."""
    asked = Asked(
        inputs=step.paths_read(configuration.data_set, lambda kind: configuration.output / f"{kind}.h5"),
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


def step_named(steps, name):
    """The step of that name.

    Raises
    ------
    InputError
        If the run has none.
    """
    names = [step.name for step in steps]
    if name not in names:
        raise InputError(
            f'this run has no step "{name}".{did_you_mean(name, names)}', fix=f"use one of {', '.join(names)}"
        )
    return steps[names.index(name)]


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
        _check_data_set(configuration.data_set, options)


def _check_data_set(folder, options):
    train = options["train"]
    images = selected_images(folder, options["select"])
    if not options["extract"].multiple_embryos:  # how many embryos there are is not known
        n_images = Counter(image.stage_range for image in images)
        _check_atoms(n_images, n_candidate_patches(options["extract"]), options["learn-dict"])
    annotations, _ = curated_annotations_of(folder, corrections=train.corrections)
    table = folder / "annotations.csv"
    refuse_unknown_excluded_terms(train.exclude_terms, annotations, table)
    groups = genes_of_groups(images, annotations)
    annotated = [key for key in groups.values() if key in annotations.terms_by_gene]
    if not annotated:
        raise InputError(
            f"no gene of {folder / 'images.csv'} is annotated in {table}",
            fix="check that genes and stage ranges are spelled alike in both",
        )
    folds_of_genes([gene for gene, _ in annotated], options["evaluate"].folds, np.random.default_rng(0))
    _check_terms(annotated, annotations, table, train)


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
                fix="lower n-atoms in [learn-dict] or stride-px in [extract], or add images",
            )


def _check_terms(annotated, annotations, table, train):
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
            f"no term of {table} can be learned: at most {groups} the same term "
            f"(in stage range {best}), and min-groups is {train.min_groups}",
            fix="lower min-groups in [train], or add images of genes with terms",
        )

"""The whole chain: from a data set to terms, scores and a page, one step after the other."""

import logging
from dataclasses import replace

from flyannot.errors import InputError, did_you_mean
from flyannot.runtime.digest import remembered_digests
from flyannot.steps.chain import STEPS
from flyannot.steps.engine.step import ANNOTATIONS, IMAGES, Asked
from flyannot.steps.engine.task import carry_out, plan

log = logging.getLogger("flyannot")


def steps_of(configuration):
    """The steps of a run, in order: a list of `flyannot.steps.engine.step.Step`."""
    return [step for step in STEPS.values() if step.name in configuration.options]


def path_in_run(step, configuration):
    """Where the output of a step lies."""
    return configuration.output / step.makes if step.makes else configuration.data_set


def task_in_run(step, configuration):
    """The `flyannot.steps.engine.task.Task` of a step of a run, once all steps before it are done."""
    inputs = {}
    for read in step.reads:
        is_of_data_set = read.holds in (IMAGES, ANNOTATIONS)
        path = configuration.data_set if is_of_data_set else configuration.output / f"{read.holds}.h5"
        inputs[read.name] = (path,)
    asked = Asked(
        inputs=inputs,
        out=path_in_run(step, configuration),
        options=configuration.options[step.name],
        selection=configuration.options["select"],
        seed=configuration.seed,
        run=configuration,
    )
    return step.task_of(asked)


def carry_out_all(steps, configuration, execution):
    """Carry out steps of a run; its folder is its own, so that outdated files are replaced.

    Yields
    ------
    step, task, outcome : each Step, its Task and its Outcome, as it ends
    """
    with remembered_digests():
        for step in steps:
            log.info("[%s]", step.name, extra={"step": step.name})
            task = task_in_run(step, configuration)
            yield step, task, carry_out(task, replace(execution, force=True))


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


def plan_all(steps, configuration):
    """The first step that would make something, as (name, path, why); None if all is up to date.

    A plan cannot look past an output that is missing: what follows depends on it.
    """
    for step in steps:
        task = task_in_run(step, configuration)
        why = plan(task)
        if why:
            return step.name, task.path, why
    return None

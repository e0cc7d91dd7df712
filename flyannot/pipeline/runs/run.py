"""Runs of all steps, from a data set to terms, scores and a report."""

import logging
from dataclasses import replace
from datetime import datetime

from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.task import describe_plan, run_task

log = logging.getLogger("flyannot")


def run_steps(plan, execution, only=None):
    """Run steps one after the other; outdated files in the output folder are replaced.

    After the step `extract`, what depends on the stage ranges that it guessed is settled.

    Parameters
    ----------
    plan : RunPlan
    execution : Execution
    only : name of the only step to run; None for all steps

    Yields
    ------
    name, task, outcome : name, Task and Outcome of each step when it ends

    Raises
    ------
    InputError
        If nothing can be learned from images of the guessed stage ranges.
    """
    made_before = {}  # path -> Outcome of an output that an earlier step made
    for name in [only] if only else STEPS:
        made_with = []
        # Guessed stage ranges may change the options of `extract` itself, by the model that is adapted.
        while name in plan.requests and plan.requests[name].options not in made_with:
            made_with.append(plan.requests[name].options)
            log_begin(name)
            task = plan.build_task(name)
            outcome = run_task(task, replace(execution, force=True))
            made_before |= {one.path: one for one in outcome.also}
            yield name, task, outcome if outcome.made else made_before.get(task.path, outcome)
            if name == "extract" and plan.tables.has_unknown_stages:
                plan = plan.settled()
                plan.check()


def log_begin(step):
    """Log that a step begins, and when; step : str, its name."""
    log.info("[%s] %s", step, datetime.now().strftime("%Y-%m-%d %H:%M"))


def describe_first_outdated(plan, names):
    """Describe the first output that would be written, or return "" if all are up to date.

    Later outputs depend on this one, so nothing can be said about them.

    plan : RunPlan
    names : names of the steps to examine
    """
    for name in names:
        task = plan.build_task(name)
        task.check_outputs()
        if why := task.stale_reason():
            return describe_plan(task, why, "would write")
    return ""

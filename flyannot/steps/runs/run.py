"""The whole chain: from a data set to terms, scores and a page, one task after the other."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from flyannot.dataset.folder import read_images
from flyannot.dataset.images import select_images
from flyannot.dataset.synthetic.generate import README, readme_of, synthesize
from flyannot.errors import InputError, did_you_mean
from flyannot.runtime.digest import remembered_digests
from flyannot.runtime.text_files import first_bytes
from flyannot.steps.annotate import annotate_task
from flyannot.steps.engine.configuration import Configuration
from flyannot.steps.engine.task import Outcome, Task, carry_out, plan
from flyannot.steps.evaluate import evaluate_task, evaluation_of_model
from flyannot.steps.extract import extract_task
from flyannot.steps.learn_dict import learn_task
from flyannot.steps.pool import pool_task
from flyannot.steps.train import train_task

log = logging.getLogger("flyannot")


@dataclass(frozen=True)
class Planned:
    """One step of a run: its name, and a function that makes its Task once all before it are done."""

    step: str
    task: Callable


@dataclass(frozen=True)
class _Files:
    """Where everything of a run lies."""

    folder: Path

    def __getattr__(self, name):
        return self.folder / f"{name}.h5"


def steps_of(configuration: Configuration, report_task: Callable | None = None):
    """The steps of a run in order, as Planned.

    Parameters
    ----------
    report_task : function of folder, page, data set and ReportOptions that makes the task of the report;
        without one, the run ends with its scores
    """
    out, data_set, options = configuration.output, configuration.data_set, configuration.options
    files, seed, chosen = _Files(out), configuration.seed, options["select"].stage_range

    def images():
        return select_images(
            read_images(data_set), views=options["select"].view, stage_ranges=options["select"].stage_range
        )

    def evaluate():
        evaluation = evaluation_of_model(
            files.model, [files.features], data_set, options["evaluate"], options["classify"].corrections
        )
        return evaluate_task(evaluation, out / "scores.json")

    steps = [
        Planned("extract", lambda: extract_task(images(), files.descriptors, options["extract"])),
        Planned(
            "learn-dict",
            lambda: learn_task(
                [files.descriptors], files.dictionary, options["learn-dict"], seed=seed, stage_ranges=chosen
            ),
        ),
        Planned(
            "pool",
            lambda: pool_task(
                [files.descriptors], files.dictionary, files.features, options["pool"], stage_ranges=chosen
            ),
        ),
        Planned(
            "train",
            lambda: train_task(
                [files.features],
                data_set,
                files.model,
                options["classify"],
                seed=seed,
                stage_ranges=chosen,
            ),
        ),
        Planned(
            "annotate",
            lambda: annotate_task(
                files.model,
                images(),
                files.predictions,
                options["annotate"],
                made=(files.features, files.descriptors),
            ),
        ),
        Planned("evaluate", evaluate),
    ]
    if "synthesize" in options:
        steps.insert(0, Planned("synthesize", lambda: _synthesis(data_set, options["synthesize"], seed)))
    if report_task:
        page = out / "report.html"
        steps.append(Planned("report", lambda: report_task(out, page, data_set, options["report"])))
    return steps


def carry_out_all(steps, execution):
    """Carry out the steps of a run; its folder is its own, so that outdated files are replaced.

    Yields
    ------
    step, outcome : the name of each step and its Outcome, as it ends
    """
    with remembered_digests():
        for planned in steps:
            log.info("[%s]", planned.step, extra={"step": planned.step})
            yield planned.step, carry_out(planned.task(), replace(execution, force=True))


def only(steps, name):
    """The step of that name, in a list.

    Raises
    ------
    InputError
        If the run has none.
    """
    names = [planned.step for planned in steps]
    if name not in names:
        raise InputError(
            f'this run has no step "{name}".{did_you_mean(name, names)}', fix=f"use one of {', '.join(names)}"
        )
    return [planned for planned in steps if planned.step == name]


def plan_all(steps):
    """The first step that would make something, as (step, path, why); None if all is up to date.

    A plan cannot look past an output that is missing: what follows depends on it.
    """
    for planned in steps:
        task = planned.task()
        why = plan(task)
        if why:
            return planned.step, task.path, why
    return None


def _synthesis(folder, options, seed):
    def why():
        if not (folder / "images.csv").exists():
            return "it is not there yet"
        made, expected = folder / README, readme_of(options, seed).encode()
        is_other = made.is_file() and first_bytes(made, len(expected) + 1) != expected
        return "these embryos were drawn with other options" if is_other else ""

    def make(execution):
        made = synthesize(folder, options, seed=seed, force=execution.force, progress=execution.progress)
        return Outcome(folder, True, ", ".join(f"{n:,} {what}" for what, n in made.items()))

    return Task(folder, why, make, is_replaced=True, is_locked=False)

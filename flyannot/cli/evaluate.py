"""flyannot evaluate: how good are the terms?"""

from dataclasses import fields

import click
from click.core import ParameterSource

from flyannot.base.errors import InputError
from flyannot.base.options import kebab
from flyannot.cli.shared.options import IN_FILE, OUT_FILE, Command, seed_option, takes
from flyannot.cli.shared.output import execution_of, say
from flyannot.pipeline.options import EvaluateOptions, RunOptions, Selection
from flyannot.terms.options import TrainOptions


@click.command("evaluate", cls=Command)
@click.argument(
    "scored",
    type=IN_FILE,
    nargs=-1,
    required=True,
    metavar="FEATURES|PREDICTIONS...",
)
@click.argument("annotations", type=IN_FILE)
@click.option(
    "--model",
    type=IN_FILE,
    help="Cross-validate with the options, seed and stage ranges of this model, which was trained on "
    "FEATURES; the scores name it.",
)
@click.option(
    "--json",
    "json_file",
    type=OUT_FILE,
    help="Also write the scores to this JSON file; - prints them instead of the table.",
)
@takes(options=EvaluateOptions, train=TrainOptions, selection=(Selection, ["stage_range"]), run=RunOptions)
@seed_option
def command(scored, annotations, model, json_file, options, train, selection, run, seed):
    """Score terms against curated ones.

    With FEATURES (from `flyannot pool`) a model is trained and tested by cross-validation, split by
    gene over all stage ranges at once. With PREDICTIONS (from `flyannot annotate`) these are scored as
    they are: a held-out test, if the model has never seen their genes. A term that cannot be evaluated
    is listed with the reason and enters no average; where that is every term, the exit code is 1.

    \b
    Example:
        flyannot evaluate features.h5 embryos/annotations.csv --json scores.json
    """
    from flyannot.pipeline.engine.task import run_task
    from flyannot.pipeline.evaluate import ScoresTask, cross_validation_of_model, evaluation_of_files
    from flyannot.pipeline.evaluation import nothing_evaluated
    from flyannot.terms.group_outcomes import json_of_scores, read_scores
    from flyannot.terms.table import format_scores

    execution = execution_of(run=run)
    if model:
        _refuse_options_of_the_model()
        evaluation = cross_validation_of_model(model, scored, annotations, options, train.corrections)
    else:
        evaluation = evaluation_of_files(
            scored,
            annotations,
            options=options,
            train=train,
            seed=seed,
            stage_ranges=selection.stage_range,
        )
    if json_file is None or str(json_file) == "-":
        result = evaluation.result(execution)
    else:
        run_task(ScoresTask(evaluation, json_file), execution)
        result = read_scores(json_file)
    is_printed = str(json_file) == "-"
    say(
        json_of_scores(result).rstrip()
        if is_printed
        else format_scores(result, synthetic=result["synthetic"])
    )
    if nothing := nothing_evaluated(result):
        raise nothing


def _refuse_options_of_the_model():
    """Refuse options on the command line that the model brings; those of the environment are ignored.

    Raises
    ------
    InputError
        If there is one.
    """
    context = click.get_current_context()
    brought = {option.name for option in fields(TrainOptions) if option.metadata["in_header"]}
    for name in (*sorted(brought), "seed", "stage_range"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InputError(
                f"--model brings the options that it was trained with, and --{kebab(name)} is one of them",
                fix="leave it out",
            )

"""The command flyannot evaluate, which scores predicted terms."""

from dataclasses import fields

import click
from click.core import ParameterSource

from flyannot.base.errors import InputError
from flyannot.base.options import to_kebab_case
from flyannot.cli.shared.options import IN_FILE, OUT_FILE, Command, add_options, seed_option
from flyannot.cli.shared.output import build_execution, print_text
from flyannot.pipeline.options import EvaluateOptions, RunOptions, Selection
from flyannot.terms.options import TrainOptions


@click.command("evaluate", cls=Command)
@click.argument("scored", type=IN_FILE, nargs=-1, required=True, metavar="FEATURES|PREDICTIONS...")
@click.argument("annotations", type=IN_FILE)
@click.option(
    "--model",
    type=IN_FILE,
    help="Cross-validate with the options, seed and stage ranges of this model, which was trained on "
    "FEATURES. The JSON file of scores says which model it was.",
)
@click.option(
    "-o", "--output", "--json", "json_file", type=OUT_FILE, help="Also write the scores to this JSON file."
)
@add_options(
    options=EvaluateOptions,
    train=TrainOptions,
    selection=(Selection, ["stage_range", "columns"]),
    run=RunOptions,
)
@seed_option
def command(scored, annotations, model, json_file, options, train, selection, run, seed):
    """Score predicted terms against curated terms.

    With FEATURES (from `flyannot pool`), a model is trained and tested by cross-validation. The folds are
    split by gene, over all stage ranges at once. With PREDICTIONS (from `flyannot annotate`), the predictions
    are scored as they are. This is a held-out test if the model was not trained on these genes. Terms that
    cannot be evaluated are listed with the reason and left out of the averages. If no term can be evaluated,
    the exit code is 1.

    \b
    Example:
        flyannot evaluate features.h5 embryos/annotations.csv -o scores.json
    """
    from flyannot.pipeline.answers.evaluation import nothing_evaluated_error
    from flyannot.pipeline.engine.curated_terms import CuratedTerms
    from flyannot.pipeline.engine.task import run_task
    from flyannot.pipeline.steps.evaluate import ScoresTask, build_evaluation, build_model_evaluation
    from flyannot.terms.group_outcomes import read_scores
    from flyannot.terms.table import format_scores

    execution = build_execution(run=run)
    curated = CuratedTerms(annotations, train.corrections, selection.columns, options.roll_up)
    if model:
        _refuse_trained_options()
        evaluation = build_model_evaluation(model, scored, curated, options, train.adapt)
    else:
        evaluation = build_evaluation(
            scored, curated, options=options, train=train, seed=seed, stage_ranges=selection.stage_range
        )
    if json_file:
        run_task(ScoresTask(evaluation, json_file), execution)
        result = read_scores(json_file)
    else:
        result = evaluation.result(execution)
    print_text(format_scores(result, synthetic=result["synthetic"]))
    if nothing := nothing_evaluated_error(result):
        raise nothing


def _refuse_trained_options():
    """Raise InputError if an option that --model already determines was given on the command line."""
    context = click.get_current_context()
    trained = {option.name for option in fields(TrainOptions) if option.metadata["in_header"]}
    for name in (*sorted(trained), "seed", "stage_range"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            what = f"--{to_kebab_case(name)} cannot be combined with --model, whose training set this option"
            raise InputError(what, fix=f"leave out --{to_kebab_case(name)} or --model")

"""flyannot evaluate: how good are the terms?"""

import click

from flyannot.cli.shared.classify_options import classify_options, classify_options_of
from flyannot.cli.shared.options import (
    IN_FILE,
    OUT_FILE,
    Command,
    Grid,
    jobs_option,
    seed_option,
    stage_range_option,
)


@click.command("evaluate", cls=Command)
@click.argument("scored", type=IN_FILE, nargs=-1, required=True, metavar="FEATURES|PREDICTIONS...")
@click.argument("annotations", type=IN_FILE)
@click.option(
    "--folds", "n_folds", type=click.IntRange(min=2), default=5, show_default=True,
    help="Folds of the cross-validation; no gene is in two of them.",
)  # fmt: skip
@click.option(
    "--json", "json_file", type=OUT_FILE,
    help="Also write the scores to this JSON file; - prints them instead of the table.",
)  # fmt: skip
@click.option(
    "--pixels", type=Grid(), help="FEATURES is a data set folder: judge by its grey levels, averaged over "
    "these cells, such as 16x32. The baseline.",
)  # fmt: skip
@click.option(
    "--inner", is_flag=True,
    help="Cross-validate within the training genes of each fold: the score to choose options by.",
)  # fmt: skip
@click.option(
    "--roll-up", type=IN_FILE, multiple=True,
    help="An OBO file, such as FBbt (repeatable): a gene with a term has its parent terms too.",
)  # fmt: skip
@classify_options
@stage_range_option
@seed_option
@jobs_option
def command(scored, annotations, n_folds, pixels, inner, json_file, stage_ranges, seed, jobs, **options):
    """Score terms against curated ones.

    With FEATURES (from `flyannot pool`) a model is trained and tested by cross-validation, split by
    gene over all stage ranges at once. With PREDICTIONS (from `flyannot annotate`) these are scored as
    they are: a held-out test, if the model has never seen their genes. A term that cannot be judged
    is listed with the reason and enters no average.

    \b
    Example:
        flyannot evaluate features.h5 embryos/annotations.csv --json scores.json
    """
    from flyannot.scores.group_outcomes import scores_json
    from flyannot.scores.table import format_table
    from flyannot.steps.evaluate import Validation, evaluate_files

    is_printed = str(json_file) == "-"
    json_file = None if is_printed else json_file
    validation = Validation(n_folds, seed, jobs, inner, options.pop("roll_up"))
    result = evaluate_files(
        scored, annotations, classify_options_of(**options),
        validation=validation, stage_ranges=stage_ranges, json_file=json_file, pixels=pixels,
    )  # fmt: skip
    click.echo(
        scores_json(result).rstrip() if is_printed else format_table(result, synthetic=result["synthetic"])
    )

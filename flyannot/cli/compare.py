"""The command flyannot compare, which compares two evaluations."""

import click

from flyannot.cli.shared.options import IN_FILE, Command, json_option
from flyannot.cli.shared.output import print_json, print_text


@click.command("compare", cls=Command)
@click.argument("first", type=IN_FILE, metavar="A.json")
@click.argument("second", type=IN_FILE, metavar="B.json")
@json_option
def command(first, second, as_json):
    """Compare two evaluations of the same genes, term by term and on average.

    A.json and B.json come from `flyannot evaluate --json`. The intervals of the differences in AUC, B - A,
    come from 1,000 bootstrap samples of genes, the same for both. Only terms and groups in both files are
    compared.

    \b
    Example:
        flyannot compare plain/scores.json best/scores.json
    """
    from flyannot.pipeline.answers.evaluation import compare_files
    from flyannot.terms.table import format_comparison

    comparison = compare_files(first, second)
    if as_json:
        print_json(comparison)
    else:
        print_text(format_comparison(comparison, (first, second)))

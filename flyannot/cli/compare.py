"""flyannot compare: is one configuration better than another?"""

import click

from flyannot.cli.shared.options import IN_FILE, Command, json_option
from flyannot.cli.shared.output import say, say_json


@click.command("compare", cls=Command)
@click.argument("first", type=IN_FILE, metavar="A.json")
@click.argument("second", type=IN_FILE, metavar="B.json")
@json_option
def command(first, second, as_json):
    """Compare two evaluations of the same genes, term by term and on average.

    A.json and B.json come from `flyannot evaluate --json`. 1,000 bootstrap samples of genes are drawn, the
    same ones for both; the interval is that of the difference B - A in AUC. Only terms and groups that both
    evaluated count.

    \b
    Example:
        flyannot compare plain/scores.json best/scores.json
    """
    from flyannot.pipeline.evaluation import compare_files
    from flyannot.terms.table import format_comparison

    comparison = compare_files(first, second)
    if as_json:
        say_json(comparison)
    else:
        say(format_comparison(comparison, (first, second)))

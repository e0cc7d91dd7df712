"""The command flyannot show, which prints what a file contains."""

import click

from flyannot.cli.shared.options import Command, ModelFile, json_option
from flyannot.cli.shared.output import print_json, print_text


@click.command("show", cls=Command)
@click.argument("file", type=ModelFile())
@click.option(
    "--header", is_flag=True, help="For models and predictions, also print what they were made from."
)
@json_option
def command(file, header, as_json):
    """Print what FILE contains for each stage range, and what it was made from.

    For models and predictions, every term is listed with the number of genes that it was learned from, its
    threshold, and how well it was predicted in cross-validation.

    \b
    Example:
        flyannot show model.h5
    """
    from flyannot.results.show import file_contents_as_json, format_file

    if as_json:
        print_json(file_contents_as_json(file))
    else:
        print_text(format_file(file, header=header))

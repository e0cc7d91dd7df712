"""flyannot show: what a file holds."""

import click

from flyannot.cli.shared.options import Command, ModelFile, json_option
from flyannot.cli.shared.output import say, say_json


@click.command("show", cls=Command)
@click.argument("file", type=ModelFile())
@click.option("--header", is_flag=True, help="Also print what models and predictions were made from.")
@json_option
def command(file, header, as_json):
    """Print what FILE holds, stage range by stage range, and what it was made from.

    For a model and for predictions: every term with the number of genes that it was learned from, its
    threshold, and how well it was predicted in cross-validation.

    \b
    Example:
        flyannot show model.h5
    """
    from flyannot.pipeline.show import contents, file_in_words

    if as_json:
        say_json(contents(file))
    else:
        say(file_in_words(file, header=header))

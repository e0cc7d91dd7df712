"""flyannot show: what a file holds."""

import json

import click

from flyannot.cli.shared.options import IN_FILE, Command, json_option


@click.command("show", cls=Command)
@click.argument("file", type=IN_FILE)
@json_option
def command(file, as_json):
    """Print what FILE holds, stage range by stage range, and what it was made from.

    \b
    Example:
        flyannot show model.h5
    """
    from flyannot.store.description import contents_of_file, describe_file

    if as_json:
        click.echo(json.dumps(contents_of_file(file), indent=1, ensure_ascii=False))
    else:
        click.echo(describe_file(file))

"""flyannot show: what a file holds."""

import click

from flyannot.cli.options import IN_FILE, Command


@click.command("show", cls=Command)
@click.argument("file", type=IN_FILE)
def command(file):
    """Print what FILE holds, stage range by stage range, and what it was made from.

    \b
    Example:
        flyannot show model.h5
    """
    from flyannot.store.description import describe_file

    click.echo(describe_file(file))

"""The command flyannot info, which describes the installation or a model that comes with it."""

import click

from flyannot.cli.shared.options import Command
from flyannot.cli.shared.output import print_text


@click.command("info", cls=Command)
@click.argument("model", required=False)
def command(model):
    """Print versions, processor, threads, folders, environment variables and optional packages.

    Please include this in a bug report. With MODEL, the name of a model that comes with flyannot, print its
    card: what it learned from, where it was measured and where not, and its licence.

    \b
    Example:
        flyannot info
        flyannot info blastoderm
    """
    from flyannot.files.hdf5.supplied import format_card
    from flyannot.jobs.environment import describe_environment

    print_text(format_card(model) if model else describe_environment())

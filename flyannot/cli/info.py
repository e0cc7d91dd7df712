"""The command flyannot info, which describes the installation."""

import click

from flyannot.cli.shared.options import Command
from flyannot.cli.shared.output import print_text


@click.command("info", cls=Command)
def command():
    """Print versions, processor, threads, folders, environment variables and optional packages.

    Please include this in a bug report.

    \b
    Example:
        flyannot info
    """
    from flyannot.jobs.environment import describe_environment

    print_text(describe_environment())

"""The command flyannot info, which describes the installation."""

import click

from flyannot.cli.shared.options import Command, json_option
from flyannot.cli.shared.output import print_json, print_text


@click.command("info", cls=Command)
@json_option
def command(as_json):
    """Print versions, processor, threads, folders, environment variables and optional packages.

    Please include this in a bug report.

    \b
    Example:
        flyannot info
    """
    from flyannot.jobs.environment import collect_environment, format_environment

    facts = collect_environment()
    if as_json:
        print_json(facts)
    else:
        print_text(format_environment(facts))

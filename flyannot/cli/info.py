"""flyannot info: what is installed here."""

import json

import click

from flyannot.cli.shared.options import Command, json_option


@click.command("info", cls=Command)
@json_option
@click.option(
    "--options", "only_options", is_flag=True,
    help="Print the table of all options of all commands instead, in Markdown.",
)  # fmt: skip
def command(as_json, only_options):
    """Print what is installed here, and on what.

    Versions, processor, threads, the folder of compiled kernels, settings in the environment, and
    which optional packages are there: put it into a report of a fault.

    \b
    Example:
        flyannot info
    """
    if only_options:
        from flyannot.cli.shared.option_table import option_table

        click.echo(option_table())
        return
    from flyannot.runtime.environment import in_words, installation

    facts = installation()
    click.echo(json.dumps(facts, indent=1) if as_json else in_words(facts))

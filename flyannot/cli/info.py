"""flyannot info: what is installed here."""

import json

import click

from flyannot.cli.shared.options import Command, json_option


@click.command("info", cls=Command)
@json_option
@click.option(
    "--options",
    "only_options",
    is_flag=True,
    help="Print the table of all options of all commands instead, in Markdown.",
)
@click.option(
    "--data-sets",
    "only_data_sets",
    is_flag=True,
    help="Print the registry of public data sets instead, and which lie below FLYANNOT_DATA.",
)
def command(as_json, only_options, only_data_sets):
    """Print what is installed here, and on what.

    Versions, processor, threads, the folder of compiled kernels, settings in the environment, and
    which optional packages are there: put it into a report of a fault. With --data-sets: what each
    public data set is, where it comes from, its licence and SHA-256, and how to get it.

    \b
    Example:
        flyannot info
    """
    if only_options:
        from flyannot.cli.shared.option_table import option_table

        click.echo(option_table())
        return
    if only_data_sets:
        from flyannot.dataset.public import data_set_facts as facts
        from flyannot.dataset.public import data_sets_in_words as in_words
    else:
        from flyannot.runtime.environment import environment_in_words as in_words
        from flyannot.runtime.environment import installed_environment as facts

    found = facts()
    click.echo(json.dumps(found, indent=1) if as_json else in_words(found))

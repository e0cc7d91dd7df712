"""flyannot info and flyannot completion: what is installed here, and the script for the shell."""

import click
from click.shell_completion import get_completion_class

from flyannot.cli.shared.exit_codes import COMPLETION
from flyannot.cli.shared.options import Command, json_option
from flyannot.cli.shared.output import say, say_json


@click.command("info", cls=Command)
@json_option
def command(as_json):
    """Print what is installed here, and on what.

    Versions, processor, threads, the folder of compiled kernels, settings in the environment, and
    which optional packages are there: put it into a report of a fault.

    \b
    Example:
        flyannot info
    """
    from flyannot.jobs.environment import environment_in_words, installed_environment

    facts = installed_environment()
    if as_json:
        say_json(facts)
    else:
        say(environment_in_words(facts))


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell):
    """Print the script that completes commands, options and their values in SHELL.

    Put one line into the file that your shell reads when it starts, and open a new terminal: in
    ~/.bashrc or ~/.zshrc  eval "$(flyannot completion bash)"  (or zsh), in
    ~/.config/fish/config.fish  flyannot completion fish | source

    \b
    Example:
        flyannot completion bash
    """
    from flyannot.cli import group

    source = get_completion_class(shell)(group, {}, "flyannot", COMPLETION).source()
    say(source.strip())

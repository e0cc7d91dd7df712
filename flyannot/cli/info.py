"""The commands flyannot info and flyannot completion."""

import click
from click.shell_completion import get_completion_class

from flyannot.cli.shared.exit_codes import COMPLETION
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


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell):
    """Print the script that completes commands, options and their values in SHELL.

    Add one line to the file that your shell reads when it starts, and open a new terminal.

    \b
    ~/.bashrc                   eval "$(flyannot completion bash)"
    ~/.zshrc                    eval "$(flyannot completion zsh)"
    ~/.config/fish/config.fish  flyannot completion fish | source

    \b
    Example:
        flyannot completion bash
    """
    from flyannot.cli import group

    source = get_completion_class(shell)(group, {}, "flyannot", COMPLETION).source()
    print_text(source.strip())

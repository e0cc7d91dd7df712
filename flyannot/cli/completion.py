"""flyannot completion: the script that lets a shell complete commands and options."""

import click
from click.shell_completion import get_completion_class

from flyannot.cli.shared.options import Command


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell):
    """Print the script that completes commands, options and their values in SHELL.

    Put one line into the file that your shell reads when it starts, and open a new terminal: in
    ~/.bashrc or ~/.zshrc  eval "$(flyannot completion bash)"  (or zsh), in
    ~/.config/fish/config.fish  flyannot completion fish | source

    \b
    Example:
        flyannot completion bash
    """
    from flyannot.cli import group

    source = get_completion_class(shell)(group, {}, "flyannot", "_FLYANNOT_COMPLETE").source()
    click.echo(source.strip())

"""Command lines in help and documentation, parsed but not run."""

import shlex

import click


def commands_below(group, name="flyannot"):
    """Yield (full name, command) of every command in a group and its groups."""
    for word in group.list_commands(None):
        command = group.get_command(None, word)
        if isinstance(command, click.Group):
            yield from commands_below(command, f"{name} {word}")
        else:
            yield f"{name} {word}", command


def example_of(command):
    """Return the command lines of the example at the end of the help of a command."""
    return [line.strip() for line in command.help.partition("Example:\n")[2].splitlines() if line.strip()]


def contexts_of(line):
    """Parse a line that begins with flyannot, and return the contexts of the group and its commands.

    Raises
    ------
    click.UsageError, FlyannotError
        If a command or option is unknown, a value is invalid, or an argument is missing.
    """
    from flyannot.cli import group

    name, *words = shlex.split(line)
    assert name == "flyannot", line
    found = [group.make_context(name, words)]
    while isinstance(found[-1].command, click.Group):
        parent = found[-1]
        first = vars(parent).get("_protected_args") or vars(parent).get("protected_args") or []
        rest = [*first, *parent.args]
        name, command, rest = parent.command.resolve_command(parent, rest)
        found.append(command.make_context(name, rest, parent=parent))
    return found


def flyannot_lines(text):
    """Return the flyannot commands in a text of shell, with continued lines joined."""
    lines = (line.strip().removeprefix("$ ") for line in text.replace("\\\n", " ").splitlines())
    return [line.partition(" #")[0] for line in lines if line.startswith("flyannot ")]

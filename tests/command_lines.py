"""Lines of `flyannot ...` as they stand in help, pages and workflow files: taken apart, not run."""

import shlex

import click


def commands_below(group, name="flyannot"):
    """Yield (full name, command) of every command in a group, also in groups within it."""
    for word in group.list_commands(None):
        command = group.get_command(None, word)
        if isinstance(command, click.Group):
            yield from commands_below(command, f"{name} {word}")
        else:
            yield f"{name} {word}", command


def contexts_of(line):
    """Parse a line that begins with flyannot, and return the contexts of the group and its commands.

    Raises click.UsageError or FlyannotError where it is wrong: an unknown command or option, a value of the
    wrong type, a missing argument.
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
    """The commands in a text of shell: lines that begin with flyannot, continued ones put together."""
    lines = (line.strip().removeprefix("$ ") for line in text.replace("\\\n", " ").splitlines())
    return [line.partition(" #")[0] for line in lines if line.startswith("flyannot ")]

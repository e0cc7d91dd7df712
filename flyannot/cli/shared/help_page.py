"""Help pages, which click writes, and a group that lists commands without importing them."""

import re
from inspect import cleandoc
from textwrap import indent

import click

from flyannot.base.errors import did_you_mean
from flyannot.base.registry import import_object
from flyannot.cli.shared.messages import message_options

_KEPT_LINES = re.compile("^\b\n((?:.+\n?)+)", re.MULTILINE)  # paragraphs that click does not wrap


class DocumentedCommand(click.Command):
    """The base of commands and groups, which have the options of messages.

    Attributes
    ----------
    help : the docstring as Markdown, for the site
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.params += message_options()
        self._text = cleandoc(self.help or "")
        self.help = _KEPT_LINES.sub(lambda found: indent(found[1], "    "), self._text)

    def format_help_text(self, ctx, formatter):
        """Write the docstring."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(self._text)


class LazyGroup(DocumentedCommand, click.Group):
    """A click group that imports a command only when it is run, and suggests names for misspelt commands.

    Parameters
    ----------
    table : function without parameters
        Returns a dict: heading -> name of a command -> (location, description). The location is
        "module:attribute", a module of this package, or a function that builds the command.
    """

    def __init__(self, *args, table, **kwargs):
        super().__init__(*args, **kwargs)
        self._table = table

    def list_commands(self, ctx):
        """Return the names of all commands, in the order of the table."""
        return [name for commands in self._table().values() for name in commands]

    def get_command(self, ctx, name):
        """Import or make the command with this name; return None if there is none."""
        for commands in self._table().values():
            if name in commands:
                place, _ = commands[name]
                if callable(place):
                    return place()
                return import_object(place if ":" in place else f"flyannot.cli.{place}:command")
        return None

    def resolve_command(self, ctx, args):
        """Return the command that `args` begins with; if unknown, raise an error with a suggestion."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            ctx.fail(f'no such command "{args[0]}".{did_you_mean(args[0], known)}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx, formatter):
        """Write the list of commands to the help page, without importing the commands."""
        for purpose, commands in self._table().items():
            with formatter.section(purpose):
                formatter.write_dl([(name, does) for name, (_, does) in commands.items()])

"""Help pages: purpose, usage, options and an example.

The package cloup also groups options and commands. However, its import would add 40 ms to the 125 ms of a
help page, and it cannot list commands without importing them.
"""

import re
from inspect import cleandoc
from textwrap import indent

import click

from flyannot.base.errors import did_you_mean
from flyannot.base.registry import import_object
from flyannot.cli.shared.messages import message_options

_EXAMPLE = "\b\nExample:\n"
_KEPT_LINES = re.compile("^\b\n((?:.+\n?)+)", re.MULTILINE)  # paragraphs that click does not wrap


class DocumentedCommand(click.Command):
    """Base of commands and groups whose docstring ends in an example.

    Attributes
    ----------
    about : the first paragraph of the docstring
    example : list of the command lines of the example
    help : the docstring as Markdown, for the site
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.params += message_options()
        text = cleandoc(self.help or "")
        body, _, example = text.partition(_EXAMPLE)
        self.about, _, self._details = body.strip().partition("\n\n")
        self.example = [line.strip() for line in example.splitlines() if line.strip()]
        self.help = _KEPT_LINES.sub(lambda found: indent(found[1], "    "), text)

    def get_short_help_str(self, limit=45):
        """Return `about` in full, for a list of commands."""
        return " ".join(self.about.split())

    def format_help(self, ctx, formatter):
        """Write the page: purpose, usage, details, options, commands, example."""
        formatter.write_text(self.about)
        formatter.write_paragraph()
        self.format_usage(ctx, formatter)
        if self._details:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(self._details)
        self.format_options(ctx, formatter)
        with formatter.section("Example"):
            formatter.write_text("\b\n" + "\n".join(self.example))

    def format_options(self, ctx, formatter):
        """Write the main options, then "More options"; options common to all commands come last."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        first = [option for option in options if not _is_more(option)]
        if not first or isinstance(self, click.Group):
            first = options
        more = sorted((option for option in options if option not in first), key=is_common_option)
        for heading, shown in (("Options", first), ("More options", more)):
            if shown:
                with formatter.section(heading):
                    formatter.write_dl([option.get_help_record(ctx) for option in shown])


def is_common_option(option):
    """Return True if every command has the click option, such as --help."""
    return not option.expose_value


def _is_more(option):
    return getattr(option, "is_more", False) or is_common_option(option)


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

    def format_options(self, ctx, formatter):
        """Write the options and the list of commands to the help page, without importing the commands."""
        super().format_options(ctx, formatter)
        for purpose, commands in self._table().items():
            with formatter.section(purpose):
                formatter.write_dl([(name, does) for name, (_, does) in commands.items()])

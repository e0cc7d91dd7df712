"""Pages of help: what a command is for, how it is called, its options, and an example at the end."""

from inspect import cleandoc

import click

from flyannot.cli.shared.messages import message_options
from flyannot.errors import did_you_mean
from flyannot.options.registry import thing_at

_EXAMPLE = "\b\nExample:\n"
_OF_EVERY_COMMAND = {"--verbose", "--quiet", "--debug", "--log-format", "--help"}


class HelpPage(click.Command):
    """Mixed into commands and groups.  The docstring ends in an Example, whose lines are commands."""

    @property
    def about(self):
        """The first paragraph of the docstring: what the command is for."""
        return self._body().partition("\n\n")[0]

    def get_short_help_str(self, limit=45):
        """What a list of commands says of it: all of `about`, on as many lines as it takes."""
        return " ".join(self.about.split())

    @property
    def example(self):
        """The lines of the example."""
        lines = cleandoc(self.help or "").partition(_EXAMPLE)[2].splitlines()
        return [line.strip() for line in lines if line.strip()]

    def format_help(self, ctx, formatter):
        formatter.write_text(self.about)
        formatter.write_paragraph()
        self.format_usage(ctx, formatter)
        details = self._body().partition("\n\n")[2]
        if details:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(details)
        self.format_options(ctx, formatter)
        with formatter.section("Example"):
            formatter.write_text("\b\n" + "\n".join(self.example))

    def format_options(self, ctx, formatter):
        """The options that matter; the others stand under "More options", last those of every command."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        more = [o for o in options if getattr(o, "is_more", False) or is_of_every_command(o)]
        more.sort(key=is_of_every_command)
        first = [option for option in options if option not in more]
        if not first or isinstance(self, click.Group):
            first, more = options, []
        for heading, shown in (("Options", first), ("More options", more)):
            if shown:
                with formatter.section(heading):
                    formatter.write_dl([option.get_help_record(ctx) for option in shown])
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)

    def _body(self):
        return cleandoc(self.help or "").partition(_EXAMPLE)[0].strip()


def is_of_every_command(option):
    """Whether every command has the option."""
    return bool(_OF_EVERY_COMMAND & set(option.opts))


class Group(HelpPage, click.Group):
    """A group that answers a misspelt command with a suggestion."""

    def resolve_command(self, ctx, args):
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            ctx.fail(f'no such command "{args[0]}".{did_you_mean(args[0], known)}')
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """A group whose commands are imported on demand.

    `table` as in `flyannot.cli`: what commands are for -> name -> (where it is, what it does).
    """

    def __init__(self, *args, table, **kwargs):
        super().__init__(*args, **kwargs)
        self._table = table
        self.params += message_options()

    def list_commands(self, ctx):
        return [name for commands in self._table.values() for name in commands]

    def get_command(self, ctx, name):
        places = {name: place for commands in self._table.values() for name, (place, _) in commands.items()}
        if name not in places:
            return None
        place = places[name]
        if callable(place):  # it makes the command
            return place()
        return thing_at(place if ":" in place else f"flyannot.cli.{place}:command")

    def format_commands(self, ctx, formatter):
        """From the table: the help page imports no command."""
        for purpose, commands in self._table.items():
            with formatter.section(purpose):
                formatter.write_dl([(name, does) for name, (_, does) in commands.items()])

"""A page of help: what the command is for, how it is called, its options, and an example at the end."""

from inspect import cleandoc

import click

from flyannot.errors import did_you_mean

_EXAMPLE = "\b\nExample:\n"


class HelpPage(click.Command):
    """Mixed into commands and groups.  The docstring ends in an Example, whose lines are commands."""

    @property
    def about(self):
        """The first paragraph of the docstring: what the command is for."""
        return self._body().partition("\n\n")[0]

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
        more = [param.get_help_record(ctx) for param in self.params if getattr(param, "is_more", False)]
        if more:
            with formatter.section("More options"):
                formatter.write_dl(more)
        with formatter.section("Example"):
            formatter.write_text("\b\n" + "\n".join(self.example))

    def format_options(self, ctx, formatter):
        """The options that matter first; the others stand under "More options"."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        records = [one.get_help_record(ctx) for one in options if not getattr(one, "is_more", False)]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record])
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)

    def _body(self):
        return cleandoc(self.help or "").partition(_EXAMPLE)[0].strip()


class Group(HelpPage, click.Group):
    """A group that answers a misspelt command with a suggestion."""

    def resolve_command(self, ctx, args):
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            ctx.fail(f'no such command "{args[0]}".{did_you_mean(args[0], known)}')
        return super().resolve_command(ctx, args)

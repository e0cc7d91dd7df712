"""A group whose commands are imported on demand, and that answers a misspelling with a suggestion."""

from importlib import import_module

import click

from flyannot.errors import did_you_mean


class LazyGroup(click.Group):
    """`commands_table` maps a command's name to (module below flyannot.cli, short help)."""

    def __init__(self, *args, commands_table, **kwargs):
        super().__init__(*args, **kwargs)
        self._table = commands_table

    def list_commands(self, ctx):
        return list(self._table)

    def get_command(self, ctx, name):
        if name not in self._table:
            return None
        return import_module(f"flyannot.cli.{self._table[name][0]}").command

    def format_commands(self, ctx, formatter):
        """From the table: the help page imports no command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, short) for name, (_, short) in self._table.items()])

    def resolve_command(self, ctx, args):
        if args and args[0] not in self._table and not args[0].startswith("-"):
            ctx.fail(f'no such command "{args[0]}".{did_you_mean(args[0], self._table)}')
        return super().resolve_command(ctx, args)

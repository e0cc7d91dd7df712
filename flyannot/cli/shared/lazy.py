"""A group whose commands are imported on demand."""

from importlib import import_module

from flyannot.cli.shared.help_page import Group
from flyannot.cli.shared.verbosity import verbosity_flags


class LazyGroup(Group):
    """`commands_table` maps a command's name to (module below flyannot.cli, short help)."""

    def __init__(self, *args, commands_table, **kwargs):
        super().__init__(*args, **kwargs)
        self._table = commands_table
        self.params += verbosity_flags()

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

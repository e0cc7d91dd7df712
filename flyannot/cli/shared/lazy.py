"""A group whose commands are imported on demand."""

from flyannot.cli.shared.help_page import Group
from flyannot.cli.shared.verbosity import verbosity_flags
from flyannot.options.registry import thing_at


class LazyGroup(Group):
    """`table` as in `flyannot.cli`: what commands are for -> name -> (where it is, what it does)."""

    def __init__(self, *args, table, **kwargs):
        super().__init__(*args, **kwargs)
        self._table = table
        self.params += verbosity_flags()

    def list_commands(self, ctx):
        return [name for commands in self._table.values() for name in commands]

    def get_command(self, ctx, name):
        places = {name: place for commands in self._table.values() for name, (place, _) in commands.items()}
        if name not in places:
            return None
        place = places[name]
        if callable(place):
            return place()
        return thing_at(place if ":" in place else f"flyannot.cli.{place}:command")

    def format_commands(self, ctx, formatter):
        """From the table: the help page imports no command."""
        for purpose, commands in self._table.items():
            with formatter.section(purpose):
                formatter.write_dl([(name, does) for name, (_, does) in commands.items()])

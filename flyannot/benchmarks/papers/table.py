"""The table of items.  To add one: a module beside this one with `measure(setup)`, and a line here."""

from dataclasses import dataclass
from importlib import import_module

from flyannot.errors import InputError, did_you_mean


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper: `paper` and `where` are keys of papers.toml."""

    name: str
    paper: str
    where: str
    title: str

    @property
    def measure(self):
        """The function that measures it; imported on demand, so that `--list` stays quick."""
        module = import_module(f"flyannot.benchmarks.papers.{self.name.replace('-', '_')}")
        return module.measure


ITEMS = {
    item.name: item
    for item in (
        Item("scc-table-1", "scc", "table-1", "Time of the code and dictionary updates, OL against SCC"),
        Item("scc-table-2", "scc", "table-2", "Objective, time and speed-up of SCC in five stage ranges"),
        Item("scc-fig-3", "scc", "fig-3", "More sweeps of coordinate descent: objective and time"),
        Item("scc-fig-4", "scc", "fig-4", "SCC's adaptive rate against the best natural rate"),
        Item("scc-fig-5", "scc", "fig-5", "Annotation with dictionaries of OL and of SCC"),
        Item("lee-table-1", "lee", "table-1", "Solvers for the codes: time and error"),
        Item("lee-table-2", "lee", "table-2", "Learning bases: Lagrange dual against gradient descent"),
        Item("dssc-fig-2", "dssc", "fig-2", "DSSC by iteration, by features and by the clock"),
        Item("modl-fig-1", "modl", "fig-1", "MODL: test objective against processor time"),
        Item("modl-fig-3", "modl", "fig-3", "MODL: test objective against records"),
        Item("modl-fig-5", "modl", "fig-5", "MODL: weights t^-beta"),
        Item("modl-table-1", "modl", "table-1", "Ratings: MODL against coordinate descent"),
        Item(
            "modl-completion", "modl", "table-1", "Completing genes x terms: MODL against coordinate descent"
        ),
        Item("siso-table-2", "siso", "table-2", "Annotation by many methods on embryos: time and MAP"),
        Item("siso-table-3", "siso", "table-3", "LASSO, SISO and hash-SISO on embryos"),
        Item("siso-table-4", "siso", "table-4", "Annotation by many methods on Corel5k: time and MAP"),
        Item("siso-table-5", "siso", "table-5", "LASSO, SISO and hash-SISO on Corel5k"),
        Item("siso-table-6", "siso", "table-6", "Hash-SISO among many labelled vectors: time and flat cost"),
        Item("siso-table-7", "siso", "table-7", "Time of a query among many vectors: LASSO, SISO, hash-SISO"),
        Item("siso-fig-2", "siso", "fig-2", "MAP against the share of labelled data, embryos"),
        Item("siso-fig-4", "siso", "fig-4", "MAP against the share of labelled data, Corel5k"),
    )
}


def chosen(names):
    """The items of the given names, in the order of the table; all, without names.

    Raises
    ------
    InputError
        If a name is not in the table.
    """
    for name in names:
        if name not in ITEMS:
            raise InputError(
                f'no table or figure is called "{name}".{did_you_mean(name, ITEMS)}',
                fix="flyannot reproduce --list names them all",
            )
    return [item for item in ITEMS.values() if not names or item.name in names]

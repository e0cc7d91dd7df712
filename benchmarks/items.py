"""The table of items, from items.toml, and what the papers say, from papers.toml.

To add an item: a function that measures it, and an entry in items.toml.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib.resources import files

from benchmarks.claims import Regime, statements_of
from benchmarks.findings import not_runnable
from benchmarks.setup import SCALES, why_data_set_is_absent
from flyannot.base.errors import InputError, did_you_mean
from flyannot.base.registry import import_object

OURS = "ours"  # in the place of a paper: a measurement of our own


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, or a measurement of our own.

    measure : function from `benchmarks.setup.Setup` to `benchmarks.findings.Finding`
    paper, where : keys of papers.toml; OURS and "" for a measurement of our own
    needs : names of data sets without which it cannot be run
    explanation : why paper and we may differ: a reading, not a measurement
    notes : what holds of every measurement of it
    sizes : name -> (quick, full); `measure` finds the one of its scale in `setup.sizes`
    statements : what the paper and we state of its rows (`benchmarks.claims.Statement`)
    regime : where the paper speaks, written before the item is run
    """

    name: str
    title: str
    measure: Callable
    paper: str = OURS
    where: str = ""
    needs: tuple = ()
    explanation: str = ""
    notes: tuple = ()
    sizes: dict = field(default_factory=dict)
    statements: tuple = ()
    regime: Regime = Regime("")

    def finding(self, setup):
        """Return the finding of this item; if data are absent, a finding that says so."""
        absent = [name for name in self.needs if setup.data_file(name) is None]
        if absent:
            return not_runnable(" ".join(map(why_data_set_is_absent, absent)))
        mine = {name: pair[SCALES.index(setup.scale)] for name, pair in self.sizes.items()}
        finding = self.measure(replace(setup, sizes=mine | setup.sizes))
        notes = [*finding.notes, *self.notes]
        return replace(finding, explanation=self.explanation or finding.explanation, notes=notes)


@lru_cache(maxsize=1)
def papers():
    """Return all papers: a dict of paper -> title, authors, venue and one dict for every table or figure."""
    return tomllib.loads((files("benchmarks") / "papers.toml").read_text(encoding="utf-8"))


def paper_values(paper, where):
    """Return the numbers of one table or figure.

    Raises
    ------
    InputError
        If papers.toml has no such entry.
    """
    entries = papers().get(paper, {})
    if where not in entries:
        raise InputError(f'papers.toml has no "{paper}.{where}".{did_you_mean(where, entries)}')
    return entries[where]


class Items(Mapping):
    """The items of items.toml by name, in its order; each is imported when it is asked for."""

    def __init__(self, entries):
        self.entries = entries

    def __getitem__(self, name):
        """InputError if there is none of that name."""
        if name not in self.entries:
            raise InputError(
                f'there is no item "{name}".{did_you_mean(name, self.entries)}',
                fix=f"use one of {', '.join(self.entries)}",
            )
        entry = dict(self.entries[name])
        measure = import_object(entry.pop("measure"))
        if "arguments" in entry:
            measure = partial(measure, **entry.pop("arguments"))
        stated = statements_of(entry["paper"]) if "claims" in entry else {}
        statements = tuple(stated[key] for key in entry.pop("claims", ()))
        regime = Regime(**entry.pop("regime", {"text": ""}))
        return Item(name, measure=measure, statements=statements, regime=regime, **entry)

    def __iter__(self):
        return iter(self.entries)

    def __len__(self):
        return len(self.entries)


ITEMS = Items(tomllib.loads((files("benchmarks") / "items.toml").read_text(encoding="utf-8")))


def chosen_items(names, *, papers):
    """Return the items of the given names, in the order of the table; without names the papers' or our own.

    Raises
    ------
    InputError
        If a name is not in the table.
    """
    for name in names:
        ITEMS[name]  # known, or an error that says what is
    if names:
        return [ITEMS[name] for name in ITEMS if name in names]
    return [item for item in ITEMS.values() if (item.paper != OURS) == papers]

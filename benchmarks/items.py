"""The table of items.  To add one: its file, and a line here.  What the papers say, from papers.toml."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files

from benchmarks.findings import not_runnable
from benchmarks.setup import SCALES, why_data_set_is_absent
from flyannot.errors import InputError, did_you_mean
from flyannot.options.registry import Registry

OURS = "ours"  # in the place of a paper: a measurement of our own
_HERE = "benchmarks"


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, or a measurement of our own.

    measure : function from `benchmarks.setup.Setup` to `benchmarks.findings.Finding`
    paper, where : keys of papers.toml; OURS and "" for a measurement of our own
    needs : names of data sets without which it cannot be run
    sizes : name -> (quick, full); `measure` finds the one of its scale in `setup.sizes`
    statements : what the paper and we claim of its rows (`benchmarks.claims.Statement`)
    """

    name: str
    title: str
    measure: Callable
    paper: str = OURS
    where: str = ""
    needs: tuple = ()
    sizes: dict = field(default_factory=dict)
    statements: tuple = ()

    def finding(self, setup):
        """The finding; where data are absent, one that says so."""
        absent = [name for name in self.needs if setup.data_file(name) is None]
        if absent:
            return not_runnable(" ".join(map(why_data_set_is_absent, absent)))
        mine = {name: pair[SCALES.index(setup.scale)] for name, pair in self.sizes.items()}
        return self.measure(replace(setup, sizes=mine | setup.sizes)).evaluated_by(self.statements)


@lru_cache(maxsize=1)
def papers():
    """All papers: a dict of paper -> title, authors, venue and one dict for every table or figure."""
    return tomllib.loads((files("benchmarks") / "papers.toml").read_text(encoding="utf-8"))


def paper_values(paper, where):
    """The numbers of one table or figure.

    Raises
    ------
    InputError
        If papers.toml has no such entry.
    """
    entries = papers().get(paper, {})
    if where not in entries:
        raise InputError(f'papers.toml has no "{paper}.{where}".{did_you_mean(where, entries)}')
    return entries[where]


ITEMS = Registry(
    "item",
    {
        "scc-table-1": f"{_HERE}.scc.table_1:ITEM",
        "scc-table-2": f"{_HERE}.scc.table_2:ITEM",
        "scc-fig-3": f"{_HERE}.scc.figures:FIG_3",
        "scc-fig-4": f"{_HERE}.scc.figures:FIG_4",
        "scc-fig-5": f"{_HERE}.scc.fig_5:ITEM",
        "scc-fig-5-stages": f"{_HERE}.scc.fig_5:STAGES",
        "lee-table-1": f"{_HERE}.lee.codes:ITEM",
        "lee-table-2": f"{_HERE}.lee.bases:ITEM",
        "lee-section-5-3": f"{_HERE}.lee.overcomplete:BASES",
        "lee-section-5-4": f"{_HERE}.lee.overcomplete:BARS",
        "lee-section-6": f"{_HERE}.lee.self_taught:ITEM",
        "dssc-fig-2": f"{_HERE}.dssc:ITEM",
        "modl-fig-1": f"{_HERE}.modl.figures:FIG_1",
        "modl-fig-2": f"{_HERE}.modl.atlases:ITEM",
        "modl-fig-3": f"{_HERE}.modl.figures:FIG_3",
        "modl-fig-4": f"{_HERE}.modl.ratings:FIG_4",
        "modl-fig-5": f"{_HERE}.modl.figures:FIG_5",
        "modl-table-1": f"{_HERE}.modl.ratings:TABLE_1",
        "modl-completion": f"{_HERE}.modl.ratings:GENES_AND_TERMS",
        "siso-table-2": f"{_HERE}.siso.collections:TABLE_2",
        "siso-table-3": f"{_HERE}.siso.collections:TABLE_3",
        "siso-table-4": f"{_HERE}.siso.collections:TABLE_4",
        "siso-table-5": f"{_HERE}.siso.collections:TABLE_5",
        "siso-table-6": f"{_HERE}.siso.growth:TABLE_6",
        "siso-table-7": f"{_HERE}.siso.growth:TABLE_7",
        "siso-fig-2": f"{_HERE}.siso.collections:FIG_2",
        "siso-fig-4": f"{_HERE}.siso.collections:FIG_4",
        "learn": f"{_HERE}.speed.learn:ITEM",
        "code": f"{_HERE}.speed.code:ITEM",
        "sift": f"{_HERE}.speed.sift:ITEM",
        "target": f"{_HERE}.speed.target:ITEM",
        "scaling": f"{_HERE}.speed.learn:GROWTH",
        "missing-pixels": f"{_HERE}.modl.missing_pixels:ITEM",
        "classifiers": f"{_HERE}.speed.classifiers:ITEM",
        "similar": f"{_HERE}.speed.similar:ITEM",
        "pipeline": f"{_HERE}.speed.pipeline:ITEM",
        "stream": f"{_HERE}.speed.stream:ITEM",
    },
)


def chosen_items(names, *, papers):
    """The items of the given names, in the order of the table; without names the papers', or our own.

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

"""Published data as a data set folder: whatever they hold, every row is taken or rejected with a reason.

A kind of data is an `Importer` in a file of its own, and a line in IMPORTERS; `flyannot import` finds it.
Tables with a folder of images share `tables`: `source_tables` reads them, `genes` knows which gene a name
is, `pictures` finds the files, and `resolve` decides what is taken.
"""

from collections.abc import Callable
from dataclasses import dataclass

from flyannot.base.registry import Registry


@dataclass(frozen=True)
class Importer:
    """One kind of published data.

    help : what `flyannot import NAME --help` says; its first line is the kind in a few words
    sources : what the command calls the paths that it takes
    options : an options class
    run : function of (sources, a list of paths; folder; an options object; keyword force), which writes the
        data set folder and returns its summary, as `write_imported_tables` does
    """

    help: str
    sources: str
    options: type
    run: Callable


IMPORTERS = Registry(
    "importer",
    {
        "wu2016": "flyannot.dataset.importers.wu2016:WU2016",
        "flyexpress": "flyannot.dataset.importers.flyexpress:FLYEXPRESS",
        "bdgp": "flyannot.dataset.importers.bdgp:BDGP",
    },
)

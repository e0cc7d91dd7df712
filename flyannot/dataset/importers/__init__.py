"""Importers that turn published data into a data set folder; every row is taken, or rejected with a reason.

Each kind of data is an `Importer` in a file of its own, and a line in IMPORTERS, where `flyannot import`
finds it.  Importers of tables share four modules.  `source_tables` reads rows, and `resolve` identifies
genes and decides what is taken.  `tables` finds pictures and writes the folder, and `import_log` counts.
"""

from collections.abc import Callable
from dataclasses import dataclass

from flyannot.base.registry import Registry


@dataclass(frozen=True)
class Importer:
    """The importer of one kind of published data.

    help : text of `flyannot import NAME --help`; its first line names the kind in a few words
    sources : name of the paths in the usage of the command
    options : class of its options
    run : function (sources, folder, options, *, force)
        It writes a data set folder from a list of paths, and returns its summary as `write_imported_tables`
        does.
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

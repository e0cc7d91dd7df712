"""Published data as a data set folder: whatever they hold, every row is taken or rejected with a reason.

A kind of data is an `Importer` in a file of its own, and a line in IMPORTERS; `flyannot import` finds it.
Tables with a folder of images share `tables`: `source_tables` reads them, `genes` knows which gene a name
is, `pictures` finds the files, and `resolve` decides what is taken.
"""

from flyannot.registry import Registry

IMPORTERS = Registry(
    "importer",
    {
        "wu2016": "flyannot.dataset.importers.wu2016:WU2016",
        "flyexpress": "flyannot.dataset.importers.flyexpress:FLYEXPRESS",
        "bdgp": "flyannot.dataset.importers.bdgp:BDGP",
    },
)

"""Which gene a name means: by FlyBase number, by symbol, by CG number; case-sensitively, never by guess."""

import re
from collections import defaultdict
from dataclasses import dataclass

from flyannot.dataset.importers.source_tables import header_of, named_columns, read_source_rows
from flyannot.errors import InputError

_FBGN = re.compile(r"FBgn\d{7}")
_WANTED = {
    "fbgn": ("fbgn", "flybase_id", "fbgn_id"),
    "gene": ("gene", "symbol", "gene_symbol"),
    "cg": ("cg", "annotation_id", "cg_number"),
    "synonyms": ("synonyms", "synonym"),
}


class UnclearGene(Exception):
    """A name that several genes have."""


@dataclass(frozen=True, slots=True)
class Gene:
    """A symbol, and the FlyBase number or ""."""

    symbol: str
    fbgn: str = ""

    @property
    def gene_id(self):
        return self.fbgn or self.symbol


class Genes:
    """The names of genes that are known; add them one by one, then ask."""

    def __init__(self):
        self._symbols = {}  # fbgn -> its first symbol
        self._by = [defaultdict(set) for _ in range(3)]  # symbols, CG numbers, synonyms -> fbgns

    def add(self, fbgn, symbol, cg="", synonyms=()):
        """Take in one gene; rows that say less, or the same again, are fine."""
        if not _FBGN.fullmatch(fbgn):
            return
        if symbol or fbgn not in self._symbols:
            self._symbols.setdefault(fbgn, "")
            self._symbols[fbgn] = self._symbols[fbgn] or symbol
        for names, known in zip(([symbol], [cg], synonyms), self._by):
            for name in filter(None, names):
                known[name].add(fbgn)

    def learn(self, rows):
        """Take in what the rows of tables say themselves of which name is which gene."""
        for row in rows:
            self.add(row.fbgn, *row.names)

    def named(self, *names, fbgn=""):
        """The gene that is meant: by its number if it has one, else by the first name that is known.

        A name nobody knows is a gene of its own.  Raises UnclearGene if a name belongs to several.
        """
        if not _FBGN.fullmatch(fbgn):
            fbgn = next((name for name in names if _FBGN.fullmatch(name)), "")
        names = [name for name in names if name]
        if fbgn:
            return Gene(self._symbols.get(fbgn) or next(iter(names), fbgn), fbgn)
        for known in self._by:
            for name in names:
                if name in known:
                    return self._only(name, known[name])
        return Gene(names[0])

    def has(self, fbgn):
        """Whether there is a gene of this number."""
        return fbgn in self._symbols

    def by_name(self):
        """Name -> the numbers it may mean: of symbols, of CG numbers, and of synonyms; three dicts."""
        return tuple(dict(known) for known in self._by)

    def symbol_of(self, fbgn):
        """The symbol of a number, or the number where none is known."""
        return self._symbols.get(fbgn) or fbgn

    def _only(self, name, fbgns):
        if len(fbgns) > 1:
            raise UnclearGene(f"{name} is {' and '.join(sorted(fbgns))}")
        (fbgn,) = fbgns
        return Gene(self._symbols[fbgn] or name, fbgn)


def read_genes(path):
    """The genes of a table with the columns fbgn and gene, and perhaps cg and synonyms (separated by |).

    BDGP's annotations with a header are such a table.

    Raises
    ------
    InputError
        If there is no such table, or it lacks one of the two columns.
    """
    places = named_columns(header_of(path), _WANTED)
    for name in ("fbgn", "gene"):
        if places[name] is None:
            raise InputError(
                f'{path} has no column "{name}"',
                fix="name a table with the columns fbgn, gene and perhaps cg",
            )
    genes = Genes()
    for line, cells, fault in read_source_rows(path):
        if line > 1 and not fault:
            cells = {name: _cell(cells, at) for name, at in places.items()}
            genes.add(cells["fbgn"], cells["gene"], cells["cg"], cells["synonyms"].split("|"))
    return genes


def _cell(cells, at):
    return cells[at] if at is not None and at < len(cells) else ""

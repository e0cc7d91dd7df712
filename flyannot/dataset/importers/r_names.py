"""Gene symbols as R writes them at the top of a table, and the way back.

R's `make.names` puts a dot for every letter that no name may have, and an X before a digit (`Abd-B` is
`Abd.B`, `18w` is `X18w`); `make.unique` numbers what is repeated (`Abd.B.1`).  Case-sensitive throughout.
"""

import re
from collections import defaultdict

from flyannot.dataset.importers.genes import Gene, UnclearGene

_REPEATED = re.compile(r"(.+)\.[1-9]\d*", re.ASCII)
_RESERVED = {
    "if", "else", "repeat", "while", "function", "for", "in", "next", "break", "TRUE", "FALSE", "NULL",
    "Inf", "NaN", "NA", "NA_integer_", "NA_real_", "NA_character_", "NA_complex_",
}  # fmt: skip


def make_name(text):
    """What R's make.names makes of a text; source: R's own help page of make.names."""
    name = re.sub(r"[^A-Za-z0-9._]", ".", text)
    if not re.match(r"[A-Za-z]|\.(?!\d)", name):
        name = "X" + name
    return name + "." if name in _RESERVED else name


class RNames:
    """Finds the gene of a column of an R table."""

    def __init__(self, genes, columns):
        self._genes, self._columns = genes, set(columns)
        self._known = [_mangled(known) for known in genes.by_name()]

    def gene_of(self, column):
        """The Gene, or None where no known name becomes that of the column.

        Raises UnclearGene if several do: among them what is left without a repetition's number, if a
        column of that name is there too.
        """
        found = set(self._fbgns(column))
        match = _REPEATED.fullmatch(column)
        if match and match[1] in self._columns:
            found |= self._fbgns(match[1])
        if len(found) > 1:
            raise UnclearGene(f"{column} is {' or '.join(sorted(found))}")
        return Gene(self._genes.symbol_of(*found), *found) if found else None

    def _fbgns(self, name):
        return next((known[name] for known in self._known if name in known), set())


def _mangled(known):
    mangled = defaultdict(set)
    for name, fbgns in known.items():
        mangled[make_name(name)] |= fbgns
    return mangled

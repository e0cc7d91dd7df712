"""The patterns of Wu et al. 2016 as the archive of staNMF 1.1 holds them: one CSV table.

A row is a pixel of the mask, a column an image, named by its gene as R writes it; the first column counts
the rows.  R's `make.names` puts a dot for every letter that no name may have, and an X before a digit
(`Abd-B` is `Abd.B`, `18w` is `X18w`); `make.unique` numbers what is repeated (`Abd.B.1`).  Case-sensitive.
"""

import csv
import io
import re
import tarfile
import zlib
from collections import defaultdict

import numpy as np

from flyannot.dataset.importers.genes import Gene, UnclearGene, read_genes
from flyannot.dataset.importers.import_log import ImportLog, Rejected
from flyannot.dataset.importers.resolve import SEVERAL_GENES
from flyannot.dataset.importers.source_tables import open_packed
from flyannot.errors import DataError, InputError
from flyannot.runtime.wording import pluralise

NAME_IN_ARCHIVE = "WuExampleExpression.csv"
UNKNOWN_GENE = "no gene of this name is known"

# First and last column of the mask in each of its 16 rows, counted from 1.
_SPANS = ((11, 22), (7, 26), (5, 28), (3, 29), (2, 30), (2, 31), (1, 32), (1, 32),
          (1, 32), (1, 32), (2, 31), (3, 30), (4, 29), (5, 27), (8, 25), (12, 21))  # fmt: skip
_MOST_BYTES = 2**28  # unpacked; the published table has 12 MB
_FIX = "name the archive staNMF-1.1.tar.gz, or the CSV in it"
_REPEATED = re.compile(r"(.+)\.[1-9]\d*", re.ASCII)
_RESERVED = {
    "if", "else", "repeat", "while", "function", "for", "in", "next", "break", "TRUE", "FALSE", "NULL",
    "Inf", "NaN", "NA", "NA_integer_", "NA_real_", "NA_character_", "NA_complex_",
}  # fmt: skip


def ellipse_mask():
    """Where the embryo is: bool array (16, 32); a pattern fills it column by column."""
    return np.array([[first <= at <= last for at in range(1, 33)] for first, last in _SPANS])


def read_stanmf(path, genes_table):
    """The arrays of `flyannot.dataset.importers.patterns`, and the ImportLog of the columns.

    Parameters
    ----------
    path : Path of the archive, or of its CSV, gzipped or not
    genes_table : path of a table of genes, see `flyannot.dataset.importers.genes.read_genes`

    Raises
    ------
    InputError
        If a file is missing or not readable, or no gene is known.
    DataError
        If the table has not one row for each pixel, or holds what is no number.
    """
    columns, patterns = _read_patterns(path)
    names, log = RNames(read_genes(genes_table), columns), ImportLog(("images",))
    genes = {}
    for at, column in enumerate(columns):
        gene, reason, detail = _gene(names, column)
        if reason:
            log.reject("images", Rejected(NAME_IN_ARCHIVE, 1, column, reason, detail))
        else:
            log.take("images")
            genes[at] = gene
    if not genes:
        raise InputError(
            f"{genes_table} knows none of the {pluralise(len(columns), 'gene')} of {path}",
            fix="name BDGP's table of annotations",
        )
    arrays = {
        "patterns": patterns[list(genes)],
        "mask": ellipse_mask(),
        "image_id": np.array([f"wu{at + 1:04d}" for at in genes]),
        "gene": np.array([gene.symbol for gene in genes.values()]),
        "fbgn": np.array([gene.fbgn for gene in genes.values()]),
    }
    return arrays, log


def _gene(names, column):
    try:
        gene = names.gene_of(column)
    except UnclearGene as unclear:
        return None, SEVERAL_GENES, str(unclear)
    return gene, "" if gene else UNKNOWN_GENE, ""


def _read_patterns(path):
    """The names of the columns, and the patterns (n_images, n_pixels)."""
    try:
        rows = list(csv.reader(io.StringIO(_text(path))))
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text", fix=_FIX) from None
    except (OSError, EOFError, zlib.error, tarfile.TarError, csv.Error) as error:
        raise InputError(f"cannot read {path}: {error}", fix=_FIX) from error
    n_pixels = int(ellipse_mask().sum())
    if len(rows) != n_pixels + 1:
        raise DataError(f"{path} has {len(rows):,} rows, not a header and {n_pixels}", fix=_FIX)
    columns = [name.strip() for name in rows[0][1:]]
    try:
        patterns = np.array([row[1:] for row in rows[1:]], dtype="f4").T
    except ValueError as error:
        raise DataError(f"{path}: {error}", fix=_FIX) from None
    if patterns.shape != (len(columns), n_pixels) or not columns:
        raise DataError(f"{path} has rows that are not as long as its header", fix=_FIX)
    return columns, patterns


def _text(path):
    if tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            members = [m for m in archive if m.isfile() and m.name.endswith(f"/{NAME_IN_ARCHIVE}")]
            if len(members) != 1:
                raise InputError(f"{path} holds {len(members)} files {NAME_IN_ARCHIVE}", fix=_FIX)
            return _decoded(path, archive.extractfile(members[0]))
    with open_packed(path, "rb") as file:
        return _decoded(path, file)


def _decoded(path, file):
    raw = file.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        raise InputError(f"{path} unpacks to more than {_MOST_BYTES:,} bytes", fix=_FIX)
    return raw.decode("utf-8-sig")


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

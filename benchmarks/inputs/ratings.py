"""Matrices to complete: ratings in the layouts of MovieLens and Netflix, and the genes and terms of BDGP."""

import csv
import gzip
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.findings import Source
from flyannot.base.errors import DataError, InputError
from flyannot.base.stage_ranges import parse_stage_range

_SEPARATORS = ("::", "\t", ",")
_OF_A_USER = 165  # ratings, as in MovieLens 1M
_N_TASTES = 8
_LEAST_GENES = 20  # that carry a column's term
_FIX = "name u.data, ratings.dat or ratings.csv of MovieLens, or combined_data_1.txt of Netflix"


@dataclass(frozen=True)
class Ratings:
    """Observed entries of a matrix: rows, columns int32 and values float64, each (n,); its shape."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    shape: tuple

    def subset(self, chosen):
        """Return the entries at the given places."""
        return Ratings(self.rows[chosen], self.columns[chosen], self.values[chosen], self.shape)

    def of_rows(self, kept):
        """Return the entries of some rows, which are numbered anew in the given order."""
        number = np.full(self.shape[0], -1, np.int32)
        number[kept] = np.arange(len(kept))
        there = number[self.rows] >= 0
        rows = number[self.rows[there]]
        return Ratings(rows, self.columns[there], self.values[there], (len(kept), self.shape[1]))

    def __len__(self):
        return len(self.values)


def read_ratings(path):
    """Read a ratings file: user, item and rating on each line; further columns and a heading are ignored.

    Columns are separated by tabs in u.data (MovieLens 100K), by "::" in ratings.dat (1M, 10M), and by commas
    in ratings.csv (later ones). Netflix's combined_data_1.txt has a line "movie:" above the lines of its
    users, ratings and days. Users and items are numbered anew, from 0, by rising identifier.

    Raises
    ------
    InputError
        If there is no such file.
    DataError
        With the line: fewer than three columns, no number, or a user who rated an item twice.
    """
    path, cells, movie = Path(path), [], ""
    if not path.is_file():
        raise InputError(f"no such file: {path}", fix=_FIX)
    with open(path, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(map(str.strip, lines), 1):
            if not line or number == 1 and line[:1].isalpha():
                continue
            if line.endswith(":") and line[:-1].isdigit():
                movie = line[:-1]
                continue
            user, item, value, *_ = (*line.split(next((s for s in _SEPARATORS if s in line), None)), "", "")
            if movie:  # Netflix's lines are of the movie above them
                item, value = movie, item
            try:
                cells.append((int(user), int(item), float(value)))
            except ValueError:
                said = f"{path}, line {number}: not a user, an item and a rating: {line[:60]}"
                raise DataError(said, fix=_FIX) from None
    if not cells:
        raise DataError(f"{path} holds no rating", fix=_FIX)
    (user_ids, rows), (item_ids, columns) = (
        np.unique([cell[i] for cell in cells], return_inverse=True) for i in (0, 1)
    )
    shape, values = (len(user_ids), len(item_ids)), np.array([cell[2] for cell in cells])
    if len(np.unique(rows * shape[1] + columns)) < len(values):
        raise DataError(f"{path}: a user rated an item twice", fix="keep one rating of each pair")
    return Ratings(rows.astype(np.int32), columns.astype(np.int32), values, shape)


def ratings_or_synthetic(setup, n):
    """Return the ratings of `--ratings` and their `Source`; synthetic ratings without this option."""
    if setup.ratings is not None:
        found = read_ratings(setup.ratings)
        return found, Source(f"{_counts(found)}, {setup.ratings.name}")
    found = setup.once(("ratings", n), lambda: synthetic_ratings(n, setup.rng(f"ratings {n}")))
    return found, Source(f"SYNTHETIC ratings, {_counts(found)}", "synthetic")


def _counts(ratings):
    return "{:,} ratings of {:,} items by {:,} users".format(len(ratings), *ratings.shape[::-1])


def synthetic_ratings(n, rng):
    """About n ratings from 1 to 5, about as many of a user and an item as MovieLens 1M has.

    A rating is rounded from 3.6, a bias of its user and one of its item, the product of their _N_TASTES
    tastes, and noise.  Few users rate most, few items are rated most.
    """
    n_users, n_items = max(20, n // _OF_A_USER), max(20, int(4 * np.sqrt(n)))
    weights = [rng.lognormal(0, 1, n_users), 1 / (10 + np.arange(n_items)) ** 0.8]
    pairs = np.stack([rng.choice(len(w), 2 * n, p=w / w.sum()) for w in weights], axis=1)
    _, first = np.unique(pairs @ [n_items, 1], return_index=True)
    users, items = pairs[np.sort(first)[:n]].T
    biases = [rng.normal(0, spread, size) for spread, size in ((0.4, n_users), (0.5, n_items))]
    tastes = [rng.normal(0, 1, (size, _N_TASTES)) for size in (n_users, n_items)]
    liking = 0.5 * np.einsum("ij,ij->i", tastes[0][users], tastes[1][items]) / np.sqrt(_N_TASTES)
    values = 3.6 + biases[0][users] + biases[1][items] + liking + rng.normal(0, 0.7, len(users))
    values = np.clip(np.rint(values), 1, 5)
    return Ratings(users.astype(np.int32), items.astype(np.int32), values, (n_users, n_items))


def gene_term_matrix(setup, n_genes):
    """BDGP's matrix of genes and terms, 1 where a gene carries a term in a stage range, else 0; all entries.

    Returns
    -------
    ratings : Ratings, of `n_genes` genes drawn at random, or of all if there are fewer
    source : Source
    """
    with gzip.open(setup.data_file("bdgp"), "rt", encoding="utf-8", newline="") as lines:
        pairs = {
            (row["fbgn"] or row["gene"], f"{parse_stage_range(row['stage_range'])}: {row['term']}")
            for row in csv.DictReader(lines)
        }
    counts, genes = Counter(term for _, term in pairs), sorted({gene for gene, _ in pairs})
    terms = sorted(term for term, n in counts.items() if n >= _LEAST_GENES)
    genes = [genes[i] for i in np.sort(setup.rng("genes").permutation(len(genes))[:n_genes])]
    row_of, column_of = ({name: i for i, name in enumerate(names)} for names in (genes, terms))
    X = np.zeros((len(genes), len(terms)))
    for gene, term in pairs:
        if gene in row_of and term in column_of:
            X[row_of[gene], column_of[term]] = 1.0
    rows, columns = (index.ravel().astype(np.int32) for index in np.indices(X.shape))
    text = f"BDGP's table: {len(genes):,} genes x {len(terms)} terms in stage ranges, {int(X.sum()):,} ones"
    return Ratings(rows, columns, X.ravel(), X.shape), Source(text)

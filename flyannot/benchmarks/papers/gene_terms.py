"""The matrix of BDGP's genes and terms: 1 where a gene carries a term in a stage range, else 0."""

import csv
import gzip
from collections import Counter

import numpy as np

from flyannot.benchmarks.papers.embryos import Source
from flyannot.benchmarks.papers.ratings import Ratings
from flyannot.stage_ranges import parse_stage_range

_LEAST_GENES = 20  # that carry a column's term


def gene_term_matrix(setup, *, n_genes=None):
    """All entries of the matrix as `Ratings`, and its `Source`; None where the table is absent."""
    path = setup.shared_file("bdgp", "annotations.csv.gz")
    if path is None:
        return None
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        pairs = {
            (row["fbgn"] or row["gene"], f"{parse_stage_range(row['stage_range'])}: {row['term']}")
            for row in csv.DictReader(lines)
        }
    counts = Counter(term for _, term in pairs)
    terms = sorted(term for term, n in counts.items() if n >= _LEAST_GENES)
    genes = sorted({gene for gene, _ in pairs})
    if n_genes and n_genes < len(genes):
        genes = [genes[i] for i in np.sort(setup.rng("genes").permutation(len(genes))[:n_genes])]
    X = _filled(pairs, genes, terms)
    rows, columns = (index.ravel().astype(np.int32) for index in np.indices(X.shape))
    n_genes, n_terms = X.shape
    text = f"BDGP's table: {n_genes:,} genes x {n_terms} terms in stage ranges, {int(X.sum()):,} ones"
    return Ratings(rows, columns, X.ravel(), X.shape), Source(text, "real")


def _filled(pairs, genes, terms):
    row_of, column_of = ({name: i for i, name in enumerate(names)} for names in (genes, terms))
    X = np.zeros((len(genes), len(terms)))
    for gene, term in pairs:
        if gene in row_of and term in column_of:
            X[row_of[gene], column_of[term]] = 1.0
    return X

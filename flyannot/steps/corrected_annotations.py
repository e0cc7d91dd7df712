"""annotations.csv and corrections to a new annotations.csv."""

from flyannot.dataset.corrections import corrected, read_corrections
from flyannot.dataset.folder import read_annotations, write_annotations_csv
from flyannot.dataset.paths import annotations_table
from flyannot.dataset.table_warnings import first_names
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.steps.engine.task import keep_apart


def write_corrected_annotations(annotations_csv, paths, out, *, with_new_genes=False):
    """Write the annotations as the corrections change them.

    Parameters
    ----------
    annotations_csv : Path, of the table or of its data set folder
    paths : of tables of corrections
    out : Path of the new table
    with_new_genes : whether genes without a row in a stage range get rows of their accepted terms

    Returns
    -------
    lines : every change, such as "added: pole cell of Dl in 4-6"
    sentences : counts, and what the table cannot say

    Raises
    ------
    InputError
        If a table cannot be read, or `out` is one of them.
    """
    table = annotations_table(annotations_csv)
    keep_apart(out, (table, *paths))
    before = read_annotations(annotations_csv)
    after, changes = corrected(before, read_corrections(paths), table)
    left_out = frozenset() if with_new_genes else frozenset(after.known_only)
    added = [one for one in changes.added if one.key[:2] not in left_out]
    terms = {
        key: found | (after.unsure.get(key, frozenset()) & before.terms_by_gene.get(key, frozenset()))
        for key, found in after.terms_by_gene.items()
        if key not in left_out
    }
    days = before.dates | ({one.key: one.date for one in added} if before.dates else {})
    write_annotations_csv(out, _rows(terms, _symbols(after), days))
    lines = [f"added: {one.what}" for one in added] + [f"removed: {one.what}" for one in changes.removed]
    return lines, [*changes.sentences(), *_not_said(changes, terms, left_out)]


def _symbols(annotations):
    """gene_id -> symbol."""
    return {i: gene for gene, ids in sorted(annotations.genes_by_symbol.items()) for i in ids}


def _rows(terms, symbols, days):
    """The rows of the table, by stage range, gene and term."""
    for gene_id, stage_range in sorted(terms, key=lambda k: (STAGE_RANGES.index(k[1]), symbols[k[0]], k[0])):
        gene = symbols[gene_id]
        for term in sorted(terms[gene_id, stage_range]):
            yield {
                "gene": gene,
                "fbgn": gene_id if gene_id != gene else "",
                "stage_range": stage_range,
                "term": term,
                "date": days.get((gene_id, stage_range, term), ""),
            }


def _not_said(changes, terms, left_out):
    """What a table of annotations cannot say."""
    if changes.unsure or changes.contested:
        yield "what is unsure stays in the table as it was; train --corrections leaves it out"
    genes = sorted({one.gene for one in changes.of_new_genes if one.key[:2] in left_out})
    if genes:
        yield (
            f"left out for want of a row: {first_names(genes)}; a row would say no to every term that was "
            "not accepted: --new-genes writes them"
        )
    if empty := [gene for (gene, _), found in terms.items() if not found]:
        yield f"no term is left, so not annotated any more: {first_names(sorted(set(empty)))}"

"""Tables of corrections: merged from several curators, compared, and applied to annotations."""

from collections import defaultdict
from dataclasses import dataclass

from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.curation.agreement import pairwise_agreements
from flyannot.curation.corrections import (
    apply_corrections,
    describe_changes,
    format_corrections,
    read_corrections,
    settle_verdicts,
)
from flyannot.dataset.folder import format_annotations, read_annotations
from flyannot.dataset.paths import ANNOTATIONS, find_table
from flyannot.dataset.table_warnings import abbreviate_names
from flyannot.pipeline.engine.task import write_text_output, write_text_outputs


@dataclass(frozen=True)
class MergedCorrections:
    """The corrections of several curators, merged.

    A key is a tuple (gene identifier, stage range, term).

    settled : dict, key -> Consensus of all curators
    said : dict, name of a curator -> {key: the last verdict of this curator}
    agreements : list of the agreements of pairs of curators, as `pairwise_agreements` returns
    """

    settled: dict
    said: dict
    agreements: list

    @property
    def disagreements(self):
        """The Consensus of each key on which curators disagree, or disagreed before somebody decided.

        Sorted.
        """
        several = [s for s in self.settled.values() if s.is_contested or any(r.decides for r in s.rows)]
        return sorted(several, key=lambda s: (STAGE_RANGES.index(s.correction.stage_range), s.correction.key))

    @property
    def contested(self):
        """The Consensus of each key on which curators disagree and nobody has decided."""
        return [settled for settled in self.disagreements if settled.is_contested]


def settle_corrections(paths, columns=None, faults=None):
    """Read tables of corrections, and merge them into a MergedCorrections; see `read_corrections`."""
    settled = settle_verdicts(read_corrections(paths, columns, faults))
    said = defaultdict(dict)
    for key, of_key in settled.items():
        for row in of_key.rows:
            if not row.decides:  # decisions would raise the agreement
                said[row.curator][key] = row.verdict
    return MergedCorrections(settled, said, pairwise_agreements(said))


def write_merged_corrections(path, curated, *, force=False):
    """Write one table of all verdicts, with which a model learns the same as from all tables.

    Disagreements go into a second table beside it, NAME.to-decide.csv, each with an empty row for the
    decision.

    Parameters
    ----------
    path : Path of the table
    curated : MergedCorrections
    force : if True, existing tables are replaced

    Returns
    -------
    beside : Path of the second table, or None if there is nothing to decide

    Raises
    ------
    InputError
        If one of the two exists and `force` is off.
    """
    texts = {path: format_corrections(row for settled in curated.settled.values() for row in settled.rows)}
    beside = path.with_name(f"{path.stem}.to-decide.csv")
    if curated.contested or beside.exists():
        texts[beside] = format_corrections(r for s in curated.contested for r in (*s.rows, s.blank_row()))
    write_text_outputs(texts, force=force)
    return beside if curated.contested else None


def format_agreement(curated):
    """Format the agreement of the curators of a MergedCorrections, and each disagreement, as text."""
    who = ", ".join(f"{c} ({pluralise(len(said), 'term')})" for c, said in sorted(curated.said.items()))
    lines = [f"{pluralise(len(curated.said), 'curator')}: {who}; {len(curated.settled):,} in all"]
    if curated.agreements:
        lines += ["", *_format_kappas(curated.agreements)]
    elif len(curated.said) > 1:
        lines += ["no term of a gene was reviewed by two curators, so their agreement is not known"]
    if curated.agreements or curated.disagreements:
        n = len(curated.contested)
        lines += ["", f"{pluralise(len(curated.disagreements), 'disagreement')}, {n} to decide"]
        lines += [f"  {_format_disagreement(settled)}" for settled in curated.disagreements]
    return "\n".join(lines)


def _format_kappas(agreements):
    """Yield the lines of the table of Cohen's kappas.

    agreements : list, as `pairwise_agreements` returns
    """
    names = [agreement.term or "all terms" for agreement in agreements]
    pairs = [" and ".join(agreement.curators) for agreement in agreements]
    width, width_of_pairs = max(map(len, [*names, "term"])), max(map(len, [*pairs, "curators"]))
    yield f"{'term':<{width}}  {'curators':<{width_of_pairs}}  both  agree  kappa"
    for agreement, name, pair in zip(agreements, names, pairs):
        kappa = agreement.why if agreement.kappa is None else f"{agreement.kappa:5.2f}"
        both = f"{agreement.n:>4}  {agreement.n_agree:>5}"
        yield f"{name:<{width}}  {pair:<{width_of_pairs}}  {both}  {kappa}"


def _format_disagreement(settled):
    """Format the curators' verdicts on one term of one gene, and the resulting verdict."""
    said = ", ".join(
        f"{row.curator}: {row.verdict} ({row.date}{', decides' * bool(row.decides)})" for row in settled.rows
    )
    becomes = "is unsure until decided" if settled.is_contested else f"is {settled.correction.verdict}"
    if settled.ties:
        becomes = f"{' and '.join(settled.ties)} said several at one time; {becomes}"
    return f"{settled.correction.description}: {said}; {becomes}"


def write_corrected_annotations(
    annotations_csv, paths, out, *, with_new_genes=False, columns=None, force=False
):
    """Write the annotations with the corrections applied.

    Parameters
    ----------
    annotations_csv : Path of the table or of its data set folder
    paths : of tables of corrections
    out : Path of the new table
    with_new_genes : whether genes without a row in a stage range get rows of their accepted terms
    columns : as in `read_table`
    force : whether an existing table is replaced

    Returns
    -------
    lines : list of every change, such as "added: pole cell of Dl in 4-6"
    sentences : list of counts, and of what the table cannot express

    Raises
    ------
    InputError
        If a table cannot be read, or `out` is one of them. Or if `out` exists and `force` is off.
    """
    table = find_table(annotations_csv, ANNOTATIONS)
    before = read_annotations(annotations_csv, columns=columns)
    after, changes = apply_corrections(before, read_corrections(paths, columns), table)
    left_out = frozenset() if with_new_genes else frozenset(after.known_only)
    added = [correction for correction in changes["added"] if correction.key[:2] not in left_out]
    terms = {
        key: known | (after.unsure.get(key, frozenset()) & before.terms_by_gene.get(key, frozenset()))
        for key, known in after.terms_by_gene.items()
        if key not in left_out
    }
    days = before.dates | {correction.key: correction.date[:10] for correction in added if before.dates}
    symbols = {i: gene for gene, ids in sorted(after.genes_by_symbol.items()) for i in ids}
    text = format_annotations(_rows(terms, symbols, days))
    write_text_output(out, text, (table, *paths), force=force, is_annotations=True)
    lines = [f"added: {correction.description}" for correction in added]
    lines += [f"removed: {correction.description}" for correction in changes["removed"]]
    return lines, [*describe_changes(changes), *_describe_lost_annotations(changes, terms, left_out)]


def _rows(terms, symbols, days):
    """Yield the rows of a table of annotations as dicts, sorted by stage range, gene and term.

    Parameters
    ----------
    terms : dict, (gene identifier, stage range) -> set of terms
    symbols : dict, gene identifier -> symbol
    days : dict, (gene identifier, stage range, term) -> date
    """
    for gene_id, stage_range in sorted(terms, key=lambda k: (STAGE_RANGES.index(k[1]), symbols[k[0]], k[0])):
        gene = symbols[gene_id]
        about = {"gene": gene, "fbgn": gene_id if gene_id != gene else ""}
        for term in sorted(terms[gene_id, stage_range]):
            day = days.get((gene_id, stage_range, term), "")
            yield about | {"stage_range": stage_range, "term": term, "date": day}


def _describe_lost_annotations(changes, terms, left_out):
    """Yield sentences on the corrections that a table of annotations cannot express.

    Parameters
    ----------
    changes : dict, as `apply_corrections` returns
    terms : dict, (gene identifier, stage range) -> set of terms in the table
    left_out : set of (gene identifier, stage range) without a row in the table
    """
    if changes["unsure"] or changes["contested"]:
        yield "unsure terms stay in the table as they were; train --corrections excludes them"
    genes = sorted({new.gene for new in changes["of_new_genes"] if new.key[:2] in left_out})
    if genes:
        yield (
            f"left out, because they have no row: {abbreviate_names(genes)}; a row would say no to every "
            "term that was not accepted (--new-genes writes it)"
        )
    if empty := [gene for (gene, _), left in terms.items() if not left]:
        yield f"no longer annotated, because no term is left: {abbreviate_names(sorted(set(empty)))}"

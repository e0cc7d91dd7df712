"""Corrections: of several curators to one table, how far they agree, and applied to annotations."""

from collections import defaultdict
from dataclasses import dataclass

from flyannot.dataset.corrections import (
    apply_corrections,
    corrections_as_text,
    last_of_curators,
    read_corrections,
    settle_verdicts,
)
from flyannot.dataset.folder import annotations_as_text, read_annotations
from flyannot.dataset.paths import annotations_table
from flyannot.dataset.table_warnings import first_names
from flyannot.runtime.wording import pluralise
from flyannot.scores.curation import agreements_of_curators
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.steps.engine.task import write_output


@dataclass(frozen=True)
class Curated:
    """What several tables of corrections come to.

    settled : dict, key -> Settled; said : dict, key -> {curator: their last Correction}
    agreements : as `flyannot.scores.curation.agreements_of_curators` returns
    """

    settled: dict
    said: dict
    agreements: list

    @property
    def curators(self):
        """Curator -> how many terms they reviewed."""
        counts = defaultdict(int)
        for last in self.said.values():
            for curator in last:
                counts[curator] += 1
        return dict(sorted(counts.items()))

    @property
    def disagreements(self):
        """The keys on which curators do not agree, by stage range, gene and term."""
        keys = (k for k, last in self.said.items() if len({row.verdict for row in last.values()}) > 1)
        return sorted(keys, key=lambda key: (STAGE_RANGES.index(key[1]), *key))


def settle_corrections(paths):
    """Read tables of corrections, and settle them: the latest verdict counts, of the same day none.

    Raises
    ------
    InputError
        As `flyannot.dataset.corrections.read_corrections`.
    """
    by_key = defaultdict(list)
    corrections = read_corrections(paths)
    for correction in corrections:
        by_key[correction.key].append(correction)
    said = {key: last_of_curators(rows) for key, rows in by_key.items()}
    verdicts = defaultdict(dict)
    for key, last in said.items():
        for curator, correction in last.items():
            verdicts[curator][key] = correction.verdict
    return Curated(settle_verdicts(corrections), said, agreements_of_curators(verdicts))


def write_curated(path, curated, tables, *, force=False):
    """Write the table of what the curators of some tables come to: it teaches the same as all of these.

    Raises
    ------
    InputError
        If it is one of the tables, or exists and `force` is off.
    """
    text = corrections_as_text(settled.correction for settled in curated.settled.values())
    write_output(path, text, tables, force=force)


def agreement_in_words(curated):
    """The agreement and every disagreement, as text."""
    who = ", ".join(f"{c} ({pluralise(n, 'term')})" for c, n in curated.curators.items())
    lines = [f"{pluralise(len(curated.curators), 'curator')}: {who}; {len(curated.settled):,} in all"]
    if curated.agreements:
        lines += ["", *_kappas(curated.agreements)]
    elif len(curated.curators) > 1:
        lines += ["no term of a gene was reviewed by two curators: how far they agree is not known"]
    if curated.agreements:
        lines += ["", pluralise(len(curated.disagreements), "disagreement")]
        lines += [f"  {_disagreement(curated, key)}" for key in curated.disagreements]
    return "\n".join(lines)


def _kappas(agreements):
    names = [agreement.term or "all terms" for agreement in agreements]
    pairs = [" and ".join(agreement.curators) for agreement in agreements]
    width, width_of_pairs = max(map(len, [*names, "term"])), max(map(len, [*pairs, "curators"]))
    yield f"{'term':<{width}}  {'curators':<{width_of_pairs}}  both  agree  kappa"
    for agreement, name, pair in zip(agreements, names, pairs):
        kappa = agreement.why if agreement.kappa is None else f"{agreement.kappa:5.2f}"
        both = f"{agreement.n:>4}  {agreement.n_agree:>5}"
        yield f"{name:<{width}}  {pair:<{width_of_pairs}}  {both}  {kappa}"


def _disagreement(curated, key):
    settled, last = curated.settled[key], curated.said[key]
    said = ", ".join(f"{curator}: {last[curator].verdict} ({last[curator].date})" for curator in sorted(last))
    becomes = "unsure, for it is of the same day" if settled.is_contested else settled.correction.verdict
    return f"{settled.correction.what}: {said}; becomes {becomes}"


def write_corrected_annotations(annotations_csv, paths, out, *, with_new_genes=False, force=False):
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
        If a table cannot be read, or `out` is one of them, or exists and `force` is off.
    """
    table = annotations_table(annotations_csv)
    before = read_annotations(annotations_csv)
    after, changes = apply_corrections(before, read_corrections(paths), table)
    left_out = frozenset() if with_new_genes else frozenset(after.known_only)
    added = [correction for correction in changes.added if correction.key[:2] not in left_out]
    terms = {
        key: known | (after.unsure.get(key, frozenset()) & before.terms_by_gene.get(key, frozenset()))
        for key, known in after.terms_by_gene.items()
        if key not in left_out
    }
    days = before.dates | ({correction.key: correction.date for correction in added} if before.dates else {})
    symbols = {i: gene for gene, ids in sorted(after.genes_by_symbol.items()) for i in ids}
    text = annotations_as_text(_rows(terms, symbols, days))
    write_output(out, text, (table, *paths), force=force)
    lines = [f"added: {correction.what}" for correction in added]
    lines += [f"removed: {correction.what}" for correction in changes.removed]
    return lines, [*changes.sentences(), *_not_said(changes, terms, left_out)]


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
    genes = sorted({new.gene for new in changes.of_new_genes if new.key[:2] in left_out})
    if genes:
        yield (
            f"left out for want of a row: {first_names(genes)}; a row would say no to every term that was "
            "not accepted: --new-genes writes them"
        )
    if empty := [gene for (gene, _), left in terms.items() if not left]:
        yield f"no term is left, so not annotated any more: {first_names(sorted(set(empty)))}"

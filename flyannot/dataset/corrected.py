"""Annotations as corrections change them, and what was changed."""

from collections import Counter
from dataclasses import dataclass, field, replace

from flyannot.dataset.corrections import ACCEPT, REJECT, UNSURE, iso_date, settle
from flyannot.dataset.folder import Annotations
from flyannot.dataset.table_warnings import named
from flyannot.dataset.vocabulary import bdgp_terms
from flyannot.errors import InputError, did_you_mean
from flyannot.runtime.wording import pluralise


@dataclass
class Changes:
    """The corrections by what became of them, in lists.

    added, removed : terms that the table did not have, or had; unsure : left out
    denied : rejected, of genes without a row in the stage range
    confirmed : the table says so too
    older : the table has a later date and says otherwise
    contested : curators disagree on the same day: left out
    overruled : verdicts that gave way to a later one of another kind
    of_new_genes : those of all kinds, of genes without a row in the stage range
    """

    added: list = field(default_factory=list)
    removed: list = field(default_factory=list)
    denied: list = field(default_factory=list)
    unsure: list = field(default_factory=list)
    confirmed: list = field(default_factory=list)
    older: list = field(default_factory=list)
    contested: list = field(default_factory=list)
    overruled: list = field(default_factory=list)
    of_new_genes: list = field(default_factory=list)

    def sentences(self):
        """What changed: one line with the counts and the first names, and one of each kind of conflict."""
        kinds = {
            "added": self.added,
            "removed": self.removed,
            "rejected where there is no row": self.denied,
            "unsure and left out": self.unsure,
        }
        n = sum(map(len, (*kinds.values(), self.confirmed, self.older, self.contested)))
        parts = [f"{len(found)} {word}{_names(found)}" for word, found in kinds.items() if found]
        parts += [f"{len(self.confirmed)} as before"] if self.confirmed else []
        lines = [f"{pluralise(n, 'reviewed term')}: {', '.join(parts) or 'nothing changed'}"]
        if self.of_new_genes:
            genes = {one.key[:2] for one in self.of_new_genes}
            lines.append(
                f"{pluralise(len(genes), 'gene')} without a row in the annotations: "
                "known only of the reviewed terms"
            )
        for found, what in (
            (self.older, "older than the annotations, which say otherwise and stay"),
            (self.contested, "left out, for curators disagree on the same day"),
            (self.overruled, "replaced by a later one"),
        ):
            if found:
                lines.append(f"{pluralise(len(found), 'verdict')} {what}{_names(found)}")
        return lines


def _names(found):
    return f" ({named([one.what for one in found])})"


def corrected(annotations, corrections, table, known=()):
    """Apply corrections to annotations.

    Accepted terms are added, rejected ones removed; of unsure ones nothing is known.  Where the table has a
    column `date` and says otherwise on a later day, it stays.  A gene without a row in a stage range is known
    only of its reviewed terms there.

    Parameters
    ----------
    annotations : flyannot.dataset.folder.Annotations
    corrections : list of flyannot.dataset.corrections.Correction
    table : Path of the annotations, for messages
    known : terms that are right, besides BDGP's and those of the annotations

    Returns
    -------
    annotations : Annotations
    changes : Changes

    Raises
    ------
    InputError
        If a term is unknown, a gene's symbol stands for several genes, or a date of the table is none.
    """
    _require_terms(annotations, corrections, table, known)
    ids = {(one.gene, one.fbgn): _gene_id(annotations, one, table) for one in corrections}
    one_id = [replace(one, fbgn=ids[one.gene, one.fbgn]) for one in corrections]  # two spellings are one gene
    changes, edited = Changes(), _Edited(annotations, table)
    for (gene_id, stage_range, term), settled in settle(one_id).items():
        edited.apply((gene_id, stage_range), term, settled, changes)
    symbols = {symbol: set(found) for symbol, found in annotations.genes_by_symbol.items()}
    known_ids = set().union(*symbols.values())
    for (gene, _), gene_id in ids.items():
        if gene_id not in known_ids:
            symbols.setdefault(gene, set()).add(gene_id)
    return edited.annotations(symbols), changes


class _Edited:
    """The parts of Annotations while corrections are applied."""

    def __init__(self, annotations, table):
        self._before, self._table = annotations, table
        self._terms = {key: set(found) for key, found in annotations.terms_by_gene.items()}
        self._unsure, self._known_only, self._reviewed, self._days = {}, {}, {}, {}
        for (gene_id, stage_range, term), text in annotations.dates.items():
            day = iso_date(text, f'{table}, column "date"')
            for key in ((gene_id, stage_range, term), (gene_id, stage_range)):
                self._days[key] = max(day, self._days.get(key, ""))

    def apply(self, key, term, settled, changes):
        """Take one Settled of the term of a gene_id in a stage range."""
        one, is_new = settled.correction, key not in self._before.terms_by_gene
        has = term in self._before.terms_by_gene.get(key, ())
        changes.overruled += settled.overruled
        says_otherwise = not is_new and {ACCEPT: not has, REJECT: has, UNSURE: False}[one.verdict]
        if says_otherwise and self._days.get((*key, term) if has else key, "") > one.date:
            changes.older.append(one)
            return
        self._reviewed.setdefault(key, set()).add(term)
        terms = self._terms.setdefault(key, set())
        if is_new:
            self._known_only.setdefault(key, set())
            changes.of_new_genes.append(one)
        if one.verdict == UNSURE:
            terms.discard(term)
            self._unsure.setdefault(key, set()).add(term)
            (changes.contested if settled.is_contested else changes.unsure).append(one)
            return
        if is_new:
            self._known_only[key].add(term)
        elif not says_otherwise:
            changes.confirmed.append(one)
            return
        no = changes.denied if is_new else changes.removed
        (changes.added if one.verdict == ACCEPT else no).append(one)
        (terms.add if one.verdict == ACCEPT else terms.discard)(term)

    def annotations(self, symbols):
        frozen = [
            {key: frozenset(found) for key, found in one.items()}
            for one in (self._terms, self._unsure, self._known_only, self._reviewed)
        ]
        return Annotations(frozen[0], symbols, self._before.dates, *frozen[1:])


def _gene_id(annotations, one, table):
    """The annotated gene that a correction means, else a new one."""
    found = annotations.gene_id(one.gene, one.fbgn)
    several = annotations.genes_by_symbol.get(one.gene, ())
    if found is None and not one.fbgn and len(several) > 1:
        both = " and ".join(sorted(several))
        raise InputError(
            f'{one.where}, column "fbgn": empty, and {one.gene} is {both} in {table}',
            fix="fill in the one that is meant",
        )
    return found or one.fbgn or one.gene


def _require_terms(annotations, corrections, table, known):
    """Refuse a term that nobody knows: it is misspelt, or belongs into the annotations first."""
    counts = Counter(term for terms in annotations.terms_by_gene.values() for term in terms)
    for one in corrections:
        if one.term not in counts and one.term not in bdgp_terms() and one.term not in known:
            raise InputError(
                f'{one.where}, column "term": neither {table} nor BDGP has a term "{one.term}".'
                f"{did_you_mean(one.term, [*sorted(counts), *sorted(bdgp_terms())])}",
                fix="write the term as the annotations do; a new term needs one row there first",
            )

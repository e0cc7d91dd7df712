"""Ontology ids of terms, stage ranges and genes, shown on the page as links that load nothing by themselves.

Ids of terms and stage ranges come from the ontologies that the user names.
"""

from dataclasses import dataclass, field
from pathlib import Path

from flyannot.base.text import is_flybase_number, pluralise
from flyannot.dataset.ontology import find_stage_ids

_REMARKS = {"obsolete": "obsolete", "replaced": "in place of an obsolete term"}


@dataclass(frozen=True)
class TermIds:
    """Ontology ids of terms and stage ranges that the page shows as links.

    terms : dict from "stage range|term" to (id, remark, title), only for terms that have an id. The remark
        is printed beside the id. The title appears when the pointer rests on the id.
    stages : dict from stage range to a list of ids
    notes : list of sentences on where the ids come from
    """

    terms: dict = field(default_factory=dict)
    stages: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)

    def link(self, stage_range, term):
        """Return (id, remark, title) of a term; None if it has no id."""
        return self.terms.get(f"{stage_range}|{term}")


def gene_link(fbgn):
    """Return (id, remark, title) of a gene; None without a FlyBase number."""
    return (fbgn, "", "FlyBase's report of this gene") if is_flybase_number(fbgn) else None


NO_IDS = TermIds()


def find_term_ids(run, ontology):
    """Find the ids of all terms and stage ranges that the page of a `Run` may show.

    Parameters
    ----------
    run : Run
    ontology : Ontology; None if there is none, and so there are no ids

    Returns
    -------
    TermIds
    """
    if ontology is None:
        return NO_IDS
    matches = [(s, match) for s, term in sorted(run.terms) if (match := ontology.match(term)).id]
    ids = {}
    for s, m in matches:
        consider = f"; consider {', '.join(m.consider)}" if m.consider else ""
        ids[f"{s}|{m.term}"] = m.id, _REMARKS.get(m.how, ""), f"{m.how}: {m.name}{consider}"
    names = ", ".join(Path(path).name for path in ontology.paths)
    have = pluralise(len({term for _, term in run.terms}), "term has", "terms have")
    notes = [f"Ids of terms are from {names}: {len({m.term for _, m in matches})} of {have} one."]
    if obsolete := sorted({m.term for _, m in matches if m.how in _REMARKS}):
        notes.append(f"Obsolete terms there: {', '.join(obsolete)}.")
    stages = {s: of_range for s, of_range in find_stage_ids(ontology).items() if s in run.stage_ranges}
    return TermIds(ids, stages, notes)

"""The ids of terms, stage ranges and genes, as links that a reader may click; the page itself loads none.

Those of terms and stage ranges come from the ontologies that are named.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from flyannot.base.text import pluralise
from flyannot.dataset.ontology import ids_of_stage_ranges, read_ontology

_GENE = re.compile(r"FBgn[0-9]+")
_REMARKS = {"obsolete": "obsolete", "replaced": "in place of an obsolete term"}


@dataclass(frozen=True)
class TermIds:
    """What the page says of ids.

    terms : dict from "stage range|term" to (id, remark, title), of those that have one, of which the page
    makes a link; the remark is seen, the title is shown when the pointer rests on the id
    stages : dict from stage range to a list of ids
    notes : sentences on where they come from
    """

    terms: dict = field(default_factory=dict)
    stages: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)

    def link(self, stage_range, term):
        """What the link of a term is made of, or None."""
        return self.terms.get(f"{stage_range}|{term}")


def gene_link(fbgn):
    """What the link to FlyBase's report of a gene is made of, as `TermIds.link`; None without number."""
    return (fbgn, "", "FlyBase's report of this gene") if _GENE.fullmatch(fbgn) else None


NO_IDS = TermIds()


def ids_of_run(run, paths=()):
    """Return the TermIds of all terms and stage ranges that the page of a `Run` may show.

    `paths` are those of ontologies, as `read_ontology` takes; without any there are no ids.  InputError if an
    ontology cannot be read.
    """
    if not paths:
        return NO_IDS
    ontology, names = read_ontology(*paths), [Path(path).name for path in paths]
    matches = [(s, match) for s, term in sorted(run.terms) if (match := ontology.match(term, s)).id]
    ids = {}
    for s, m in matches:
        consider = f"; consider {', '.join(m.consider)}" if m.consider else ""
        ids[f"{s}|{m.term}"] = m.id, _REMARKS.get(m.how, ""), f"{m.how}: {m.name}{consider}"
    have = pluralise(len({term for _, term in run.terms}), "term has", "terms have")
    notes = [f"Ids of terms are from {', '.join(names)}: {len({m.term for _, m in matches})} of {have} one."]
    if obsolete := sorted({m.term for _, m in matches if m.how in _REMARKS}):
        notes.append(f"Obsolete there: {', '.join(obsolete)}.")
    stages = {s: of_range for s, of_range in ids_of_stage_ranges(ontology).items() if s in run.stage_ranges}
    return TermIds(ids, stages, notes)

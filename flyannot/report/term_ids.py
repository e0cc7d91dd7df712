"""The ids of terms, stage ranges and genes, as links that a reader may click; the page itself loads none.

Those of terms and stage ranges come from the ontologies that are named, else from the table of the
predictions, if it has ids.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from flyannot.base.errors import FlyannotError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.dataset.ontology import ids_of_stage_ranges, read_ontology
from flyannot.files.tables import read_table
from flyannot.files.text_files import first_bytes

_GENE = re.compile(r"FBgn[0-9]+")
_REMARKS = {"obsolete": "obsolete", "replaced": "in place of an obsolete term"}
_HEADER_BYTES = 10_000  # more than a first line has
_COLUMNS = ("stage_range", "term"), ("term_id", "stage_id")


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

    def stage_links(self):
        """Stage range -> what the links of its stages are made of, in order: pairs."""
        return [(s, [(i, "", "") for i in self.stages[s]]) for s in STAGE_RANGES if self.stages.get(s)]


def gene_link(fbgn):
    """What the link to FlyBase's report of a gene is made of, as `TermIds.link`; None without number."""
    return (fbgn, "", "FlyBase's report of this gene") if _GENE.fullmatch(fbgn) else None


NO_IDS = TermIds()


def ids_of_run(run, ontology=()):
    """The TermIds of a `Run`; InputError if an ontology cannot be read.

    `ontology` are paths as `read_ontology` takes; without any, the ids in predictions.csv are taken.
    """
    if ontology:
        return _from_ontology(read_ontology(*ontology), [Path(path).name for path in ontology], run)
    path = run.folder / "predictions.csv"
    try:  # a table without ids need not be read in full
        has_ids = path.is_file() and b"term_id" in first_bytes(path, _HEADER_BYTES).partition(b"\n")[0]
        return _from_table(path) if has_ids else NO_IDS
    except FlyannotError as error:
        return TermIds(notes=[f"Ids of terms are left out: {error.message}."])


def _from_ontology(ontology, names, run):
    """Of all terms that the page may show, and all stage ranges."""
    rows = run.scores["terms"] if run.scores else []
    keys, ranges = {(row["stage_range"], row["term"]) for row in rows}, {row["stage_range"] for row in rows}
    if "predictions" in run.files:
        predictions = run.files["predictions"]
        keys.update((s, term) for s in predictions.stage_ranges for term in predictions.array(s, "term"))
        ranges.update(predictions.stage_ranges)
    if run.annotations:
        keys.update((s, term) for (_, s), terms in run.annotations.terms_by_gene.items() for term in terms)
    matches = [(s, match) for s, term in sorted(keys) if (match := ontology.match(term, s)).id]
    ids = {}
    for s, m in matches:
        consider = f"; consider {', '.join(m.consider)}" if m.consider else ""
        ids[f"{s}|{m.term}"] = m.id, _REMARKS.get(m.how, ""), f"{m.how}: {m.name}{consider}"
    have = pluralise(len({term for _, term in keys}), "term has", "terms have")
    notes = [f"Ids of terms are from {', '.join(names)}: {len({m.term for _, m in matches})} of {have} one."]
    if obsolete := sorted({m.term for _, m in matches if m.how in _REMARKS}):
        notes.append(f"Obsolete there: {', '.join(obsolete)}.")
    stages = {s: of_range for s, of_range in ids_of_stage_ranges(ontology).items() if s in ranges}
    return TermIds(ids, stages, notes)


def _from_table(path):
    terms, stages = {}, {}
    for _, (stage_range, term, term_id, stage_id) in read_table(path, *_COLUMNS):
        if term_id:
            terms[f"{stage_range}|{term}"] = (term_id, "", "")
        if stage_id:
            stages[stage_range] = stage_id.split()
    note = f"Ids of terms are those in {path.name}, which does not tell whether one is obsolete."
    return TermIds(terms, stages, [note] if terms else [])

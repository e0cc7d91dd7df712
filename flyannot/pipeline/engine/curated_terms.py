"""The curated terms of a data set: a table of annotations, after corrections."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from flyannot.base.errors import DataError, InputError, did_you_mean
from flyannot.curation.corrections import apply_corrections, describe_changes, read_corrections
from flyannot.dataset.folder import Annotations, read_annotations
from flyannot.dataset.ontology import add_parent_terms, read_ontology
from flyannot.dataset.paths import ANNOTATIONS, find_table, has_table
from flyannot.files.digest import file_digest, json_digest, table_digest
from flyannot.terms.metrics import NOT_ANATOMY


@dataclass(frozen=True)
class CuratedTerms:
    """The curated terms of a data set. Tables are read once, when the terms are first asked for.

    folder_or_table : Path of the table of annotations, or of its data set folder
        The folder may lack the table if there are corrections.
    corrections : Paths of tables of corrections
    columns : as in `read_table`, for all tables
    roll_up : Paths of ontologies, see `read_ontology`; a gene with a term also gets its parent terms
    listed : Annotations of the table without corrections; None to read the table
    """

    folder_or_table: Path
    corrections: tuple = ()
    columns: dict | None = None
    roll_up: tuple = ()
    listed: Annotations | None = None

    @cached_property
    def table(self):
        """The Path of the table of annotations."""
        return find_table(self.folder_or_table, ANNOTATIONS)

    @property
    def has_tables(self):
        """True if the data set folder has a table of annotations, or there are corrections."""
        return bool(self.corrections) or has_table(self.folder_or_table, ANNOTATIONS)

    @property
    def source(self):
        """The table of annotations for messages; without it the names of the tables of corrections."""
        return " and ".join(path.name for path in self.corrections) if self._lacks_table else self.table

    @property
    def annotations(self):
        """The Annotations after corrections, with parent terms."""
        return self._read[0]

    @property
    def changes(self):
        """A list of sentences on what the corrections changed."""
        return self._read[1]

    @cached_property
    def digests(self):
        """A dict for headers: "annotations" and "corrections" -> list of the digests of these tables.

        The key "corrections" is absent if there are none.
        """
        digests = {"annotations": [] if self._lacks_table else [table_digest(self.table)]}
        corrections = [file_digest(path) for path in self.corrections]
        return digests | ({"corrections": corrections} if corrections else {})

    def require_known(self, terms):
        """Check that each of these terms occurs, since a term that no gene has is probably misspelt.

        Terms that `not-anatomy` stands for may be absent.

        Raises
        ------
        InputError
            If no gene has one of the terms.
        """
        known = sorted(set().union(*self.annotations.terms_by_gene.values()) | set(NOT_ANATOMY))
        for term in terms:
            if term not in known:
                raise InputError(
                    f'no gene of {self.source} has the term "{term}", so it cannot be excluded.'
                    f"{did_you_mean(term, [*known, 'not-anatomy'])}",
                    fix="write --exclude-terms as the table does, in quotes; capitals count",
                )

    @cached_property
    def _lacks_table(self):
        """True if the data set folder has no table, and there are corrections instead."""
        table = self.table
        is_absent = table.name == ANNOTATIONS and table.parent.is_dir() and not table.exists()
        return bool(self.corrections) and is_absent

    @cached_property
    def _read(self):
        """The Annotations, and the sentences on what the corrections changed."""
        ontology = read_ontology(*self.roll_up) if self.roll_up else None
        names = ontology.names() if ontology else ()
        annotations = self.listed
        if annotations is None and self._lacks_table:
            annotations = Annotations({}, {})
        elif annotations is None:
            annotations = read_annotations(self.table, ontology=ontology, columns=self.columns)
        sentences = []
        if self.corrections:
            corrections = read_corrections(self.corrections, self.columns)
            annotations, changes = apply_corrections(annotations, corrections, self.table, names)
            files = ", ".join(path.name for path in self.corrections)
            sentences = [f"{files}: {s}" for s in describe_changes(changes)]
        if ontology:
            known = annotations.terms_by_gene
            annotations = add_parent_terms(annotations, ontology)
            n_gained = sum(annotations.terms_by_gene[key] != terms for key, terms in known.items())
            n_new = len(set().union(*annotations.terms_by_gene.values()) - set().union(*known.values()))
            said = f"{n_gained:,} of {len(known):,} annotated groups gained parent terms"
            sentences.append(f"roll-up: {said}, {n_new:,} of which no group had before")
        return annotations, sentences


def require_same_terms(first, made_from, second, made_from_second, roles=("annotations",)):
    """Check by the digests of their tables that two files or folders have the same curated terms.

    Parameters
    ----------
    first, second : Paths or names, for the message
    made_from, made_from_second : dicts, role of a table -> list of digests, such as `CuratedTerms.digests`
    roles : the roles to compare

    Raises
    ------
    DataError
        If the digests differ.
    """
    for role in roles:
        one, other = (json_digest(made.get(role) or [])[:12] for made in (made_from, made_from_second))
        if one != other:
            what = f"{first} and {second} have different {role}: {one} and {other}"
            raise DataError(what, fix=f"make both with the same {role}")

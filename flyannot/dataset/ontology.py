"""Terms as ids of an ontology (FBbt for anatomy, FBdv for development), from an OBO file.

A term matches by its exact name, else by an exact, else by another synonym; case counts.  A term that only
an obsolete entry has gets the id that replaces it, or the obsolete id, and is said to be obsolete.

Source: The OBO Flat File Format, version 1.2 (names, synonyms, is_a, part_of, obsolete entries).
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

from flyannot.dataset.importers.source_tables import lines_of_text
from flyannot.errors import InputError
from flyannot.stage_ranges import STAGE_RANGES

ANATOMY, DEVELOPMENT = "FBbt", "FBdv"
HOW = ("name", "exact synonym", "synonym", "replaced", "obsolete", "")

_SYNONYM = re.compile(r'"((?:[^"\\]|\\.)*)"\s*([A-Z]+)?')
_ESCAPED = re.compile(r"\\(.)")
_LETTERS = {"n": "\n", "t": "\t", "W": " "}
_COMMENT = re.compile(r"(?<!\\)\s!\s.*")
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*:\S+")
_FIX = "name an OBO file, such as fbbt.obo or fbdv.obo from FlyBase"


@dataclass
class OntologyEntry:
    """One [Term] of an ontology; `parents` are those it is_a or is part_of."""

    id: str
    name: str = ""
    synonyms: list = field(default_factory=list)  # (text, scope)
    parents: list = field(default_factory=list)
    is_obsolete: bool = False
    replaced_by: list = field(default_factory=list)
    consider: list = field(default_factory=list)


@dataclass(frozen=True)
class OntologyMatch:
    """What an ontology says of one term; `how` is one of HOW, "" where it says nothing."""

    term: str
    id: str = ""
    name: str = ""
    how: str = ""
    consider: tuple = ()  # ids to look at instead of an obsolete one


class Ontology:
    """The entries of one or more OBO files, by id."""

    def __init__(self, entries):
        self.entries = entries
        self._names = names, exact, others, obsolete = [defaultdict(list) for _ in range(4)]
        for entry in entries.values():
            (obsolete if entry.is_obsolete else names)[entry.name].append(entry)
            for text, scope in entry.synonyms:
                synonyms = obsolete if entry.is_obsolete else exact if scope == "EXACT" else others
                synonyms[text].append(entry)

    def names(self):
        """Every name and synonym in use: a set."""
        return {name for known in self._names[:3] for name in known}

    def match(self, term, prefix=ANATOMY):
        """The OntologyMatch of a term among the ids with a prefix.

        Where several entries have the name, or one of the same rank, the first id is taken.
        """
        for how, known in zip(HOW, self._names[:3]):
            if entry := _first_with_prefix(known.get(term, ()), prefix):
                return OntologyMatch(term, entry.id, entry.name, how)
        entry = _first_with_prefix(self._names[3].get(term, ()), prefix)
        if entry is None:
            return OntologyMatch(term)
        for new in filter(self.entries.get, entry.replaced_by):
            return OntologyMatch(term, new, self.entries[new].name, "replaced")
        return OntologyMatch(term, entry.id, entry.name, "obsolete", tuple(entry.consider))

    def ancestors(self, entry_id):
        """The ids of all that an entry is, or is part of, at any remove; itself left out."""
        ancestors, left = set(), [entry_id]
        while left:
            new = self.entries.keys() & set(self.entries[left.pop()].parents) - ancestors
            ancestors |= new
            left += new
        return ancestors - {entry_id}


def _first_with_prefix(entries, prefix):
    return min((e for e in entries if e.id.startswith(prefix + ":")), key=lambda e: e.id, default=None)


class IdColumns:
    """What stands for terms and stage ranges in a table: ids, separated by spaces, or nothing."""

    COLUMNS = ("term_id", "stage_id")

    def __init__(self, ontology):
        self._ontology, self._known = ontology, {}
        self._stages = {s: " ".join(ids) for s, ids in ids_of_stage_ranges(ontology).items()}

    def of(self, term, stage_range):
        """The ids of a term and of a stage range, as the COLUMNS."""
        if term not in self._known:
            self._known[term] = self._ontology.match(term).id
        return self._known[term], self._stages[stage_range]


def read_ontology(*paths):
    """The Ontology in one or more OBO files, gzipped or not; an id that comes again is left out.  InputError
    if a file is missing, no OBO file, or damaged; names the line."""
    entries = {}
    for path in map(Path, paths):
        if not path.is_file():
            raise InputError(f"no such file: {path}", fix=_FIX)
        of_file = _read_entries(path)
        if not of_file:
            raise InputError(f"{path} holds no [Term]", fix=_FIX)
        entries = of_file | entries
    return Ontology(entries)


def ids_of_stage_ranges(ontology):
    """Stage range -> the ids of its stages, as far as the ontology has them ("embryonic stage 4" ...)."""
    ids = {}
    for stage_range in STAGE_RANGES:
        first, last = map(int, stage_range.split("-"))
        names = (f"embryonic stage {stage}" for stage in range(first, last + 1))
        matches = (ontology.match(name, DEVELOPMENT) for name in names)
        ids[stage_range] = [match.id for match in matches if match.id]
    return ids


def ontology_matches(ontology, annotations):
    """The OntologyMatch of every term of some annotations, in the order of the terms."""
    terms = set().union(*annotations.terms_by_gene.values())
    return [ontology.match(term) for term in sorted(terms)]


def parent_terms(ontology, terms):
    """Term -> those of the other terms that are its ancestors: a frozenset."""
    ids = {term: ontology.match(term).id for term in terms}
    by_id = defaultdict(set)
    for term, entry_id in ids.items():
        by_id[entry_id].add(term)
    ancestors = {term: ontology.ancestors(entry_id) if entry_id else () for term, entry_id in ids.items()}
    return {term: frozenset().union(*(by_id.get(a, ()) for a in ancestors[term])) - {term} for term in terms}


def with_parent_terms(annotations, ontology):
    """Annotations in which a gene that has a term also has those of the other terms that are its parents.

    What was annotated is then less specific, and the same on every level; no term is new.
    """
    parents = parent_terms(ontology, set().union(*annotations.terms_by_gene.values()))

    def rolled_up(terms_by_gene):
        return {
            key: of_gene.union(*(parents.get(term, ()) for term in of_gene))
            for key, of_gene in terms_by_gene.items()
        }

    known, unsure = rolled_up(annotations.terms_by_gene), rolled_up(annotations.unsure)
    return replace(annotations, terms_by_gene=known, unsure=unsure)


def _read_entries(path):
    entries, entry = {}, None
    for line, raw in enumerate(lines_of_text(path, fix=_FIX), start=1):
        text = raw.strip()
        if text.startswith("["):
            entry = OntologyEntry("") if text == "[Term]" else None
        elif text and not text.startswith("!") and entry is not None:
            try:
                _take_line(entry, text, entries)
            except ValueError as error:
                raise InputError(f"{path}, line {line}: {error}", fix=_FIX) from None
    return entries


def _take_line(entry, text, entries):
    """Take in one line of a [Term]; ValueError says what is wrong with it."""
    tag, colon, value = text.partition(":")
    if not colon:
        raise ValueError(f'"{text[:40]}" is no tag and value')
    value = value.strip()
    if tag != "id" and not entry.id:
        raise ValueError("a [Term] must begin with its id")
    match tag:
        case "id":
            if entry.id or value in entries:
                raise ValueError(f"{value} comes twice")
            entry.id = _id_in(value)
            entries[entry.id] = entry
        case "name":
            entry.name = _unescaped(_COMMENT.sub("", value))
        case "synonym":
            quoted = _SYNONYM.match(value)
            if not quoted:
                raise ValueError("a synonym is not in quotes")
            entry.synonyms.append((_unescaped(quoted[1]), quoted[2] or "RELATED"))
        case "is_a":
            entry.parents.append(_id_in(value))
        case "relationship" if value.startswith("part_of "):
            entry.parents.append(_id_in(value.removeprefix("part_of ")))
        case "is_obsolete":
            entry.is_obsolete = value.split(" ")[0] == "true"
        case "replaced_by" | "consider":
            getattr(entry, tag).append(_id_in(value))


def _id_in(value):
    match = _ID.match(value)
    if not match:
        raise ValueError(f'"{value[:40]}" is no id')
    return match[0]


def _unescaped(text):
    return _ESCAPED.sub(lambda m: _LETTERS.get(m[1], m[1]), text)

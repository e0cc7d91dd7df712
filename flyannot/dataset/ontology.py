"""Terms as ids of an ontology (FBbt for anatomy, FBdv for development), from an OBO file.

A term matches by its exact name, else by an exact, else by another synonym; case counts.  A term that only
an obsolete entry has gets the id that replaces it, or the obsolete id, and is said to be obsolete.

Source: The OBO Flat File Format, version 1.2 (names, synonyms, is_a, part_of, obsolete entries).
"""

import re
import zlib
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

from flyannot.dataset.importers.source_tables import open_packed
from flyannot.errors import InputError
from flyannot.stage_ranges import STAGE_RANGES

ANATOMY, DEVELOPMENT = "FBbt", "FBdv"
HOW = ("name", "exact synonym", "synonym", "replaced", "obsolete", "")

_MOST_BYTES = 2**29  # unpacked; FBbt has some 5 MB
_SYNONYM = re.compile(r'"((?:[^"\\]|\\.)*)"\s*([A-Z]+)?')
_ESCAPED = re.compile(r"\\(.)")
_LETTERS = {"n": "\n", "t": "\t", "W": " "}
_COMMENT = re.compile(r"(?<!\\)\s!\s.*")
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*:\S+")
_FIX = "name an OBO file, such as fbbt.obo or fbdv.obo from FlyBase"


@dataclass
class Entry:
    """One [Term] of an ontology; `parents` are those it is_a or is part_of."""

    id: str
    name: str = ""
    synonyms: list = field(default_factory=list)  # (text, scope)
    parents: list = field(default_factory=list)
    is_obsolete: bool = False
    replaced_by: list = field(default_factory=list)
    consider: list = field(default_factory=list)


@dataclass(frozen=True)
class Match:
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
        self._names = [defaultdict(list) for _ in range(4)]  # names, exact and other synonyms, obsolete
        for entry in entries.values():
            self._enter(entry)

    def _enter(self, entry):
        names, exact, others, obsolete = self._names
        if entry.is_obsolete:
            for name in {entry.name, *(text for text, _ in entry.synonyms)}:
                obsolete[name].append(entry)
            return
        names[entry.name].append(entry)
        for text, scope in entry.synonyms:
            (exact if scope == "EXACT" else others)[text].append(entry)

    def names(self):
        """Every name and synonym in use: a set."""
        return {name for known in self._names[:3] for name in known}

    def match(self, term, prefix=ANATOMY):
        """The Match of a term among the ids with a prefix.

        Where several entries have the name, or one of the same rank, the first id is taken.
        """
        for how, known in zip(HOW, self._names[:3]):
            found = self._with_prefix(known.get(term, ()), prefix)
            if found:
                return Match(term, found[0].id, found[0].name, how)
        for entry in self._with_prefix(self._names[3].get(term, ()), prefix):
            for new in filter(self.entries.get, entry.replaced_by):
                return Match(term, new, self.entries[new].name, "replaced")
            return Match(term, entry.id, entry.name, "obsolete", tuple(entry.consider))
        return Match(term)

    def ancestors(self, entry_id):
        """The ids of all that an entry is, or is part of, at any remove; itself left out."""
        found, left = set(), [entry_id]
        while left:
            for parent in self.entries[left.pop()].parents:
                if parent in self.entries and parent not in found:
                    found.add(parent)
                    left.append(parent)
        return found - {entry_id}

    @staticmethod
    def _with_prefix(entries, prefix):
        return sorted((e for e in entries if e.id.startswith(prefix + ":")), key=lambda e: e.id)


class Ids:
    """What stands for terms and stage ranges in a table: ids, separated by spaces, or nothing."""

    COLUMNS = ("term_id", "stage_id")

    def __init__(self, ontology):
        self._ontology, self._known = ontology, {}
        self._stages = {s: " ".join(ids) for s, ids in stage_ids(ontology).items()}

    def of(self, term, stage_range):
        """The ids of a term and of a stage range, as the COLUMNS."""
        if term not in self._known:
            self._known[term] = self._ontology.match(term).id
        return self._known[term], self._stages[stage_range]


def read_ontology(*paths):
    """The Ontology in one or more OBO files, gzipped or not; an id that comes again is left out.

    Raises
    ------
    InputError
        If a file is missing, no OBO file, or damaged; names the line.
    """
    entries = {}
    for path in paths:
        found = _read_entries(Path(path))
        if not found:
            raise InputError(f"{path} holds no [Term]", fix=_FIX)
        entries = found | entries
    return Ontology(entries)


def stage_ids(ontology):
    """Stage range -> the ids of its stages, as far as the ontology has them ("embryonic stage 4" ...)."""
    found = {}
    for stage_range in STAGE_RANGES:
        first, last = map(int, stage_range.split("-"))
        names = (f"embryonic stage {stage}" for stage in range(first, last + 1))
        ids = [ontology.match(name, DEVELOPMENT).id for name in names]
        found[stage_range] = [one for one in ids if one]
    return found


def matches_of(ontology, annotations):
    """The Match of every term of some annotations, in the order of the terms."""
    terms = set().union(*annotations.terms_by_gene.values())
    return [ontology.match(term) for term in sorted(terms)]


def parent_terms(ontology, terms):
    """Term -> those of the other terms that are its ancestors: a frozenset."""
    ids = {term: ontology.match(term).id for term in terms}
    by_id = defaultdict(set)
    for term, entry_id in ids.items():
        if entry_id:
            by_id[entry_id].add(term)
    return {
        term: frozenset().union(*(by_id[a] for a in ontology.ancestors(i) if a in by_id)) - {term} if i
        else frozenset()
        for term, i in ids.items()
    }  # fmt: skip


def with_parent_terms(annotations, ontology):
    """Annotations in which a gene that has a term also has those of the other terms that are its parents.

    What was annotated is then less specific, and the same on every level; no term is new.
    """
    terms = set().union(*annotations.terms_by_gene.values())
    parents = parent_terms(ontology, terms)
    rolled = {
        key: found.union(*(parents[term] for term in found))
        for key, found in annotations.terms_by_gene.items()
    }
    unsure = {
        key: found.union(*(parents.get(term, ()) for term in found))
        for key, found in annotations.unsure.items()
    }
    return replace(annotations, terms_by_gene=rolled, unsure=unsure)


def _read_entries(path):
    entries, entry, line, n_bytes = {}, None, 0, 0
    if not path.is_file():
        raise InputError(f"no such file: {path}", fix=_FIX)
    try:
        with open_packed(path, encoding="utf-8-sig") as file:
            for line, raw in enumerate(file, start=1):  # noqa: B007 - the messages below name it
                n_bytes += len(raw)
                if n_bytes > _MOST_BYTES:
                    raise InputError(f"{path} unpacks to more than {_MOST_BYTES:,} bytes", fix=_FIX)
                text = raw.strip()
                if text.startswith("["):
                    entry = Entry("") if text == "[Term]" else None
                elif text and not text.startswith("!") and entry is not None:
                    _take(entry, text, entries)
    except InputError:
        raise
    except UnicodeDecodeError:
        raise InputError(f"{path}, after line {line}: not UTF-8 text", fix=_FIX) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}", fix=_FIX) from error
    except ValueError as error:
        raise InputError(f"{path}, line {line}: {error}", fix=_FIX) from None
    return entries


def _take(entry, text, entries):
    """Take in one line of a [Term]; ValueError says what is wrong with it."""
    tag, colon, value = text.partition(":")
    if not colon:
        raise ValueError(f'"{text[:40]}" is no tag and value')
    value = value.strip()
    if tag == "id":
        if entry.id or value in entries:
            raise ValueError(f"{value} comes twice")
        entry.id = _id_in(value)
        entries[entry.id] = entry
        return
    if not entry.id:
        raise ValueError("a [Term] must begin with its id")
    _TAKE.get(tag, lambda *_: None)(entry, value)


def _take_synonym(entry, value):
    match = _SYNONYM.match(value)
    if not match:
        raise ValueError("a synonym is not in quotes")
    entry.synonyms.append((_plain(match[1]), match[2] or "RELATED"))


def _take_relationship(entry, value):
    kind, _, other = value.partition(" ")
    if kind == "part_of":
        entry.parents.append(_id_in(other))


def _id_in(value):
    match = _ID.match(value)
    if not match:
        raise ValueError(f'"{value[:40]}" is no id')
    return match[0]


def _plain(text):
    return _ESCAPED.sub(lambda m: _LETTERS.get(m[1], m[1]), text)


_TAKE = {
    "name": lambda entry, value: setattr(entry, "name", _plain(_COMMENT.sub("", value))),
    "synonym": _take_synonym,
    "is_a": lambda entry, value: entry.parents.append(_id_in(value)),
    "relationship": _take_relationship,
    "is_obsolete": lambda entry, value: setattr(entry, "is_obsolete", value.split(" ")[0] == "true"),
    "replaced_by": lambda entry, value: entry.replaced_by.append(_id_in(value)),
    "consider": lambda entry, value: entry.consider.append(_id_in(value)),
}

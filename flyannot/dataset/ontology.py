"""Ids of terms in an ontology (FBbt for anatomy, FBdv for development), from OBO files.

A term matches by its name, then by an exact synonym, then by another synonym; capitals count.  A term of
BDGP without such a match is respelt as FBbt writes it.  A term that only an obsolete entry has gets the id
that replaces it, or the obsolete id.

Source: The OBO Flat File Format, version 1.2 (names, synonyms, is_a, part_of, obsolete entries).
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.files.text_files import read_lines

ANATOMY = "FBbt"
DEVELOPMENT = "FBdv"
HOW = ("name", "exact synonym", "synonym", "respelt", "nearest", "replaced", "obsolete", "")

_SYNONYM = re.compile(r'"((?:[^"\\]|\\.)*)"\s*([A-Z]+)?')
_ESCAPED = re.compile(r"\\(.)")
_LETTERS = {"n": "\n", "t": "\t", "W": " "}
_COMMENT = re.compile(r"(?<!\\)\s!\s.*")
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*:\S+")
_FIX = "give an OBO file, such as fbbt.obo or fbdv.obo from FlyBase"

# FBbt lacks some early structures: these rules name the same structure a step later.
_NEAREST = ((r"\banlage in statu nascendi$", "anlage"), (r"\banlage$", "primordium"))


@cache
def _respellings():
    """Return the rules that turn a term of BDGP into one of FBbt: pairs of a pattern and its replacement."""
    lines = (files("flyannot.dataset") / "respellings.txt").read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines if not line.startswith("#")]


@dataclass
class OntologyEntry:
    """One entry ([Term]) of an ontology.

    `ids` is a dict, tag such as is_a -> ids of related entries; part_of counts as is_a.
    """

    id: str
    name: str = ""
    synonyms: list = field(default_factory=list)  # (text, scope)
    is_obsolete: bool = False
    ids: dict = field(default_factory=lambda: {"is_a": [], "replaced_by": [], "consider": []})


@dataclass(frozen=True)
class OntologyMatch:
    """The entry of an ontology that matches a term.

    `how` is one of HOW, such as by name or by synonym; it is "" if no entry matches.
    """

    term: str
    id: str = ""
    name: str = ""
    how: str = ""
    consider: tuple = ()  # ids that the ontology suggests instead of an obsolete one


class Ontology:
    """The entries of OBO files.

    entries : dict, id -> OntologyEntry
    """

    def __init__(self, entries):
        self.entries = entries
        self._names = names, exact, others, obsolete = [defaultdict(list) for _ in range(4)]
        for entry in entries.values():
            (obsolete if entry.is_obsolete else names)[entry.name].append(entry)
            for text, scope in entry.synonyms:
                synonyms = obsolete if entry.is_obsolete else exact if scope == "EXACT" else others
                synonyms[text].append(entry)

    def names(self):
        """Return all names and synonyms of entries in use, as a set."""
        return {name for known in self._names[:3] for name in known}

    def match(self, term, prefix=ANATOMY):
        """Find the entry of a term, and return an OntologyMatch.

        If several entries match equally well, the first id is taken.

        term : str; prefix : the beginning of the ids to consider, such as that of anatomy
        """
        if entry_id_and_how := self._find_in_use(term, prefix):
            return self._match_by_id(term, *entry_id_and_how)
        obsolete = _first_entry(self._names[3].get(term, ()), prefix)
        for new in filter(self.entries.get, obsolete.ids["replaced_by"] if obsolete else ()):
            return self._match_by_id(term, new, "replaced")
        respelt = _apply_rules([term], _respellings())
        nearest = _apply_rules(_apply_rules(respelt, _NEAREST), _respellings())
        for how, spellings in (("respelt", respelt), ("nearest", nearest)):
            for entry_id, _ in filter(None, (self._find_in_use(text, prefix) for text in spellings)):
                return self._match_by_id(term, entry_id, how)
        if obsolete:
            return self._match_by_id(term, obsolete.id, "obsolete")
        return OntologyMatch(term)

    def _find_in_use(self, text, prefix):
        """Return (id, how) of the entry that is not obsolete and has a name or synonym.

        None if there is none.
        """
        for how, known in zip(HOW, self._names[:3]):
            if entry := _first_entry(known.get(text, ()), prefix):
                return entry.id, how
        return None

    def _match_by_id(self, term, entry_id, how):
        entry = self.entries[entry_id]
        return OntologyMatch(term, entry_id, entry.name, how, tuple(entry.ids["consider"]))

    def ancestors(self, entry_id):
        """Return the set of ids of all entries that an entry is, or is part of, directly or indirectly."""
        ancestors = set()
        left = [entry_id]
        while left:
            new = self.entries.keys() & set(self.entries[left.pop()].ids["is_a"]) - ancestors
            ancestors |= new
            left += new
        return ancestors - {entry_id}


def _first_entry(entries, prefix):
    return min((e for e in entries if e.id.startswith(prefix + ":")), key=lambda e: e.id, default=None)


def _apply_rules(texts, rules):
    """Return the texts and all texts that rules of respelling make of them, each once.

    rules : pairs of a pattern and its replacement
    """
    texts = list(texts)
    for pattern, text in rules:
        texts += [new for old in texts if (new := re.sub(pattern, text, old)) not in texts]
    return texts


class IdColumns:
    """The columns with ontology identifiers of terms and stage ranges, which are added to a table.

    Several identifiers are separated by spaces.
    """

    COLUMNS = ("term_id", "stage_id")

    def __init__(self, ontology):
        self._ontology = ontology
        self._ids = {}
        self._stages = {s: " ".join(ids) for s, ids in find_stage_ids(ontology).items()}

    def look_up(self, term, stage_range):
        """Return the ids of a term and of a stage range, in the order of COLUMNS."""
        if term not in self._ids:
            self._ids[term] = self._ontology.match(term).id
        return self._ids[term], self._stages[stage_range]


def read_ontology(*paths):
    """Read an Ontology from OBO files, gzipped or not.

    If an id occurs twice, the first one counts.

    Returns
    -------
    ontology : Ontology

    Raises
    ------
    InputError
        If a file is missing, damaged, or of another kind; names the line.
    """
    entries = {}
    for path in map(Path, paths):
        if not path.is_file():
            raise InputError(f"no such file: {path}", fix=_FIX)
        of_file = _read_entries(path)
        if not of_file:
            raise InputError(f"{path} has no [Term]", fix=_FIX)
        entries = of_file | entries
    return Ontology(entries)


def find_stage_ids(ontology):
    """Return a dict, stage range -> ids of its stages ("embryonic stage 4" ...) in the ontology."""
    ids = {}
    for stage_range in STAGE_RANGES:
        first, last = map(int, stage_range.split("-"))
        names = (f"embryonic stage {stage}" for stage in range(first, last + 1))
        matches = (ontology.match(name, prefix=DEVELOPMENT) for name in names)
        ids[stage_range] = [match.id for match in matches if match.id]
    return ids


def find_parent_terms(ontology, terms):
    """Return a dict, term -> frozenset of its ancestors in the ontology that are among the given terms."""
    ids = {term: ontology.match(term).id for term in terms}
    by_id = defaultdict(set)
    for term, entry_id in ids.items():
        by_id[entry_id].add(term)
    ancestors = {term: ontology.ancestors(entry_id) if entry_id else () for term, entry_id in ids.items()}
    return {term: frozenset().union(*(by_id.get(a, ()) for a in ancestors[term])) - {term} for term in terms}


def add_parent_terms(annotations, ontology):
    """Return Annotations in which a gene with a term also has the terms of its ancestors in the ontology.

    Only terms that occur in the annotations are added.
    """
    parents = find_parent_terms(ontology, set().union(*annotations.terms_by_gene.values()))

    def rolled_up(terms_by_gene):
        return {
            key: of_gene.union(*(parents.get(term, ()) for term in of_gene))
            for key, of_gene in terms_by_gene.items()
        }

    return replace(
        annotations, terms_by_gene=rolled_up(annotations.terms_by_gene), unsure=rolled_up(annotations.unsure)
    )


def _read_entries(path):
    entries = {}
    entry = None
    for line, raw in enumerate(read_lines(path, fix=_FIX), start=1):
        text = raw.strip()
        if text.startswith("["):
            entry = OntologyEntry("") if text == "[Term]" else None
        elif text and not text.startswith("!") and entry is not None:
            try:
                _parse_line(entry, text, entries)
            except ValueError as error:
                raise InputError(f"{path}, line {line}: {error}", fix=_FIX) from None
    return entries


def _parse_line(entry, text, entries):
    """Add one line of a [Term] in an OBO file to its OntologyEntry.

    Raises
    ------
    ValueError
        If the line is wrong; the text says why.
    """
    tag, colon, value = text.partition(":")
    if not colon:
        raise ValueError(f'"{text[:40]}" is no tag with a value')
    value = value.strip()
    if tag == "relationship" and value.startswith("part_of "):
        tag = "is_a"
        value = value.removeprefix("part_of ")
    if tag == "id":
        if entry.id or value in entries:
            raise ValueError(f"{value} is there twice")
        entry.id = _parse_id(value)
        entries[entry.id] = entry
    elif not entry.id:
        raise ValueError("a [Term] must begin with its id")
    elif tag == "name":
        entry.name = _unescape(_COMMENT.sub("", value))
    elif tag == "synonym":
        quoted = _SYNONYM.match(value)
        if not quoted:
            raise ValueError("a synonym is not in quotes")
        entry.synonyms.append((_unescape(quoted[1]), quoted[2] or "RELATED"))
    elif tag == "is_obsolete":
        entry.is_obsolete = value.split(" ")[0] == "true"
    elif tag in entry.ids:
        entry.ids[tag].append(_parse_id(value))


def _parse_id(value):
    match = _ID.match(value)
    if not match:
        raise ValueError(f'"{value[:40]}" is no id')
    return match[0]


def _unescape(text):
    return _ESCAPED.sub(lambda m: _LETTERS.get(m[1], m[1]), text)

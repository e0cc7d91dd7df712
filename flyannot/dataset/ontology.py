"""Ids of terms in an ontology (FBbt for anatomy, FBdv for development), from OBO files.

A term matches by an id, then by its name, an exact synonym, or another synonym; capitals of names count.  A
term of BDGP without such a match is respelt as FBbt writes it.  A term that only an obsolete entry has gets
the id in use that replaces it, directly or indirectly, or the obsolete id.  An id that was merged into
another entry (alt_id) counts as replaced.

Source: The OBO Flat File Format, version 1.2 (names, synonyms, is_a, part_of, obsolete entries).
"""

import logging
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.dataset.table_warnings import abbreviate_names
from flyannot.files.atomic_file import write_text
from flyannot.files.text_files import read_lines

_warn_once = cache(logging.getLogger("flyannot").warning)

ANATOMY = "FBbt"
DEVELOPMENT = "FBdv"
HOW = ("id", "name", "exact synonym", "synonym", "respelt", "nearest", "replaced", "obsolete", "")

_SYNONYM = re.compile(r'"((?:[^"\\]|\\.)*)"\s*([A-Z]+)?')
_ESCAPED = re.compile(r"\\(.)")
_LETTERS = {"n": "\n", "t": "\t", "W": " "}
_COMMENT = re.compile(r"(?<!\\)\s!\s.*")
_ID = re.compile(r"(?:https?://\S*/)?([A-Za-z][\w.-]*)(?::|_(?=\d))(\w[^\s{]*)")  # or FBbt_0000001
_QUALIFIERS = re.compile(r'\s*(?<!\\)\{(?:\s*[\w:.-]+="(?:[^"\\]|\\.)*",?)+\s*\}\s*(?:!.*)?$')
_OBSOLETE = re.compile(r"^obsolete[\s_:]+|\s+\(obsolete\)$", re.IGNORECASE)
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
    `lines` are the lines of the file that are read.
    """

    id: str
    name: str = ""
    synonyms: list = field(default_factory=list)  # (text, scope)
    is_obsolete: bool = False
    ids: dict = field(default_factory=lambda: {"is_a": [], "replaced_by": [], "consider": [], "alt_id": []})
    lines: list = field(default_factory=list)


@dataclass(frozen=True)
class OntologyMatch:
    """The entry of an ontology that matches a term.

    `how` is one of HOW, such as by name or by synonym; it is "" if no entry matches.
    """

    term: str
    id: str = ""
    name: str = ""
    how: str = ""
    consider: tuple = ()  # other ids that the ontology suggests instead of an obsolete one


class Ontology:
    """The entries of OBO files.

    entries : dict, id -> OntologyEntry
    paths : Paths of the files that have the entries
    """

    def __init__(self, entries, paths=()):
        self.entries, self.paths = entries, paths
        for entry in list(entries.values()):
            for merged in entry.ids["alt_id"]:
                old = entries.setdefault(merged, OntologyEntry(merged, entry.name, is_obsolete=True))
                old.ids["replaced_by"] += [entry.id] if old.is_obsolete else []
        self._names = ids, names, exact, others, obsolete = [defaultdict(list) for _ in range(5)]
        for entry in entries.values():
            texts = [(_normalise_id(entry.id), ids), (entry.name, names)]
            texts += [(text, exact if scope == "EXACT" else others) for text, scope in entry.synonyms]
            if entry.is_obsolete:
                texts = [(text, obsolete) for text, _ in texts]
                texts.append((_OBSOLETE.sub("", entry.name), obsolete))
            for text, known in texts:
                known[text] += [entry] if text else []

    def names(self):
        """Return all names and synonyms of entries in use, as a set."""
        return {name for known in self._names[1:4] for name in known}

    def match(self, term, prefix=ANATOMY):
        """Find the entry of a term or id, and return an OntologyMatch.

        If several entries match equally well, the first id is taken.

        term : str; prefix : the beginning of the ids to consider, such as that of anatomy
        """
        if entry_id_and_how := self._find_in_use(term, prefix):
            return self._match_by_id(term, *entry_id_and_how)
        known = self._names[4]
        old = _sorted_ids([*known.get(term, ()), *known.get(_normalise_id(term), ())], prefix)
        for entry_id in old:
            for new in self._in_use(entry_id, "replaced_by"):
                return self._match_by_id(term, new, "replaced", entry_id)
        respelt = _apply_rules([term], _respellings())
        nearest = _apply_rules(_apply_rules(respelt, _NEAREST), _respellings())
        for how, spellings in (("respelt", respelt), ("nearest", nearest)):
            for entry_id, _ in filter(None, (self._find_in_use(text, prefix) for text in spellings)):
                return self._match_by_id(term, entry_id, how)
        return self._match_by_id(term, old[0], "obsolete", old[0]) if old else OntologyMatch(term)

    def _find_in_use(self, text, prefix):
        """Return (id, how) of the entry that is not obsolete and has an id, name or synonym.

        None if there is none.
        """
        for how, known, key in zip(HOW, self._names[:4], (_normalise_id(text), text, text, text)):
            if entry_ids := _sorted_ids(known.get(key, ()), prefix):
                return entry_ids[0], how
        return None

    def _match_by_id(self, term, entry_id, how, old=""):
        """Return the OntologyMatch of a term; `old` is the id of the obsolete entry, if there is one."""
        consider = tuple(one for one in self._in_use(old, "replaced_by", "consider") if one != entry_id)
        return OntologyMatch(term, entry_id, self.entries[entry_id].name, how, consider)

    def _in_use(self, entry_id, *tags):
        """List the ids in use to which these tags of an entry lead, directly or indirectly."""
        reached = self._follow(entry_id, *tags)
        return [one for one in reached if one in self.entries and not self.entries[one].is_obsolete]

    def _follow(self, entry_id, *tags):
        """List all ids to which these tags of an entry lead; in a circle, its own id is among them."""
        reached = []
        for one in chain([entry_id], reached):  # it grows
            ids = self.entries[one].ids if one in self.entries else {}
            reached += [new for tag in tags for new in ids.get(tag, ()) if new not in reached]
        return reached

    def excerpt(self, terms):
        """Return an OBO text of the entries that some terms and all stages match, and of all related entries.

        The terms and stages match in it as in this ontology.  Returns "" if there is no such entry.
        """
        ids = {self.match(term).id for term in terms}.union(*find_stage_ids(self).values())
        old = chain.from_iterable((term, _normalise_id(term)) for term in terms)
        ids |= {entry.id for text in old for entry in self._names[4].get(text, ())}
        ids = ids.union(*(self._follow(one, "is_a", "replaced_by", "consider") for one in ids))
        kept = [self.entries[one].lines for one in sorted(ids & self.entries.keys())]
        return "\n\n".join("\n".join(["[Term]", *lines]) for lines in kept if lines)

    def circles(self):
        """List the ids of the entries that are replaced by each other in a circle."""
        return [one for one in self.entries if one in self._follow(one, "replaced_by")]

    def ancestors(self, entry_id):
        """Return the set of ids of all entries that an entry is, or is part of, directly or indirectly."""
        return {*self._in_use(entry_id, "is_a", "replaced_by")} - {entry_id}


def _sorted_ids(entries, prefix):
    return sorted(entry.id for entry in entries if entry.id.startswith(f"{prefix}:"))


def _normalise_id(text):
    """Return an id with a colon, without an address, in small letters; "" if the text is no id."""
    match = _ID.fullmatch(text)
    return f"{match[1]}:{match[2]}".casefold() if match else ""


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

    ontology : Ontology; ids : dict, term that was looked up -> its id
    """

    COLUMNS = ("term_id", "stage_id")

    def __init__(self, ontology):
        self.ontology = ontology
        self.ids: dict = {}
        self._stages = {s: " ".join(ids) for s, ids in find_stage_ids(ontology).items()}

    def look_up(self, term, stage_range):
        """Return the ids of a term and of a stage range, in the order of COLUMNS."""
        if term not in self.ids:
            self.ids[term] = self.ontology.match(term).id
        return self.ids[term], self._stages[stage_range]


def find_ontology(predictions, paths=()):
    """Return the Paths of the ontologies that a user gave or, without any, of the one that is kept.

    An ontology that was given once is kept beside a predictions file NAME.h5, as NAME-ontology.obo.

    predictions : Path of the predictions file; paths : tuple of Paths
    """
    kept = _kept_path(predictions)
    return tuple(paths) or (kept,) * kept.is_file()


def _kept_path(predictions):
    return predictions.with_name(f"{predictions.stem}-ontology.obo")


def keep_ontology(ontology, terms, predictions):
    """Write what an ontology says of some terms beside a predictions file, where `find_ontology` finds it.

    The file that is kept already is not replaced by an excerpt of itself.
    """
    path = _kept_path(predictions)
    if path not in ontology.paths and (text := ontology.excerpt(terms)):
        write_text(path, f"{text}\n")


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
    ontology = Ontology(entries, paths)
    if circle := ontology.circles():
        names = ", ".join(Path(path).name for path in paths)
        _warn_once(f"warning: {names}: terms replace each other in a circle: {abbreviate_names(circle)}")
    return ontology


def find_stage_ids(ontology):
    """Return a dict, stage range -> ids of its stages ("embryonic stage 4" ...) in the ontology."""
    ids = {}
    for stage_range in STAGE_RANGES:
        first, last = map(int, stage_range.split("-"))
        matches = (ontology.match(f"embryonic stage {n}", DEVELOPMENT) for n in range(first, last + 1))
        ids[stage_range] = [match.id for match in matches if match.id]
    return ids


def find_parent_terms(ontology, terms):
    """Return a dict, term -> frozenset of its parent terms, direct and indirect.

    Parent terms are among the given terms, or the names of other entries above at least two of the given
    terms.  Of several entries above the same given terms, only the most special is a parent term.
    """
    ids = {term: ontology.match(term).id for term in terms}
    above = {entry_id: {entry_id, *ontology.ancestors(entry_id)} for entry_id in set(ids.values()) - {""}}
    below = defaultdict(set)
    for entry_id, ancestors in above.items():
        for one in ancestors:
            below[one].add(entry_id)
    special = sorted(below, key=lambda one: (one in above, len(ontology.ancestors(one)), one))
    joins = {frozenset(below[one]): one for one in special}  # the last one counts: a given term's, if any
    names = {ontology.entries[one].name or one: one for one in joins.values() if one not in above} | ids
    return {
        term: frozenset(
            name for name, one in names.items() if one in above.get(ids[term], ()) and one != ids[term]
        )
        for term in ids
    }


def add_parent_terms(annotations, ontology):
    """Return Annotations in which a gene with a term also has the parent terms, see `find_parent_terms`."""
    parents = find_parent_terms(ontology, set().union(*annotations.terms_by_gene.values()))

    def rolled_up(terms_by_gene):
        return {
            key: of_gene.union(*(parents.get(term, ()) for term in of_gene))
            for key, of_gene in terms_by_gene.items()
        }

    terms = rolled_up(annotations.terms_by_gene)
    unsure = {key: some - terms.get(key, set()) for key, some in rolled_up(annotations.unsure).items()}
    return replace(annotations, terms_by_gene=terms, unsure=unsure)


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
    value = _QUALIFIERS.sub("", value.strip()) if "{" in value else value.strip()
    if tag == "relationship" and value.startswith("part_of "):
        tag = "is_a"
        value = value.removeprefix("part_of ")
    if tag == "id":
        value = _parse_id(value)
        if entry.id or value in entries:
            raise ValueError(f"{value} is there twice")
        entry.id = value
        entries[value] = entry
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
    else:
        return
    entry.lines.append(text)


def _parse_id(value):
    match = _ID.match(value)
    if not match:
        raise ValueError(f'"{value[:40]}" is no id')
    return f"{match[1]}:{match[2]}"


def _unescape(text):
    return _ESCAPED.sub(lambda m: _LETTERS.get(m[1], m[1]), text)

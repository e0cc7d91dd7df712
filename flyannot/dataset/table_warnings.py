"""Warnings about tables that can be read but are probably wrong, one line in the log for each kind.

They are about misspelt terms, and about genes whose names a spreadsheet turned into dates or numbers.

A term counts as misspelt if it is nearly a known term: it differs in capitals, spaces and signs only, or in
one or two letters of one word.  Numbers must be equal, and the word must be unknown.  A known term never
counts as misspelt.
"""

import logging
import re
import unicodedata
from collections import Counter, defaultdict
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files
from itertools import chain

from flyannot.base.dates import TEXT_COLUMN_ADVICE, parse_serial_date, parse_spreadsheet_date
from flyannot.base.errors import InputError
from flyannot.base.text import fold, pluralise, spell_greek
from flyannot.files.tables import suggest_header_words

log = logging.getLogger("flyannot")

_MOST_NAMED = 3
MOST_LISTED = 1000  # places below one another; a table may have a million
_MOST_LETTERS = 500  # of a place
_LEAST_LETTERS = 4  # a shorter word must be right in every letter
_LONG = 8  # a word of so many letters may have two wrong ones
_MOST_CHECKED = 200  # unknown terms that are checked, the rarest first
_MOST_OTHERS = 200  # unknown terms that others are compared with, the most frequent first
_FEW = 2  # a term of so few genes may be misspelt,
_RARER = 5  # and so may one that is so many times rarer than the right one
_SEPARATORS = re.compile(r"[;；|•]")
_OTHER_SEPARATORS = (r"[,，、]", r" / ", r"/", r"[&+]", r" and ")  # they may be part of a term, too
_LIST_SIGNS = "[]()\"' "  # around the terms of a list, as programs write it
_ISOFORM = re.compile(r"^dmel\\|-[rp][a-z]$", re.IGNORECASE)  # parts of Dmel\Dl-RA that are not the gene
_REMARK = re.compile(r"\(.*\)|\[.*\]")  # pole cell (weak)
_NEGATION = re.compile(r"^(?:no|not|without|absent)\W+|\W+(?:no|not|absent)$", re.IGNORECASE)  # pole cell: no
_SIGNS = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"\d(?:[.,]\d*)?e[+-]?\d+", re.ASCII)  # 2.00E+05
_LIKE_DATES = {"dec-1"}  # genes whose names look like dates; Dec-1 is a date


@cache
def bdgp_vocabulary():
    """Return BDGP's terms as a dict, term -> list of the stage ranges in which it is used; [] if unknown."""
    lines = (files("flyannot.dataset") / "terms.txt").read_text(encoding="utf-8").splitlines()
    rows = (line.partition("\t") for line in lines if line and not line.startswith("#"))
    return {term: stage_ranges.split() for term, _, stage_ranges in rows}


@cache
def bdgp_terms():
    """Return the names of BDGP's terms as a frozenset."""
    return frozenset(bdgp_vocabulary())


def raise_errors(where, faults):
    """Raise one InputError for all errors of a table or folder, if there are any.

    where : Path, for the message; faults : list of InputError
    """
    faults = [*{error.message: error for error in faults}.values()]
    if len(faults) == 1:
        raise faults[0]
    if faults:
        words = {c: word for error in faults for c, word in getattr(error, "words", {}).items()}
        remedies = [suggest_header_words(words)] if words else []
        remedies += [error.fix for error in faults if not getattr(error, "words", {})]
        fixes = "; ".join(dict.fromkeys(remedies))
        lines = [error.message for error in faults]
        raise InputError(f"{where}: {len(faults)} faults:", fix=fixes, lines=lines)


def warn_about(table, named, one, many, more="", *, n=None):
    """Log a warning about some places in a table, if there are any.

    Up to three places are named in the line, more below one another, the first 1,000 at most.

    Parameters
    ----------
    table : Path of the table
    named : list of texts, the places
    one, many : what is wrong with one place, and with several
    more : text at the end of the warning
    n : number of places, if a text names several
    """
    if named:
        n = n or len(named)
        named = [name[:_MOST_LETTERS] for name in named[:MOST_LISTED]]
        names = (
            abbreviate_names(named) if len(named) <= _MOST_NAMED else "".join(f"\n  {name}" for name in named)
        )
        log.warning("warning: %s: %s: %s%s", table.name, pluralise(n, one, many), names, more)


def warn_about_rows(table, errors):
    """Log a warning about the rows of a table that are left out; `errors` are their InputErrors."""
    shown = [error.message.removeprefix(f"{table}, ") for error in errors]
    fixes = "; ".join(dict.fromkeys(error.fix for error in errors))
    warn_about(table, shown, "row is left out", "rows are left out", f"; {fixes}")


def unify_capitals(terms, known):
    """Find terms that differ from another spelling in capitals only; return a dict, term -> that spelling.

    The spelling is the known one, otherwise the most frequent one.

    terms : Counter or list of terms of a table; known : set of terms that are right
    """
    counts = Counter(terms)
    of_fold = defaultdict(dict)
    for term in (*sorted(known), *sorted(counts, key=lambda term: (-counts[term], term))):
        of_fold[term.casefold()][term] = True
    respelt = {}
    for term in (term for term in counts if term not in known):
        alike = list(of_fold[term.casefold()])
        if alike[0] != term and alike[1] not in known:
            respelt[term] = alike[0]
    return respelt


def abbreviate_names(names):
    """Return the first few of some names as text, with the number of the others."""
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def normalise_name(name):
    """Return a name in small letters without spaces and signs, Greek letters by their English names."""
    return _SIGNS.sub("", unicodedata.normalize("NFC", spell_greek(name)).casefold())


def normalise_gene(name):
    """Return the symbol of a gene in small letters and without signs, isoform and species."""
    return normalise_name(_ISOFORM.sub("", name))


def split_terms(cell):
    """Return the terms of a cell: separated by ; and |, and in other ways if all parts are terms of BDGP."""
    term = " ".join(cell.split())
    parts = [part for part in map(str.strip, _SEPARATORS.split(term)) if part]
    if len(parts) == 1:
        parts = next((some for some in _split_otherwise(term) if bdgp_terms().issuperset(some)), parts)
    return parts or [term]


def _split_otherwise(term):
    """Yield the parts of a term between commas, then between slashes, and so on, if there are separators."""
    for separator in () if term in bdgp_terms() else _OTHER_SEPARATORS:
        parts = re.split(separator, term, flags=re.IGNORECASE)
        if len(parts) > 1:
            yield [part.strip(_LIST_SIGNS) for part in parts if part.strip(_LIST_SIGNS)]


def warn_about_terms(table, terms_of_genes, known=()):
    """Warn about terms that are nearly terms of BDGP, of an ontology, or of the table itself.

    Terms that say that a gene lacks a term, and several terms that are read as one, are named, too.

    table : Path; terms_of_genes : an iterable of sets, the terms of each gene; known : names of an ontology
    """
    counts = Counter(term for terms in terms_of_genes for term in terms)
    near = find_misspelt_terms(counts, bdgp_terms().union(known))
    shown = [f'"{term}" ({pluralise(counts[term], "gene")}; "{meant}"?)' for term, meant in near.items()]
    warn_about(table, shown, "term looks misspelt", "terms look misspelt")
    doubtful = [term for term in counts if term not in {*bdgp_terms(), *known, *near}]
    negated = [f'"{term}"' for term in doubtful if _NEGATION.sub("", term) in bdgp_terms()]
    more = "; to say that a gene lacks a term, reject it in a table of corrections"
    warn_about(table, negated, "term looks negated", "terms look negated", more)
    joined = [f'"{term}"' for term in doubtful if bdgp_terms().intersection(chain(*_split_otherwise(term)))]
    what = "several terms that are not separated by ;"
    warn_about(table, joined, f"term may be {what}", f"terms may be {what}")


def warn_about_ids(table, line_of_id, ontology=None):
    """Warn about ids of terms that an ontology lacks, has replaced, or gives to another term.

    Without an ontology, the terms that have several ids are named.

    table : Path; line_of_id : dict, (term, id) -> its first line; ontology : Ontology or None
    """
    shown = []
    first_ids = {}
    for (term, text), line in line_of_id.items():
        first = first_ids.setdefault(term, text)
        fault = f"is {first} elsewhere" if first != text else ""
        if ontology:
            match = ontology.match(text)
            faults = {"id": "", "replaced": f"was replaced by {match.id}", "obsolete": "is obsolete"}
            fault = faults.get(match.how, "is not in the ontology")
            if match.how == "id" and ontology.match(term).id not in ("", match.id):
                fault = f'is "{match.name}"'
        shown += [f"line {line}: {text} of {term} {fault}"] if fault else []
    warn_about(table, shown, "id of a term is wrong", "ids of terms are wrong")


def is_changed_by_spreadsheet(name):
    """Return True if a name is a date or number that a spreadsheet makes of names such as Sep1 or 2E5."""
    if name in _LIKE_DATES or not any(map(str.isdigit, name)):
        return False
    plain = fold(name)
    return any((_NUMBER.fullmatch(plain), parse_serial_date(plain), parse_spreadsheet_date(name)))


def warn_of_mangled_names(table, column, line_of_name):
    """Warn about names that look like dates or numbers that a spreadsheet made of them.

    table : Path; column : name of the column; line_of_name : dict, name -> line
    """
    shown = [
        f'"{name}" (line {line})' for name, line in line_of_name.items() if is_changed_by_spreadsheet(name)
    ]
    what = "that a spreadsheet made of the name"
    one = f"{column} is a date or number {what}"
    many = f"{column}s are dates or numbers {what}"
    warn_about(table, shown, one, many, f"; write the name again; {TEXT_COLUMN_ADVICE}")


def find_misspelt_terms(counts, known):
    """Return a dict, term that is probably misspelt -> the known, or far more frequent, term that is meant.

    counts : dict, term -> number of genes; known : set of terms that are right
    """
    doubtful = sorted((term for term in counts if term not in known), key=lambda term: (counts[term], term))
    others = [*sorted(known), *doubtful[::-1][:_MOST_OTHERS]]
    known_words = {word for term in known for word in term.casefold().split()}
    near = {}
    for term in doubtful[:_MOST_CHECKED]:
        n = counts[term]
        meant = [
            other
            for other in others
            if other in known or counts[other] > n and (n <= _FEW or counts[other] >= _RARER * n)
            if _is_near(term, other, known_words)
        ]
        if meant:
            near[term] = min(meant, key=lambda other: (other not in known, -counts.get(other, 0), other))
    return near


def _is_near(term, other, known_words):
    """Return True if two terms differ in capitals, spaces and signs only, or in one misspelt word."""
    if normalise_name(other) in (normalise_name(term), normalise_name(_REMARK.sub("", term))):
        return True
    words = term.casefold().split()
    other_words = other.casefold().split()
    different = [pair for pair in zip(words, other_words) if pair[0] != pair[1]]
    if len(words) != len(other_words) or len(different) != 1:
        return False
    ((word, other_word),) = different
    if word in known_words:
        return word in (f"{other_word}s", other_word.removesuffix("s"))  # one is the plural of the other
    return _is_misspelt(word, other_word)


def _is_misspelt(word, other):
    """Return True if two words differ in a few letters that are added, missing, wrong or exchanged.

    Words with different numbers are never misspellings of each other.
    """
    n = max(len(word), len(other))
    most = 0 if n < _LEAST_LETTERS else 1 if n < _LONG else 2
    if len({*word} ^ {*other}) > 2 * most or _DIGITS.findall(word) != _DIGITS.findall(other):
        return False
    blocks = SequenceMatcher(None, word, other, autojunk=False).get_matching_blocks()
    return n - sum(block.size for block in blocks) <= most

"""What is probably wrong in a table although it can be read: one line in the log for each kind.

Misspelt terms, and names of genes that a spreadsheet turned into dates or numbers.  A term is misspelt if it
is nearly a known one: alike but for capitals, spaces and signs; or the same words but for one that no known
term has, in which a letter or two differ, but no number.  A known term never is another one misspelt.
"""

import logging
import re
from collections import Counter, defaultdict
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import AS_TEXT, month_and_day
from flyannot.base.text import pluralise

log = logging.getLogger("flyannot")

_MOST_NAMED = 3
_LEAST_LETTERS = 4  # of a word in which a letter may be wrong
_LONG = 8  # letters of a word in which two may be
_MOST_CHECKED = 200  # unknown terms of a table, the rarest first
_MOST_OTHERS = 200  # unknown terms that others are compared with, the most frequent first
_FEW, _RARER = 2, 5  # genes of a misspelt term, and how many times as many the right one has
_SEPARATORS = re.compile(r"[;|]")
_SIGNS = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"\d(?:[.,]\d+)?E[+-]\d+", re.ASCII)  # 2.00E+05
_MAYBE_DATE = re.compile(r"\d|[A-Z][a-z]{2}-\d\d$", re.ASCII)  # dec-1 is a gene, Dec-01 a date


@cache
def bdgp_vocabulary():
    """BDGP's terms: a dict, term -> the stage ranges that it is used in, in a list; [] where that is not
    known."""
    lines = (files("flyannot.dataset") / "terms.txt").read_text(encoding="utf-8").splitlines()
    rows = (line.partition("\t") for line in lines if line and not line.startswith("#"))
    return {term: stage_ranges.split() for term, _, stage_ranges in rows}


@cache
def bdgp_terms():
    """The names of BDGP's terms: a frozenset."""
    return frozenset(bdgp_vocabulary())


def raise_errors(where, faults):
    """Raise one InputError that has all `faults`, a list of InputErrors, of a table or folder, if there are
    any."""
    if len(faults) == 1:
        raise faults[0]
    if faults:
        lines = "\n".join(error.message for error in faults)
        fixes = "; ".join(dict.fromkeys(error.fix for error in faults))
        raise InputError(f"{where}: {len(faults)} faults:\n{lines}", fix=fixes)


def warn_of(table, named, one, many, more=""):
    """Name what is probably wrong in a table, if anything is: three in the line, more one below the other.
    `one` and `many` say what is wrong with one of them, or with several, `more` what else there is to say."""
    if named:
        names = first_names(named) if len(named) <= _MOST_NAMED else "".join(f"\n  {name}" for name in named)
        log.warning("warning: %s: %s: %s%s", table.name, pluralise(len(named), one, many), names, more)


def respelt_terms(terms, known):
    """Term -> as it is known, or else most often written, of those where only capitals differ."""
    counts, of_fold = Counter(terms), defaultdict(dict)
    for term in (*sorted(known), *sorted(counts, key=lambda term: (-counts[term], term))):
        of_fold[term.casefold()][term] = True
    respelt = {}
    for term in (term for term in counts if term not in known):
        alike = list(of_fold[term.casefold()])
        if alike[0] != term and (len(alike) < 2 or alike[1] not in known):
            respelt[term] = alike[0]
    return respelt


def first_names(names):
    """The first few of some names, and how many more there are: a text."""
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def plain_letters(name):
    """A name but for capitals, spaces and signs."""
    return _SIGNS.sub("", name.casefold())


def terms_of_cell(cell):
    """The terms of a cell: separated by ; and |, and by commas where all parts are terms of BDGP."""
    term = " ".join(cell.split())
    parts = [part for part in map(str.strip, _SEPARATORS.split(term)) if part]
    if len(parts) == 1:
        by_commas = [part for part in map(str.strip, term.split(",")) if part]
        parts = by_commas if by_commas and bdgp_terms().issuperset(by_commas) else parts
    return parts or [term]


def warn_of_terms(table, terms_of_genes, known=()):
    """Name the terms that are nearly one of BDGP's, of an ontology (`known`), or of the table itself."""
    counts = Counter(term for terms in terms_of_genes for term in terms)
    near = near_terms(counts, bdgp_terms().union(known))
    shown = [f'"{term}" ({pluralise(counts[term], "gene")}; "{meant}"?)' for term, meant in near.items()]
    warn_of(table, shown, "term looks misspelt", "terms look misspelt")


def warn_of_genes(table, line_of_gene):
    """Name the genes that look like what a spreadsheet makes of Sep1 or 2E5; a dict, gene -> first line."""
    shown = [
        f'"{gene}" (line {line})'
        for gene, line in line_of_gene.items()
        if _MAYBE_DATE.match(gene) and (_NUMBER.fullmatch(gene) or month_and_day(gene))
    ]
    what = "that a spreadsheet made of the name"
    one, many = f"gene is a date or number {what}", f"genes are dates or numbers {what}"
    warn_of(table, shown, one, many, f"; write the name again; {AS_TEXT}")


def near_terms(counts, known):
    """Return a dict, likely misspelt term -> the known, or far more frequent, term that it nearly is.

    `counts` maps a term to how many genes have it, `known` is a set of terms that are right.
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
    """Whether two terms are alike but for capitals, spaces and signs, or but for one misspelt word."""
    if plain_letters(term) == plain_letters(other):
        return True
    words, other_words = term.casefold().split(), other.casefold().split()
    different = [pair for pair in zip(words, other_words) if pair[0] != pair[1]]
    if len(words) != len(other_words) or len(different) != 1:
        return False
    ((word, other_word),) = different
    if word in known_words:
        return word in (f"{other_word}s", other_word.removesuffix("s"))  # one is the plural
    return _is_misspelt(word, other_word)


def _is_misspelt(word, other):
    """Whether one or two letters are too many, too few, wrong or exchanged, and no number differs."""
    n = max(len(word), len(other))
    most = 0 if n < _LEAST_LETTERS else 1 if n < _LONG else 2
    if len({*word} ^ {*other}) > 2 * most or _DIGITS.findall(word) != _DIGITS.findall(other):
        return False
    blocks = SequenceMatcher(None, word, other, autojunk=False).get_matching_blocks()
    return n - sum(block.size for block in blocks) <= most

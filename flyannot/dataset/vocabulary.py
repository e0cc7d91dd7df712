"""Which terms are nearly another: BDGP's names of terms, and misspellings of a known term.

Near means: alike but for capitals, spaces and signs; or the same words but for one that no known term has, in
which a letter or two differ, but no number.  A known term is never taken for another one misspelt.
"""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

_NAMES = Path(__file__).with_name("terms.txt")
_LEAST_LETTERS = 4  # of a word in which a letter may be wrong
_LONG = 8  # letters of a word in which two may be
_MOST_CHECKED = 200  # unknown terms of a table, the rarest first
_MOST_COMPARED = 200  # terms that share all words but one, the known ones and the most frequent first
_MOST_OTHERS = 2000  # unknown terms that others are compared with
_FEW, _RARER = 2, 5  # genes of a misspelt term, and how many times as many the right one has
_SIGNS = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")


@cache
def bdgp_terms():
    """The names of BDGP's terms: a frozenset."""
    lines = _NAMES.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def near_terms(counts, known):
    """The terms that are likely to be misspelt.

    Parameters
    ----------
    counts : Mapping, term -> how many genes have it
    known : set of terms that are right

    Returns
    -------
    near : dict, term -> the known term, or the far more frequent one of the table, that it nearly is
    """
    doubtful = sorted((term for term in counts if term not in known), key=lambda term: (counts[term], term))
    if not doubtful:
        return {}
    others = sorted(doubtful, key=lambda term: (-counts[term], term))[:_MOST_OTHERS]
    neighbours, near = _Neighbours(sorted(known), others), {}
    for term in doubtful[:_MOST_CHECKED]:
        found = [u for u in neighbours.of(term) if u in known or _is_rarer(counts[term], counts[u])]
        if found:
            near[term] = min(found, key=lambda u: (u not in known, -counts.get(u, 0), u))
    return near


def _is_rarer(n, n_other):
    return n_other > n and (n <= _FEW or n_other >= _RARER * n)


class _Neighbours:
    """Terms by their words but one, so that a term is compared with few."""

    def __init__(self, known, others):
        self._plain, self._but_one = defaultdict(list), defaultdict(list)
        self._words = {word for term in known for word in term.casefold().split()}
        for term in (*known, *others):
            plain, words = _plain(term), term.casefold().split()
            self._plain[plain].append(term)
            for key, word in _but_one(words):
                self._but_one[key].append((word, term))

    def of(self, term):
        """The terms that are near to one."""
        found = {other for other in self._plain[_plain(term)] if other != term}
        for key, word in _but_one(term.casefold().split()):
            alike = _is_plural if word in self._words else _is_misspelt
            some = self._but_one.get(key, ())[:_MOST_COMPARED]
            found |= {other for near, other in some if alike(word, near)}
        return found - {term}


def _plain(term):
    return _SIGNS.sub("", term.casefold())


def _but_one(words):
    """(which word is left out and the others, that word), for every word."""
    return [((i, *words[:i], *words[i + 1 :]), word) for i, word in enumerate(words)]


def _is_plural(word, other):
    return word in (f"{other}s", other.removesuffix("s"))


def _is_misspelt(word, other):
    """Whether one or two letters are too many, too few, wrong or exchanged, and no number differs."""
    n = max(len(word), len(other))
    most = 0 if n < _LEAST_LETTERS else 1 if n < _LONG else 2
    if abs(len(word) - len(other)) > most or len({*word} ^ {*other}) > 2 * most:
        return False
    return _DIGITS.findall(word) == _DIGITS.findall(other) and _n_edits(word, other) <= most


def _n_edits(a, b):
    """How many letters to insert, delete, replace or exchange with the next one make `b` of `a`."""
    before, last = [], list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        row = [i]
        for j, y in enumerate(b, start=1):
            best = min(last[j] + 1, row[-1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and y == a[i - 2]:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, last = last, row
    return last[-1]

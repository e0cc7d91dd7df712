"""Numbers for curators: what to review first (docs/curating.md), and how far two of them agree."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations

import numpy as np

TERMS_PER_REVIEW = 3  # of one group, looked at in one go
PART_TO_CHECK = 0.05  # of the curated terms, and of those left out, that is worth checking


def information_of_verdict(probability, n_genes):
    """How much a verdict is expected to teach: the variance of the answer over the genes that teach the term,
    p (1 - p) / n, of arrays p and n of one shape."""
    return probability * (1 - probability) / np.maximum(n_genes, 1)


def doubt_of_answer(probability, curated, yes):
    """How likely the curators' answer is wrong, by models that had not seen the gene: the probability of the
    opposite, and 0 where their answer is that of the curators.  Arrays of one shape."""
    return np.where(curated == yes, 0.0, np.where(curated, 1 - probability, probability))


@dataclass(frozen=True)
class Agreement:
    """Of two curators on one term, by Cohen's kappa: 0 for the agreement that chance alone would give.

    n : groups on which both gave a verdict; n_agree : on which it was the same
    kappa : None where it is undefined, and then `why`
    """

    term: str
    curators: tuple
    n: int
    n_agree: int
    kappa: float | None
    why: str = ""


def agreements_of_curators(verdicts):
    """The Agreement of every two curators on every term that both reviewed, and at the end on all terms, "".

    `verdicts` maps a curator to a dict, (gene_id, stage range, term) -> verdict.
    """
    agreements = []
    for pair in combinations(sorted(verdicts), 2):
        first, second = (verdicts[curator] for curator in pair)
        keys_of_term = defaultdict(list)
        for key in first.keys() & second.keys():
            keys_of_term[key[2]].append(key)
            keys_of_term[""].append(key)
        for term, keys in keys_of_term.items():
            of_pair = [first[key] for key in keys], [second[key] for key in keys]
            n_agree = sum(a == b for a, b in zip(*of_pair))
            agreements.append(Agreement(term, pair, len(keys), n_agree, *_kappa(*of_pair)))
    return sorted(agreements, key=lambda agreement: (not agreement.term, agreement.term, agreement.curators))


def _kappa(first, second):
    """Cohen's kappa of two lists of verdicts, or None and why it is undefined."""
    n, counts, others = len(first), Counter(first), Counter(second)
    by_chance = sum(counts[verdict] * others[verdict] for verdict in counts) / n**2
    if by_chance == 1:
        return None, f"undefined: both say {first[0]} throughout"
    return (sum(a == b for a, b in zip(first, second)) / n - by_chance) / (1 - by_chance), ""

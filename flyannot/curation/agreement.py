"""Agreement between curators."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class Agreement:
    """Agreement of two curators on one term, by Cohen's kappa.

    Kappa is 1 for full agreement, and 0 for agreement by chance.

    n : groups on which both gave a verdict
    n_agree : groups on which the verdict was the same
    kappa : None if it is undefined
    why : reason that it is undefined, or ""
    """

    term: str
    curators: tuple
    n: int
    n_agree: int
    kappa: float | None
    why: str = ""


def pairwise_agreements(verdicts):
    """Return the Agreements of all pairs of curators: one for each term that both reviewed, and one for all.

    The Agreement on all terms has the term "" and comes last.

    verdicts : dict, curator -> {(gene identifier, stage range, term): verdict}
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
    """Compute Cohen's kappa of two lists of verdicts.

    Returns (kappa, ""), or (None, the reason) if all verdicts are equal.
    """
    if len({*first, *second}) == 1:
        return None, f"undefined: both say {first[0]} throughout"
    from sklearn.metrics import cohen_kappa_score  # imported here, since few tables have two curators

    return float(cohen_kappa_score(first, second)), ""

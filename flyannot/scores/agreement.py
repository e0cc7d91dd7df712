"""How far curators agree: Cohen's kappa, which is 0 for the agreement that chance alone would give."""

import math
import warnings
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class Agreement:
    """Of two curators on one term.

    n : groups on which both gave a verdict; n_agree : on which it was the same
    kappa : None where it is undefined, and then `why`
    """

    term: str
    curators: tuple
    n: int
    n_agree: int
    kappa: float | None
    why: str = ""


def agreements(verdicts):
    """The Agreement of every two curators on every term that both looked at, and at the end on all terms.

    Parameters
    ----------
    verdicts : dict, curator -> dict, (gene_id, stage range, term) -> verdict

    Returns
    -------
    list of Agreement, by term and curators; `term` is "" for all terms together
    """
    found = []
    for pair in combinations(sorted(verdicts), 2):
        first, second = (verdicts[curator] for curator in pair)
        both = [key for key in first if key in second]
        for term in sorted({term for *_, term in both}):
            found.append(_agreement(term, pair, [k for k in both if k[2] == term], first, second))
        if both:
            found.append(_agreement("", pair, both, first, second))
    return sorted(found, key=lambda one: (not one.term, one.term, one.curators))


def _agreement(term, pair, keys, first, second):
    said = [first[key] for key in keys], [second[key] for key in keys]
    n_agree = sum(a == b for a, b in zip(*said))
    kappa, why = _kappa(*said)
    return Agreement(term, pair, len(keys), n_agree, kappa, why)


def _kappa(first, second):
    """Cohen's kappa of two lists of verdicts, or None and why it is undefined."""
    from sklearn.metrics import cohen_kappa_score

    if len(set(first) | set(second)) < 2:
        return None, f"undefined: both say {first[0]} throughout"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kappa = float(cohen_kappa_score(first, second))
    return (kappa, "") if math.isfinite(kappa) else (None, "undefined")

"""Metrics of predicted terms of groups.

Conventions
-----------
A group is positive for a term if it has the term.  The answer is yes if the decision value is above the
threshold of the term.  The AUC is the fraction of (positive, negative) pairs in which the positive has the
larger value; a tie counts one half.  In cross-validation only pairs within a fold count, because values of
different models have no common scale.  For the same reason the average precision ranks each fold separately,
and the folds are weighted by their positives.  Guessing scores the fraction of positives there, which grows
as folds get smaller.

The rates are functions of the counts of true and false positives and negatives:

    sensitivity = tp / (tp + fn)
    specificity = tn / (tn + fp)
    accuracy = (tp + tn) / all
    f1 = 2 tp / (2 tp + fp + fn)

A fraction 0/0 is None, never nan.

A term that cannot be evaluated has a reason.  Its scores are None, and no average includes it.  Summaries of
the evaluated terms:

- `macro` is the plain mean; for the average precision it is known as mean average precision
- `weighted_top10` is the mean over the ten terms with most positive groups (ties by name), weighted by their
  numbers
- `micro` comes from the summed counts.  Its AUC and average precision come from all (group, term) pairs by
  their calibrated probabilities, within folds.  It also rewards knowing which terms are frequent
- `groups` has means over groups of how well terms with yes agree with the curated ones (`group_agreement`)
- `ranked_terms` ranks the terms of each group by their probabilities, and averages the average precisions of
  the groups with at least one term

In the summary over all stage ranges, the same term in two stage ranges counts as two.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from flyannot.base.errors import DataError

NOT_ANATOMY = ("ubiquitous", "maternal", "faint ubiquitous", "no staining", "subset")
METRICS = ("auc", "average_precision", "sensitivity", "specificity", "accuracy", "f1")  # are averaged
AGREEMENT = ("f1", "jaccard", "n_yes", "n_curated")  # of the terms of a group, see `group_agreement`
LEAST_GENES = 5  # with the term, and without it, for an interval of its AUC
_AREAS = (np.arange(2**14) + 0.5) / 2**14  # among which the ends of an interval are searched for
_NO_SCORES = dict.fromkeys((*METRICS, "precision"))


@dataclass(frozen=True)
class TermOutcomes:
    """The predictions and the truth for the groups of one stage range.

    All matrices have the shape (n_groups, n_terms).

    terms : tuple of n_terms names
    truth : bool matrix, True if the group has the term
    yes : bool matrix, True if the answer is yes
    values : float matrix of decision values
    probabilities : float matrix of calibrated probabilities
    folds : int array (n_groups,), the fold of each group; None if one model predicted all groups
    reasons : tuple of n_terms texts, the reason why the term is not evaluated; "" if it is
    thresholds : float matrix; the answer is yes if the probability is above the threshold.  None if unknown
    observed : bool matrix, True where the truth is known; None for everywhere
    """

    terms: tuple
    truth: np.ndarray
    values: np.ndarray
    yes: np.ndarray
    probabilities: np.ndarray
    folds: np.ndarray | None = None
    reasons: tuple = ()
    thresholds: np.ndarray | None = None
    observed: np.ndarray = None  # type: ignore[assignment]  # after `__post_init__` it is an array

    def __post_init__(self):
        if self.observed is None:
            object.__setattr__(self, "observed", np.ones(self.truth.shape, bool))
        object.__setattr__(self, "reasons", tuple(self.reasons or [""] * len(self.terms)))

    def subset(self, rows, columns):
        """Return the TermOutcomes of some groups and terms, without reasons.

        rows, columns : numbers of the groups and of the terms
        """
        names = ["truth", "values", "yes", "probabilities", "observed"]
        names += ["thresholds"] if self.thresholds is not None else []
        return TermOutcomes(
            terms=tuple(self.terms[j] for j in columns),
            folds=None if self.folds is None else self.folds[rows],
            **{name: getattr(self, name)[rows][:, columns] for name in names},
        )

    def known_rows(self, j):
        """Return an index of the groups for which it is known whether they have term number `j`."""
        known = self.observed[:, j]
        return slice(None) if known.all() else np.flatnonzero(known)

    @property
    def group_folds(self):
        """The fold of every group, int array (n_groups,); 0 for all if one model predicted all groups."""
        return np.zeros(len(self.truth), int) if self.folds is None else self.folds


def concordant_pairs(values, truth, folds=None, observed=None):
    """Count in each fold the pairs of a positive and a negative group, and the concordant ones among them.

    A pair is concordant if the positive group has the larger decision value.  A tie counts one half.

    Parameters
    ----------
    values : float array (n,), or (n, n_terms) for several terms: finite decision values
    truth : bool array like `values`, True for positive groups
    folds : int array (n,); None if one model predicted all groups
    observed : bool array like `values`, which groups count; None for all

    Returns
    -------
    ordered : float64 array (n_folds,) or (n_folds, n_terms), the numbers of concordant pairs
    n_pairs : float64 array of the same shape, the numbers of all pairs

    Raises
    ------
    DataError
        If a value is nan.
    """
    values, truth = check_decision_values(values, truth)
    folds = np.zeros(len(values), int) if folds is None else np.asarray(folds)
    observed = np.ones(truth.shape, bool) if observed is None else observed
    values, truth = np.where(observed, values, np.inf), truth & observed
    of_folds = [folds == fold for fold in np.unique(folds)]
    ordered, n_pairs = np.zeros((2, len(of_folds), *values.shape[1:]))
    for k, rows in enumerate(of_folds):
        positive = truth[rows]
        n_positive = positive.sum(axis=0)
        ranks = (_mean_ranks(values[rows]) * positive).sum(axis=0)
        ordered[k] = ranks - n_positive * (n_positive + 1) / 2
        n_pairs[k] = n_positive * (observed[rows].sum(axis=0) - n_positive)
    return ordered, n_pairs


def _mean_ranks(values):
    """Return the ranks of each column, from 1 upwards; equal values share the mean of their ranks."""
    order = np.argsort(values, axis=0, kind="stable")
    ascending = np.take_along_axis(values, order, axis=0)
    place = np.arange(len(values)).reshape(-1, *[1] * (values.ndim - 1))
    is_first = np.ones(values.shape, bool)
    is_first[1:] = ascending[1:] != ascending[:-1]
    is_last = np.roll(is_first, -1, axis=0)
    first = np.maximum.accumulate(np.where(is_first, place, 0), axis=0)
    last = np.minimum.accumulate(np.where(is_last, place, len(values))[::-1], axis=0)[::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=0)
    return ranks


def weighted_pairs(values, truth, weights):
    """Count the concordant pairs and all pairs of some groups, in samples that contain groups several times.

    Parameters
    ----------
    values : float array (n,), decision values
    truth : bool array (n,), True for positive groups
    weights : float array (n_samples, n), how often each sample contains each group

    Returns
    -------
    ordered : float64 array (n_samples,), the numbers of concordant pairs; nan if a value is nan
    n_pairs : float64 array (n_samples,), the numbers of all pairs
    """
    order = np.flatnonzero(~truth)[np.argsort(values[~truth], kind="stable")]
    sums = np.zeros((len(weights), len(order) + 1))  # of the k lowest negative groups
    np.cumsum(weights[:, order], axis=1, out=sums[:, 1:])
    below, up_to = (np.searchsorted(values[order], values[truth], side) for side in ("left", "right"))
    of_positive = weights[:, truth]
    ordered = (of_positive * (sums[:, below] + sums[:, up_to])).sum(axis=1) / 2
    if np.isnan(values).any():
        ordered[:] = np.nan
    return ordered, of_positive.sum(axis=1) * sums[:, -1]


def auc(values, truth, folds=None):
    """Return the area under the ROC curve, counted over pairs within folds; None if no fold has both classes.

    The parameters are as in `concordant_pairs`.
    """
    ordered, n_pairs = (float(counts.sum()) for counts in concordant_pairs(values, truth, folds))
    return ordered / n_pairs if n_pairs else None


def auc_interval(values, positive, level=0.95, *, folds=None, genes=None):
    """Return the score interval (low, high) of the AUC of one term; None with fewer than LEAST_GENES genes.

    It has all areas from which the measured one differs by less than a quantile of the normal distribution
    times the standard deviation at that area.  Of two such deviations the larger one counts: of two
    exponential distributions (Hanley and McNeil), and of the values (DeLong), scaled from the measured area.
    In simulations of 60 to 400 genes 95% intervals held the true area in 90 to 99% of cases.

    Parameters
    ----------
    values : float array (n,), decision values
    positive : bool array (n,), True for rows with the term
    level : float, of confidence
    folds : int array (n,), or None; as in `concordant_pairs`
    genes : sequence (n,), the gene of each row; None if each row is a gene of its own

    Source
    ------
    Hanley and McNeil, Radiology 143 (1982), 29-36; DeLong, DeLong and Clarke-Pearson, Biometrics 44 (1988),
    837-845.
    """
    values, positive = check_decision_values(values, positive)
    folds = np.zeros(len(values), int) if folds is None else np.asarray(folds)
    genes = np.arange(len(values)) if genes is None else np.asarray(genes)
    area = auc(values, positive, folds)
    placements = np.full(len(values), np.nan)  # of the rows of the other class, the fraction in right order
    for fold in np.unique(folds):
        for is_positive in (True, False):
            rows = (folds == fold) & (positive == is_positive)
            others = np.sort(values[(folds == fold) & (positive != is_positive)])
            if len(others):
                above = sum(np.searchsorted(others, values[rows], side) for side in ("left", "right"))
                above = above / (2 * len(others))
                placements[rows] = above if is_positive else 1 - above
    of_genes = []
    for is_positive in (True, False):
        rows = (positive == is_positive) & np.isfinite(placements)
        _, number = np.unique(genes[rows], return_inverse=True)
        of_genes.append(np.bincount(number, placements[rows]) / np.bincount(number))
    n_with, n_without = map(len, of_genes)
    if area is None or min(n_with, n_without) < LEAST_GENES:
        return None
    at = _AREAS
    both_ahead = at / (2 - at) - at**2
    both_behind = 2 * at**2 / (1 + at) - at**2
    variance = at * (1 - at) + (n_with - 1) * both_ahead + (n_without - 1) * both_behind
    variance /= n_with * n_without
    if 0 < area < 1:
        measured = sum(np.var(of_class, ddof=1) / len(of_class) for of_class in of_genes)
        variance = np.maximum(variance, measured * at * (1 - at) / (area * (1 - area)))
    quantile = NormalDist().inv_cdf((1 + level) / 2)
    inside = at[np.abs(area - at) <= quantile * np.sqrt(variance)]
    return float(min(area, *inside[:1])), float(max(area, *inside[-1:]))


def average_precision(values, truth, folds=None):
    """Return the expected average precision of one term, in (0, 1]; None without positives.

    Groups are ranked by falling decision value.  The precision of a list is the fraction of its groups that
    are positive.  Average precision is the mean precision of the lists that end with a positive group.  The
    order among groups of one value is open, and the score is the expected one over all orders.  So a constant
    scores as much as a random ranking, not 1.  (scikit-learn ends all lists at the end of a tie; without ties
    both agree.)

    Parameters
    ----------
    values : float array (n_groups,); DataError if one is nan
    truth : bool array (n_groups,)
    folds : int array (n_groups,), or None if one model predicts all groups.  Values of different models have
        no common scale: each fold is ranked separately, and the folds are weighted by their positives.
    """
    values, truth = check_decision_values(values, truth)
    if not truth.any():
        return None
    folds = np.zeros(len(values), int) if folds is None else np.asarray(folds)
    total = sum(_precision_sum(values[folds == fold], truth[folds == fold]) for fold in np.unique(folds))
    return float(total / truth.sum())


def check_decision_values(values, truth):
    """Return decision values as a float array and the truth as a bool array.

    Raises
    ------
    DataError
        If a value is nan.
    """
    values, truth = np.asarray(values, float), np.asarray(truth, bool)
    if np.isnan(values).any():
        raise DataError("a decision value is nan", fix="train again: the model or the features are damaged")
    return values, truth


def _precision_sum(values, truth):
    """Return the sum of the expected precisions at the positives of one ranking, for `average_precision`.

    Groups with equal values form a tie, whose order is open.  Let a tie have m groups, t of them positive,
    after a groups with b positives.  Its place j = 1..m is positive with probability t / m.  Then there are
    (j - 1) (t - 1) / (m - 1) positives before it in the tie, on average.

    Parameters
    ----------
    values : float array (n,), decision values
    truth : bool array (n,)
    """
    ties, place = np.unique(-values, return_inverse=True)
    m = np.bincount(place, minlength=len(ties))
    t = np.bincount(place, truth, minlength=len(ties))
    a, b = np.cumsum(m) - m, np.cumsum(t) - t
    tie = np.repeat(np.arange(len(ties)), m)
    j = np.arange(len(values)) - a[tie]  # number of places before it in its tie
    before = b[tie] + j * (t[tie] - 1) / np.maximum(m[tie] - 1, 1)
    return float((t[tie] / m[tie] * (1 + before) / (a[tie] + j + 1)).sum())


def confusion_rates(tp, fp, fn, tn):
    """Return sensitivity, specificity, accuracy, F1 and precision as a dict; 0/0 is None.

    tp, fp, fn, tn : numbers of true positives, false positives, false negatives and true negatives
    """
    fractions = {
        "sensitivity": (tp, tp + fn),
        "specificity": (tn, tn + fp),
        "accuracy": (tp + tn, tp + fp + fn + tn),
        "f1": (2 * tp, 2 * tp + fp + fn),
        "precision": (tp, tp + fp),
    }
    return {name: part / whole if whole else None for name, (part, whole) in fractions.items()}


def evaluate_term(values, yes, truth, folds=None):
    """Return all metrics of one term, as a dict with the keys METRICS and precision.

    Parameters
    ----------
    values : float array (n_groups,)
    yes, truth : bool arrays (n_groups,)
    folds : int array (n_groups,), or None if one model predicts all groups
    """
    precision = average_precision(values, truth, folds)
    ranked = {"auc": auc(values, truth, folds), "average_precision": precision}
    yes, truth = np.asarray(yes, bool), np.asarray(truth, bool)
    counts = (yes & truth, yes & ~truth, ~yes & truth, ~yes & ~truth)
    return ranked | confusion_rates(*(int(np.count_nonzero(c)) for c in counts))


def score_terms(outcomes, *, excluded=()):
    """Score every term of every stage range, and summarise.

    Parameters
    ----------
    outcomes : dict from stage range to TermOutcomes
    excluded : sequence of names of terms to leave out of all averages

    Returns
    -------
    result : dict, ready for JSON
        - "terms" : a list with a dict for each stage range and term.  Its keys are stage_range, term,
          n_groups, n_positive, the METRICS, precision, and reason (why the term was not evaluated, or "")
        - "summary" : for every stage range and for "all", a dict of the averages in the module docstring
          (macro, weighted_top10, micro, groups, ranked_terms) and of n_terms, the number of evaluated terms
    """
    rows = {s: _score_range(s, outcome, excluded) for s, outcome in outcomes.items()}
    scored = {}
    for s, outcome in outcomes.items():
        kept = [j for j, row in enumerate(rows[s]) if not row["reason"]]
        scored[s] = [rows[s][j] for j in kept], outcome.subset(slice(None), kept)
    summary = {s: _summarise([of_range]) for s, of_range in scored.items()}
    summary["all"] = _summarise(list(scored.values()))
    return {"terms": [row for of_range in rows.values() for row in of_range], "summary": summary}


def _summarise(evaluated):
    """Average the scores of the evaluated terms of some stage ranges.

    evaluated : list of (rows, TermOutcomes) of the evaluated terms of each stage range; rows are their dicts
    """
    rows = [row for of_range, _ in evaluated for row in of_range]
    outcomes = [outcome for _, outcome in evaluated if outcome.terms]
    agreements = [group_agreement(outcome) for outcome in outcomes]
    by_name = {name: [one[name] for one in agreements] for name in AGREEMENT}
    top = sorted(rows, key=lambda row: (-row["n_positive"], row["term"], row["stage_range"]))[:10]
    return {
        "macro": _mean(rows, [1] * len(rows)),
        "weighted_top10": _mean(top, [row["n_positive"] for row in top]),
        "micro": _micro(outcomes),
        "groups": {n: float(np.concatenate(v).mean()) if v else None for n, v in by_name.items()},
        "ranked_terms": _ranked_terms(outcomes),
        "n_terms": len(rows),
    }


def _score_range(stage_range, outcome, excluded):
    """Return a list with the dict of scores of each term of one stage range.

    Parameters
    ----------
    stage_range : str
    outcome : TermOutcomes
    excluded : sequence of names of terms to leave out of all averages
    """
    rows = []
    for j, term in enumerate(outcome.terms):
        observed = outcome.known_rows(j)
        truth = outcome.truth[observed, j]
        reason, scores = outcome.reasons[j], _NO_SCORES
        if term in excluded:
            reason = "excluded by request"
        elif not reason and (not truth.any() or truth.all()):
            reason = f"not evaluable: no {'negative' if truth.any() else 'positive'} group"
        if not reason:
            folds = outcome.group_folds[observed]
            scores = evaluate_term(outcome.values[observed, j], outcome.yes[observed, j], truth, folds)
            if scores["auc"] is None:
                reason, scores = "not evaluable: no fold has both classes", _NO_SCORES
        counts = {"n_groups": len(truth), "n_positive": int(truth.sum())}
        rows.append({"stage_range": stage_range, "term": term} | counts | scores | {"reason": reason})
    return rows


def _mean(rows, weights):
    """Return the weighted mean of every metric over terms, as a dict; its values are None without terms.

    rows : list of dicts of scores; weights : list of numbers
    """
    if not rows:
        return dict.fromkeys(METRICS)
    return {m: float(np.average([row[m] for row in rows], weights=weights)) for m in METRICS}


def _micro(outcomes):
    """Return the metrics over all (group, term) pairs of some TermOutcomes together."""
    pools: list[Any] = [np.zeros((4, 0))]  # no term yet
    for outcome in outcomes:
        known = outcome.observed
        folds = np.repeat(outcome.group_folds, known.shape[1]).reshape(known.shape)
        # Decision values of different terms have no common scale; probabilities have.
        matrices = outcome.probabilities, outcome.yes, outcome.truth, folds
        pools.append([matrix[known] for matrix in matrices])
    return evaluate_term(*map(np.concatenate, zip(*pools)))


def group_agreement(outcome):
    """Return how well the answers about each group agree with its curated terms.

    Parameters
    ----------
    outcome : TermOutcomes

    Returns
    -------
    agreement : dict of float64 arrays (n_groups,)
        - "f1" : twice the number of terms in both lists, over the sum of their lengths
        - "jaccard" : the number of terms in both lists, over the number in either
        - "n_yes", "n_curated" : the lengths of the lists

        Entries whose truth is not known do not count.  Two empty lists have F1 and Jaccard index 1.
    """
    yes = outcome.yes & outcome.observed
    truth = outcome.truth & outcome.observed
    n_common = (yes & truth).sum(axis=1)
    n_yes = yes.sum(axis=1)
    n_curated = truth.sum(axis=1)
    n_both = n_yes + n_curated
    f1 = np.divide(2 * n_common, n_both, out=np.ones(len(yes)), where=n_both > 0)
    jaccard = np.divide(n_common, n_both - n_common, out=np.ones(len(yes)), where=n_both > 0)
    return {"f1": f1, "jaccard": jaccard, "n_yes": n_yes.astype(float), "n_curated": n_curated.astype(float)}


def _ranked_terms(outcomes):
    """Rank the terms of each group by probability, and return the mean average precision.

    None without groups.

    outcomes : list of TermOutcomes
    """
    scores = []
    for outcome in outcomes:
        known = outcome.observed
        rows = zip(outcome.probabilities, outcome.truth & known, known)
        scores += [average_precision(values[k], carried[k]) for values, carried, k in rows if carried.any()]
    return float(np.mean(scores)) if scores else None

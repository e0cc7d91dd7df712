"""A simulated curator: in which order do verdicts on terms teach most?

Of the genes a third tests.  Of the others half are curated, and of the other half no term is known.  A
curator looks at single terms of these genes in an order, as many at a time as 20 genes have, and says what
the table of annotations says; then the model learns again.  A look is a verdict on one term of one gene; an
error is a look at a term of which the model said the opposite.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.findings import Finding, Panel, Target
from benchmarks.inputs.labelled_pictures import FEATURES, labelled_pictures
from benchmarks.items import Item
from benchmarks.ours.nearest_genes import centred_units, nearest_part, principal_coordinates
from benchmarks.ours.quick_ridge import fit_quick_ridge
from benchmarks.rows import Rows, Series
from flyannot.scores.bootstrap import bootstrap_interval
from flyannot.scores.curation import TERMS_PER_REVIEW, information_of_verdict
from flyannot.scores.metrics import auc

_MIN_GENES = 20  # that carry a term: some are left to test
_N_GENES = 20  # that a step has the looks of
_TEST_PART = 3  # one gene in so many tests
_N_SAMPLES = 1000
_TARGET = 0.25
ALL = 10**6  # terms of a gene


@dataclass(frozen=True)
class Known:
    """What an order may go by: of genes that are not curated, arrays (n_genes, n_terms).

    probability, threshold : of the model; n_genes : those that carry the term, (n_terms,)
    nearest : the part of the 10 most similar curated genes that carry the term, a little towards all genes'
    similarity : to the most similar curated gene, (n_genes, 1)
    """

    probability: np.ndarray
    threshold: np.ndarray
    n_genes: np.ndarray
    nearest: np.ndarray
    similarity: np.ndarray
    rng: np.random.Generator


@dataclass(frozen=True)
class Order:
    """worth : of every term that is not known, from `Known`; the genes with the largest sum over their
    `per_gene` best terms come first, and these terms are looked at."""

    worth: Callable
    per_gene: int = TERMS_PER_REVIEW


RANDOM, SHIPPED = "random genes", "information"
ORDERS = {
    RANDOM: Order(lambda k: k.rng.random((len(k.probability), 1)) + 0 * k.probability, ALL),
    "random terms": Order(lambda k: k.rng.random(k.probability.shape)),
    "near the threshold": Order(lambda k: 1 - abs(k.probability - k.threshold)),
    "unlike the nearest": Order(lambda k: abs(k.probability - k.nearest)),
    "rare terms": Order(lambda k: 1 / k.n_genes + 1e-9 * k.rng.random(k.probability.shape)),
    "unlike any curated": Order(lambda k: 1 - k.similarity + 0 * k.probability, ALL),
    SHIPPED: Order(lambda k: information_of_verdict(k.probability, k.n_genes)),
    "information, all terms": Order(lambda k: information_of_verdict(k.probability, k.n_genes), ALL),
}  # fmt: skip


def measure(setup):
    """The mean AUC and the errors found after so many looks, of every order."""
    rows, source = labelled_pictures(setup, _MIN_GENES)
    X = principal_coordinates(rows.X)
    n_splits = setup.sizes["n_splits"]
    curves = {name: [] for name in ORDERS}
    for split in range(n_splits):
        seen = Split(X, rows.Y, setup.rng(f"split {split}"))
        for name, order in ORDERS.items():
            curves[name].append(seen.curve(order, setup.rng(f"looks {split}")))
    curves = {name: np.array(one) for name, one in curves.items()}
    found = [_row(name, curves, setup.rng("bootstrap")) for name in curves]
    return Finding(
        source=source,
        variant=f"{FEATURES}, ridge regression, {n_splits} splits of the genes",
        rows=found,
        targets=[
            Target(
                "fewer looks than at random, to the mean AUC that those of half the hidden terms have",
                Rows(found).value("fewer", order=SHIPPED),
                _TARGET,
            )
        ],
        panels=_panels(curves),
        notes=[
            f"{len(rows.terms)} terms that {_MIN_GENES} or more of {len(rows.genes)} genes carry.",
            "Of a gene the three best terms are looked at; of random genes, of those unlike any curated "
            "gene, and where it is said, all. Near: the probability to the threshold. Unlike the "
            "nearest: the probability to the part of the 10 nearest curated patterns that have the "
            "term. Information: p (1 - p) / n, with the probability p, and n genes that the term was "
            "learned from.",
            "Looks: to the mean AUC on test genes that random order has at the end, half of the hidden terms "
            "looked at; fewer: the part that is saved beside random order (as if it were reached at the end "
            "where it is not); errors: found in the first step, and by the end.",
            "Intervals of 95 %, by bootstrap over splits.",
        ],
    )


class Split:
    """Genes that test, genes that are curated, and genes of which no term is known."""

    def __init__(self, X, Y, rng):
        order = rng.permutation(len(X))
        n_test = len(X) // _TEST_PART
        n_curated = (len(X) - n_test) // 2
        self._X, self._Y = X, Y
        self._test, self._curated, self._hidden = np.split(order, [n_test, n_test + n_curated])
        units = centred_units(X)
        self._similarity = units[self._hidden] @ units.T
        self._similarity[np.arange(len(self._hidden)), self._hidden] = -np.inf
        self._known_first = np.isin(np.arange(len(X)), self._curated)[:, None] & np.ones(Y.shape, bool)
        self._first = self._learned(self._known_first)

    def curve(self, order, rng):
        """Rows of (looks, mean AUC, errors found), (n_steps + 1, 3)."""
        known, (score, probability, threshold) = self._known_first.copy(), self._first
        points, truth = [(0, score, 0)], self._Y[self._hidden]
        for _ in range(max(1, round(len(truth) / 2 / _N_GENES))):
            worth = order.worth(self._known(known, probability, threshold, rng))
            is_open = ~known[self._hidden]
            looked = first_looks(worth, is_open, order.per_gene, _N_GENES * truth.shape[1])
            errors = looked & ((probability > threshold) != truth)
            known[self._hidden] |= looked
            score, probability, threshold = self._learned(known)
            points.append((points[-1][0] + int(looked.sum()), score, points[-1][2] + int(errors.sum())))
        return np.array(points, float)

    def _learned(self, known):
        """The mean AUC on the test genes; probabilities of the hidden genes, and thresholds."""
        model = fit_quick_ridge(self._X, self._Y, known)
        values = model.decision_values(self._X[self._test])
        areas = [auc(v, t) for v, t in zip(values.T, self._Y[self._test].T)]
        probability = model.probabilities(model.decision_values(self._X[self._hidden]))
        return float(np.nanmean(areas)), probability, model.threshold_probability

    def _known(self, known, probability, threshold, rng):
        n_genes = (self._Y & known).sum(axis=0)
        nearest = np.empty(probability.shape)
        for j, mine in enumerate(known.T):
            curated = np.flatnonzero(mine)
            nearest[:, j] = nearest_part(self._similarity[:, curated], self._Y[curated, j])
        whole = self._similarity[:, known.all(axis=1)].max(axis=1, keepdims=True)
        return Known(probability, threshold, n_genes, nearest, whole, rng)


def first_looks(worth, is_open, per_gene, n_looks):
    """Which terms are looked at first, bool (n_genes, n_terms).

    The genes with the largest sum over their `per_gene` best open terms come first, until `n_looks` terms
    are looked at.
    """
    worth = np.where(is_open, worth, -np.inf)
    best = np.argsort(-worth, axis=1, kind="stable")[:, :per_gene]
    chosen = np.zeros(worth.shape, bool)
    np.put_along_axis(chosen, best, True, axis=1)
    chosen &= is_open
    sums = np.where(chosen.any(axis=1), np.where(chosen, worth, 0).sum(axis=1), -np.inf)
    order = np.argsort(-sums, kind="stable")
    before = np.cumsum(chosen[order].sum(axis=1)) - chosen[order].sum(axis=1)
    chosen[order[before >= n_looks]] = False
    return chosen


def looks_to(curve, score):
    """The looks at which a mean curve first has a score, between its points; None if never."""
    looks, scores = curve[:, 0], curve[:, 1]
    reached = np.flatnonzero(scores >= score)
    if not len(reached) or reached[0] == 0:
        return float(looks[0]) if len(reached) else None
    i = reached[0]
    part = (score - scores[i - 1]) / (scores[i] - scores[i - 1])
    return float(looks[i - 1] + part * (looks[i] - looks[i - 1]))


def _row(name, curves, rng):
    n = len(curves[name])
    mean, base = curves[name].mean(axis=0), curves[RANDOM].mean(axis=0)
    fewer = [_fewer(curves[name][drawn], curves[RANDOM][drawn])
             for drawn in rng.integers(n, size=(_N_SAMPLES, n))]  # fmt: skip
    low, high = bootstrap_interval(np.array(fewer))
    return {
        "order": name, "auc_first": mean[0, 1], "auc_last": mean[-1, 1],
        "looks": looks_to(mean, base[-1, 1]),
        "fewer": _fewer(curves[name], curves[RANDOM]), "fewer_low": low, "fewer_high": high,
        "errors_first": mean[1, 2], "errors_last": mean[-1, 2],
    }  # fmt: skip


def _fewer(curves, random):
    mean, base = curves.mean(axis=0), random.mean(axis=0)
    looks, at_random = (looks_to(one, base[-1, 1]) for one in (mean, base))
    return 1 - (mean[-1, 0] if looks is None else looks) / at_random if at_random else 0.0


def _panels(curves):
    means = {name: one.mean(axis=0) for name, one in curves.items()}
    texts = (("Mean AUC on test genes", "mean AUC", 1), ("Errors found", "errors", 2))
    return [
        Panel(title, "terms looked at", y, [
            Series(name, one[:, 0].tolist(), one[:, column].tolist()) for name, one in means.items()
        ])
        for title, y, column in texts
    ]  # fmt: skip


ITEM = Item(
    "queue", "What a curator should look at first", measure, sizes={"n_splits": (6, 18)},
)  # fmt: skip

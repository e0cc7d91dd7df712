"""Wrong terms planted among curated ones: how many are among the first 5 % of a list of terms to check?

Terms that a gene has are taken from it, and terms that it has not are given to it.  Cross-validation split by
gene, on the terms with the planted ones in, then says how much it doubts every term of every gene.
"""

import numpy as np

from benchmarks.findings import Finding, Target
from benchmarks.inputs.labelled_pictures import FEATURES, labelled_pictures
from benchmarks.items import Item
from benchmarks.ours.nearest_genes import centred_units, nearest_part, principal_coordinates
from benchmarks.rows import Rows
from flyannot.classifiers.calibration import sigmoid
from flyannot.classifiers.cross_validation import cross_validate
from flyannot.classifiers.folds import folds_of_genes
from flyannot.classifiers.training_set import LabelledRows
from flyannot.scores.curation import PART_TO_CHECK, doubt_of_answer

_MIN_GENES, _N_FOLDS = 20, 5
_PART = 0.02
_TARGET = 0.5
_EACH, _AS_MANY = "2 % of each kind", "2 % of the terms given, as many of the others"
SHIPPED = "probability of the opposite, where that is the answer"


def measure(setup):
    """The part of the planted terms that is found, of every way to doubt, with its spread over repeats."""
    rows, source = labelled_pictures(setup, _MIN_GENES)
    X = principal_coordinates(rows.X)
    n_repeats, found = setup.sizes["n_repeats"], []
    for planting in (_EACH, _AS_MANY):
        parts = [
            found_parts(X, rows, planting, setup.rng(f"{planting} {repeat}")) for repeat in range(n_repeats)
        ]
        for name in parts[0]:
            mine = np.array([one[name] for one in parts])
            mean, (low, high) = mine.mean(axis=0), np.quantile(mine[:, 0], [0.1, 0.9])
            found.append(
                {"planted": planting, "doubt": name, "found": mean[0], "found_10": low, "found_90": high,
                 "of_given": mean[1], "of_taken": mean[2], "given_alone": mean[3], "taken_alone": mean[4]}
            )  # fmt: skip
    return Finding(
        source=source,
        variant=f"{FEATURES}, linear SVM, {_N_FOLDS} folds by gene, {n_repeats} plantings",
        rows=found,
        targets=[
            Target("planted wrong terms in the first 5 %",
                   Rows(found).value("found", planted=_EACH, doubt=SHIPPED), _TARGET)
        ],
        notes=[
            f"{rows.Y.sum():,} terms of {len(rows.genes)} genes, and {(~rows.Y).sum():,} that they have not.",
            "found: the part of all planted terms in the first 5 % of all; of_given: of those that were "
            "given, of_taken: of those that were taken away; given_alone, taken_alone: in the first 5 % of "
            "the terms that genes have, and of those that they have not.",
            "Between found_10 and found_90 lie four of five plantings.",
        ],
    )  # fmt: skip


def planted(Y, planting, rng):
    """Which entries of Y are turned round, bool of its shape."""
    turned = np.zeros(Y.shape, bool)
    n_taken = round(_PART * Y.sum())
    n_given = n_taken if planting == _AS_MANY else round(_PART * (~Y).sum())
    for entries, n in ((np.flatnonzero(Y), n_taken), (np.flatnonzero(~Y), n_given)):
        turned.ravel()[rng.permutation(entries)[:n]] = True
    return turned


def found_parts(X, rows, planting, rng):
    """Way to doubt -> parts of the planted terms that are found, as the columns of the table."""
    turned = planted(rows.Y, planting, rng)
    curated = rows.Y ^ turned
    folds = folds_of_genes(rows.genes, _N_FOLDS, rng)
    labelled = LabelledRows(X=X, Y=curated, genes=rows.genes, terms=rows.terms)
    outcome = cross_validate(labelled, folds=folds, rng=rng)
    ways = doubts(outcome.probabilities, nearest_rates(X, curated), outcome.thresholds, curated, outcome.yes)
    return {name: _found(one, turned, curated) for name, one in ways.items()}


def doubts(probability, nearest, threshold, curated, yes):
    """Every way to doubt: name -> array of one shape with `curated`, large where it is doubted."""
    usual = curated.mean(axis=0)
    sign = np.where(curated, -1, 1)
    both = sigmoid(_logit(probability) + _logit(nearest) - _logit(usual))
    given, others = (
        np.array([p[c].mean() for p, c in zip(probability.T, kind.T)]) for kind in (curated, ~curated)
    )
    places = probability.argsort(axis=0).argsort(axis=0) / len(probability)
    return {
        SHIPPED: doubt_of_answer(probability, curated, yes),
        "probability of the opposite": doubt_of_answer(probability, curated, ~curated),
        "the same by the nearest patterns": doubt_of_answer(nearest, curated, ~curated),
        "mean of the two": doubt_of_answer((probability + nearest) / 2, curated, ~curated),
        "the two multiplied": doubt_of_answer(both, curated, ~curated),
        "distance to the threshold, in odds": sign * (_logit(probability) - _logit(threshold)),
        "margin of confident learning": np.where(curated, others - probability, probability - given),
        "how rare the term is, no model": doubt_of_answer(usual + 0 * probability, curated, ~curated),
        "place among the genes of the term": sign * (places - 0.5),
    }


def nearest_rates(X, curated):
    """`nearest_part` of every gene among the others."""
    units = centred_units(X)
    similarity = units @ units.T
    np.fill_diagonal(similarity, -np.inf)
    return nearest_part(similarity, curated)


def first_part(values, part=PART_TO_CHECK):
    """Which entries are among the largest, that part of all, bool of the same shape."""
    first = np.zeros(values.shape, bool)
    first.ravel()[np.argsort(-values, axis=None, kind="stable")[: round(part * values.size)]] = True
    return first


def _found(values, turned, curated):
    first = first_part(values)
    alone = [(first_part(values[kind]) & turned[kind]).sum() / turned[kind].sum()
             for kind in (curated, ~curated)]  # fmt: skip
    kinds = [first[turned & kind].mean() for kind in (curated, ~curated)]
    return [first[turned].mean(), *kinds, *alone]


def _logit(p):
    p = np.clip(p, 1e-4, 1 - 1e-4)
    return np.log(p / (1 - p))


ITEM = Item(
    "wrong-terms", "Wrong curated terms, planted and looked for", measure, sizes={"n_repeats": (3, 10)},
)  # fmt: skip

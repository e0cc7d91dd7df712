"""Very many labelled vectors, for how the time of a query grows: windows of embryos by their image."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from flyannot.benchmarks.papers.annotators import HASH, HASH_EXACT, LASSO, fitted, lasso_codes
from flyannot.benchmarks.papers.embryos import STRIDES_PX, Source, grey_pictures
from flyannot.benchmarks.papers.findings import Series
from flyannot.benchmarks.speed.clocks import Stopwatch
from flyannot.classifiers.unit_rows import unit_rows
from flyannot.descriptors.extract import ExtractOptions, describe
from flyannot.descriptors.sift import normalise

SIZES = (  # quick, full
    (10_000, 30_000, 100_000, 300_000),
    (10_000, 100_000, 200_000, 400_000, 800_000, 1_200_000),  # from the third on, the paper's
)
N_QUERIES = 128
_LASSO = {10_000: 6, 30_000: 2, 100_000: 1, 1_200_000: 1}  # queries that LASSO is given; elsewhere none
METHODS = ("siso", HASH, HASH_EXACT)
N_VECTORS = "labelled vectors"  # below the figures


@dataclass(frozen=True)
class Answered:
    """One method among n labelled vectors; `flat_cost` the share of queries without their label in five."""

    method: str
    n: int
    seconds_fit: float
    seconds_per_query: float
    n_queries: int
    flat_cost: float


@lru_cache(maxsize=1)
def growth(setup):
    """All `Answered`, and the `Source`."""
    sizes = setup.pick(*SIZES)
    X, labels, source = _windows(setup, max(sizes) + N_QUERIES)
    queries, truth = X[:N_QUERIES], labels[:N_QUERIES]
    answers = []
    for n in sizes:
        rows = slice(N_QUERIES, N_QUERIES + n)
        Y = labels[rows, None] == np.arange(labels.max() + 1)
        answers += [_answer(setup, method, X[rows], Y, queries, truth) for method in METHODS]
        if n in _LASSO:
            answers.append(_answer_by_lasso(X[rows], Y, queries[: _LASSO[n]], truth))
    return answers, source


def _windows(setup, wanted):
    """Descriptors float32 (wanted, 128) in random order, the number of each one's image, and the `Source`."""
    greys, source = grey_pictures(setup)
    for stride_px in STRIDES_PX:
        options = ExtractOptions(stride_px=stride_px)
        if stride_px > 1 and sum((g.size // stride_px**2) for g in greys) < wanted:
            continue
        found = [describe(grey, options).descriptors for grey in greys]
        if sum(map(len, found)) >= wanted:
            break
    labels = np.repeat(np.arange(len(found)), [len(d) for d in found])
    order = setup.rng("windows").permutation(len(labels))[:wanted]
    text = f"{wanted:,} windows at stride {stride_px} of {source.text}, each labelled by its image"
    return normalise(np.concatenate(found)[order]), labels[order], Source(text, source.kind)


def _answer(setup, method, X, Y, queries, truth):
    model, seconds = fitted(method, X, Y, setup.rng(method))
    with Stopwatch() as watch:
        values = model.decision_values(queries)
    return Answered(
        method, len(X), seconds, watch.seconds / len(queries), len(queries), flat_cost(values, truth)
    )


def _answer_by_lasso(X, Y, queries, truth):
    A, queries = unit_rows(X), unit_rows(queries)
    with Stopwatch() as watch:
        Z = lasso_codes(queries, A)
    cost = flat_cost(Z @ Y.astype(float), truth[: len(queries)])
    return Answered(LASSO, len(X), 0.0, watch.seconds / len(queries), len(queries), cost)


def flat_cost(values, truth, n_answers=5):
    """The share of rows whose true label is not among the `n_answers` with the largest values."""
    best = np.argsort(-values, axis=1, kind="stable")[:, :n_answers]
    return float(1 - (best == np.asarray(truth)[:, None]).any(axis=1).mean())


def curves(answers, column, methods=METHODS):
    """A line for every method: a column of its answers against n."""
    for method in methods:
        mine = [a for a in answers if a.method == method]
        yield Series(method, [a.n for a in mine], [getattr(a, column) for a in mine])


def exponent(answers, method):
    """The slope of log seconds per query against log n."""
    points = [(a.n, a.seconds_per_query) for a in answers if a.method == method]
    return float(np.polyfit(*np.log(np.array(points)).T, 1)[0])

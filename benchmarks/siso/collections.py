"""SISO's tables and figures on collections: NUS-WIDE(-LITE) there; embryos, Corel5k and made-up ones here."""

from dataclasses import replace

import numpy as np

from benchmarks.findings import Comparison, Finding, Size, all_of
from benchmarks.inputs.labelled_vectors import corel5k, descriptors, embryo_words, synthetic_images
from benchmarks.items import paper_values
from benchmarks.rows import Panel, Rows, Series
from benchmarks.siso.annotators import (
    HASH,
    LASSO,
    LASSOS,
    P_STABLE,
    SISO,
    SPREADING,
    VARIANT,
    answered_queries,
)
from flyannot.terms.metrics import average_precision

_ALL = ("svm", "ridge", "knn", SPREADING, SISO, P_STABLE, HASH)
_SOLVERS = (SISO, *LASSOS, P_STABLE, HASH)
_MOST_ROWS = {"svm": 10_000, SPREADING: 50_000}  # a kernel matrix, and a graph, of all labelled rows
_STANDS_FOR = dict.fromkeys(("lnp", "egssc", "lsmp"), SPREADING)
_N_CHECKED = 20  # queries of LASSO, which is slow, or fewer
_FEWER = (2, _N_CHECKED)  # queries that LASSO may be given
_N_DRAWS = 100  # of queries, for the interval of a MAP
_READERS = {"embryos": embryo_words, "descriptors": descriptors, "Corel5k": corel5k}  # else synthetic images


def _labelled(setup, name):
    return setup.once(name, lambda: _READERS.get(name, synthetic_images)(setup, name))


def _share(setup, name, tau=1.0):
    """Return the file with a share of the labelled rows of a collection."""

    def write():
        labelled = _labelled(setup, name)
        if tau < 1:
            n = max(2, round(tau * len(labelled.X)))
            kept = np.sort(setup.rng(f"share {tau}").permutation(len(labelled.X))[:n])
            labelled = replace(labelled, X=labelled.X[kept], Y=labelled.Y[kept])
        return labelled.write(setup.scratch / f"{name.replace(' ', '-')}-{tau}.npz")

    return setup.once((name, tau), write)


def _finding(setup, names, where, methods, taus=(1.0,), variant=VARIANT, left_out=None):
    """`Rows` of methods on shares of the labelled rows of collections, and the `Finding` that has them.

    left_out : method -> collections on which it takes too long
    """
    rows, found = Rows(), {name: _labelled(setup, name) for name in names}
    for name, labelled in found.items():
        n, n_features = labelled.X.shape
        is_slow = {method for method, slow in (left_out or {}).items() if name in slow}
        for method in (m for m in methods if n <= _MOST_ROWS.get(m, n) and m not in is_slow):
            n_queries = len(labelled.X_test)
            if method in LASSOS:
                n_queries = min(n_queries, setup.sizes.get("n_lasso", {}).get(name, _N_CHECKED))
            for tau in taus:
                asked = {"labelled": _share(setup, name, tau), "method": method, "n_queries": n_queries}
                row = {"collection": name, "method": method, "tau": tau}
                row["rows_per_feature"] = tau * n / n_features
                rows.append(row | setup.run(annotate, asked | {"seed": setup.seed}))
    largest = max(len(labelled.X) for labelled in found.values())
    size = Size("labelled images", largest, paper_values("siso", where)["n_labelled"])
    return rows, Finding(all_of(labelled.source for labelled in found.values()), variant, size, rows=rows)


def annotate(labelled, method, n_queries, seed):
    """Fit on the labelled rows and answer the first queries, in a worker.

    Returns the mean average precision (MAP) and

    draws : MAPs of queries drawn anew, the same for every method
    of_first : number of queries -> MAP of the first queries, for methods that answer fewer
    """
    with np.load(labelled) as arrays:
        X, Y, queries, truth = (arrays[name] for name in ("X", "Y", "X_test", "Y_test"))
    queries, truth = queries[:n_queries], truth[:n_queries]
    rng = np.random.default_rng(seed)
    values, seconds_of_fit, seconds = answered_queries(method, X, Y, queries, rng)
    return {
        "seconds_of_fit": seconds_of_fit,
        "seconds_of_queries": seconds,
        "seconds": seconds_of_fit + seconds,
        "n_queries": len(queries),
        "ms_per_query": 1000 * seconds / len(queries),
        "of_first": {str(n): _with_draws(values[:n], truth[:n]) for n in _FEWER if n < len(truth)},
        **_with_draws(values, truth),
    }


def _with_draws(values, truth):
    drawn = np.random.default_rng(len(truth)).integers(0, len(truth), (_N_DRAWS, len(truth)))
    draws = [round(mean_average_precision(values[rows], truth[rows]), 5) for rows in drawn]
    return {"map": mean_average_precision(values, truth), "draws": draws}


def measure_methods(setup, names, where):
    """Tables 2 and 4: the time and the MAP of all methods; figures of the first collection."""
    rows, finding = _finding(setup, names, where, _ALL)
    first = rows.where(collection=names[0])
    parts = {"construction": "seconds_of_fit", "prediction": "seconds_of_queries"}
    times = [Series(part, first.column("method"), first.column(column)) for part, column in parts.items()]
    return replace(
        finding,
        comparisons=[c for n in names for c in _comparisons_of_methods(n, rows, paper_values("siso", where))],
        panels=[
            Panel(f"Construction and prediction, {names[0]}", "", "seconds", times, y_log=True),
            _bars("Mean average precision", "MAP", rows, "map"),
        ],
    )


def _bars(title, label, rows, column, **options):
    """Return a panel with a bar for every row, by collection."""
    return rows.panel(title, "collection", "method", column, "", label, **options)


def _comparisons_of_methods(collection, rows, paper):
    """Yield the times of construction, of prediction and of both, each over hash-SISO's time for both."""
    parts = {"construction": "seconds_of_fit", "prediction": "seconds_of_queries", "hours": "seconds"}
    rows = rows.where(collection=collection)
    whole = rows.value("seconds", method=P_STABLE)
    for part, column in parts.items():
        for name, theirs in paper[part].items():
            method = _STANDS_FOR.get(name, P_STABLE if name == HASH else name)
            ours, remark = rows.value(column, method=method), method if method != name else ""
            part_of_time = "total" if part == "hours" else part
            what = f"{part_of_time} time of {name} over hash-siso's total, {collection}"
            yield Comparison(what, "x", theirs / paper["hours"][HASH], ours and ours / whole, remark)


def measure_solvers(setup, names, where, left_out):
    """Tables 3 and 5: solvers of the LASSO, SISO, and hash-SISO with either hash."""
    more = "; LASSO, one query at a time, is the quickest of celer and of scikit-learn's Lasso in both types"
    rows, finding = _finding(setup, names, where, _SOLVERS, variant=VARIANT + more, left_out=left_out)
    return replace(
        finding,
        comparisons=[c for n in names for c in _comparisons_of_solvers(n, rows, paper_values("siso", where))],
        panels=[_bars("Time of a query", "milliseconds", rows, "ms_per_query", y_log=True)],
    )


def _comparisons_of_solvers(collection, rows, paper):
    found = {row["method"]: row["ms_per_query"] for row in rows.where(collection=collection)}
    found |= {HASH: found[P_STABLE], LASSO: min(found[m] for m in LASSOS if m in found)}
    theirs = paper.get("hours") or paper["seconds_per_query"]
    for name, over in ((LASSO, SISO), (SISO, HASH), (LASSO, HASH)):
        what = f"{name} over {over}, a query, {collection}"
        yield Comparison(what, "x", theirs[name] / theirs[over], found[name] / found[over])


def measure_shares(setup, names, where):
    """Figures 2 and 4: MAP at every share tau of the labelled rows; on embryos LASSO must have SISO's."""
    methods = (*_ALL, LASSO) if names == ["embryos"] else _ALL
    rows, finding = _finding(setup, names, where, methods, setup.sizes["taus"])
    shown = Rows(row for row in rows if row["method"] != LASSO)
    panel = shown.panel("MAP by share of labelled data", "method", "tau", "map", y_label="MAP")
    return replace(finding, panels=[panel])


def mean_average_precision(values, truth):
    """Return the mean of `average_precision` over the terms that have positives; None if none has.

    `values` are floats and `truth` bool, both (n_groups, n_terms).
    """
    scores = [average_precision(v, t) for v, t in zip(np.asarray(values).T, np.asarray(truth).T)]
    scores = [score for score in scores if score is not None]
    return float(np.mean(scores)) if scores else None

"""SISO's tables and figures on image collections: NUS-WIDE(-LITE) there, embryos and Corel5k here."""

from dataclasses import replace

import numpy as np

from benchmarks.findings import PROJECTED, Comparison, Finding, Size
from benchmarks.inputs.labelled_vectors import corel5k, embryo_words
from benchmarks.items import paper_values
from benchmarks.rows import Panel, Rows, Series
from benchmarks.siso.annotators import (
    HASH,
    HASH_EXACT,
    LASSO,
    P_STABLE,
    SISO,
    SPREADING,
    VARIANT,
    answered_queries,
    fitted_annotator,
    recall_columns,
)
from flyannot.scores.average_precision import mean_average_precision

_ALL = ("svm", "ridge", "knn", SPREADING, SISO, HASH)
_SOLVERS = (LASSO, SISO, HASH, P_STABLE, HASH_EXACT)
_STANDS_FOR = dict.fromkeys(("lnp", "egssc", "lsmp"), SPREADING)
_N_CHECKED = 10  # queries of LASSO, and of hash-siso, exact: both are slow, and have SISO's result
_N_DRAWS = 100  # of queries, for the interval of a MAP
_N_OF_PAPER = {"bow": 27_808, "corel5k": 161_789}  # labelled images


_READERS = {"bow": embryo_words, "corel5k": corel5k}  # collections in the place of the paper's


def _labelled(setup, name):
    return setup.once(name, lambda: _READERS[name](setup))


def _share(setup, name, tau=1.0):
    """The file with a share of the labelled rows of a collection."""

    def write():
        labelled = _labelled(setup, name)
        if tau < 1:
            n = max(2, round(tau * len(labelled.X)))
            kept = np.sort(setup.rng(f"share {tau}").permutation(len(labelled.X))[:n])
            labelled = replace(labelled, X=labelled.X[kept], Y=labelled.Y[kept])
        return labelled.write(setup.scratch / f"{name}-{tau}.npz")

    return setup.once((name, tau), write)


def _finding(setup, name, methods, taus=(1.0,), variant=VARIANT):
    """`Rows` of methods on shares of the labelled rows of a collection, and the `Finding` that has them."""
    labelled, rows = _labelled(setup, name), Rows()
    for method in methods:
        n_queries = _N_CHECKED if method in (LASSO, HASH_EXACT) else len(labelled.X_test)
        for tau in taus:
            asked = {"labelled": _share(setup, name, tau), "method": method, "n_queries": n_queries}
            row = setup.run(annotate, asked | {"seed": setup.seed})
            rows.append({"method": method, "tau": tau} | row)
    size = Size("labelled images", len(labelled.X), _N_OF_PAPER[name])
    return rows, Finding(labelled.source, variant, size, rows=rows)


def annotate(labelled, method, n_queries, seed):
    """In a worker: fit on the labelled rows, answer the first queries; their mean average precision (MAP).

    `map_of_first` is the MAP of the first _N_CHECKED queries, which every method answers; `draws`, the MAPs
    of queries drawn anew, the same for every method.
    """
    with np.load(labelled) as arrays:
        X, Y, queries, truth = (arrays[name] for name in ("X", "Y", "X_test", "Y_test"))
    queries, truth = queries[:n_queries], truth[:n_queries]
    rng = np.random.default_rng(seed)
    values, seconds_of_fit, seconds = answered_queries(method, X, Y, queries, rng)
    drawn = np.random.default_rng(len(truth)).integers(0, len(truth), (_N_DRAWS, len(truth)))
    return {
        "seconds_of_fit": seconds_of_fit,
        "seconds_of_queries": seconds,
        "seconds": seconds_of_fit + seconds,
        "n_queries": len(queries),
        "ms_per_query": 1000 * seconds / len(queries),
        "map": mean_average_precision(values, truth),
        "map_of_first": mean_average_precision(values[:_N_CHECKED], truth[:_N_CHECKED]),
        "draws": [round(mean_average_precision(values[rows], truth[rows]), 5) for rows in drawn],
    }


def recall_of_cells(labelled, method, seed):
    """In a worker: hash the labelled rows, and what the cells hold for the first queries."""
    with np.load(labelled) as arrays:
        X, Y, queries = (arrays[name] for name in ("X", "Y", "X_test"))
    return recall_columns(fitted_annotator(method, X, Y, np.random.default_rng(seed)).recall(queries))


def measure_methods(setup, name, where):
    """Tables 2 and 4: the time and the MAP of all methods."""
    rows, finding = _finding(setup, name, _ALL)
    parts = {"construction": "seconds_of_fit", "prediction": "seconds_of_queries"}
    times = [Series(part, rows.column("method"), rows.column(column)) for part, column in parts.items()]
    ranked = ", ".join(f"{row['method']} {row['map']:.3f}" for row in sorted(rows, key=lambda r: -r["map"]))
    return replace(
        finding,
        comparisons=list(_comparisons_of_methods(rows, paper_values("siso", where))),
        panels=[
            Panel("Construction and prediction", "", "seconds", times, y_log=True),
            _bars("Mean average precision", "MAP", rows, "map"),
        ],
        notes=[f"By MAP: {ranked}."],
    )


def _bars(title, label, rows, column, **options):
    """A panel with a bar for every row."""
    return Panel(title, "", label, [Series("here", rows.column("method"), rows.column(column))], **options)


def _comparisons_of_methods(rows, paper):
    """Construction, prediction and both, each over hash-SISO's both."""
    parts = {"construction": "seconds_of_fit", "prediction": "seconds_of_queries", "hours": "seconds"}
    whole = rows.value("seconds", method=HASH)
    for part, column in parts.items():
        for name, theirs in paper[part].items():
            method = _STANDS_FOR.get(name, name)
            ours, remark = rows.value(column, method=method) / whole, method if method != name else ""
            what = f"{'total' if part == 'hours' else part} time of {name} over hash-siso's total"
            yield Comparison(what, "x", theirs / paper["hours"][HASH], ours, remark)


def measure_solvers(setup, name, where):
    """Tables 3 and 5: LASSO, SISO, hash-SISO, and hash-SISO that goes on to SISO's result."""
    more = "; LASSO is scikit-learn's coordinate descent over all rows, one query at a time"
    rows, finding = _finding(setup, name, _SOLVERS, variant=VARIANT + more)
    found, asked = {row["method"]: row for row in rows}, {"labelled": _share(setup, name), "seed": setup.seed}
    for method in (HASH, P_STABLE):
        found[method] |= setup.run(recall_of_cells, asked | {"method": method})
    return replace(
        finding,
        comparisons=list(_comparisons_of_solvers(found, paper_values("siso", where))),
        panels=[_bars("Time of a query", "milliseconds", rows, "ms_per_query", y_log=True)],
        notes=[
            f"LASSO and hash-siso, exact answer {found[LASSO]['n_queries']} queries, the others "
            f"{found[SISO]['n_queries']}; a MAP is of the queries that were answered.",
        ],
    )


def _comparisons_of_solvers(found, paper):
    n_queries = found[SISO]["n_queries"]
    theirs = paper.get("hours") or paper["seconds_per_query"]
    for name, value in theirs.items():
        seconds, remark = found[name]["ms_per_query"] / 1000, "other data"
        if "hours" in paper:
            remark += "" if found[name]["n_queries"] == n_queries else f", {PROJECTED}"
            yield Comparison(f"time of {name}, all queries", "h", value, seconds * n_queries / 3600, remark)
        else:
            yield Comparison(f"time of {name}, a query", "s", value, seconds, remark)
    for name, over in ((LASSO, SISO), (SISO, HASH), (LASSO, HASH)):
        ours = found[name]["ms_per_query"] / found[over]["ms_per_query"]
        yield Comparison(f"{name} over {over}, a query", "x", theirs[name] / theirs[over], ours)


def measure_shares(setup, name, where):
    """Figures 2 and 4: MAP at every share tau of the labelled rows; on embryos LASSO must have SISO's."""
    paper, methods = paper_values("siso", where), (*_ALL, LASSO) if name == "bow" else _ALL
    rows, finding = _finding(setup, name, methods, setup.sizes["taus"])
    shown = Rows(row for row in rows if row["method"] in _ALL)
    notes = []
    if "map_siso" in paper:
        siso, svm = paper["map_siso"], paper["map_svm"]
        notes = [f"The paper's text: MAP at tau = 1 is {siso} for SISO and {svm} for the SVM, on NUS-WIDE."]
    panel = shown.panel("MAP by share of labelled data", "method", "tau", "map", y_label="MAP")
    return replace(finding, panels=[panel], notes=notes)

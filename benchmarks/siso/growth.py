"""SISO, Tables 6 and 7: time and flat cost among very many labelled vectors, patches of embryos."""

import numpy as np

from benchmarks.findings import Comparison, Finding, Size, Source
from benchmarks.inputs.patches import described_patches
from benchmarks.items import paper_values
from benchmarks.measures import Stopwatch
from benchmarks.rows import Rows
from benchmarks.siso.annotators import HASH, LASSO, P_STABLE, PUBLISHED, SISO, VARIANT, fitted_annotator
from flyannot.images.sift import normalise_descriptors

_MOST_COPIES = 200  # patches that overlap one query's, at the strides that are needed here
_N_ALONE = 20  # queries that are answered one at a time
_SLOW = {LASSO: {100_000: 1, 1_200_000: 1}}  # method -> n -> queries; elsewhere none
_AT_ONCE = (SISO, HASH, P_STABLE)
_DRAWN = 2  # patches for every query: a tenth have near copies
_NEAR, _COMPARED = 0.99, 100_000  # the cosine of near copies; labelled vectors that are compared at once
_N_DRAWS = 200  # of queries, for the interval of a flat cost
_N_VECTORS = "labelled vectors"  # below the figures


def measure_cost(setup):
    """Table 6: time and flat cost of every method among n vectors."""
    paper, (rows, source) = paper_values("siso", "table-6"), _growth(setup)
    shared = rows.where(how="at once")
    hashed = {row["n"]: row for row in shared.where(method=P_STABLE)}
    labels = _N_VECTORS, "share not among five"
    return Finding(
        source=source,
        variant=VARIANT,
        size=Size("labelled vectors", max(hashed), max(paper["n_labelled"])),
        comparisons=list(_comparisons_of_cost(paper, hashed)),
        rows=rows,
        panels=[
            _panel_of_times("Time of a query", shared),
            shared.panel("Flat cost, five answers", "method", "n", "flat_cost", *labels, x_log=True),
        ],
    )


def measure_time(setup):
    """Table 7: seconds per query, at the largest n that all methods were given, and beyond."""
    paper, (rows, source) = paper_values("siso", "table-7"), _growth(setup)
    shared, lasso = rows.where(how="at once"), rows.where(method=LASSO)
    n, alone = lasso[-1]["n"], rows.where(how="one at a time")
    at_n = {row["method"]: row["seconds_per_query"] for row in alone.where(n=n)}
    return Finding(
        source=source,
        variant=VARIANT + "; LASSO is scikit-learn's coordinate descent over all rows, for a few queries",
        size=Size("labelled vectors", max(shared.column("n")), paper["n_labelled"]),
        comparisons=list(_comparisons_of_time(paper["seconds_per_query"], at_n, n)),
        rows=rows,
        panels=[
            _panel_of_times("Many queries at once", Rows([*shared, *lasso])),
            _panel_of_times("One query at a time", alone),
        ],
    )


def _panel_of_times(title, rows):
    options = {"x_log": True, "y_log": True}
    return rows.panel(title, "method", "n", "seconds_per_query", _N_VECTORS, "seconds", **options)


def _growth(setup):
    """`Rows` of every method and n, and the `Source`."""
    sizes, n_queries = setup.sizes["n_vectors"], setup.sizes["n_queries"]
    wanted = max(sizes) + n_queries
    files, source = setup.once(f"vectors {wanted}", lambda: _vectors(setup, wanted))
    rows = Rows()
    for n in sizes:
        arguments = files | {"n": n, "n_queries": n_queries, "seed": setup.seed}
        alone = dict.fromkeys((*_AT_ONCE, PUBLISHED), _N_ALONE)
        alone |= {method: of_n[n] for method, of_n in _SLOW.items() if n in of_n}
        for method, n_alone in alone.items():
            asked = {"method": method, "n_alone": n_alone, "at_once": method in _AT_ONCE}
            rows += setup.run(answer, arguments | asked)["rows"]
    return rows, source


def _vectors(setup, wanted):
    """Return the files of descriptors and of their images' numbers, and the `Source`.

    The queries come first.  Patches follow in random order; none overlaps a query of the same image.
    Queries that have a near copy among all the other patches are left out.
    """
    n_queries = setup.sizes["n_queries"]
    found, source = described_patches(setup, wanted + _DRAWN * n_queries * _MOST_COPIES, views=(None,))
    labels = np.repeat(np.arange(len(found)), [len(one.descriptors) for one in found])
    centres = np.concatenate([one.centres_px for one in found])
    order = setup.rng("windows").permutation(len(labels))
    drawn, rest = np.split(order, [_DRAWN * n_queries])
    kept = rest[~overlapping(labels, centres, drawn)[rest]][: wanted - n_queries]
    descriptors = np.concatenate([one.descriptors for one in found])
    queries = drawn[~near_copies(descriptors[drawn], descriptors[kept])][:n_queries]
    order = np.concatenate([queries, kept])
    files = setup.save(f"siso-{wanted}", vectors=descriptors[order], labels=labels[order])
    return files, Source(f"{wanted:,} of {source.text}, each labelled by its image", source.kind)


def overlapping(labels, centres_px, queries, patch_px=16):
    """Mark the patches that share a pixel with a query's patch of the same image: bool (n_patches,)."""
    near = np.zeros(len(labels), bool)
    for q in queries:
        apart = np.abs(centres_px - centres_px[q]).max(axis=1)
        near |= (labels == labels[q]) & (apart < patch_px)
    return near


def near_copies(queries, labelled):
    """Mark the queries that have a labelled vector with a cosine of _NEAR or more: bool (n_queries,)."""
    units, most = normalise_descriptors(queries), np.zeros(len(queries), np.float32)
    for start in range(0, len(labelled), _COMPARED):
        part = normalise_descriptors(labelled[start : start + _COMPARED])
        np.maximum(most, (units @ part.T).max(axis=1), out=most)
    return most >= _NEAR


def answer(vectors, labels, method, n, n_queries, n_alone, at_once, seed):
    """Answer queries by one method among n labelled vectors, in a worker; the queries come first."""
    X, labels = normalise_descriptors(np.load(vectors, mmap_mode="r")[: n_queries + n]), np.load(labels)
    Y = labels[n_queries : n_queries + n, None] == np.arange(labels.max() + 1)
    find_values, fit_seconds = fitted_annotator(method, X[n_queries:], Y, np.random.default_rng(seed))
    ways = [("one at a time", [X[i : i + 1] for i in range(n_alone)])]
    ways += [("at once", [X[:n_queries]])] if at_once else []
    rows = []
    if method != LASSO:
        find_values(X[:1])  # compiled, and what is made once a model
    for how, parts in ways:
        with Stopwatch() as watch:
            values = np.concatenate([find_values(part) for part in parts])
        row = {"method": method, "how": how, "n": n, "n_queries": len(values)}
        row |= {"seconds_of_fit": fit_seconds, "seconds_per_query": watch.seconds / len(values)}
        missed = missed_labels(values, labels[: len(values)])
        drawn = np.random.default_rng(len(missed)).integers(0, len(missed), (_N_DRAWS, len(missed)))
        draws = missed[drawn].mean(axis=1).round(4).tolist()  # the same queries for every method and n
        rows.append(row | {"flat_cost": float(missed.mean()), "draws": draws})
    return {"rows": rows}


def missed_labels(values, truth, n_answers=5):
    """Mark the queries whose true label is not among the `n_answers` largest values: bool (n_queries,).

    The mean is the flat cost.
    """
    best = np.argsort(-values, axis=1, kind="stable")[:, :n_answers]
    return ~(best == np.asarray(truth)[:, None]).any(axis=1)


def _comparisons_of_cost(paper, hashed):
    seconds = [3600 * hours / paper["n_queries"] for hours in paper["hours"]]
    theirs = dict(zip(paper["n_labelled"], zip(seconds, paper["flat_cost"])))
    for n, (time, cost) in theirs.items():
        ours = hashed.get(n, {})
        yield Comparison(f"time of a query, n={n:,}", "s", time, ours.get("seconds_per_query"))
        yield Comparison(f"flat cost, n={n:,}", "", cost, ours.get("flat_cost"))


def _comparisons_of_time(theirs, at_n, n):
    ours = at_n | {SISO: at_n[PUBLISHED], HASH: at_n[P_STABLE]}
    for name, value in theirs.items():
        yield Comparison(f"time of a query, {name}", "s", value, ours[name], f"ours: n={n:,}")
    for name, over in ((LASSO, SISO), (SISO, HASH), (LASSO, HASH)):
        yield Comparison(f"{name} over {over}", "x", theirs[name] / theirs[over], ours[name] / ours[over])

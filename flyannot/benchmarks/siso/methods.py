"""SISO, Tables 2 and 4: the time and the MAP of all methods."""

from flyannot.benchmarks.findings import Check, Comparison
from flyannot.benchmarks.siso.annotators import HASH, SISO, SPREADING
from flyannot.benchmarks.siso.collections import COREL5K, EMBRYOS, MAP_LOSS, bars, finding

METHODS = ("svm", "ridge", "knn", SPREADING, SISO, HASH)
_STANDS_FOR = dict.fromkeys(("lnp", "egssc", "lsmp"), SPREADING)


def measure(setup, collection, paper):
    """All methods on one collection."""
    rows, source = collection.annotated(setup, METHODS)
    ranked = sorted(rows, key=lambda row: -row["map"])
    return finding(
        rows, source,
        "Thousands of labelled images, not the paper's hundred thousand: building a graph or a kernel is "
        "cheap at this size, and hashing has little to save.",
        checks=list(_checks(rows)),
        comparisons=list(_comparisons(rows, paper["hours"])),
        panels=[
            bars("Time of fit and queries", "seconds", rows, "seconds", y_log=True),
            bars("Mean average precision", "MAP", rows, "map"),
        ],
        notes=[
            "By MAP: " + ", ".join(f"{row['method']} {row['map']:.3f}" for row in ranked) + ".",
            "There are no programs of LNP, EGSSC and LSMP: scikit-learn's label spreading stands in.",
        ],
    )  # fmt: skip


def _checks(rows):
    (hashed,), (siso,) = (rows.where(method=method) for method in (HASH, SISO))
    others = [row for row in rows if row["method"] not in (HASH, SISO)]
    quicker = [row["method"] for row in others if row["seconds"] < hashed["seconds"]]
    here = f"quicker than it: {', '.join(quicker) or 'none'}"
    yield Check("hash-siso is quicker than every other method", not quicker, here)
    better = [row["method"] for row in others if row["map"] > hashed["map"]]
    yield Check("hash-siso has the best MAP", not better, f"better: {', '.join(better) or 'none'}")
    loss = siso["map"] - hashed["map"]
    yield Check("hash-siso loses less than 0.01 MAP to siso", loss < MAP_LOSS, f"{loss:+.4f}")


def _comparisons(rows, hours):
    for name, theirs in hours.items():
        method = _STANDS_FOR.get(name, name)
        ours = rows.value("seconds", method=method) / rows.value("seconds", method=HASH)
        remark = method if method != name else ""
        yield Comparison(f"total time of {name} over hash-siso", "x", theirs / hours[HASH], ours, remark)


TABLE_2 = EMBRYOS.item("table-2", "Annotation by many methods on embryos: time and MAP", measure)
TABLE_4 = COREL5K.item("table-4", "Annotation by many methods on Corel5k: time and MAP", measure)

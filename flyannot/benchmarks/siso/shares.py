"""SISO, Figures 2 to 5: MAP against the share tau of the labelled rows."""

from flyannot.benchmarks.findings import Check, Panel, Rows
from flyannot.benchmarks.siso.annotators import HASH, LASSO, SISO
from flyannot.benchmarks.siso.collections import COREL5K, EMBRYOS, MAP_LOSS, ON_THE_SAME, finding, map_lead
from flyannot.benchmarks.siso.methods import METHODS

_TAUS = ((0.1, 0.4, 0.7, 1.0), (0.1, 0.2, 0.4, 0.6, 0.8, 1.0))


def measure(setup, collection, paper):
    """All methods at every tau; on embryos LASSO too, which must have SISO's MAP."""
    methods = (*METHODS, LASSO) if collection is EMBRYOS else METHODS
    rows, source = collection.annotated(setup, methods, setup.sizes["taus"])
    shown = Rows(row for row in rows if row["method"] in METHODS)
    notes = []
    if "map_siso" in paper:
        siso, svm = paper["map_siso"], paper["map_svm"]
        notes = [f"The paper's text: MAP at tau = 1 is {siso} for SISO and {svm} for the SVM, on NUS-WIDE."]
    return finding(
        rows, source,
        "Which method leads depends on the features, bags of words here, and on the collection; so few "
        "queries leave noise of a few hundredths.",
        checks=list(_checks(rows, shown.where(tau=1.0))),
        panels=[Panel("MAP by share of labelled data", "tau", "MAP", shown.lines("method", "tau", "map"))],
        notes=notes,
    )  # fmt: skip


def _checks(rows, at_one):
    for method in METHODS:
        first, *_, last = rows.column("map", method=method)
        yield Check(f"MAP of {method} rises with tau", last > first, f"{first:.3f} to {last:.3f}")
    siso = rows.where(method=SISO)
    worst = max(row["map"] - other["map"] for row, other in zip(siso, rows.where(method=HASH)))
    yield Check("hash-siso loses less than 0.01 MAP at every tau", worst < MAP_LOSS, f"{worst:+.4f} at worst")
    gaps = [abs(map_lead(row, other)) for row, other in zip(siso, rows.where(method=LASSO))]
    if gaps:
        text = f"siso has lasso's MAP {ON_THE_SAME}"
        yield Check(text, max(gaps) < 2e-3, f"largest difference {max(gaps):.4f}")
    best = max(at_one, key=lambda row: row["map"])
    text = "sparse codes have the best MAP at tau = 1"
    yield Check(text, best["method"] in (HASH, SISO), f"{best['method']}: {best['map']:.3f}")


FIG_2 = EMBRYOS.item("fig-2", "MAP against the share of labelled data, embryos", measure, taus=_TAUS)
FIG_4 = COREL5K.item("fig-4", "MAP against the share of labelled data, Corel5k", measure, taus=_TAUS)

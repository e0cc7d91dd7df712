"""How good the terms are: the table of scores, the curves of every term, and calibration."""

import warnings

import numpy as np

from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.report import curves
from flyannot.report.drawing import curve_chart, reliability_chart
from flyannot.report.templates import render
from flyannot.report.term_ids import NO_IDS
from flyannot.terms.bootstrap import bootstrap_gene_weights, mean_of_defined
from flyannot.terms.group_outcomes import outcomes_of_groups
from flyannot.terms.metrics import METRICS

_CURVES = (
    ("ROC curve", curves.roc_curves, "false positive rate", "true positive rate"),
    ("Precision-recall curve", curves.precision_curves, "recall (sensitivity)", "precision"),
)


def scores_section(scores, ids=NO_IDS):
    """The table of scores with its filters, the curves, and calibration as HTML; "" without scores.

    The table is sorted and filtered by the page's script, and complete without it.
    """
    if scores is None:
        return ""
    rows = sorted(scores["terms"], key=lambda r: (STAGE_RANGES.index(r["stage_range"]), -(r["auc"] or -1)))
    return render(
        "scores.html",
        notes=[sentence_on_scores(note) for note in scores.get("notes", ())],
        stages=list(dict.fromkeys(row["stage_range"] for row in scores["terms"])),
        rows=[(row, ids.link(row["stage_range"], row["term"])) for row in rows],
        metrics=METRICS,
        stage_ranges=STAGE_RANGES,
        panels=_curve_panels(scores),
        calibration=_calibration(scores),
    )


def sentence_on_scores(text):
    """A note as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def _curve_panels(scores):
    """Return the charts of every term and of the mean over all; empty if there are none.

    A dict from identifier, "" for the mean, to a panel: a dict of title, row (its scores) and charts, a list
    of title and HTML.
    """
    parts = scores.get("evaluated") or {}
    parts = {s: parts[s] for s in STAGE_RANGES if s in parts and parts[s]["term"]}
    if not parts:
        return {}
    rows = {(row["stage_range"], row["term"]): row for row in scores["terms"] if not row["reason"]}
    panels, heights_of_terms, frequencies = {"": {}}, [], []
    genes_of_parts = [evaluated["gene"] for evaluated in parts.values()]
    weights_of_parts = bootstrap_gene_weights(*genes_of_parts, n_samples=curves.N_RESAMPLES)
    for (s, evaluated), weights in zip(parts.items(), weights_of_parts):
        outcome = outcomes_of_groups(evaluated)
        for j, term in enumerate(outcome.terms):
            if row := rows.get((s, term)):
                at = outcome.rows_of(j)
                of_term = outcome.values[at, j], outcome.truth[at, j], outcome.group_folds[at], weights[:, at]
                heights_of_terms.append([make(*of_term) for _, make, *_ in _CURVES])
                frequencies.append(row["n_positive"] / row["n_groups"])
                name = f"{term}, stage range {s}"
                panels[f"{s}|{term}"] = _panel(name, heights_of_terms[-1], row, frequencies[-1])
    if not frequencies:
        return {}
    overall = scores["summary"]["all"]
    means = [mean_of_defined(np.stack(heights), 0) for heights in zip(*heights_of_terms)]
    row = overall["macro"] | {"auc_interval": overall.get("auc_interval")}
    panels[""] = _panel(f"mean of {pluralise(len(frequencies), 'term')}", means, row, np.mean(frequencies))
    return panels


def _panel(name, heights, row, frequency):
    """Both charts of one term, or of the mean of all; `frequency` is the precision of guessing."""
    charts = []
    for (title, _, *axes), of_curve, chance in zip(_CURVES, heights, [(0, 1), (frequency, frequency)]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # no resample has both classes: no band
            band = curves.confidence_band(of_curve)
        chart = curve_chart(*band, curves.GRID, *axes, summary=f"{title} of {name}", chance=chance)
        charts.append((title, chart))
    return {"title": name[0].upper() + name[1:], "row": row, "charts": charts}


def _calibration(scores):
    """The reliability curve of all held-out probabilities; None without any."""
    from sklearn.calibration import calibration_curve

    overall, probabilities, truth = scores["summary"]["all"], [], []
    for evaluated in (scores.get("evaluated") or {}).values():
        if evaluated["probability"]:
            outcome = outcomes_of_groups(evaluated)
            probabilities += outcome.probabilities[outcome.observed].tolist()
            truth += outcome.truth[outcome.observed].tolist()
    if not truth or overall.get("ece") is None:
        return None
    observed, predicted = calibration_curve(truth, probabilities, n_bins=10)
    errors = f"expected calibration error {overall['ece']:.3f}, Brier score {overall['brier']:.3f}"
    summary = f"Reliability curve: {errors}"
    chart = reliability_chart(predicted, observed, summary=summary)
    return {"n_answers": f"{len(truth):,}", "chart": chart, "summary": summary}

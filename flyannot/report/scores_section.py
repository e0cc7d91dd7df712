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

_CURVES = {
    "ROC curve": (curves.roc_curves, "false positive rate", "true positive rate"),
    "Precision-recall curve": (curves.precision_curves, "recall (sensitivity)", "precision"),
}


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
        rows=[_row(row, ids) for row in rows],
        panels=_curve_panels(scores),
        calibration=_calibration(scores),
    )


def sentence_on_scores(text):
    """A note as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def _row(row, ids):
    scores = [] if row["reason"] else [(row[m], row.get(f"{m}_interval")) for m in METRICS]
    return row | {
        "stage_number": STAGE_RANGES.index(row["stage_range"]),
        "curves": _name_of(row["stage_range"], row["term"]),
        "id": ids.link(row["stage_range"], row["term"]),
        "scores": scores,
    }


def _name_of(stage_range, term):
    """The identifier of a term's curves in the page; that of the mean of all is empty."""
    return f"{stage_range}|{term}"


def _curve_panels(scores):
    """Charts of the mean over all terms, and of every term: a dict from identifier to a panel, that is a dict
    of title, facts and charts (a list of title and HTML); empty if there are none."""
    parts = scores.get("evaluated") or {}
    parts = {s: parts[s] for s in STAGE_RANGES if s in parts and parts[s]["term"]}
    if not parts:
        return {}
    rows = {(row["stage_range"], row["term"]): row for row in scores["terms"] if not row["reason"]}
    panels, heights_of_terms, frequencies = {"": {}}, {title: [] for title in _CURVES}, []
    genes_of_parts = [evaluated["gene"] for evaluated in parts.values()]
    weights_of_parts = bootstrap_gene_weights(*genes_of_parts, n_samples=curves.N_RESAMPLES)
    for (s, evaluated), weights in zip(parts.items(), weights_of_parts):
        outcome = outcomes_of_groups(evaluated)
        for j, term in enumerate(outcome.terms):
            if row := rows.get((s, term)):
                at = outcome.rows_of(j)
                of_term = outcome.values[at, j], outcome.truth[at, j], outcome.group_folds[at], weights[:, at]
                heights = {title: make(*of_term) for title, (make, *_) in _CURVES.items()}
                for title in _CURVES:
                    heights_of_terms[title].append(heights[title])
                frequencies.append(row["n_positive"] / row["n_groups"])
                panels[_name_of(s, term)] = _panel(f"{term}, stage range {s}", heights, row, frequencies[-1])
    if len(panels) == 1:
        return {}
    overall = scores["summary"]["all"]
    means = {title: mean_of_defined(np.stack(heights), 0) for title, heights in heights_of_terms.items()}
    row = overall["macro"] | {"auc_interval": overall.get("auc_interval")}
    mean = f"mean of {pluralise(len(panels) - 1, 'term')}"
    panels[""] = _panel(mean, means, row, sum(frequencies) / len(frequencies))
    return panels


def _panel(name, heights, row, frequency):
    """Both charts of one term, or of the mean of all; `frequency` is the precision of guessing."""
    facts = [f"AUC {row['auc']:.3f}"]
    if row.get("auc_interval"):
        facts[0] += " (95 % interval {:.3f} to {:.3f}, bootstrap over genes)".format(*row["auc_interval"])
    if row.get("average_precision") is not None:
        facts.append(f"average precision {row['average_precision']:.3f}")
    if row.get("n_positive"):
        facts.append(f"{row['n_positive']} of {row['n_groups']} groups carry the term")
    charts = []
    for (title, (_, x_name, y_name)), chance in zip(_CURVES.items(), [(0, 1), (frequency, frequency)]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # no resample has both classes: no band
            band = curves.confidence_band(heights[title])
        summary = f"{title} of {name}: {'; '.join(facts)}"
        names = {"x_name": x_name, "y_name": y_name, "summary": summary}
        charts.append((title, curve_chart(*band, curves.GRID, chance=chance, **names)))
    return {"title": name[0].upper() + name[1:], "facts": "; ".join(facts), "charts": charts}


def _calibration(scores):
    """The reliability curve of all held-out probabilities, with its table; None without any."""
    overall, pairs = scores["summary"]["all"], []
    for evaluated in (scores.get("evaluated") or {}).values():
        if evaluated["probability"]:
            outcome = outcomes_of_groups(evaluated)
            pairs.append((outcome.probabilities[outcome.observed], outcome.truth[outcome.observed]))
    if not pairs or overall.get("ece") is None:
        return None
    bins = curves.reliability(*map(np.concatenate, zip(*pairs)))
    errors = f"expected calibration error {overall['ece']:.3f}, Brier score {overall['brier']:.3f}"
    summary = f"Reliability curve: {errors}"
    rows = []
    for k in np.flatnonzero(bins.counts):
        shown = f"{bins.counts[k]:,}", f"{bins.predicted[k]:.3f}", f"{bins.observed[k]:.3f}"
        rows.append((f"{k / 10:.1f} to {(k + 1) / 10:.1f}", *shown))
    chart = reliability_chart(bins, summary=summary)
    return {"n_answers": f"{bins.counts.sum():,}", "chart": chart, "summary": summary, "rows": rows}

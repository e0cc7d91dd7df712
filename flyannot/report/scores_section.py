"""The section of the scores: their table, the curves of every term, and calibration."""

import numpy as np

from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.report import curves
from flyannot.report.drawing import draw_curve, draw_reliability
from flyannot.report.templates import render
from flyannot.report.term_ids import NO_IDS
from flyannot.terms.bootstrap import bootstrap_gene_weights, finite_mean
from flyannot.terms.group_outcomes import outcomes_from_json
from flyannot.terms.metrics import METRICS

_CURVES = (
    ("ROC curve", curves.roc_curves, "false positive rate", "true positive rate"),
    ("Precision-recall curve", curves.precision_curves, "recall (sensitivity)", "precision"),
)


def render_scores(scores, ids=NO_IDS):
    """Render the section of scores as HTML: a table of all terms, their curves, and the calibration.

    `scores` is the dict of scores of a run; if it is None, the result is "". `ids` are the TermIds to link.
    """
    if scores is None:
        return ""
    rows = sorted(scores["terms"], key=lambda r: (STAGE_RANGES.index(r["stage_range"]), -(r["auc"] or -1)))
    return render(
        "scores.html",
        notes=[to_sentence(note) for note in scores.get("notes", ())],
        stages=list(dict.fromkeys(row["stage_range"] for row in scores["terms"])),
        rows=[(row, ids.link(row["stage_range"], row["term"])) for row in rows],
        metrics=METRICS,
        stage_ranges=STAGE_RANGES,
        panels=_draw_panels(scores),
        calibration=_draw_calibration(scores),
    )


def to_sentence(text):
    """Capitalise the first letter of a text, and add a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def _draw_panels(scores):
    """Draw the ROC and precision-recall curves of every term, and their mean over all terms.

    `scores` is the dict of scores of a run.

    Returns
    -------
    dict
        The key is "stage range|term", or "" for the mean. The value is a dict with the `title`, the `row`
        of scores, and `charts`, a list of (title, HTML). Empty if no term was evaluated.
    """
    parts = scores.get("evaluated") or {}
    parts = {s: parts[s] for s in STAGE_RANGES if s in parts and parts[s]["term"]}
    if not parts:
        return {}
    rows = {(row["stage_range"], row["term"]): row for row in scores["terms"] if not row["reason"]}
    panels = {"": {}}
    heights_of_terms = []
    frequencies = []
    genes_of_parts = [evaluated["gene"] for evaluated in parts.values()]
    weights_of_parts = bootstrap_gene_weights(*genes_of_parts, n_samples=curves.N_RESAMPLES)
    for (s, evaluated), weights in zip(parts.items(), weights_of_parts):
        outcome = outcomes_from_json(evaluated)
        for j, term in enumerate(outcome.terms):
            if row := rows.get((s, term)):
                at = outcome.known_rows(j)
                of_term = outcome.values[at, j], outcome.truth[at, j], outcome.group_folds[at], weights[:, at]
                heights_of_terms.append([make(*of_term) for _, make, *_ in _CURVES])
                frequencies.append(row["n_positive"] / row["n_groups"])
                name = f"{term}, stage range {s}"
                panels[f"{s}|{term}"] = _draw_panel(name, heights_of_terms[-1], row, frequencies[-1])
    if not frequencies:
        return {}
    overall = scores["summary"]["all"]
    means = [finite_mean(np.stack(heights), 0) for heights in zip(*heights_of_terms)]
    row = overall["macro"] | {"auc_interval": overall.get("auc_interval")}
    name = f"mean of {pluralise(len(frequencies), 'term')}"
    panels[""] = _draw_panel(name, means, row, np.mean(frequencies))
    return panels


def _draw_panel(name, heights, row, frequency):
    """Draw the ROC and the precision-recall chart of one term, or of the mean over terms.

    Parameters
    ----------
    name : str, shown as the title
    heights : list of two float arrays (1 + n_resamples, len(GRID)), as for `confidence_band`
    row : dict of the scores of the term
    frequency : float, fraction of positives, which is the precision of random guessing

    Returns
    -------
    dict with `title`, `row` and `charts`, a list of (title, HTML)
    """
    charts = []
    for (title, _, *axes), of_curve, chance in zip(_CURVES, heights, [(0, 1), (frequency, frequency)]):
        band = curves.confidence_band(of_curve)
        chart = draw_curve(*band, curves.GRID, *axes, summary=f"{title} of {name}", chance=chance)
        charts.append((title, chart))
    return {"title": name[0].upper() + name[1:], "row": row, "charts": charts}


def _draw_calibration(scores):
    """Draw the reliability curve of all held-out probabilities in the dict of scores of a run.

    Returns a dict with `n_answers`, `chart` (HTML) and `summary`; None if there are no such probabilities.
    """
    overall = scores["summary"]["all"]
    probabilities = []
    truth = []
    for evaluated in (scores.get("evaluated") or {}).values():
        if evaluated["probability"]:
            outcome = outcomes_from_json(evaluated)
            probabilities += outcome.probabilities[outcome.observed].tolist()
            truth += outcome.truth[outcome.observed].tolist()
    if not truth or overall.get("ece") is None:
        return None
    predicted, observed = curves.reliability_curve(np.array(probabilities), np.array(truth))
    errors = f"expected calibration error {overall['ece']:.3f}, Brier score {overall['brier']:.3f}"
    summary = f"Reliability curve: {errors}"
    chart = draw_reliability(predicted, observed, summary=summary)
    return {"n_answers": f"{len(truth):,}", "chart": chart, "summary": summary}

"""How good the terms are: the table of scores, the curves of every term, and calibration."""

import warnings
from html import escape

import numpy as np

from flyannot.report.charts import curve_chart, reliability_chart
from flyannot.report.curves import (
    GRID,
    band,
    gene_weights,
    mean_curve,
    precision_curves,
    reliability,
    roc_curves,
)
from flyannot.report.html import table
from flyannot.report.term_ids import NO_IDS
from flyannot.scores.group_outcomes import outcome_of
from flyannot.scores.metrics import METRICS
from flyannot.stage_ranges import STAGE_RANGES

_HEADS = {
    "auc": ("AUC", "chance that a group with the term gets a larger value than one without; 0.5 is guessing"),
    "average_precision": (
        "AP",
        "average precision: mean precision over the groups with the term, best first",
    ),
    "sensitivity": ("Sensitivity", "of the groups with the term, the fraction answered yes"),
    "specificity": ("Specificity", "of the groups without the term, the fraction answered no"),
    "accuracy": ("Accuracy", "the fraction of right answers"),
    "f1": ("F1", "harmonic mean of precision and sensitivity"),
}
_CURVES = {
    "roc": (roc_curves, "false positive rate", "true positive rate"),
    "precision": (precision_curves, "recall (sensitivity)", "precision"),
}
_RELIABILITY = (
    "If a probability means what it says, the dots lie on the dashed line: of the answers given with "
    "probability 0.8, eight in ten are true. The bars are 95% intervals, as if all answers were independent."
)


def scores_table(scores, ids=NO_IDS):
    """The table of all terms: sorted and filtered by the page's script, complete without it."""
    metrics = [m for m in METRICS if any(m in row for row in scores["terms"])]
    heads = [("Stage range", ""), ("Term", ""), ("Groups", "annotated groups that were judged"),
             ("With term", "groups that carry the term")]  # fmt: skip
    heads += [_HEADS.get(m, (m, "")) for m in metrics]
    head = "".join(_sortable(name, says, i >= 2) for i, (name, says) in enumerate(heads))
    rows = sorted(scores["terms"], key=lambda r: (STAGE_RANGES.index(r["stage_range"]), -(r["auc"] or -1)))
    body = "".join(_row(row, metrics, ids) for row in rows)
    return (
        '<table id="scores-table" class="sortable"><caption class="unseen">Scores of every term</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _sortable(name, says, is_number):
    title = f' title="{escape(says)}"' if says else ""
    kind = ' class="number"' if is_number else ""
    return f'<th scope="col" aria-sort="none"{kind}><button type="button"{title}>{escape(name)}</button></th>'


def _row(row, metrics, ids):
    judged, term = not row["reason"], escape(row["term"])
    curves = curves_id(row["stage_range"], row["term"])
    name = f'<button type="button" class="link" data-curves="{curves}">{term}</button>'
    cells = [
        f'<td data-sort="{STAGE_RANGES.index(row["stage_range"])}">{row["stage_range"]}</td>',
        f'<th scope="row" data-sort="{term}">{name if judged else term} {ids.link(row["term"])}</th>',
        f'<td class="number">{row["n_groups"]}</td><td class="number">{row["n_positive"]}</td>',
    ]
    if judged:
        cells += [_score_cell(row, m) for m in metrics]
    else:
        cells.append(f'<td class="reason" colspan="{len(metrics)}">{escape(row["reason"])}</td>')
    return f'<tr data-stage="{row["stage_range"]}" data-judged="{int(judged)}">{"".join(cells)}</tr>'


def _score_cell(row, metric):
    value = row.get(metric)
    if value is None:
        return (
            '<td class="number" data-sort="-1"><span class="quiet" aria-label="cannot be said">-</span></td>'
        )
    interval = row.get(f"{metric}_interval")
    around = f' <span class="quiet">({interval[0]:.2f}-{interval[1]:.2f})</span>' if interval else ""
    return f'<td class="number" data-sort="{value}">{value:.3f}{around}</td>'


def curves_id(stage_range, term):
    """The identifier of a term's curves in the page."""
    return escape(f"{stage_range}|{term}", quote=True)


def curve_panels(scores):
    """Charts of the mean over all terms, and of every term: a dict from identifier to HTML.

    Parameters
    ----------
    scores : dict as in scores.json, with "evaluated"
    """
    judged = {s: scores["evaluated"][s] for s in STAGE_RANGES if s in scores.get("evaluated", {})}
    judged = {s: one for s, one in judged.items() if one["term"]}
    if not judged:
        return {}
    weights_of = dict(zip(judged, gene_weights([one["gene"] for one in judged.values()])))
    rows = {(row["stage_range"], row["term"]): row for row in scores["terms"]}
    panels, all_heights = {"": ""}, {kind: [] for kind in _CURVES}
    for stage_range, one in judged.items():
        outcome, weights = outcome_of(one), weights_of[stage_range]
        for j, term in enumerate(outcome.terms):
            row = rows[stage_range, term]
            if row["reason"]:
                continue
            heights = {
                kind: curves(outcome.values[:, j], outcome.truth[:, j], outcome.folds, weights)
                for kind, (curves, *_) in _CURVES.items()
            }
            for kind, found in heights.items():
                all_heights[kind].append(found)
            panels[curves_id(stage_range, term)] = _panel(f"{term}, stage range {stage_range}", heights, row)
    if not all_heights["roc"]:
        return {}
    means = {kind: mean_curve(found) for kind, found in all_heights.items()}
    name = f"mean of {len(all_heights['roc'])} terms"
    overall = scores["summary"]["all"]
    panels[""] = _panel(name, means, overall["macro"] | {"auc_interval": overall.get("auc_interval")})
    return panels


def _panel(name, heights, row):
    """Both charts of one term, or of the mean of all."""
    auc, n_positive = row["auc"], row.get("n_positive")
    chance = n_positive / row["n_groups"] if n_positive else None
    facts = [f"AUC {auc:.3f}"]
    if row.get("auc_interval"):
        facts[0] += " (95% interval {:.3f} to {:.3f})".format(*row["auc_interval"])
    if row.get("average_precision") is not None:
        facts.append(f"average precision {row['average_precision']:.3f}")
    if n_positive:
        facts.append(f"{n_positive} of {row['n_groups']} groups carry the term")
    charts = []
    for kind, (_, x_name, y_name) in _CURVES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # no resample has both classes: no band
            curve = band(heights[kind])
        title = "ROC curve" if kind == "roc" else "Precision-recall curve"
        says = f"{title} of {name}: {'; '.join(facts)}"
        guessing = "diagonal" if kind == "roc" else chance
        chart = curve_chart(curve, GRID, x_name=x_name, y_name=y_name, says=says, chance=guessing)
        charts.append(f"<figure><figcaption>{title}</figcaption>{chart}</figure>")
    return (
        f'<h4 tabindex="-1">{escape(name[0].upper() + name[1:])}</h4><p>{escape("; ".join(facts))}.</p>'
        f'<div class="charts">{"".join(charts)}</div>'
    )


def calibration_panel(scores):
    """The reliability curve of all held-out probabilities, with its table; "" without any."""
    pairs = []
    for one in scores.get("evaluated", {}).values():
        if one["probability"] and one["term"]:
            outcome = outcome_of(one)
            pairs.append((outcome.probabilities.ravel(), outcome.truth.ravel()))
    if not pairs:
        return ""
    found = reliability(*map(np.concatenate, zip(*pairs)))
    n = int(found.counts.sum())
    says = f"Reliability curve: expected calibration error {found.ece:.3f}, Brier score {found.brier:.3f}"
    shown = np.flatnonzero(found.counts)
    rows = [
        [f"{k / 10:.1f} to {(k + 1) / 10:.1f}", f"{found.counts[k]:,}", f"{found.predicted[k]:.3f}",
         f"{found.observed[k]:.3f}"]
        for k in shown
    ]  # fmt: skip
    heads = ["Probability given", "Answers", "Mean given", "Fraction true"]
    return (
        f'<div class="charts"><figure><figcaption>Reliability, {n:,} answers</figcaption>'
        f"{reliability_chart(found, says=says)}</figure><div><p>{escape(says)}. {_RELIABILITY}</p>"
        f"{table(heads, rows, label='Calibration', numbers=(1, 2, 3))}</div></div>"
    )

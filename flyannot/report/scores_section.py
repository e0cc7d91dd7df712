"""The section of the scores: their table, and the calibration of the probabilities."""

import numpy as np

from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.report.templates import render
from flyannot.report.term_ids import NO_IDS
from flyannot.terms.group_outcomes import outcomes_from_json
from flyannot.terms.metrics import LEAST_GENES, METRICS


def render_scores(scores, ids=NO_IDS):
    """Render the section of scores as HTML: a table of all terms, their mean, and the calibration.

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
        least_genes=LEAST_GENES,
        stage_ranges=STAGE_RANGES,
        overall=scores["summary"]["all"],
        calibration=_find_calibration(scores),
    )


def to_sentence(text):
    """Capitalise the first letter of a text, and add a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def _find_calibration(scores):
    """Compute the reliability curve of all held-out probabilities in the dict of scores of a run.

    Returns a dict with `n_answers`, `points` and `summary`; None if there are no such probabilities.
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
    points = reliability_curve(np.array(probabilities), np.array(truth)).T.tolist()
    errors = f"expected calibration error {overall['ece']:.3f}, Brier score {overall['brier']:.3f}"
    return {"n_answers": f"{len(truth):,}", "points": points, "summary": f"Reliability curve: {errors}"}


def reliability_curve(probabilities, truth, n_bins=10):
    """Compute a reliability curve: mean probability and fraction of positives in bins of equal width.

    Parameters
    ----------
    probabilities : float array (n,), in [0, 1]
    truth : bool array (n,), True for positives
    n_bins : int

    Returns
    -------
    float array (2, n_nonempty_bins): mean probabilities in the first row, fractions in the second
    """
    bins = np.minimum((probabilities * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    sums = np.stack([np.bincount(bins, values, n_bins) for values in (probabilities, truth)])
    return (sums / np.maximum(counts, 1))[:, counts > 0]

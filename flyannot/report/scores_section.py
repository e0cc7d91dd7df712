"""The sections of the scores: their table, and the calibration of the probabilities."""

from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.files.hdf5.model import BASE_MODEL, read_classifier
from flyannot.files.hdf5.supplied import measured_on
from flyannot.report.templates import render
from flyannot.report.term_ids import NO_IDS
from flyannot.terms.calibration import NO_ANSWERS, calibration_errors, reliability_bins
from flyannot.terms.metrics import LEAST_GENES, METRICS
from flyannot.terms.model import PER_TERM
from flyannot.terms.training_set import judged_weights


def render_scores(scores, ids=NO_IDS):
    """Render the section of scores as HTML: a table of all terms, and their mean.

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
    )


def to_sentence(text):
    """Capitalise the first letter of a text, and add a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def render_calibration(run):
    """Render the section with the reliability diagrams of a `Run` as HTML; "" if there is none.

    The first is of its answers about curated genes.  The second is of the held-out answers by which its model
    was tested.  It is left out if the first is of the same answers.
    """
    own = _draw_curated_answers(run)
    is_adapted = run.scores and BASE_MODEL in run.scores["made_from"]
    diagrams = [*own, *([] if own and not is_adapted else _draw_model_test(run))]
    return render("calibration.html", diagrams=diagrams) if diagrams else ""


def _draw_curated_answers(run):
    """Return a list with the diagram of the answers about curated genes that their model did not learn from.

    Terms that were chosen for a verdict do not count, see `Annotations.judged_weights`.  The list is empty
    if there are no such answers.
    """
    parts = []
    n = 0
    for s, groups, found in ((one.stage_range, one.groups, one.predicted) for one in run.shown_groups):
        if found:
            weights = judged_weights(groups, run.annotations, s, found.terms)
            used = (weights > 0) & (found.curated >= 0) & (found.held_out | ~found.in_training[:, None])
            parts.append(reliability_bins(found.probability[used], found.curated[used], weights[used]))
            n += used.sum()
    return _draw(parts, n, "answers about held-out genes")


def _draw_model_test(run):
    """Return a list with the diagram of the held-out answers that tested the model, empty without any."""
    models = [(s, stored) for s in run.stage_ranges if (stored := run.stored("model", s))]
    parts = [read_classifier(stored, s, PER_TERM, 0)["reliability"].sum(axis=0) for s, stored in models]
    n = round(sum(bins[:, 2].sum() for bins in parts))
    return _draw(parts, n, "held-out answers of the model" + "".join({measured_on(f) for _, f in models}))


def _draw(parts, n, what):
    """Return a list with what the template draws of `reliability_bins`, as a dict; it is empty if n is 0."""
    bins = sum(parts, NO_ANSWERS)
    used = bins[:, 2] > 0
    about = {"what": f"{n:,} {what}", "points": (bins[used, :2] / bins[used, 2:3]).tolist()}
    return [about | calibration_errors(bins)] if n else []

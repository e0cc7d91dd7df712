"""Scores as a plain text table, at most 100 columns wide."""

from textwrap import wrap

from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.terms.metrics import METRICS

_TERM_WIDTH = 41
_WIDTH = _TERM_WIDTH + 16 + 7 * len(METRICS)
_HEADS = {"auc": "AUC", "average_precision": "AP", "sensitivity": "sens.", "specificity": "spec."}
_HEADS |= {"accuracy": "acc.", "f1": "F1"}
_AVERAGES = {
    "macro": "mean (macro)",
    "weighted_top10": "ten most frequent terms, weighted",
    "micro": "all groups and terms (micro)",
}
_RANKED_TERMS = "the terms of a group, best first (mean)"
_LEGEND = """\
positive: groups that have the term.  AUC: chance that a positive group gets a larger value than a
negative one (0.5 is guessing).  AP: average precision of the groups, best first (guessing: the
fraction of positives).  sens.: positives answered yes.  spec.: negatives answered no.  acc.: right
answers.  F1: harmonic mean of precision and sensitivity.  -: undefined.  Jaccard index: terms in
both lists of a group, over terms in either; brackets: 95% interval by a bootstrap over genes."""


def format_scores(result, *, synthetic=False):
    """Format scores as a table, best terms first, for each stage range; without a final newline.

    Parameters
    ----------
    result : dict, as `score_terms` returns; sentences under "notes" come first
    synthetic : whether the images are synthetic, which the heading says
    """
    heading = "Scores on SYNTHETIC embryos" if synthetic else "Scores"
    blocks = ["\n".join([heading, *result.get("notes", ())])]
    ranges = [s for s in STAGE_RANGES if s in result["summary"]]
    for stage_range in ranges:
        rows = [row for row in result["terms"] if row["stage_range"] == stage_range]
        blocks.append("\n".join(_format_stage_range(stage_range, rows, result["summary"][stage_range])))
    overall = result["summary"]["all"]
    if len(ranges) != 1 and overall["n_terms"]:
        title = f"All stage ranges: {pluralise(overall['n_terms'], 'term')} evaluated"
        blocks.append("\n".join([title, _header(), *_averages(overall)]))
    return "\n\n".join([*blocks, *([_LEGEND] if overall["n_terms"] else [])])


def _format_stage_range(stage_range, rows, summary):
    """Format the table of one stage range, and yield its lines.

    Parameters
    ----------
    stage_range : str
    rows : list of dicts of scores, one for each term
    summary : dict of its averages
    """
    scored = [row for row in rows if not row["reason"]]
    yield f"Stage range {stage_range}: {summary['n_terms']} of {pluralise(len(rows), 'term')} evaluated"
    if scored:
        yield _header()
    for row in sorted(scored, key=lambda row: (-row["auc"], row["term"])):
        yield _line(row["term"], row, row["n_groups"], row["n_positive"])
    if scored:
        yield from ["-" * _WIDTH, *_averages(summary)]
    for reason in sorted({row["reason"] for row in rows if row["reason"]}):  # terms without scores
        terms = sorted(row["term"] for row in rows if row["reason"] == reason)
        yield from wrap(f"{reason}: {', '.join(terms)}", _WIDTH, subsequent_indent="    ")


def format_comparison(comparison, names):
    """Format the result of `compare_outcomes` as a table.

    names : the names of the two evaluations
    """
    heads = f"{'AUC':<{_TERM_WIDTH}}{'A':>8}{'B':>8}{'B - A':>8}{'95% interval':>18}{'p':>8}"
    lines = [f"A: {names[0]}", f"B: {names[1]}", "", heads, "-" * len(heads)]
    for row in sorted(comparison["terms"], key=lambda row: (-row["difference"], row["term"])):
        lines.append(_comparison_line(row["term"], row))
    if comparison["mean"]:
        mean_of = f"mean of {pluralise(len(comparison['terms']), 'term')}"
        lines += [lines[4], _comparison_line(mean_of, comparison["mean"])]
    lines += ["", "Bootstrap over genes, the same ones for A and B.  p: two-sided, for no difference."]
    return "\n".join(lines)


def _comparison_line(name, row):
    """Return the line of one term in the table of a comparison.

    name : of the term; row : dict with the two AUCs and their difference
    """
    low, high = row["interval"] or (float("nan"), float("nan"))
    interval = f"{low:+.3f} to {high:+.3f}"
    aucs = f"{row['first']:8.3f}{row['second']:8.3f}{row['difference']:+8.3f}"
    return f"{_fit_name(name)}{aucs}{interval:>18}{row['p']:8.3f}"


def _header():
    """Return the heading of a table."""
    heads = "".join(f"{_HEADS[metric]:>7}" for metric in METRICS)
    return f"{'term':<{_TERM_WIDTH}} {'groups':>6} {'positive':>8}{heads}\n{'-' * _WIDTH}"


def _averages(summary):
    """Yield the lines below the terms: averages, agreement of groups, interval of the mean AUC, calibration.

    summary : dict of averages, as in `score_terms`
    """
    for key, name in _AVERAGES.items():
        yield _line(name, summary[key])
    yield _line(_RANKED_TERMS, dict.fromkeys(METRICS) | {"average_precision": summary["ranked_terms"]})
    yield from _agreement(summary)
    if summary.get("auc_interval"):
        low, high = summary["auc_interval"]
        yield f"mean AUC: 95% interval {low:.3f} to {high:.3f}, by a bootstrap over genes"
    if summary.get("ece") is not None:
        ece, brier = summary["ece"], summary["brier"]
        yield f"probabilities: calibration error (ECE, 10 bins) {ece:.3f}, Brier score {brier:.3f}"


def _agreement(summary):
    """Yield lines on the lists of suggested terms: their lengths, how many are right, and their agreement."""
    of_groups = summary["groups"]
    if of_groups["f1"] is None:
        return
    precision = summary["micro"].get("precision")
    sensitivity = summary["micro"].get("sensitivity")
    right = "" if precision is None else f" ({precision:.0%} right)"
    found = "" if sensitivity is None else f" ({sensitivity:.0%} found)"
    suggested = f"{of_groups['n_yes']:.1f} suggested{right}"
    yield f"terms of a group: {suggested}, {of_groups['n_curated']:.1f} curated{found}"
    means = []
    for name, title in (("f1", "F1"), ("jaccard", "Jaccard")):
        low, high = of_groups.get(f"{name}_interval") or (float("nan"), float("nan"))
        means.append(f"{title} {of_groups[name]:.3f} ({low:.3f} to {high:.3f})")
    yield f"agreement of a group with its curated terms: {', '.join(means)}"


def _line(name, scores, n_groups="", n_positive=""):
    """Return the line of a term or of an average.

    scores : dict from metric to value; n_groups, n_positive : numbers, or "" for an average
    """
    columns = "".join(f"{_format_score(scores[metric]):>7}" for metric in METRICS)
    return f"{_fit_name(name)} {n_groups:>6} {n_positive:>8}{columns}"


def _fit_name(name):
    """Return the name cut or padded to exactly _TERM_WIDTH characters."""
    return f"{name if len(name) <= _TERM_WIDTH else name[: _TERM_WIDTH - 3] + '...':<{_TERM_WIDTH}}"


def _format_score(value):
    """Return a score with three decimals, or - for None."""
    return "-" if value is None else f"{value:.3f}"

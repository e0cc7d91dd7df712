"""Files of scores: compared, and explained if nothing could be evaluated."""

import numpy as np

from flyannot.base.errors import FlyannotError, InputError
from flyannot.base.text import pluralise
from flyannot.pipeline.engine.curated_terms import require_same_terms
from flyannot.terms.bootstrap import compare_outcomes
from flyannot.terms.group_outcomes import read_scores

_ENOUGH_GENES = "annotate more genes: scores are informative from about 20 genes with a term"


def read_scored_model(json_file):
    """Return {"model": digest} of the model that a file of scores belongs to, or {}."""
    model = read_scores(json_file)["made_from"].get("model")
    return {"model": model} if model else {}


def compare_files(first, second):
    """Compare two files of `flyannot evaluate --json`.

    Returns
    -------
    comparison : dict, as `compare_outcomes` returns

    Raises
    ------
    InputError
        If a file is missing, or the two have no stage range, term and group in common.
    DataError
        If a file is damaged, or the two were judged by different curated terms.
    """
    scores = [read_scores(path) for path in (first, second)]
    one, other = (of_file["made_from"] for of_file in scores)
    require_same_terms(first, one, second, other, ("annotations", "corrections", "roll_up"))
    comparison = compare_outcomes(*scores)
    if comparison["mean"] is None:
        raise InputError(
            f"{first} and {second} have no term and group in common",
            fix="compare two evaluations of the same data set",
        )
    return comparison


def describe_curation_effect(before, now):
    """Return sentences on how the scores changed since curators changed the terms of some genes.

    Both mean AUCs are over the terms that were evaluated before and now, on the groups that were evaluated
    both times, and judged by the present terms. Means over all terms could differ only because other terms
    are evaluated.

    Parameters
    ----------
    before, now : dicts of scores, as `read_scores` returns
    """
    mean = compare_outcomes(before, now)["mean"]
    sentences = []
    rows_before, rows_now = (
        {(row["stage_range"], row["term"]): row for row in scores["terms"]} for scores in (before, now)
    )
    was = {key for key, row in rows_before.items() if not row["reason"]}
    evaluated = {key for key, row in rows_now.items() if not row["reason"]}
    if mean:
        n_terms = pluralise(len(was & evaluated), "term")
        sentences.append(f"learned with other curated terms: over the same {n_terms} {_format_change(mean)}")
    for stage_range, term in sorted(was - evaluated):
        row = rows_now.get((stage_range, term), {"reason": "no gene with images has it any more"})
        why = row["reason"].removeprefix("not evaluable: ")
        sentences.append(f"warning: no longer evaluated: {term} ({stage_range}): {why}")
    if new := sorted(evaluated - was):
        sentences.append(f"evaluated for the first time: {', '.join(f'{term} ({s})' for s, term in new)}")
    return sentences


def _format_change(mean):
    """Format the change of a mean AUC, from the entry "mean" of `compare_outcomes`."""
    low, high = mean["interval"] or (np.nan, np.nan)
    return (
        f"and genes, the mean AUC was {mean['first']:.3f} and is {mean['second']:.3f} "
        f"({mean['difference']:+.3f}, 95% interval {low:+.3f} to {high:+.3f})"
    )


def nothing_evaluated_error(result):
    """Return an error that says what is missing if no term could be evaluated, otherwise None.

    Parameters
    ----------
    result : dict, as `read_scores` returns
    """
    if result["summary"]["all"]["n_terms"]:
        return None
    parts = result["evaluated"].values()
    n_genes = len({gene for part in parts for gene in part["gene"]})
    genes = pluralise(n_genes, "gene is", "genes are")
    most = max((row["n_positive"] for row in result["terms"]), default=0)
    if all(part["fold"] is None for part in parts):
        missing = "the model has no term that some of them carry and others lack"
        more = ""
    else:
        folds = result["made_from"]["evaluate"]["folds"]
        least = max(folds, result["made_from"]["train"]["min_groups"])
        if most < least:
            wanted = f"and at least {least} genes with a term and {folds} without it are needed"
        else:
            wanted = f"and in {folds} folds too few genes with it, or without it, are left to learn from"
        missing = f"{most} carry the most frequent term, {wanted}"
        more = "; --folds and --min-groups lower what is needed"
    return FlyannotError(
        f"nothing could be evaluated: {genes} annotated, {missing}", fix=_ENOUGH_GENES + more
    )

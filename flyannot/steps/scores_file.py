"""scores.json, read: whole or refused, compared with another, and what is missing where it has no score."""

from flyannot.errors import DataError, FlyannotError, InputError
from flyannot.runtime.digest import has_own_digest
from flyannot.runtime.text_files import read_json
from flyannot.runtime.wording import pluralise
from flyannot.scores.bootstrap import compare_outcomes
from flyannot.store.header import renamed_options

_ENOUGH_GENES = "annotate more genes: scores are worth having from 20 or so of a term"


def read_scores(path):
    """The result that a file of scores holds.

    Raises
    ------
    InputError
        If it cannot be read, or does not hold scores.
    DataError
        If it is not what was written.
    """
    fix = "name a file made by: flyannot evaluate --json"
    scores = read_json(path, what="scores", fix=fix)
    try:
        _ = scores["terms"], scores["summary"]["all"], scores["evaluated"], scores["made_from"]
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} does not hold scores", fix=fix) from error
    if not has_own_digest(scores):
        raise DataError(
            f"{path} is damaged: its contents do not have the digest that it names",
            fix="delete it, and make it again with: flyannot evaluate --json",
        )
    return scores | {"made_from": renamed_options(scores["made_from"])}


def compare_files(first, second):
    """Compare two files of `flyannot evaluate --json`.

    Returns
    -------
    comparison : dict, as `flyannot.scores.bootstrap.compare_outcomes` returns

    Raises
    ------
    InputError
        If a file is missing, or they have no stage range, term and group in common.
    DataError
        If a file does not hold scores with the values of every group.
    """
    scores = [read_scores(path) for path in (first, second)]
    try:
        comparison = compare_outcomes(*scores)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise DataError(
            f"{first} or {second} is damaged ({error})", fix="make both again with --json"
        ) from error
    if comparison["mean"] is None:
        raise InputError(
            f"{first} and {second} have no term and group in common",
            fix="compare two evaluations of the same data set",
        )
    return comparison


def nothing_evaluated(result):
    """The FlyannotError that says what is missing where not one term could be evaluated; None if one was.

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
        missing, more = "the model has no term that some of them carry and others lack", ""
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

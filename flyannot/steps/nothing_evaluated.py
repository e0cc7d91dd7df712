"""What is missing where not one term could be evaluated."""

from flyannot.errors import FlyannotError
from flyannot.runtime.wording import pluralise

_FIX = "annotate more genes: scores are worth having from 20 or so of a term"


def nothing_evaluated(result):
    """The FlyannotError that says what is missing, or None if a term was evaluated.

    Parameters
    ----------
    result : dict, as `flyannot.steps.evaluate.evaluate_files` returns
    """
    if result["summary"]["all"]["n_terms"]:
        return None
    parts = result["evaluated"].values()
    n_genes = len({gene for one in parts for gene in one["gene"]})
    genes = pluralise(n_genes, "gene is", "genes are")
    most = max((row["n_positive"] for row in result["terms"]), default=0)
    if all(one["fold"] is None for one in parts):
        missing, more = "the model has no term that some of them carry and others lack", ""
    else:
        folds = result["made_from"]["evaluate"]["folds"]
        least = max(folds, result["made_from"]["classify"]["min_groups"])
        if most < least:
            wanted = f"and at least {least} genes with a term and {folds} without it are needed"
        else:
            wanted = f"and in {folds} folds too few genes with it, or without it, are left to learn from"
        missing = f"{most} carry the most frequent term, {wanted}"
        more = "; --folds and --min-groups lower what is needed"
    return FlyannotError(f"nothing could be evaluated: {genes} annotated, {missing}", fix=_FIX + more)

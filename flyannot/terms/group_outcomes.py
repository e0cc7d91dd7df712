"""The predictions for every group, as part of the JSON of scores: for curves, intervals and comparisons.

Every stage range has

- `group` and `gene` : n_groups names
- `fold` : n_groups numbers, or None if one model evaluated all groups
- `term` : n_terms names, of the terms that can be evaluated
- `truth` and `yes` : for each term a text of 0 and 1, in the order of the groups; ? is unknown, and in `yes`
  an answer that is open, because its probability is its threshold
- `value` and `probability` : for each term a list of numbers, in the order of the groups
- `threshold` : for each term one number per fold, the probability above which its model answers yes; None if
  terms have no threshold of their own
- `group_threshold` : then n_groups numbers, the probability above which the answers about a group are yes

Decision values of different folds have no common scale; probabilities have.
"""

import json
from itertools import chain
from pathlib import Path

import numpy as np

from flyannot.base.errors import DataError, InputError
from flyannot.files.digest import add_digest, matches_own_digest
from flyannot.files.text_files import read_first_bytes, read_json
from flyannot.terms.metrics import TermOutcomes

_BEGINS = b'{\n "terms": ['  # the first bytes of a file of scores, also of a damaged one
_DIGITS = 9  # digits of a decision value; a probability has 6 decimals


def outcomes_to_json(outcome, names, genes):
    """Convert the TermOutcomes of one stage range to a dict for JSON, which the module docstring describes.

    Parameters
    ----------
    outcome : TermOutcomes
    names, genes : sequences (n_groups,) of str, the name and the gene of each group
    """
    kept = [j for j, reason in enumerate(outcome.reasons) if not reason]
    threshold = group_threshold = None
    is_open = np.zeros(outcome.yes.shape, bool)
    if outcome.thresholds is not None:
        _, first, number = np.unique(outcome.group_folds, return_index=True, return_inverse=True)
        thresholds = outcome.thresholds[:, kept].round(6)
        if (thresholds == thresholds[first][number]).all():
            threshold = thresholds[first].T.tolist()
        else:
            is_open = outcome.thresholds == outcome.probabilities
            group_threshold = np.where(is_open[:, kept], 0.0, thresholds).max(axis=1).tolist()
    return {
        "group": list(names),
        "gene": list(genes),
        "fold": None if outcome.folds is None else outcome.folds.tolist(),
        "term": [outcome.terms[j] for j in kept],
        "truth": [_to_bits(outcome.truth[:, j], outcome.observed[:, j]) for j in kept],
        "yes": [_to_bits(outcome.yes[:, j], ~is_open[:, j]) for j in kept],
        "value": [[float(f"{v:.{_DIGITS}g}") for v in outcome.values[:, j].tolist()] for j in kept],
        "probability": outcome.probabilities[:, kept].T.round(6).tolist(),
        "threshold": threshold,
        "group_threshold": group_threshold,
    }


def is_cross_validated(groups):
    """Return True if the predictions of a stage range are by cross-validation, and False if by one model.

    groups : dict, as `outcomes_to_json` returns
    """
    return bool(groups["term"]) and groups["fold"] is not None


def outcomes_from_json(groups):
    """Return the TermOutcomes of one stage range from the dict that `outcomes_to_json` made."""
    n = len(groups["group"])
    folds = groups["fold"]
    thresholds = groups["threshold"]
    group_thresholds = groups["group_threshold"]
    if group_thresholds is not None:
        thresholds = np.repeat(np.array(group_thresholds, float)[:, None], len(groups["term"]), axis=1)
    elif thresholds is not None:
        number = 0 if folds is None else np.unique(folds, return_inverse=True)[1]
        thresholds = _by_group([np.broadcast_to(np.array(t)[number], n) for t in thresholds], n, float)
    truth, yes = (_by_group([list(text) for text in groups[name]], n, "U1") for name in ("truth", "yes"))
    probabilities = _by_group(groups["probability"], n, float)
    if group_thresholds is not None:
        thresholds = np.where(yes == "?", probabilities, thresholds)
    values = _by_group(groups["value"], n, float)
    folds = None if folds is None else np.array(folds, int)
    of_groups = truth == "1", values, yes == "1", probabilities, folds
    return TermOutcomes(tuple(groups["term"]), *of_groups, thresholds=thresholds, observed=truth != "?")


def format_scores_json(result):
    """Format a dict of scores as the text of scores.json.

    The text is indented, except that the predictions for the groups of a stage range take one line.  A
    `digest` of everything else is added, by which damage is noticed.
    """
    result = add_digest(json.loads(json.dumps({k: v for k, v in result.items() if k != "digest"})))
    text = json.dumps({k: v for k, v in result.items() if k != "evaluated"}, indent=1, ensure_ascii=False)
    lines = [
        f"  {json.dumps(s)}: {json.dumps(groups, ensure_ascii=False, separators=(',', ':'))}"
        for s, groups in result["evaluated"].items()
    ]
    return text.removesuffix("\n}") + ',\n "evaluated": {\n' + ",\n".join(lines) + "\n }\n}\n"


def read_scores(path):
    """Read a scores.json, and return its dict of scores.

    Raises
    ------
    InputError
        If the file cannot be read, or does not contain scores.
    DataError
        If it is damaged.
    """
    fix = "give a file made by: flyannot evaluate --json"
    try:
        scores = read_json(path, what="scores", fix=fix)
        is_whole = isinstance(scores, dict) and "made_from" in scores and matches_own_digest(scores)
        evaluated = scores.get("evaluated", {}) if is_whole else None
        if isinstance(evaluated, dict) and all(map(_has_one_shape, evaluated.values())):
            return scores
        raise InputError(f"{path} does not contain scores", fix=fix)
    except InputError:
        if not Path(path).is_file() or read_first_bytes(path, len(_BEGINS)) != _BEGINS:
            raise
        raise DataError(
            f"{path} is damaged: its contents do not match its digest",
            fix="delete it, and make it again with: flyannot evaluate --json",
        ) from None


def _has_one_shape(groups):
    """Return True if the columns of a stage range have equal lengths; otherwise they could fill memory."""
    try:
        n = len(groups["group"])
        n_terms = len(groups["term"])
        columns = [groups[name] for name in ("truth", "yes", "value", "probability")]
        of_terms = [*columns, groups["threshold"] or columns[0]]
        of_groups = [*chain(*columns), groups["group_threshold"] or groups["group"]]
        return {n_terms} == {*map(len, of_terms)} and {n} == {*map(len, of_groups)}
    except (KeyError, TypeError):  # a column is missing, or is no list
        return False


def _to_bits(column, observed):
    """Write a bool column as a text of 0 and 1, with ? where `observed` is False."""
    letters = np.where(observed, np.where(column, "1", "0"), "?")
    return "".join(letters.tolist())


def _by_group(rows, n, dtype):
    """Convert lists, one for each term, to an array (n_groups, n_terms).

    rows : list of n_terms sequences of length n; n : the number of groups; dtype : of the array
    """
    return np.array(rows, dtype).reshape(len(rows), n).T

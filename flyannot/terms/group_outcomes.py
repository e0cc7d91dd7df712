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
from pathlib import Path
from typing import Any

import numpy as np

from flyannot.base.errors import DataError, InputError
from flyannot.base.options import ChoiceType, FlagType, FloatType, IntegerType, TextType
from flyannot.base.schema import check_schema
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.files.digest import add_digest, matches_own_digest
from flyannot.files.text_files import read_first_bytes, read_json
from flyannot.terms.metrics import AGREEMENT, METRICS, TermOutcomes

_BEGINS = b'{\n "terms": ['  # the first bytes of a file of scores, also of a damaged one
_DIGITS = 9  # digits of a decision value; a probability has 6 decimals

_TEXT = TextType()
_COUNT = IntegerType(least=0)
_SHARE = FloatType(0, 1)
_INTERVAL = [_SHARE, _SHARE], None
_MEASURED: Any = dict.fromkeys(METRICS, _SHARE)  # of a term that is evaluated, and of the mean of terms
_OPEN: Any = dict.fromkeys(("auc", "precision"), (_SHARE, None))
_CONFIDENCE: Any = {"auc_interval": _INTERVAL, "brier": (_SHARE, None), "ece": (_SHARE, None)}
_TERM = dict.fromkeys(("term", "reason"), _TEXT) | dict.fromkeys(("n_groups", "n_positive"), _COUNT)
_TERM |= {"stage_range": ChoiceType(STAGE_RANGES)} | _OPEN | _CONFIDENCE
_AGREEMENT: Any = dict.fromkeys(AGREEMENT, FloatType(least=0))
_AGREEMENT |= dict.fromkeys(("f1_interval", "jaccard_interval"), _INTERVAL)
_SUMMARY: Any = {"macro": _MEASURED, "weighted_top10": _MEASURED, "micro": _MEASURED | _OPEN}
_SUMMARY |= {"groups": _AGREEMENT, "ranked_terms": (_SHARE, None)}  # if any term is evaluated
_NO_SUMMARY = {"macro": {"auc": (_SHARE, None)}} | _CONFIDENCE
_RUN = {"scored": [_TEXT], "train": {}, "evaluate": {}, "model": (_TEXT, None)}
_FOLDS = {"train": {"min_groups": _COUNT}, "evaluate": {"folds": _COUNT}}  # of a cross-validation
_GROUPS: Any = {"group": [_TEXT], "gene": [_TEXT], "term": [_TEXT], "fold": ([_COUNT], None)}
_GROUPS |= {"threshold": ([[FloatType()]], None), "group_threshold": ([FloatType()], None)}
_SCORES: Any = {"notes": [_TEXT], "synthetic": FlagType(), "made_from": _RUN, "terms": [_TERM]}
_SCORES |= {"summary": {"all": _NO_SUMMARY, None: _NO_SUMMARY}, "evaluated": {None: _GROUPS}}


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
    """Return the TermOutcomes of one stage range from the dict that `outcomes_to_json` made.

    Raises
    ------
    ValueError
        If a column has another length, or values of another kind.
    """
    n = len(_to_array(groups, "gene", (len(groups["group"]),), object))
    shape = len(groups["term"]), n
    folds = None if groups["fold"] is None else _to_array(groups, "fold", (n,), int)
    truth, yes = (_to_array(groups, name, shape, "U1").T for name in ("truth", "yes"))
    values, probabilities = (_to_array(groups, name, shape, float).T for name in ("value", "probability"))
    if ((probabilities < 0) | (probabilities > 1)).any():
        raise ValueError("evaluated: probability is not between 0 and 1")
    thresholds = None
    if groups["group_threshold"] is not None:
        of_groups = _to_array(groups, "group_threshold", (n,), float)
        thresholds = np.where(yes == "?", probabilities, of_groups[:, None])
    elif groups["threshold"] is not None:
        found, number = np.unique([0] * n if folds is None else folds, return_inverse=True)
        thresholds = _to_array(groups, "threshold", (shape[0], len(found)), float)[:, number].T
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
        If it is damaged, or a field does not have its type, range or length.
    """
    fix = "give a file made by: flyannot evaluate --json"
    again = "delete it, and make it again with: flyannot evaluate --json"
    try:
        scores = read_json(path, what="scores", fix=fix)
        if not isinstance(scores, dict) or not matches_own_digest(scores):
            raise InputError(f"{path} does not contain scores", fix=fix)
    except InputError:
        if not Path(path).is_file() or read_first_bytes(path, len(_BEGINS)) != _BEGINS:
            raise
        raise DataError(f"{path} is damaged: its contents do not match its digest", fix=again) from None
    try:
        _check_scores(scores)
    except ValueError as error:
        raise DataError(f"{path} is damaged: {error}", fix=again) from None
    return scores


def _check_scores(scores):
    """Raise ValueError, with the name of the field, if a dict of scores lacks what its readers use."""
    check_schema(scores, _SCORES)
    rows = {(row["stage_range"], row["term"]): row for row in scores["terms"]}
    for key, row in rows.items():
        check_schema(row, {} if row["reason"] else _MEASURED, f"terms.{key}")
    for s, summary in scores["summary"].items():
        n = sum(not row["reason"] for row in scores["terms"] if s in ("all", row["stage_range"]))
        check_schema(summary, {"n_terms": IntegerType(n, n)} | (_SUMMARY if n else {}), f"summary.{s}")
    for s, groups in scores["evaluated"].items():
        outcomes_from_json(groups)
        if missing := {(s, term) for term in groups["term"]} - rows.keys():
            raise ValueError(f"terms has no row of {min(missing)}")
        check_schema(scores["made_from"], {} if groups["fold"] is None else _FOLDS, "made_from")


def _to_bits(column, observed):
    """Write a bool column as a text of 0 and 1, with ? where `observed` is False."""
    letters = np.where(observed, np.where(column, "1", "0"), "?")
    return "".join(letters.tolist())


def _to_array(groups, name, shape, dtype):
    """Convert a column of a stage range to an array of a shape and dtype, of finite numbers or of letters.

    Raises
    ------
    ValueError
        If the column is missing, or cannot be converted.
    """
    try:
        rows = map(list, groups[name]) if dtype == "U1" else groups[name]
        array = np.array([*rows], dtype).reshape(shape) if len(groups[name]) == shape[0] else None
    except (KeyError, TypeError, ValueError, OverflowError):
        array = None
    if array is None or (dtype is float and not np.isfinite(array).all()):
        raise ValueError(f"evaluated: {name} is not an array of shape {shape}")
    return array

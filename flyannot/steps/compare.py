"""Two scores.json to the difference between them."""

import json

from flyannot.errors import DataError, InputError
from flyannot.scores.bootstrap import compare


def compare_files(first, second):
    """Compare two files of `flyannot evaluate --json`.

    Returns
    -------
    comparison : dict, as `flyannot.scores.bootstrap.compare` returns

    Raises
    ------
    InputError
        If a file is missing, or they have no stage range, term and group in common.
    DataError
        If a file does not hold scores with the values of every group.
    """
    scores = [_read(path) for path in (first, second)]
    try:
        comparison = compare(*scores)
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


def _read(path):
    fix = "name a file made by: flyannot evaluate --json"
    try:
        scores = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", fix=fix) from error
    except ValueError as error:
        raise DataError(f"{path} is not JSON", fix=fix) from error
    if not isinstance(scores, dict) or not isinstance(scores.get("judged"), dict):
        raise DataError(f"{path} does not hold the values of every group", fix=fix)
    return scores

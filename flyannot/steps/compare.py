"""Two scores.json to the difference between them."""

from flyannot.errors import DataError, InputError
from flyannot.scores.bootstrap import compare_outcomes
from flyannot.scores.group_outcomes import read_scores


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

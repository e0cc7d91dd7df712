"""The lists of `flyannot.report.queue` as a table, without a page."""

from flyannot.errors import InputError
from flyannot.report.groups import entries_of_terms
from flyannot.report.queue import CHECK, LOOK, Queue
from flyannot.runtime.atomic_file import locked_output
from flyannot.runtime.tables import read_table, write_table
from flyannot.runtime.wording import pluralise

COLUMNS = ("queue", "gene", "fbgn", "stage_range", "term", "curated", "probability", "threshold", "worth")


def queue_rows(run):
    """The rows of both lists: groups by the sum of what their terms are worth, then terms to check by doubt.

    Parameters
    ----------
    run : flyannot.report.run_folder.Run

    Returns
    -------
    rows : list of tuples of text, as COLUMNS

    Raises
    ------
    InputError
        If the run has no predictions.
    """
    if "predictions" not in run.files:
        raise InputError(
            f"{run.folder} has no predictions.h5, and the queue is made of predictions",
            fix="name the output folder of: flyannot run CONFIG",
        )
    queue, looks, checks = Queue(run.scores), [], []
    for stage_range in run.files["predictions"].stage_ranges:
        for entry, _ in entries_of_terms(run, stage_range, queue):
            mine = sorted((one for one in entry.terms if one.queue == LOOK), key=lambda one: -one.worth)
            if mine:
                looks.append((sum(one.worth for one in mine), [_row(entry, one) for one in mine]))
            checks += [(one.worth, [_row(entry, one)]) for one in entry.terms if one.queue == CHECK]
    return [row for found in (looks, checks) for _, rows in sorted(found, key=_first) for row in rows]


def write_queue(out, rows):
    """Write the table.

    Raises
    ------
    InputError
        If there is another table.
    WriteError
        If it cannot be written.
    """
    if out.exists():
        try:
            next(read_table(out, COLUMNS), None)
        except InputError as error:
            raise InputError(
                f"{out} would be replaced, and it is not such a queue", fix="name another table with -o"
            ) from error
    with locked_output(out):
        write_table(out, COLUMNS, rows)


def in_words(rows):
    """How many there are of each, as a sentence."""
    n_looks, n_checks = (sum(row[0] == name for row in rows) for name in (LOOK, CHECK))
    n_groups = len({row[1:4] for row in rows if row[0] == LOOK})
    looks = f"{pluralise(n_looks, 'term')} of {pluralise(n_groups, 'group')} to look at first"
    return f"{looks}, {pluralise(n_checks, 'curated term')} to check"


def _first(one):
    return -one[0]


def _row(entry, one):
    curated = ("yes" if one.curated else "no") if one.known else ""
    threshold = "" if one.threshold is None else f"{one.threshold:.4f}"
    return (
        one.queue, entry.gene or entry.name, entry.fbgn, entry.stage_range, one.term, curated,
        f"{one.probability:.4f}", threshold, f"{one.worth:.6f}",
    )  # fmt: skip

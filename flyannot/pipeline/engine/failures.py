"""The table failures.csv: which images were skipped, and why.

A run has one table for all its steps. A command alone writes it beside its output.
"""

from flyannot.base.errors import InputError
from flyannot.base.text import pluralise
from flyannot.files.atomic_file import explain_write_errors, lock_output
from flyannot.files.tables import read_table, write_table
from flyannot.images.address import photograph_name

NAME = "failures.csv"
_COLUMNS = ("step", "output", "image", "reason")
_OF_THE_IMAGE = ("stage_range", "gene")  # empty if the image is not known
_REMEDY = "; fix: "
_MOST_REASONS = 3  # that a message names
_PATIENCE_S = 60  # jobs that end at the same time write the table one after the other


def format_failure(error):
    """Return the text for a failure: the message of the error, and its remedy if it has one."""
    return f"{error.message}{_REMEDY}{error.fix}" if error.fix else error.message


def split_failure(reason):
    """Return the message and the remedy, or None, of a text of `format_failure`."""
    message, sign, fix = reason.partition(_REMEDY)
    return message, fix if sign else None


class NoUsableImage(InputError):
    """An error for an output of which not one image could be used.

    failures : tuple of (image, reason), for the table of failures
    """

    failures: tuple = ()


def no_usable_image(failures):
    """Make a NoUsableImage whose message has the first reasons that differ, each with the name of an image.

    failures : sequence of (name of an image, text of `format_failure`)
    """
    image_of = {}
    for image, text in failures:
        image_of.setdefault(split_failure(text), image)
    named = [
        reason if image.rpartition("/")[2] in reason else f"{image}: {reason}"
        for (reason, _), image in image_of.items()
    ]
    more = f"; and {pluralise(n, 'other reason')}" if (n := len(named) - _MOST_REASONS) > 0 else ""
    fixes = dict.fromkeys(fix for _, fix in list(image_of)[:_MOST_REASONS] if fix)
    error = NoUsableImage(
        f"not one image of {len(failures):,} could be used: {'; '.join(named[:_MOST_REASONS])}{more}",
        fix="; ".join(fixes) or "check the images that the table or the command names",
    )
    error.failures = tuple(failures)
    return error


def record_failures(table, step, outcome, images=()):
    """Replace the rows of one output of a step in the table, and keep all other rows.

    Parameters
    ----------
    table : Path; the file exists only while it has rows
    step : name of the step
    outcome : Outcome
    images : Image of the step, which give the stage range and the gene of each failure
    """
    if not outcome.failures and not table.exists():
        return
    known = {image.name: (image.stage_range, image.gene) for image in images} if outcome.failures else {}
    output = (step, outcome.path.name)
    with explain_write_errors(table), lock_output(table, patience_s=_PATIENCE_S):
        before = read_table(table, _COLUMNS, _OF_THE_IMAGE) if table.exists() else ()
        rows = [tuple(cells) for _, cells in before if tuple(cells[:2]) != output]
        for image, reason in outcome.failures:
            about = known.get(image) or known.get(photograph_name(image)) or ("", "")
            rows.append((*output, image, reason, *about))
        if rows:
            write_table(table, (*_COLUMNS, *_OF_THE_IMAGE), rows)
        else:
            table.unlink(missing_ok=True)

"""failures.csv: what was skipped and why; one for all steps of a run, else one beside the outputs."""

from flyannot.files.atomic_file import explained_write_error, locked_output
from flyannot.files.tables import read_table, write_table
from flyannot.images.address import photograph_of_embryo

NAME = "failures.csv"
_COLUMNS = ("step", "output", "image", "reason")
_OF_THE_IMAGE = ("stage_range", "gene")  # where it is known
_REMEDY = "; fix: "
_PATIENCE_S = 60  # jobs that end at the same time list theirs one after the other


def format_failure(error):
    """What a list of failures says of one: what is wrong, and where there is one the remedy."""
    return f"{error.message}{_REMEDY}{error.fix}" if error.fix else error.message


def split_failure(reason):
    """What `format_failure` took: the message, and the remedy or None."""
    message, sign, fix = reason.partition(_REMEDY)
    return message, fix if sign else None


def list_failures(table, step, outcome, images=()):
    """Set the lines of one output of a step in the table; others' lines stay.

    Parameters
    ----------
    table : Path; it exists only while it has lines
    step : name of the step
    outcome : Outcome
    images : Image of the step, for the stage range and the gene of each
    """
    if not outcome.failures and not table.exists():
        return
    known = {image.name: (image.stage_range, image.gene) for image in images} if outcome.failures else {}
    output = (step, outcome.path.name)
    with explained_write_error(table), locked_output(table, patience_s=_PATIENCE_S):
        before = read_table(table, _COLUMNS, _OF_THE_IMAGE) if table.exists() else ()
        rows = [tuple(cells) for _, cells in before if tuple(cells[:2]) != output]
        for image, reason in outcome.failures:
            about = known.get(image) or known.get(photograph_of_embryo(image)) or ("", "")
            rows.append((*output, image, reason, *about))
        if rows:
            write_table(table, (*_COLUMNS, *_OF_THE_IMAGE), rows)
        else:
            table.unlink(missing_ok=True)

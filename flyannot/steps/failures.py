"""failures.csv: what was skipped and why, beside the outputs."""

from flyannot.runtime.csv_table import read_table, write_table

_COLUMNS = ("output", "image", "reason")


def list_failures(out, failures):
    """Set the lines of one output in the `failures.csv` of its folder; others' lines stay.

    Returns the path of the table, which exists only while it has lines.
    """
    table = out.with_name("failures.csv")
    kept = (
        [cells for _, cells in read_table(table, _COLUMNS) if cells[0] != out.name] if table.exists() else []
    )
    rows = [*kept, *((out.name, image, reason) for image, reason in failures)]
    if rows:
        write_table(table, _COLUMNS, rows)
    else:
        table.unlink(missing_ok=True)
    return table

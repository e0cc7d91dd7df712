"""The command flyannot check, which lists problems in the tables of a data set."""

import click

from flyannot.cli.shared.options import IN_FILE, Command
from flyannot.cli.shared.output import print_text


@click.command("check", cls=Command)
@click.argument("data_set", type=IN_FILE, metavar="FOLDER")
def command(data_set):
    """List all problems in images.csv and annotations.csv of the data set FOLDER.

    All commands recognise stage ranges that a spreadsheet turned into dates, and ignore capitals in the names
    of files and terms. The exit code is 2 if a row cannot be used.

    \b
    Example:
        flyannot check my-embryos
    """
    from flyannot.base.text import pluralise
    from flyannot.dataset.folder import check_tables, count_per_stage_range, coverage_notes
    from flyannot.dataset.table_warnings import raise_errors

    faults, images, annotations = check_tables(data_set)
    raise_errors(data_set, faults)
    for stage_range, n in count_per_stage_range(images, annotations).items():
        annotated = f", {n['n_annotated_groups']:,} of {pluralise(n['n_groups'], 'group')} annotated"
        counts = f"{pluralise(n['n_images'], 'image')} of {pluralise(n['n_genes'], 'gene')}"
        print_text(f"{stage_range:>5}: {counts}{annotated if annotations else ''}")
    for note in coverage_notes(images, annotations) if annotations else ():
        print_text(note)
    return 0

"""flyannot check: are the tables of a data set right?"""

import click

from flyannot.cli.shared.options import IN_FILE, Command
from flyannot.cli.shared.output import say


@click.command("check", cls=Command)
@click.argument("data_set", type=IN_FILE, metavar="FOLDER")
def command(data_set):
    """List all problems of images.csv and annotations.csv in the data set FOLDER.

    All commands understand dates that a spreadsheet made of stage ranges, and ignore capitals in names of
    files and terms. The exit code is 2 if a row cannot be used.

    \b
    Example:
        flyannot check my-embryos
    """
    from flyannot.base.text import pluralise
    from flyannot.dataset.folder import check_tables, count_coverage, coverage_notes
    from flyannot.dataset.table_warnings import raise_errors

    faults, images, annotations = check_tables(data_set)
    raise_errors(data_set, faults)
    for stage_range, n in count_coverage(images, annotations).items():
        annotated = f", {n['n_annotated_groups']:,} of {pluralise(n['n_groups'], 'group')} annotated"
        counts = f"{pluralise(n['n_images'], 'image')} of {pluralise(n['n_genes'], 'gene')}"
        say(f"{stage_range:>5}: {counts}{annotated if annotations else ''}")
    for note in coverage_notes(images, annotations) if annotations else ():
        say(note)
    return 0

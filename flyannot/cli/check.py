"""The command flyannot check, which lists problems in the tables of a data set."""

import click

from flyannot.cli.shared.options import IN_FILE, Command, out_folder_option, overwrite_option
from flyannot.cli.shared.output import log, print_text


@click.command("check", cls=Command)
@click.argument("data_set", type=IN_FILE, metavar="FOLDER")
@out_folder_option("Write corrected copies of the tables to this folder.", required=False)
@overwrite_option("Replace existing tables.")
def command(data_set, folder, force):
    """List all problems in images.csv and annotations.csv of the data set FOLDER.

    All commands recognise stage ranges that a spreadsheet turned into dates, and ignore capitals in the names
    of files and terms. With -o, corrected copies of the tables are written, also with the likely spelling of
    misspelt terms. Look through them, and use that folder from then on. Pictures stay where they are. The
    exit code is 2 if a row cannot be used.

    \b
    Example:
        flyannot check my-embryos -o corrected
    """
    from flyannot.base.text import pluralise
    from flyannot.dataset.folder import check_tables, corrected_tables, count_coverage, coverage_notes
    from flyannot.pipeline.engine.task import write_output

    found, images, annotations = check_tables(data_set)
    for name, text in corrected_tables(data_set, found, folder).items() if folder else ():
        write_output(folder / name, text, [data_set / name], force=force)
        log.info("wrote %s", folder / name)
    found.raise_errors(data_set)
    for stage_range, n in count_coverage(images, annotations).items():
        annotated = f", {n['n_annotated_groups']:,} of {pluralise(n['n_groups'], 'group')} annotated"
        counts = f"{pluralise(n['n_images'], 'image')} of {pluralise(n['n_genes'], 'gene')}"
        print_text(f"{stage_range:>5}: {counts}{annotated if annotations else ''}")
    for note in coverage_notes(images, annotations) if annotations else ():
        print_text(note)
    return 0

"""flyannot check: are the tables of a data set right?"""

import click

from flyannot.cli.shared.options import IN_FILE, Command, log, out_folder_option, overwrite_option, say


@click.command("check", cls=Command)
@click.argument("data_set", type=IN_FILE, metavar="FOLDER")
@out_folder_option("A folder for corrected copies of the tables.", required=False)
@overwrite_option("Replace existing tables.")
def command(data_set, folder, force):
    """List all problems of images.csv and annotations.csv in the data set FOLDER.

    All commands understand dates that a spreadsheet made of stage ranges, and ignore capitals in names of
    files and terms. With -o, corrected copies of the tables are written, with the likely spelling of
    misspelt terms, too: check them, and run with that folder. Pictures stay where they are. The exit code is
    2 if a row cannot be used.

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
        say(f"{stage_range:>5}: {counts}{annotated if annotations else ''}")
    for note in coverage_notes(images, annotations) if annotations else ():
        say(note)
    return 0

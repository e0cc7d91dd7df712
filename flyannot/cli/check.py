"""The command flyannot check, which lists problems in the tables of a data set."""

import click

from flyannot.cli.shared.options import IN_FILE, Command, add_options
from flyannot.cli.shared.output import print_text
from flyannot.pipeline.options import Selection


@click.command("check", cls=Command)
@click.argument("data_set", type=IN_FILE, metavar="FOLDER")
@click.option("--stages", is_flag=True, help="Also list pictures that look like another stage range.")
@add_options(selection=(Selection, ["columns"]))
def command(data_set, stages, selection):
    """List all problems in images.csv and annotations.csv of the data set FOLDER.

    All commands recognise stage ranges that a spreadsheet turned into dates, and ignore capitals in the names
    of files and terms. The exit code is 2 if a row cannot be used. Rows without a stage range are listed.

    With --stages, a photograph is listed if another stage range is 20 times as likely by its picture as that
    of its row. This takes about 0.02 s a picture. It found half of the wrong rows in a test (docs/models.md).

    \b
    Example:
        flyannot check my-embryos
        flyannot check my-embryos --stages
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
    if stages:
        from flyannot.pipeline.stage_model import find_other_stage_ranges

        others = find_other_stage_ranges(images)
        print_text(f"{pluralise(len(others), 'picture looks', 'pictures look')} like another stage range")
        for image, other in others.items():
            print_text(f"  {image.name}: {image.stage_range}, looks like {other}")
    return 0

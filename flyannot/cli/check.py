"""The command flyannot check, which lists problems in the tables of a data set."""

import click

from flyannot.cli.shared.options import IN_FILE, Command, add_options
from flyannot.cli.shared.output import print_text
from flyannot.pipeline.options import Selection


@click.command("check", cls=Command)
@click.argument("data_set", type=IN_FILE, metavar="FOLDER")
@click.option("--stages", is_flag=True, help="Also rate the stage range of pictures.")
@add_options(selection=(Selection, ["columns"]))
def command(data_set, stages, selection):
    """List all problems in images.csv and annotations.csv of the data set FOLDER.

    All commands recognise stage ranges that a spreadsheet turned into dates, and ignore capitals in the names
    of files and terms. The exit code is 2 if a row cannot be used. Rows without a stage range are listed.

    With --stages, a photograph is listed if its picture gives another stage range 100 times the odds of the
    stage range in its row. A photograph of 4-6 is also listed if its embryo is uneven, as by folds. In a
    test this found about half of the wrong rows (docs/models.md). A photograph without a stage range is
    listed with the most likely one; FOLDER needs no tables then.

    \b
    Example:
        flyannot check my-embryos
        flyannot check my-embryos --stages
    """
    from flyannot.base.text import pluralise
    from flyannot.dataset.folder import check_tables, count_per_stage_range, coverage_notes
    from flyannot.dataset.images import read_folder
    from flyannot.dataset.table_warnings import raise_errors

    faults, images, annotations = check_tables(data_set, unknown_stage="" if stages else None)
    raise_errors(data_set, faults)
    known = [image for image in images if image.stage_range]
    for stage_range, n in count_per_stage_range(known, annotations).items():
        annotated = f", {n['n_annotated_groups']:,} of {pluralise(n['n_groups'], 'group')} annotated"
        counts = f"{pluralise(n['n_images'], 'image')} of {pluralise(n['n_genes'], 'gene')}"
        print_text(f"{stage_range:>5}: {counts}{annotated if annotations else ''}")
    for note in coverage_notes(known, annotations) if annotations else ():
        print_text(note)
    if stages:
        _list_other_stage_ranges(images or read_folder(data_set, ""))
    return 0


def _list_other_stage_ranges(images):
    """Print the images that look like another stage range, and a guess for each image without one."""
    from flyannot.base.text import pluralise
    from flyannot.pipeline.stage_model import find_stage_warnings

    warnings = find_stage_warnings(images)
    unknown = [image for image in images if not image.stage_range]
    if len(unknown) < len(images):
        n = sum(1 for image in warnings if image.stage_range)
        print_text(f"{pluralise(n, 'picture looks', 'pictures look')} like another stage range")
    for image, warning in warnings.items():
        if image.stage_range:
            print_text(f"  {image.name}: {image.stage_range}, {warning}")
    if unknown:
        have = pluralise(len(unknown), "picture has", "pictures have")
        print_text(f"{have} no stage range; two of three such guesses were right in a test")
    for image in unknown:
        print_text(f"  {image.name}: {warnings.get(image, 'cannot be guessed')}")

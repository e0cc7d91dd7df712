"""The command flyannot check, which lists problems in the tables and pictures of a data set."""

import click

from flyannot.base.errors import InputError
from flyannot.cli.shared.options import IN_FILE, Command, add_options
from flyannot.cli.shared.output import print_text
from flyannot.pipeline.options import Selection


@click.command("check", cls=Command)
@click.argument("data_set", type=IN_FILE, metavar="FOLDER")
@click.option("--stages", is_flag=True, help="Also rate the stage range of pictures.")
@add_options(selection=(Selection, ["recursive", "columns"]))
def command(data_set, stages, selection):
    """List all problems in images.csv and annotations.csv of the data set FOLDER.

    All commands recognise stage ranges that a spreadsheet turned into dates, and ignore capitals in the names
    of files and terms. The exit code is 2 if a row cannot be used. Rows without a stage range are listed.

    If FOLDER has no images.csv, its pictures are counted and read. What is left out is listed, and the exit
    code is 2 if a picture cannot be used.

    With --stages, a photograph is listed if its picture gives another stage range 100 times the odds of the
    stage range in its row. A photograph of 4-6 is also listed if its embryo is uneven, as by folds. It found
    nearly half of the wrong rows in a test (docs/models.md). A photograph without a stage range is listed
    with the most likely one.

    \b
    Example:
        flyannot check embryos
        flyannot check embryos --stages
    """
    from flyannot.base.text import pluralise
    from flyannot.dataset.folder import check_tables, count_per_stage_range, coverage_notes
    from flyannot.dataset.repeated_pictures import warn_of_repeated_pictures
    from flyannot.dataset.table_warnings import raise_errors

    if not data_set.is_dir():
        raise InputError(f"no such folder: {data_set}", fix="name a data set folder, or a folder of pictures")
    faults, images, annotations = check_tables(data_set, unknown_stage="" if stages else None)
    raise_errors(data_set, faults)
    known = [image for image in images if image.stage_range]
    for stage_range, n in count_per_stage_range(known, annotations).items():
        annotated = f", {n['n_annotated_groups']:,} of {pluralise(n['n_groups'], 'group')} annotated"
        counts = f"{pluralise(n['n_images'], 'image')} of {pluralise(n['n_genes'], 'gene')}"
        print_text(f"{stage_range:>5}: {counts}{annotated if annotations else ''}")
    for note in coverage_notes(known, annotations) if annotations else ():
        print_text(note)
    if images:
        _print_unnamed_pictures(data_set)
        warn_of_repeated_pictures(data_set, images)
    else:
        images, faults = _check_pictures(data_set, selection.recursive)
    if stages:
        _list_other_stage_ranges(images)
    raise_errors(data_set, faults)
    return 0


def _print_unnamed_pictures(folder):
    """Print which pictures lie beside images.csv, or in its folder `images`, and are in none of its rows."""
    import os

    from flyannot.dataset.folder import read_images
    from flyannot.dataset.picture_folder import list_pictures
    from flyannot.dataset.table_warnings import abbreviate_names

    known = {os.path.realpath(image.file) for image in read_images(folder, unknown_stage="")}
    paths = [
        place / name
        for place in (folder, folder / "images")
        if place.is_dir()
        for name in list_pictures(place).names
    ]
    names = [path.relative_to(folder).as_posix() for path in paths if os.path.realpath(path) not in known]
    if names:
        print_text(f"pictures that images.csv does not name: {len(names):,} ({abbreviate_names(names)})")


def _check_pictures(folder, is_recursive):
    """Print how many pictures of a folder without images.csv can be used.

    Returns
    -------
    images : list of Image, of all pictures
    faults : list of InputError, one for each picture that cannot be used

    Raises
    ------
    InputError
        If there is no picture.
    """
    from flyannot.base.text import pluralise
    from flyannot.dataset.images import find_unusable_pictures, read_folder
    from flyannot.dataset.repeated_pictures import warn_of_repeated_pictures

    images = read_folder(folder, "", is_recursive=is_recursive)
    warn_of_repeated_pictures(folder, images)
    faults, without_embryo = find_unusable_pictures(images)
    n_usable = len(images) - len(faults)
    print_text(f"{pluralise(len(images), 'picture')} without a table; {n_usable:,} can be used")
    for image, reason in without_embryo.items():
        print_text(f"  {image.name}: annotate gives it no terms ({reason})")
    return images, faults


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

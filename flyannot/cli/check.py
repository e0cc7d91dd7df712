"""The command flyannot check, which lists problems in the tables and pictures of a data set."""

import os

import click

from flyannot.base.errors import InputError
from flyannot.base.quality_warnings import format_warnings
from flyannot.base.text import pluralise
from flyannot.cli.shared.options import IN_FILE, Command, add_options
from flyannot.cli.shared.output import build_execution, log, print_text
from flyannot.pipeline.options import RunOptions, Selection


@click.command("check", cls=Command)
@click.argument("data_set", type=IN_FILE, metavar="FOLDER")
@click.option("--stages", is_flag=True, help="Also rate the stage range of pictures.")
@add_options(selection=(Selection, ["recursive", "columns"]))
def command(data_set, stages, selection):
    """List all problems in images.csv, annotations.csv and the pictures of the data set FOLDER.

    All commands recognise stage ranges that a spreadsheet turned into dates, and ignore capitals in the names
    of files and terms. Rows without a stage range are listed. Every picture is read, with or without an
    images.csv; pictures without an embryo and files that are left out are listed. The exit code is 2 if a row
    or a picture cannot be used.

    With --stages, a photograph is listed if its picture gives another stage range 100 times the odds of the
    stage range in its row. A photograph of 4-6 is also listed if its embryo is uneven, as by folds. In a
    test this found about half of the wrong rows (docs/models.md). A photograph without a stage range is
    listed with the most likely one.

    \b
    Example:
        flyannot check embryos
        flyannot check embryos --stages
    """
    from flyannot.dataset.folder import check_tables, count_per_stage_range, coverage_notes
    from flyannot.dataset.images import read_folder
    from flyannot.dataset.paths import is_data_set_table
    from flyannot.dataset.repeated_pictures import warn_of_repeated_pictures
    from flyannot.dataset.table_warnings import abbreviate_names, raise_errors
    from flyannot.pipeline.engine.images import image_columns

    if data_set.is_file() and is_data_set_table(data_set):
        data_set = data_set.parent
    if not data_set.is_dir():
        raise InputError(f"no such folder: {data_set}", fix="name a data set folder, or a folder of pictures")
    faults, images, annotations = check_tables(data_set, unknown_stage="", columns=selection.columns)
    if not images:
        raise_errors(data_set, faults)
    known = [image for image in images if image.stage_range]
    for stage_range, n in count_per_stage_range(known, annotations).items():
        annotated = f", {n['n_annotated_groups']:,} of {pluralise(n['n_groups'], 'group')} annotated"
        counts = f"{pluralise(n['n_images'], 'image')} of {pluralise(n['n_genes'], 'gene')}"
        print_text(f"{stage_range:>5}: {counts}{annotated if annotations else ''}")
    for note in coverage_notes(known, annotations) if annotations else ():
        print_text(note)
    if images:
        _print_what_is_left_out(data_set, images)
    if not stages and (unknown := [image.name for image in images if not image.stage_range]):
        have = pluralise(len(unknown), "picture has", "pictures have")
        names = abbreviate_names(unknown)
        log.warning("warning: %s no stage range: %s; to rate them, add --stages", have, names)
    images = images or read_folder(data_set, "", is_recursive=selection.recursive)
    execution = build_execution(run=RunOptions())
    with execution.workers.threads():
        checked = _check_pictures(images, execution.progress, is_rated=stages)
    columns = image_columns([one.image for one in checked])
    warn_of_repeated_pictures(data_set, columns | {"picture_digest": [one.picture_digest for one in checked]})
    faults += _print_what_can_be_used(checked)
    if stages:
        _list_other_stage_ranges(checked)
    raise_errors(data_set, faults)
    return 0


def _print_what_is_left_out(folder, images):
    """Print which pictures lie in or below the folder of images.csv and are in none of its rows.

    What else is not used is counted in the log by its kind.
    """
    import os

    from flyannot.dataset.paths import ANNOTATIONS, IMAGES, find_table
    from flyannot.dataset.picture_folder import list_pictures
    from flyannot.dataset.table_warnings import abbreviate_names

    used = [image.file for image in images] + [find_table(folder, name) for name in (IMAGES, ANNOTATIONS)]
    listing = list_pictures(folder, is_recursive=True, used={os.path.realpath(path) for path in used})
    if names := listing.names:
        print_text(f"pictures that images.csv does not name: {len(names):,} ({abbreviate_names(names)})")
    if listing.left_out:
        log.warning("note: %s: left out: %s", folder, listing.left_out)


def _check_pictures(images, progress, *, is_rated):
    """Open each picture once, and return a list of `CheckedPicture`.

    Pictures that are missing are passed over, because the reader of the table names them.

    images : list of Image; progress : function that shows how many are done
    is_rated : whether the stage model rates them
    """
    from functools import partial

    from flyannot.jobs.executor import map_ordered
    from flyannot.pipeline.engine.task import ProgressCount
    from flyannot.pipeline.pictures.opened_pictures import check_picture

    present = [image for image in images if os.path.isfile(image.path)]
    count = ProgressCount(progress, len(present), "picture")
    checked = []
    for one in map_ordered(partial(check_picture, is_rated=is_rated), present):
        count.add()
        checked.append(one)
    return checked


def _print_what_can_be_used(checked):
    """Print how many pictures can be used, and return a list of InputErrors for the others.

    checked : list of CheckedPicture
    """
    faults = [one.error for one in checked if one.error]
    print_text(f"{pluralise(len(checked), 'picture')}; {len(checked) - len(faults):,} can be used")
    for one in checked:
        if one.why_not:
            print_text(f"  {one.image.name}: annotate gives it no terms ({one.why_not})")
    doubtful = [one for one in checked if one.lies_wrong]
    if doubtful:
        n = pluralise(len(doubtful), "embryo may lie", "embryos may lie")
        print_text(f"{n} wrong; the column turned of images.csv mirrors pictures")
    for one in doubtful:
        print_text(f"  {one.image.name}: {format_warnings(one.lies_wrong)}")
    return faults


def _list_other_stage_ranges(checked):
    """Print the images that look like another stage range, and a guess for each image without one.

    checked : list of CheckedPicture
    """
    unknown = [one for one in checked if not one.image.stage_range]
    doubtful = [one for one in checked if one.stage_warnings]
    if len(unknown) < len(checked):
        n = pluralise(len(doubtful), "picture looks", "pictures look")
        print_text(f"{n} like another stage range")
    for one in doubtful:
        print_text(f"  {one.image.name}: {one.image.stage_range}, {format_warnings(one.stage_warnings)}")
    if unknown:
        have = pluralise(len(unknown), "picture has", "pictures have")
        print_text(f"{have} no stage range; two of three such guesses were right in a test")
    for one in unknown:
        looks = f"looks like {one.guess}" if one.guess else "cannot be guessed"
        print_text(f"  {one.image.name}: {looks}")

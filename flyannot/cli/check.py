"""The command flyannot check, which lists problems in the tables and pictures of a data set."""

import click

from flyannot.base.errors import InputError
from flyannot.base.text import pluralise
from flyannot.cli.shared.options import IN_FILE, Command, add_options
from flyannot.cli.shared.output import build_execution, log, print_text
from flyannot.pipeline.options import RunOptions, Selection


@click.command("check", cls=Command)
@click.argument("data_set", type=IN_FILE, metavar="FOLDER")
@add_options(selection=(Selection, ["recursive", "columns"]))
def command(data_set, selection):
    """List all problems in images.csv, annotations.csv and the pictures of the data set FOLDER.

    All commands recognise stage ranges that a spreadsheet turned into dates, and ignore capitals in the names
    of files and terms. Every picture is read, with or without an images.csv. Each gets a fate, with the
    reason and what to do, as in the table NAME-pictures.csv of annotate. The exit code is 2 if a table cannot
    be used, and 3 if a row or a picture cannot be used. The last line is the next command.

    A photograph gets a warning if its picture gives another stage range 100 times the odds of the stage range
    in its row. A photograph of 4-6 also gets one if its embryo is uneven, as by folds. In a test this found
    about half of the wrong rows (docs/models.md). A photograph without a stage range is listed with the most
    likely one.

    \b
    Example:
        flyannot check embryos
    """
    from flyannot.base.fates import FATES, merge_fates
    from flyannot.cli.shared.exit_codes import SKIPPED
    from flyannot.dataset.folder import check_tables, count_per_stage_range, coverage_notes
    from flyannot.dataset.images import read_folder
    from flyannot.dataset.paths import ANNOTATIONS, IMAGES, is_data_set_table
    from flyannot.dataset.picture_folder import list_pictures
    from flyannot.dataset.table_warnings import raise_errors
    from flyannot.pipeline.engine.fates import format_counts

    if data_set.is_file() and is_data_set_table(data_set):
        data_set = data_set.parent
    if not data_set.is_dir():
        raise InputError(f"no such folder: {data_set}", fix="name a data set folder, or a folder of pictures")
    fates: list = []
    how = {"unknown_stage": "", "columns": selection.columns, "fates": fates}
    faults, images, annotations = check_tables(data_set, **how)
    known = [image for image in images if image.stage_range]
    for stage_range, n in count_per_stage_range(known, annotations).items():
        annotated = f", {n['n_annotated_groups']:,} of {pluralise(n['n_groups'], 'group')} annotated"
        counts = f"{pluralise(n['n_images'], 'image')} of {pluralise(n['n_genes'], 'gene')}"
        print_text(f"{stage_range:>5}: {counts}{annotated if annotations else ''}")
    for note in coverage_notes(known, annotations) if annotations else ():
        print_text(note)
    is_in_table = bool(images)
    tables = {str(data_set.resolve() / name) for name in (IMAGES, ANNOTATIONS)}
    if images and (left_out := list_pictures(data_set, is_recursive=True, used=tables).left_out):
        log.warning("note: %s: left out: %s", data_set, left_out)
    if not images and not fates:
        try:
            images = read_folder(data_set, "", is_recursive=selection.recursive or bool(faults))
        except InputError as error:
            if not any(IMAGES in fault.message for fault in faults):  # then a fault says more
                faults.append(error)
    fates = merge_fates(fates, _check_pictures(images, is_in_table=is_in_table))
    print_text(format_counts(fates))
    for fate in sorted(fates, key=lambda fate: FATES.index(fate.fate)):
        if fate.reason:
            print_text(f"  {fate.image}: {fate.fate}: {fate.words}")
    raise_errors(data_set, faults)
    must_guess = is_in_table and 2 * len(known) < len(images)  # otherwise rows without one are left out
    print_text(f"next: {_next_command(data_set, fates, annotations, must_guess)}")
    return SKIPPED if any(fate.is_fault for fate in fates) else 0


def _check_pictures(images, *, is_in_table):
    """Open each picture once, and return a list of its PictureFate.

    images : list of Image; is_in_table : whether a table has their rows
    """
    from functools import partial

    from flyannot.jobs.executor import map_ordered
    from flyannot.pipeline.engine.fates import judge_repeated
    from flyannot.pipeline.engine.images import image_columns
    from flyannot.pipeline.engine.task import ProgressCount
    from flyannot.pipeline.pictures.opened_pictures import check_picture

    execution = build_execution(run=RunOptions())
    count = ProgressCount(execution.progress, len(images), "picture")
    checked = []
    with execution.workers.threads():
        for one in map_ordered(partial(check_picture, is_in_table=is_in_table), images):
            count.add()
            checked.append(one)
    digests = {"picture_digest": [digest for _, digest in checked]}
    return judge_repeated([fate for fate, _ in checked], [image_columns(images) | digests])


def _next_command(folder, fates, annotations, must_guess):
    """Return the command to type after a check.

    folder : Path; fates : list of PictureFate
    annotations : Annotations, or None without a table
    must_guess : whether most rows of images.csv have no stage range
    """
    from shlex import quote

    from flyannot.files.hdf5.supplied import find_supplied_model

    named = quote(str(folder))
    if not annotations and (model := find_supplied_model({fate.stage_range for fate in fates})):
        return f"flyannot annotate {model.stem} {named} -o terms.h5 --page{' --guess-stages' * must_guess}"
    more = " --set select.guess-stages=true" * must_guess
    return f"flyannot run --data-set {named} --output results{more}"

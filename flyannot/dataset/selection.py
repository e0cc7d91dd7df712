"""Which images a command works on."""

import os
from pathlib import Path

from flyannot.dataset.folder import Image, printable, read_images
from flyannot.dataset.table_paths import IMAGES, TABLE_SUFFIXES, has_table, place_of_table
from flyannot.descriptors.images.address import file_of_address
from flyannot.errors import InputError, did_you_mean
from flyannot.stage_ranges import STAGE_RANGES, parse_stage_range
from flyannot.store.reading import kind_claimed

SUFFIXES = (".png", ".bmp", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".btf", ".czi", ".lif")


def images_named(paths, stage_range=None):
    """The images that the arguments of a command name.

    Parameters
    ----------
    paths : list of Path: one data set folder (or its images.csv), one plain folder, or image files
    stage_range : of a plain folder or of image files; they say nothing of it themselves

    Returns
    -------
    images : list of flyannot.dataset.folder.Image

    Raises
    ------
    InputError
        If a path is not there, or the stage range is needed and not given.
    """
    first = Path(paths[0])
    for path in paths:
        if not file_of_address(path).exists():
            raise InputError(
                f"{path} is not there", fix="name a data set folder, a folder of images, or images"
            )
        if kind_claimed(path):
            raise InputError(
                f"{path} is an HDF5 file, not an image",
                fix="name a data set folder, a folder of images, or images",
            )
    if len(paths) == 1 and (first.suffix.lower() in TABLE_SUFFIXES or has_table(first, IMAGES)):
        return read_images(first)
    if stage_range is None:
        place = place_of_table(first, IMAGES) if first.is_dir() else None
        raise InputError(
            f"{first} does not say its stage range" + (f", but {place} has an {IMAGES}" if place else ""),
            fix=f"name {place}, or add --stage-range"
            if place
            else f"add --stage-range, or list the images in an {IMAGES}",
        )
    if len(paths) == 1 and first.is_dir():
        return read_folder(first, stage_range)
    folders = [path for path in paths if Path(path).is_dir()]
    if folders:
        raise InputError(
            f"{folders[0]} is a folder among single images", fix="name one folder, or images only"
        )
    return images_of(paths, stage_range)


def read_folder(folder, stage_range):
    """The pictures in a plain folder (not below it), by name; each is a group of its own.

    Pictures are known by their suffix (`SUFFIXES`); names with a leading dot are left out.

    Raises
    ------
    InputError
        If there is no such folder, no picture in it, or no such stage range.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"no such folder: {folder}", fix="name a folder of images")
    names = [name for name in sorted(os.listdir(folder)) if name.lower().endswith(SUFFIXES)]
    names = [name for name in names if not name.startswith(".")]
    if not names:
        raise InputError(f"no picture in {folder}", fix=f"picture files end in {', '.join(SUFFIXES)}")
    stage_range = parse_stage_range(stage_range)
    return [_alone(str(folder.absolute() / name), name, stage_range) for name in names]


def images_of(files, stage_range):
    """Single picture files as images, in the order given, each once and a group of its own."""
    stage_range = parse_stage_range(stage_range)
    names = dict.fromkeys(Path(file).as_posix() for file in files)
    return [_alone(os.path.abspath(file_of_address(name)), name, stage_range) for name in names]


def _alone(file, name, stage_range):
    """An image of an unknown gene; in its name, what no table can hold is written as an escape."""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return Image(file, printable(name), "", stage_range, group=printable(name))


def select_images(images, *, views=(), stage_ranges=(), genes=()):
    """The images of the given views, stage ranges and genes (symbols or FlyBase numbers); empty means all.

    Raises
    ------
    InputError
        If none is left.
    """
    known = sorted({image.view for image in images if image.view})
    for view in views:
        if view not in known:
            raise InputError(
                f'no image has the view "{view}".{did_you_mean(view, known)}',
                fix=f"choose from: {', '.join(known) or 'the table has no view'}",
            )
    named = sorted({name for image in images for name in (image.gene, image.fbgn) if name})
    for gene in genes:
        if gene not in named:
            raise InputError(
                f'no image is of the gene "{gene}".{did_you_mean(gene, named)}',
                fix="name it as images.csv does: capitals count",
            )
    chosen = [
        i
        for i in images
        if (not views or i.view in views)
        and (not stage_ranges or i.stage_range in stage_ranges)
        and (not genes or {i.gene, i.fbgn} & set(genes))
    ]
    if not chosen:
        present = ", ".join(s for s in STAGE_RANGES if any(image.stage_range == s for image in images))
        raise InputError(
            f"no image is {_asked(views, stage_ranges, genes)}",
            fix=f"choose from stage range {present}" + (f" and view {', '.join(known)}" if known else ""),
        )
    return chosen


def _asked(views, stage_ranges, genes):
    asked = (("of the gene", genes), ("of stage range", stage_ranges), ("of the view", views))
    return " and ".join(f"{what} {' or '.join(names)}" for what, names in asked if names)

"""The images that the arguments of a command name."""

import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path

from flyannot.base.errors import InputError, did_you_mean
from flyannot.base.fates import LEFT_OUT, PictureFate
from flyannot.base.stage_ranges import STAGE_RANGES, parse_stage_range
from flyannot.base.text import escape_file_name
from flyannot.dataset.folder import Image, read_images
from flyannot.dataset.paths import (
    IMAGES,
    TABLE_SUFFIXES,
    find_table_folder,
    has_table,
    resolve_path,
    suggest_rename,
)
from flyannot.dataset.picture_folder import find_unread_table, list_pictures
from flyannot.files.file_kind import PICTURE_SUFFIXES
from flyannot.files.hdf5.reading import read_unverified_kind
from flyannot.images.address import image_path

log = logging.getLogger("flyannot")
_NAME_IMAGES = "name a data set folder, a folder of images, or images"


def read_named_images(paths, stage_range=None, *, is_recursive=False, **how):
    """Return the images that the arguments of a command name.

    Parameters
    ----------
    paths : one data set folder (or its images.csv), one folder of pictures, or picture files
    stage_range : stage range of pictures without a table, "" if it is to be guessed; None if not given
    is_recursive : bool, whether pictures in folders below a folder of pictures are taken too
    how : options of `read_images`, for a table

    Returns
    -------
    images : list of Image

    Raises
    ------
    InputError
        If a path does not exist, or the stage range is needed and not given.
    """
    first = Path(paths[0])
    for path in paths:
        if not image_path(path).exists():
            raise InputError(f"{path} is not there", fix=_NAME_IMAGES)
        if Path(path).suffix in (".h5", ".hdf5") and read_unverified_kind(path):
            raise InputError(f"{path} is an HDF5 file, not an image", fix=_NAME_IMAGES)
    if len(paths) == 1 and (first.suffix.lower() in TABLE_SUFFIXES or has_table(first, IMAGES)):
        return read_images(first, **how)
    if len(paths) == 1 and first.is_dir():
        return read_folder(first, stage_range, is_recursive=is_recursive)
    if stage_range is None:
        raise _stage_range_error(first)
    folders = [path for path in paths if Path(path).is_dir()]
    if folders:
        what = f"{folders[0]} is a folder among single images"
        raise InputError(what, fix="name one folder, or images only")
    return images_from_files(paths, stage_range)


def read_folder(folder, stage_range, *, is_recursive=False):
    """Return the pictures in a folder without a table as Images, sorted by name; each is a group of its own.

    What `list_pictures` leaves out is named in the log.

    Parameters
    ----------
    folder : path
    stage_range : stage range of all pictures, "" if it is to be guessed; None if not given
    is_recursive : bool, whether pictures in folders below are taken too

    Raises
    ------
    InputError
        If the folder does not exist or has no picture, or if the stage range is unknown or not given.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"no such folder: {folder}", fix="name a folder of images")
    place = find_table_folder(folder, IMAGES) if stage_range is None else None
    if place:
        what = f"{folder} has no stage range, but {place} has an {IMAGES}"
        raise InputError(what, fix=f"name {place}, or add --stage-range")
    listing = list_pictures(folder, is_recursive=is_recursive)
    if not listing.names:
        there = f", but {listing.left_out}" if listing.left_out else ""
        what = f"there is no {IMAGES} and no picture in {folder}{there}"
        raise InputError(what, fix=f"picture files end in {', '.join(PICTURE_SUFFIXES)}")
    if listing.left_out:
        log.warning("note: %s: left out: %s", folder, listing.left_out)
    unread = find_unread_table(folder, listing.names)
    rename = suggest_rename(unread, IMAGES) if unread else None
    if unread and stage_range is None:
        raise InputError(f"{folder} has no stage range, and {unread.name} in it is not read", fix=rename)
    if unread:
        log.warning("warning: %s is not read, only the pictures beside it; to read it: %s", unread, rename)
    if stage_range is None:
        raise _stage_range_error(folder)
    stage_range = stage_range and parse_stage_range(stage_range)
    return [_unknown_gene_image(str(folder.absolute() / name), name, stage_range) for name in listing.names]


def _stage_range_error(path):
    return InputError(
        f"{path} has no stage range",
        fix=f"add --stage-range (to a run: --set select.stage-range=4-6), or list the images in an {IMAGES}",
    )


def images_from_files(files, stage_range):
    """Return picture files as Images in the given order, each once and as a group of its own."""
    stage_range = stage_range and parse_stage_range(stage_range)
    names = dict.fromkeys(Path(file).as_posix() for file in files)
    return [
        _unknown_gene_image(str(resolve_path(Path.cwd(), image_path(name))), name, stage_range)
        for name in names
    ]


def _unknown_gene_image(file, name, stage_range):
    """Build the Image of an unknown gene."""
    name = escape_file_name(name)
    return Image(file, name, "", stage_range, group=name)


def name_genes_by_file(images):
    """Return images in which each unknown gene is named after the picture's file, as a gene of its own.

    The name is the stem of the file's name, or the whole name if several files have that stem.
    """
    count = Counter(Path(image.name).stem for image in images if not image.gene)

    def named(image):
        stem = Path(image.name).stem
        name = stem if count[stem] == 1 else image.name
        return replace(image, gene=name, group=name)

    return [image if image.gene else named(image) for image in images]


def select_images(images, *, views=(), stage_ranges=(), genes=(), fates=None):
    """Return the images of some views, stage ranges and genes; empty means all.

    Genes are symbols or FlyBase numbers.  Raises InputError if no image is left.

    fates : list that gets the PictureFates of the other images; None to list none
    """
    known_views = sorted({image.view for image in images if image.view})
    known_genes = sorted({name for image in images for name in (image.gene, image.fbgn) if name})
    listed = f"choose from: {', '.join(known_views) or 'the table has no view'}"
    _require_known("has the view", views, known_views, fix=listed)
    _require_known("is of the gene", genes, known_genes, fix="write it as in images.csv: capitals count")
    chosen = []
    others = [] if fates is None else fates
    for image in images:
        if views and image.view not in views:
            others.append(PictureFate.of(image, LEFT_OUT, f"view {image.view or 'unknown'} is not selected"))
        elif stage_ranges and image.stage_range not in ("", *stage_ranges):
            others.append(PictureFate.of(image, LEFT_OUT, f"{image.stage_range} is not selected"))
        elif genes and not {image.gene, image.fbgn} & set(genes):
            others.append(PictureFate.of(image, LEFT_OUT, f"gene {image.gene} is not selected"))
        else:
            chosen.append(image)
    if not chosen:
        wanted = (("of the gene", genes), ("of stage range", stage_ranges), ("of the view", views))
        asked = " and ".join(f"{what} {' or '.join(names)}" for what, names in wanted if names)
        present = ", ".join(s for s in STAGE_RANGES if any(image.stage_range == s for image in images))
        and_view = f" and view {', '.join(known_views)}" if known_views else ""
        raise InputError(f"no image is {asked}", fix=f"choose from stage range {present}{and_view}")
    return chosen


def _require_known(what, names, known, *, fix):
    for name in names:
        if name not in known:
            raise InputError(f'no image {what} "{name}".{did_you_mean(name, known)}', fix=fix)

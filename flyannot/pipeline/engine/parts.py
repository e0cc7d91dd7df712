"""Outputs in parts: each part (64 images) is a whole file, which survives any interruption.

The images alone decide how an output is divided, never the number of jobs. The name of a part is a digest of
its inputs, and its header has the digests of its images as the worker read them. So a later run reuses
exactly the parts that are still valid.
"""

import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from glob import escape
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from flyannot.base.errors import DataError, LockedError
from flyannot.base.fates import NoUsableImage
from flyannot.base.text import pluralise
from flyannot.files.digest import json_digest
from flyannot.files.hdf5.concatenation import create_joined_file, read_part_contents
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.reading import open_stored_file, verify_stored_file
from flyannot.files.hdf5.writing import create_stored_file
from flyannot.files.locks import exclusive_lock
from flyannot.jobs.executor import map_ordered

IMAGES_PER_PART = 64


@dataclass(frozen=True, kw_only=True)
class OutputPart:
    """Some images of an output, and the file that a worker makes from them; later all such files are joined.

    images : list of Image or StoredImage
    header : Header of the file
    path : Path of the file
    made_with : data that the worker needs besides the images, such as options and paths of models
    name : the name of the part in messages
    files : Paths of the inputs besides image files
    """

    images: list
    header: Header
    path: Path
    made_with: Any
    name: str
    files: list

    @property
    def n_items(self):
        """The number of images."""
        return len(self.images)

    @property
    def reads(self):
        """The paths of all inputs, for the messages of a cluster whose workers lack a file."""
        paths = (getattr(image, "path", None) for image in self.images)
        return [*self.files, *(path for path in paths if path and path.is_file())]

    @property
    def is_whole(self):
        """True if the file of the part exists and is not damaged; a damaged one is removed."""
        return is_whole_part(self.path)

    def with_image_digests(self):
        """Return a copy of the part whose header has the digests of its image files, which are read."""
        return self


@dataclass(frozen=True)
class StoredImage:
    """One image of a file of descriptors or features, which is processed without its picture.

    file : Path of the file; it has no name that `OutputPart.reads` would take for a picture
    stage_range : str
    row : int, the index of the image in the stage range
    """

    file: Path
    stage_range: str
    row: int


def list_stored_images(files, stage_ranges):
    """Return a list with a list for each group of neighbours: the StoredImages of a group in open files.

    files : list of StoredFile; stage_ranges : those whose images are listed
    """
    groups = []
    for stage_range in stage_ranges:
        for file in (file for file in files if stage_range in file.stage_ranges):
            rows = enumerate(file.read_array(stage_range, "group"))
            for _, group in groupby(rows, itemgetter(1)):
                groups.append([StoredImage(file.path, stage_range, row) for row, _ in group])
    return groups


def build_stored_image_parts(out, header, groups, made_with, files, share=None, *, times=1):
    """Return the list of OutputParts of a share of an output that is made from StoredImages.

    Parameters
    ----------
    out : Path of the output
    header : Header of the output
    groups : lists of StoredImage that stay together
    made_with : data that the worker needs
    files : Paths of the inputs besides the files with the images
    share : (I, N), the I-th of N shares; None for all parts
    times : as in `cut_into_parts`
    """
    parts = []
    for number, images in select_share(list(enumerate(cut_into_parts(groups, times))), share):
        first, last = images[0], images[-1]
        name = f"the images {first.row + 1} of {first.stage_range} to {last.row + 1} of {last.stage_range}"
        part = OutputPart(
            images=images,
            header=header,
            path=part_path(out, json_digest([header.options, header.inputs, number])),
            made_with=made_with,
            name=f"{name} in {first.file}",
            files=[*files, *dict.fromkeys(image.file for image in images)],
        )
        parts.append(part)
    return parts


def cut_into_parts(groups, times=1):
    """Divide items into consecutive lists of IMAGES_PER_PART (64) items, or more to keep a group together.

    groups : iterable of lists of items
    times : int, how many times as many items a part has, if they take little time
    """
    parts: list = []
    for group in groups:
        if not parts or len(parts[-1]) >= times * IMAGES_PER_PART:
            parts.append([])
        parts[-1] += group
    return parts


def select_share(parts, share):
    """Return the I-th of N consecutive shares of a list of parts; their sizes differ by at most one.

    share : (I, N), with I from 1 to N; None for all parts
    """
    number, count = share or (1, 1)
    first, last = (len(parts) * k // count for k in (number - 1, number))
    return parts[first:last]


def parts_folder(out):
    """Return the folder that holds the parts of an output until they are joined."""
    return out.with_name(f".{out.name}.parts")


def part_path(out, key):
    """Return the path of a part of an output.

    out : Path of the output; key : digest of the inputs of the part
    """
    return parts_folder(out) / f"{key[:24]}.part.h5"


def make_missing_parts(make_part, parts, execution):
    """Make every part that does not exist yet, in parallel, and return the PartContents of all parts.

    Parameters
    ----------
    make_part : function of an OutputPart
        It writes the file of the part and returns the number of its images. It processes the images by
        `map_ordered`, if threads help, and reports each by `progress_events`.
    parts : list of OutputPart
    execution : Execution
    """
    if not parts:  # of a few parts, some shares have none
        return []
    total = sum(part.n_items for part in parts)
    closed = {}
    missing = [part for part in parts if not _is_kept(part)]
    before = done = total - sum(part.n_items for part in missing)
    execution.progress(done, total, "image")

    def on_done(made):
        nonlocal done
        n_items, closed[made[1].path] = made
        done += n_items
        execution.progress(done, total, "image")

    def on_items(n_ended):  # a part that is tried again counts twice, so one image is held back
        if done < total:
            execution.progress(max(done, min(before + n_ended, total - 1)), total, "image")

    make = partial(_make_and_summarise, make_part)
    of_part = {name: attrgetter(name) for name in ("name", "reads", "n_items")}
    of_part["folder"] = parts[0].path.parent
    execution.workers.run_all(make, missing, on_done=on_done, on_items=on_items, **of_part)
    return [closed.get(part.path) or read_part_contents(part.path) for part in parts]


def _make_and_summarise(make_part, part):
    """Make a part in a worker, and return its PartContents, so that joining is quick."""
    return make_part(part), read_part_contents(part.path)


def create_part(part, failures=()):
    """Create the HDF5 file of a part: a context manager that yields the open file.

    The file is not verified when it is finished, because its rows are verified in the joined file.

    failures : list of PictureFate
    """
    return create_stored_file(part.path, replace(part.header, failures=tuple(failures)), verified=False)


def join_parts(out, header, parts, complete=None):
    """Join the files of all parts into the output, and remove them.

    Parameters
    ----------
    out : Path of the output
    header : Header of the output, without the failures
    parts : list of PartContents
    complete : function (file, header) that adds more to the joined file, or None

    Raises
    ------
    NoUsableImage
        If no image could be used; `out` stays as it was.
    DataError
        If a part is damaged.
    """
    failures = tuple(failure for part in parts for failure in part.failures)
    if not any(part.stage_ranges for part in parts):
        remove_parts(out)
        raise NoUsableImage(failures)
    try:
        header = replace(header, failures=failures)
        with create_joined_file(out, header, parts, each=map_ordered) as file:
            if complete is not None:
                complete(file, header)
    except DataError:
        _remove_damaged(parts)
        raise
    remove_parts(out)


def _remove_damaged(parts):
    """Remove damaged part files, and raise a DataError with their number if there are any.

    parts : list of PartContents
    """
    damaged = [part.path for part in parts if not is_whole_part(part.path)]
    if damaged:
        raise DataError(
            f"{damaged[0].parent}: {pluralise(len(damaged), 'part is', 'parts are')} damaged",
            fix="run the same command again: it makes these parts again, and keeps the others",
        )


def remove_parts(out):
    """Remove the part files of an output, and locks that killed jobs left there."""
    shutil.rmtree(parts_folder(out), ignore_errors=True)
    for left in out.parent.glob(f".{escape(out.name)}.*-of-*.lock"):
        with suppress(LockedError), exclusive_lock(out.with_name(left.name[1:].removesuffix(".lock"))):
            pass  # the lock file is removed when the lock is released


def _is_kept(part):
    """Return True if the file of a part exists, is not damaged, and was made from the present images."""
    if not part.is_whole:
        return False
    return open_stored_file(part.path).inputs == part.with_image_digests().header.inputs


def is_whole_part(path):
    """Return whether the file of a part exists and is not damaged; a damaged one is removed."""
    try:
        return path.exists() and bool(verify_stored_file(path))
    except DataError:
        path.unlink()
        return False

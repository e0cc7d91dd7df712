"""An output in parts: its images are cut into parts, each a whole file that survives any interruption.

Parts are cut by the images alone, never by the number of jobs, and each is named by the digest of what it is
to be made from.  Its header has the digests of its images as its worker found them: a later run takes up
exactly the parts that still fit.
"""

import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from glob import escape
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from flyannot.base.errors import DataError, FlyannotError, LockedError
from flyannot.base.text import pluralise
from flyannot.files.hdf5.concatenation import closed_file, create_joined
from flyannot.files.hdf5.header import Header
from flyannot.files.hdf5.reading import open_stored, verify_stored
from flyannot.files.hdf5.writing import create_stored
from flyannot.files.locks import exclusive_lock
from flyannot.jobs.executor import map_ordered
from flyannot.pipeline.engine.failures import split_failure

IMAGES_PER_PART = 64


@dataclass(frozen=True, kw_only=True)
class Part:
    """Some images, and the file at `path` that a worker makes of them.

    made_with : what the worker needs besides the images: options, and paths of models
    name : what messages call it
    files : the paths of what it is made from, but for images that are files of their own
    """

    images: list
    header: Header
    path: Path
    made_with: Any
    name: str
    files: list

    @property
    def n_items(self):
        return len(self.images)

    @property
    def reads(self):
        """The paths of what it is made from: a cluster asks for them, and nobody else."""
        paths = (getattr(image, "path", None) for image in self.images)
        return [*self.files, *(path for path in paths if path and path.is_file())]

    def identified(self):
        """The part with the digests of its images in the header, if they are files, which it reads."""
        return self


def cut_into_parts(items, group_of=id):
    """Cut a list into consecutive lists of `IMAGES_PER_PART`, or as many more as make the last group whole:
    the items side by side of which `group_of` says the same."""
    parts: list = []
    for _, group in groupby(items, group_of):
        if not parts or len(parts[-1]) >= IMAGES_PER_PART:
            parts.append([])
        parts[-1] += group
    return parts


def take_share(parts, share):
    """Those of a list of parts that the I-th of N shares has; all if `share` is None.

    Consecutive, and as many in every share, to one; where there are fewer than N, some have none.
    """
    number, count = share or (1, 1)
    first, last = (len(parts) * k // count for k in (number - 1, number))
    return parts[first:last]


def folder_of_parts(out):
    """Where the parts of the output `out` lie until all are joined."""
    return out.with_name(f".{out.name}.parts")


def part_path(out, key):
    """Where the part with digest `key` lies."""
    return folder_of_parts(out) / f"{key[:24]}.part.h5"


def make_missing_parts(make_part, parts, execution):
    """Make every part that is not there yet, in parallel.  Returns the
    `PartContents` of each.

    `make_part(part)` writes part.path, takes its images by `flyannot.jobs.executor.map_ordered` where threads
    help, and tells `flyannot.jobs.progress_events` of every one.
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

    def on_items(n_ended):  # a part that is tried again counts twice: never more than all but one
        if done < total:
            execution.progress(max(done, min(before + n_ended, total - 1)), total, "image")

    execution.workers.run_all(
        partial(_make_and_summarise, make_part),
        missing,
        on_done=on_done,
        on_items=on_items,
        name=attrgetter("name"),
        folder=parts[0].path.parent,
        reads=attrgetter("reads"),
        n_items=attrgetter("n_items"),
    )
    return [closed.get(part.path) or closed_file(part.path) for part in parts]


def _make_and_summarise(make_part, part):
    """Runs in a worker: to look over what was written takes longer than to join it."""
    return make_part(part.identified()), closed_file(part.path)


def create_part(part, failures=()):
    """Yield the h5py file of a part to fill: not verified, as the rows of the joined file are."""
    return create_stored(part.path, replace(part.header, failures=tuple(failures)), verified=False)


def join_parts(out, header_of, parts, complete=None):
    """Join parts, which were closed, into `out` and remove them; `header_of(parts)` is its header, without
    the failures, which are returned; `complete(file, header)` adds to the open file what the parts lack.

    Raises
    ------
    FlyannotError
        If not one image could be used; `out` is as it was.
    DataError
        If a part is not what was written.
    """
    failures = tuple(failure for part in parts for failure in part.failures)
    if not any(part.stage_ranges for part in parts):
        drop_parts(out)
        first, fix = split_failure(failures[0][1])
        raise FlyannotError(
            f"not one image of {len(failures):,} could be used; the first: {first}",
            fix=fix or "check the images that the table or the command names",
        )
    try:
        header = replace(header_of(parts), failures=failures)
        with create_joined(out, header, parts, each=map_ordered) as file:
            if complete is not None:
                complete(file, header)
    except DataError:
        _require_whole(parts)
        raise
    drop_parts(out)
    return failures


def _require_whole(parts):
    """Remove the parts that are not what was written; DataError, which says how many, if there are any."""
    damaged = [part.path for part in parts if not _is_whole(part.path)]
    if damaged:
        raise DataError(
            f"{damaged[0].parent}: {pluralise(len(damaged), 'part is', 'parts are')} not what was written",
            fix="run the same command again: it makes these anew, and takes the others as they are",
        )


def drop_parts(out):
    """Remove the parts of an output, and the locks of jobs that were killed over a share of them."""
    shutil.rmtree(folder_of_parts(out), ignore_errors=True)
    for left in out.parent.glob(f".{escape(out.name)}.*-of-*.lock"):
        with suppress(LockedError), exclusive_lock(out.with_name(left.name[1:].removesuffix(".lock"))):
            pass  # it goes with this


def _is_kept(part):
    """Whether it is there, and of what its images are now."""
    if not _is_whole(part.path):
        return False
    with open_stored(part.path) as stored:
        return stored.inputs == part.identified().header.inputs


def _is_whole(part):
    try:
        return part.exists() and bool(verify_stored(part))
    except DataError:
        part.unlink()
        return False

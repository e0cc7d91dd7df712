"""Work on many images, cut into shards.  A finished shard is a whole file and survives any interruption.

Shards are cut by the images alone, never by the number of jobs, and each part is named by the digest
of what it was made from: a later run takes up exactly the parts that still fit.
"""

import shutil
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

from flyannot.errors import DataError, FlyannotError, InputError
from flyannot.runtime.wording import pluralise
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.steps.engine.failures import error_and_fix
from flyannot.store.concatenation import concatenate, part_of
from flyannot.store.header import Header
from flyannot.store.reading import open_stored, verify_stored
from flyannot.store.writing import create_stored

IMAGES_PER_PART = 64


@dataclass(frozen=True, kw_only=True)
class ShardOfImages:
    """Some images, from which a worker makes a part: `header` is the part's, which lies at `part`."""

    images: list
    header: Header
    part: Path

    @property
    def n_items(self):
        return len(self.images)

    @property
    def name(self):
        """What messages call it."""
        return f"the images {self.images[0].name} to {self.images[-1].name}"

    @property
    def reads(self):
        """The paths of what the part is made from."""
        return [image.path for image in self.images if image.path.is_file()]


def cut_into_shards(items):
    """Cut a list into consecutive shards."""
    return [items[start : start + IMAGES_PER_PART] for start in range(0, len(items), IMAGES_PER_PART)]


def share_of(images, shard):
    """The images of one share, and the entry of the header's `inputs` that says which it is.

    Parameters
    ----------
    images : dict, stage range -> list; every stage range is cut into N consecutive shares, whose sizes
        differ by one at most
    shard : (I, N), I counted from 1; None for all images

    Raises
    ------
    InputError
        If the share holds no image.
    """
    if shard is None:
        return images, {}
    number, count = shard
    cuts = {s: [len(mine) * k // count for k in (number - 1, number)] for s, mine in images.items()}
    mine = {s: images[s][first:last] for s, (first, last) in cuts.items() if first < last}
    if not mine:
        most = max(len(mine) for mine in images.values())
        raise InputError(
            f"shard {number}/{count} holds no image: no stage range has more than {most}",
            fix=f"cut into {most} shards at most",
        )
    return mine, {"shard": [f"{number}/{count}"]}


def parts_of_share(parts, share):
    """Those of the parts of an output that the I-th of N shares has; all if `share` is None.

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
    return folder_of_parts(out) / f"{key[:24]}.h5"


def make_parts(make_part, shards, execution, *, unit="image"):
    """Make every shard's part that is not there yet, in parallel.

    `make_part(shard)` writes shard.part, and calls `item_done` for every item; a shard has `part`
    (a path), `n_items`, `name` and `reads` (the paths of what it is made from).
    """
    if not shards:  # of a few parts, some shares have none
        return
    total = sum(shard.n_items for shard in shards)
    missing = [shard for shard in shards if not _is_whole(shard.part)]
    before = done = total - sum(shard.n_items for shard in missing)
    execution.progress(done, total, unit)

    def on_done(n_items):
        nonlocal done
        done += n_items
        execution.progress(done, total, unit)

    def on_items(n_ended):  # a shard that is tried again counts twice: never more than all but one
        if done < total:
            execution.progress(max(done, min(before + n_ended, total - 1)), total, unit)

    execution.workers.run_all(
        make_part, missing, on_done=on_done, on_items=on_items, name=attrgetter("name"),
        folder=shards[0].part.parent, reads=attrgetter("reads"),
    )  # fmt: skip


def create_part(shard, failures=()):
    """Yield the h5py file of a shard's part to fill: not verified, as the rows of the joined file are."""
    return create_stored(shard.part, replace(shard.header, failures=tuple(failures)), verified=False)


def write_part(shard, made, failures, write):
    """Write the part of a `ShardOfImages`; returns how many images it was made of.

    Parameters
    ----------
    made : list of tuples, an image and what was made of it
    failures : list of (name, reason)
    write : write(part, stage_range, images, ...) adds those of one stage range, of every column a tuple
    """
    with create_part(shard, failures) as part:
        for stage_range in STAGE_RANGES:
            mine = [one for one in made if one[0].stage_range == stage_range]
            if mine:
                write(part, stage_range, *zip(*mine))
    return len(shard.images)


def join_parts(out, header_of, shards):
    """Join the parts into `out` and remove them; `header_of(failures)` is its header.

    Raises
    ------
    FlyannotError
        If not one image could be used; `out` is as it was.
    DataError
        If a part is not what was written.
    """
    parts = []
    for shard in shards:
        with open_stored(shard.part) as stored:
            parts.append(part_of(stored))
    failures = tuple(failure for part in parts for failure in part.failures)
    if not any(part.stage_ranges for part in parts):
        drop_parts(out)
        first, fix = error_and_fix(failures[0][1])
        raise FlyannotError(
            f"not one image of {len(failures):,} could be used; the first: {first}",
            fix=fix or "check the images that the table or the command names",
        )
    try:
        with create_stored(out, header_of(failures)) as file:
            concatenate(file, parts, verified=False)
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
    """Remove the parts of an output."""
    shutil.rmtree(folder_of_parts(out), ignore_errors=True)


def _is_whole(part):
    try:
        return part.exists() and bool(verify_stored(part))
    except DataError:
        part.unlink()
        return False

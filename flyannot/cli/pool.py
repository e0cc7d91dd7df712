"""flyannot pool: descriptors, or images, and dictionaries to features."""

import click

from flyannot.cli.shared.options import (
    IN_FILE,
    Command,
    execution_of,
    finish,
    force_option,
    out_option,
    shard_option,
    takes,
)  # fmt: skip
from flyannot.errors import InputError
from flyannot.features.options import PoolOptions
from flyannot.steps.options import RunOptions, Selection


@click.command("pool", cls=Command)
@click.argument("descriptors", type=IN_FILE, nargs=-1, required=True)
@click.argument("dictionary", type=IN_FILE)
@out_option("features")
@takes(options=PoolOptions, selection=Selection, run=RunOptions)
@shard_option
@force_option
def command(descriptors, dictionary, out, options, selection, run, shard, force):
    """Code every patch, and keep the strongest use of every atom in every cell of an image.

    DESCRIPTORS comes from `flyannot extract` (several files count as one), DICTIONARY from `flyannot
    learn-dict`; the output goes to `flyannot train` and `flyannot evaluate`. A data set folder may stand for
    DESCRIPTORS: its images are then described as those that the dictionary was learned from, with no file
    of descriptors between.

    \b
    Example:
        flyannot pool descriptors.h5 dictionary.h5 -o features.h5 --grid 2x4
        flyannot pool embryos dictionary.h5 -o features.h5 --grid 2x4
    """
    from flyannot.dataset.paths import TABLE_SUFFIXES

    execution, chosen = execution_of(force, run), selection.stage_range
    first = descriptors[0]
    if len(descriptors) == 1 and (first.is_dir() or first.suffix.lower() in TABLE_SUFFIXES):
        from flyannot.dataset.folder import read_images
        from flyannot.dataset.images import select_images
        from flyannot.steps.pool_images import pool_images

        images = select_images(read_images(first), views=selection.view, stage_ranges=chosen)
        return finish(pool_images(images, dictionary, out, options, execution, shard=shard))
    if selection.view:
        raise InputError(
            "the views of descriptors were chosen when they were extracted",
            fix="leave out --view, or name the folder of the images",
        )
    from flyannot.steps.pool import pool

    return finish(pool(descriptors, dictionary, out, options, execution, stage_ranges=chosen, shard=shard))

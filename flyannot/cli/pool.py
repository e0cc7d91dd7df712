"""flyannot pool: descriptors and dictionaries to features."""

import click

from flyannot.cli.shared.argument_order import FileArgument
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
from flyannot.features.options import PoolOptions
from flyannot.steps.options import RunOptions, Selection


@click.command("pool", cls=Command)
@click.argument("descriptors", cls=FileArgument, holds="descriptors", type=IN_FILE, nargs=-1, required=True)
@click.argument("dictionary", cls=FileArgument, holds="dictionary", type=IN_FILE)
@out_option("features")
@takes(options=PoolOptions, selection=(Selection, ["stage_range"]), run=RunOptions)
@shard_option
@force_option
def command(descriptors, dictionary, out, options, selection, run, shard, force):
    """Code every patch, and keep the strongest use of every atom in every cell of an image.

    DESCRIPTORS comes from `flyannot extract` (several files count as one), DICTIONARY from `flyannot
    learn-dict`; the output goes to `flyannot train` and `flyannot evaluate`.

    \b
    Example:
        flyannot pool descriptors.h5 dictionary.h5 -o features.h5 --grid 2x4
    """
    from flyannot.steps.pool import pool

    execution, chosen = execution_of(force, run), selection.stage_range
    return finish(pool(descriptors, dictionary, out, options, execution, stage_ranges=chosen, shard=shard))

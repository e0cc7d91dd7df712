"""flyannot pool: descriptors and dictionaries to features."""

import click

from flyannot.cli.shared.options import (
    IN_FILE,
    POSITIVE,
    Command,
    Grid,
    finish,
    force_option,
    jobs_option,
    out_option,
    shard_option,
    stage_range_option,
    work_of,
)
from flyannot.features.grid import VIEWS
from flyannot.sparse.coders import CODERS


@click.command("pool", cls=Command)
@click.argument("descriptors", type=IN_FILE, nargs=-1, required=True)
@click.argument("dictionary", type=IN_FILE)
@out_option("features")
@click.option(
    "--coder", type=click.Choice(CODERS), default="cd", show_default=True,
    help="Solver of the codes; all find the same ones. cd is the quickest for dictionaries of usual size. "
         "siso and hash-siso are for very many atoms, 10,000 and more; the others are there to compare with.",
)  # fmt: skip
@click.option(
    "--tol", type=POSITIVE, default=1e-4, show_default=True,
    help="Largest duality gap of a code, relative to half the squared norm of its patch.",
)  # fmt: skip
@click.option(
    "--pooling", type=click.Choice(["max", "mean", "rms"]), default="max", show_default=True,
    help="What is kept of an atom's codes in a cell.",
)  # fmt: skip
@click.option(
    "--grid",
    type=Grid(),
    default="1x1",
    show_default=True,
    help="Cells laid over the image; several grids as in 1x1+2x4.",
)
@click.option(
    "--signs", type=click.Choice(["merged", "apart"]), default="merged", show_default=True,
    help="Pool the sizes of an atom's codes, or its positive and its negative codes apart.",
)  # fmt: skip
@click.option(
    "--views", type=click.Choice(["merged", "apart"]), default="merged", show_default=True,
    help="Pool lateral, dorsal, ventral and other images alike, or each kind into features of its own.",
)  # fmt: skip
@click.option(
    "--mirror", type=click.Choice(VIEWS), multiple=True,
    help="Pool every image of this view together with what it is upside down (repeatable). Dorsal and "
    "ventral views show both flanks, and either may be up.",
)  # fmt: skip
@stage_range_option
@shard_option
@jobs_option
@force_option
def command(descriptors, dictionary, out, stage_ranges, shard, jobs, force, **options):
    """Code every patch and pool the codes of every image into one feature vector.

    DESCRIPTORS comes from `flyannot extract` (several files count as one), DICTIONARY from `flyannot
    learn-dict`; the output goes to `flyannot train` and `flyannot evaluate`.

    \b
    Example:
        flyannot pool descriptors.h5 dictionary.h5 -o features.h5 --grid 2x4
    """
    from flyannot.features.image_features import PoolOptions
    from flyannot.steps.pool import pool

    options = PoolOptions(**options)
    work = work_of(force, jobs)
    return finish(pool(descriptors, dictionary, out, options, work, stage_ranges=stage_ranges, shard=shard))

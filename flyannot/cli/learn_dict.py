"""flyannot learn-dict: descriptors to dictionaries."""

import click

from flyannot.cli.shared.options import (
    IN_FILE,
    Command,
    execution_of,
    finish,
    force_option,
    out_option,
    seed_option,
    takes,
)  # fmt: skip
from flyannot.steps.options import LearnOptions, RunOptions, Selection


@click.command("learn-dict", cls=Command)
@click.argument("descriptors", type=IN_FILE, nargs=-1, required=True)
@out_option("dictionary")
@takes(options=LearnOptions, selection=(Selection, ["stage_range"]), run=RunOptions)
@seed_option
@force_option
def command(descriptors, out, options, selection, run, seed, force):
    """Learn one dictionary per stage range, or one that they share.

    DESCRIPTORS comes from `flyannot extract` (several files count as one); the output goes to
    `flyannot pool`. Every epoch prints a line; with -v its objective, gap and non-zeros, which
    NAME.trace.csv beside the output keeps. Interrupted learning continues after its last finished epoch, or
    with --shares its last round. Without --shares one worker does it all, whatever --jobs says.

    \b
    Example:
        flyannot learn-dict descriptors.h5 -o dictionary.h5 --n-atoms 500
    """
    from flyannot.steps.learn_dict import learn_dict

    execution, chosen = execution_of(force, run), selection.stage_range
    return finish(learn_dict(descriptors, out, options, execution, seed=seed, stage_ranges=chosen))

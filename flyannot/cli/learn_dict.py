"""flyannot learn-dict: descriptors to dictionaries."""

import click

from flyannot.cli.shared.learner_options import learner_options, settings_of
from flyannot.cli.shared.options import (
    COUNT,
    IN_FILE,
    POSITIVE,
    Command,
    finish,
    force_option,
    out_option,
    seed_option,
    stage_range_option,
    work_of,
)
from flyannot.sparse.learners import LEARNERS


@click.command("learn-dict", cls=Command)
@click.argument("descriptors", type=IN_FILE, nargs=-1, required=True)
@out_option("dictionary")
@click.option(
    "--learner", type=click.Choice(LEARNERS), default="scc", show_default=True,
    help="Solver. modl is made for whole pictures: descriptors are too short for its masks to pay.",
)  # fmt: skip
@click.option("--n-atoms", type=COUNT, default=1000, show_default=True, help="Atoms of each dictionary.")
@click.option("--lam", type=POSITIVE, help="Weight of the L1 norm.  [default: 1.2 / sqrt(128), about 0.106]")
@click.option("--n-epochs", type=COUNT, default=10, show_default=True, help="Passes over all patches.")
@click.option("--max-patches", type=COUNT, help="Learn from at most this many patches, drawn at random.")
@click.option(
    "--init", type=click.Choice(["random-patches"]), default="random-patches", show_default=True,
    help="Where the initial atoms come from.",
)  # fmt: skip
@click.option(
    "--shared", is_flag=True,
    help="One dictionary, from the patches of all stage ranges, instead of one for each.",
)  # fmt: skip
@stage_range_option
@seed_option
@force_option
@learner_options
def command(descriptors, out, stage_ranges, seed, force, **options):
    """Learn one dictionary per stage range, or one that they share.

    DESCRIPTORS comes from `flyannot extract` (several files count as one); the output goes to
    `flyannot pool`. Every epoch prints a line, and NAME.trace.csv beside the output keeps them.
    Interrupted learning continues after its last finished epoch.

    \b
    Example:
        flyannot learn-dict descriptors.h5 -o dictionary.h5 --n-atoms 500
    """
    from flyannot.steps.learn_dict import LearnOptions, learn_dict

    settings = settings_of(options["learner"], options)
    options = LearnOptions(**options, settings=settings)
    return finish(learn_dict(descriptors, out, options, work_of(force), seed=seed, stage_ranges=stage_ranges))

"""flyannot synthesize: synthetic embryos whose terms are known."""

import click

from flyannot.cli.shared.messages import Progress
from flyannot.cli.shared.options import Command, out_folder_option, overwrite_option, seed_option, takes
from flyannot.cli.shared.output import log
from flyannot.dataset.synthetic import SynthesizeOptions


@click.command("synthesize", cls=Command)
@out_folder_option("The data set folder to make.")
@takes(options=SynthesizeOptions)
@seed_option
@overwrite_option("Write into a folder that is not empty.")
def command(folder, options, seed, force):
    """Make a data set of synthetic embryos whose terms are known.

    They are drawn, not photographed: for demonstrations and tests. Scores on them say nothing about
    real embryos.

    \b
    Example:
        flyannot synthesize -o embryos --n-genes 40
    """
    from flyannot.dataset.synthetic.generate import synthesize

    made = synthesize(folder, options, seed=seed, force=force, progress=Progress())
    log.info("wrote %s: %s", folder, ", ".join(f"{n:,} {what}" for what, n in made.items()))

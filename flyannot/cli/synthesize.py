"""The command flyannot synthesize, which makes synthetic embryos."""

import click

from flyannot.cli.shared.options import Command, add_options, out_folder_option, overwrite_option, seed_option
from flyannot.cli.shared.output import build_execution, log
from flyannot.dataset.synthetic import SynthesizeOptions
from flyannot.pipeline.options import RunOptions


@click.command("synthesize", cls=Command)
@out_folder_option("The data set folder to make.")
@add_options(options=SynthesizeOptions, run=RunOptions)
@seed_option
@overwrite_option("Write into a folder that is not empty.")
def command(folder, options, run, seed, force):
    """Make a data set of synthetic embryos with known terms.

    The embryos are drawings for demonstrations and tests. Scores on them say nothing about real embryos.

    \b
    Example:
        flyannot synthesize -o embryos --n-genes 40
    """
    from flyannot.pipeline.commands.synthesize import SynthesizeTask

    made = SynthesizeTask(folder, options, seed).make(build_execution(force, run))
    log.info("wrote %s: %s", folder, made.summary)

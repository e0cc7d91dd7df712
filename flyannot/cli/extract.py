"""flyannot extract: images to descriptors."""

from pathlib import Path

import click

from flyannot.cli.shared.options import (
    Command,
    execution_of,
    finish,
    force_option,
    out_option,
    shard_option,
    takes,
)  # fmt: skip
from flyannot.descriptors.options import ExtractOptions
from flyannot.steps.options import RunOptions, Selection


@click.command("extract", cls=Command)
@click.argument("data_set", type=click.Path(path_type=Path))
@out_option("descriptors")
@takes(options=ExtractOptions, selection=Selection, run=RunOptions)
@shard_option
@force_option
def command(data_set, out, options, selection, run, shard, force):
    """Describe the informative patches of every image by dense SIFT.

    DATA_SET is a folder with images.csv (columns image, gene, stage_range and optionally view, fbgn,
    group), or that table itself. The output goes to `flyannot learn-dict` and `flyannot pool`. Images
    that cannot be read are listed in failures.csv; the exit code is then 3.

    \b
    Example:
        flyannot extract embryos -o descriptors.h5 --view lateral
    """
    from flyannot.dataset.folder import read_images
    from flyannot.dataset.images import select_images
    from flyannot.steps.extract import extract

    images = select_images(read_images(data_set), views=selection.view, stage_ranges=selection.stage_range)
    return finish(extract(images, out, options, execution_of(force, run), shard=shard), images=images)

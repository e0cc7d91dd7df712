"""flyannot extract: images to descriptors."""

from pathlib import Path

import click

from flyannot.cli.shared.options import (
    Command,
    finish,
    force_option,
    jobs_option,
    out_option,
    shard_option,
    stage_range_option,
    work_of,
)


@click.command("extract", cls=Command)
@click.argument("data_set", type=click.Path(path_type=Path))
@out_option("descriptors")
@click.option(
    "--patch-px", type=int, multiple=True, default=[16], show_default=True,
    help="Side of a patch, a multiple of 4 (repeatable: patches of several sizes, one dictionary, pooled "
    "separately).",
)  # fmt: skip
@click.option("--stride-px", type=int, default=16, show_default=True, help="From one patch to the next.")
@click.option(
    "--min-std", type=click.FloatRange(min=0), default=6.0, show_default=True,
    help="Drop patches whose grey levels (0 to 255) have a smaller standard deviation.",
)  # fmt: skip
@click.option(
    "--channel", type=click.Choice(("grey", "stain")), default="grey", show_default=True,
    help="What is described: the grey levels, or only the blue-purple stain (NBT/BCIP) of a colour image on "
    "white; of an image without colour the grey levels either way.",
)  # fmt: skip
@click.option(
    "--register", type=click.Choice(("none", "axis")), default="none", show_default=True,
    help="Find the embryo first, and turn it by at most 90 degrees, cut it out and scale it, so that all lie "
    "alike: left stays left. A picture in which no embryo is found is taken as it is, and named.",
)  # fmt: skip
@click.option(
    "--intensity", type=click.FloatRange(0, 1), default=0.0, show_default=True,
    help="Add to the descriptor of a patch, with this weight, the mean and the standard deviation of its "
    "intensity: SIFT sees neither.",
)  # fmt: skip
@click.option(
    "--view", "views", multiple=True, help="Only images of this view (repeatable), such as lateral."
)
@stage_range_option
@shard_option
@jobs_option
@force_option
def command(data_set, out, views, stage_ranges, shard, jobs, force, **options):
    """Describe the informative patches of every image by dense SIFT.

    DATA_SET is a folder with images.csv (columns image, gene, stage_range and optionally view, fbgn,
    group), or that table itself. The output goes to `flyannot learn-dict` and `flyannot pool`. Images
    that cannot be read are listed in failures.csv; the exit code is then 3.

    \b
    Example:
        flyannot extract embryos -o descriptors.h5 --view lateral
    """
    from flyannot.dataset.folder import read_images
    from flyannot.dataset.selection import select_images
    from flyannot.descriptors.options import ExtractOptions
    from flyannot.steps.extract import extract

    images = select_images(read_images(data_set), views=views, stage_ranges=stage_ranges)
    return finish(extract(images, out, ExtractOptions(**options), work_of(force, jobs), shard=shard))

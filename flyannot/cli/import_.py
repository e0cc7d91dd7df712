"""flyannot import: published data to a data set folder."""

from pathlib import Path

import click

from flyannot.cli.options import IN_FILE, OUT_FOLDER, Command, log


@click.group("import")
def command():
    """Turn published data into a data set folder: images, images.csv and annotations.csv."""


@command.command("wu2016", cls=Command)
@click.argument("patterns", type=IN_FILE)
@click.option("-o", "--output", "folder", type=OUT_FOLDER, required=True, help="The data set folder to make.")
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
def wu2016(patterns, folder, force):
    """The blastoderm patterns of Wu et al. 2016 (stage range 4-6), drawn as 320 x 128 images.

    PATTERNS is an npz file with patterns, image_id, gene, fbgn and mask. The annotations.csv that
    lies beside it is copied.

    \b
    Example:
        flyannot import wu2016 patterns.npz -o wu2016
    """
    from flyannot.wu2016 import import_wu2016

    made = import_wu2016(Path(patterns), Path(folder), force=force)
    log.info("wrote %s: %s", folder, ", ".join(f"{what.removeprefix('n_')} {n}" for what, n in made.items()))

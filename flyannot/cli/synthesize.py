"""flyannot synthesize: labelled synthetic embryos."""

import click

from flyannot.cli.shared.options import COUNT, OUT_FOLDER, Command, StageRange, log, seed_option


@click.command("synthesize", cls=Command)
@click.option("-o", "--output", "folder", type=OUT_FOLDER, required=True, help="The data set folder to make.")
@click.option("--n-genes", type=COUNT, default=60, show_default=True, help="Made-up genes.")
@click.option("--max-images", type=COUNT, default=5, show_default=True, help="Most images of a group.")
@click.option(
    "--stage-range", "stage_ranges", type=StageRange(), multiple=True, default=("4-6", "9-10", "13-16"),
    show_default=True, help="Stage ranges to make (repeatable).",
)  # fmt: skip
@seed_option
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
def command(folder, force, **options):
    """Make a data set of synthetic embryos whose terms are known.

    They are drawn, not photographed: for demonstrations and tests. Scores on them say nothing about
    real embryos.

    \b
    Example:
        flyannot synthesize -o embryos --n-genes 40
    """
    from flyannot.dataset.synthetic.generate import synthesize

    made = synthesize(folder, force=force, **options)
    log.info("wrote %s: %s", folder, ", ".join(f"{n:,} {what.removeprefix('n_')}" for what, n in made.items()
                                               if isinstance(n, int)))  # fmt: skip

"""flyannot explain: which patches of an image support a term."""

import click

from flyannot.base.stage_ranges import StageRange
from flyannot.base.text import pluralise
from flyannot.cli.shared.options import (
    IN_FILE,
    Command,
    ModelFile,
    ParsedBy,
    out_folder_option,
    overwrite_option,
)
from flyannot.cli.shared.output import log, say

_MOST_SHOWN = 3  # patches of an image that are printed


@click.command("explain", cls=Command)
@click.argument("model", type=ModelFile())
@click.argument("images", type=IN_FILE, nargs=-1, required=True)
@click.option(
    "--term",
    "terms",
    multiple=True,
    help="Explain this term (repeatable); by default the three most probable of each group.",
)
@click.option("--gene", "genes", multiple=True, help="Only this gene of a data set (repeatable).")
@click.option(
    "--stage-range",
    type=ParsedBy(StageRange()),
    help="The stage range of a plain folder or of single images; of a data set, the only one to explain.",
)
@out_folder_option("A new folder for pictures and a table.", required=False)
@overwrite_option("Write into a folder that is not empty.")
def command(model, images, terms, genes, stage_range, folder, force):
    """Split decision values exactly into the contributions of the patches.

    MODEL comes from `flyannot train`, by a linear method (the default). IMAGES as for
    `flyannot annotate`. The contributions of the patches and the intercept sum to the decision value.
    The strongest patches are listed with the row and column of their centre, in pixels of the standard
    320 x 128 image. With -o every image is drawn: orange supports the term, blue opposes it;
    contributions.csv lists all patches.

    \b
    Example:
        flyannot explain model.h5 embryo.png --stage-range 4-6 --term "pole cell" -o why
    """
    from flyannot.dataset.images import images_named, select_images
    from flyannot.pipeline.explain import draw_explanations, explain

    chosen = select_images(
        images_named(images, stage_range), genes=genes, stage_ranges=[stage_range] if stage_range else ()
    )
    explanations = explain(model, chosen, terms=terms)
    if folder is None:
        pairs = ((explained, [image.name for image in explained.images]) for explained in explanations)
    else:
        pairs = draw_explanations(explanations, folder, force=force)
    for explained, names in pairs:
        say(_in_words(explained, names))
    if folder is not None:
        log.info("wrote %s", folder)


def _in_words(explained, names):
    from flyannot.pipeline.explain import format_decomposition

    lines = [
        f"{explained.gene or explained.group}, {explained.stage_range}: {explained.term}: "
        f"{'yes' if explained.yes else 'no'}, probability {explained.probability:.3f}",
        f"  {format_decomposition(explained)}",
    ]
    for number, name in enumerate(names):
        centres_px, contribution = explained.patches(number)
        strongest = ", ".join(
            f"{c:+.4f} at ({row:g}, {column:g})"
            for (row, column), c in list(zip(centres_px, contribution))[:_MOST_SHOWN]
        )
        patches = pluralise(len(contribution), "patch", "patches")
        lines.append(f"  {name}: {contribution.sum():+.4f} from {patches}")
        lines.append(f"      {strongest}" if strongest else "      no patch of this image won any feature")
    return "\n".join(lines)

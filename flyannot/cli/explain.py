"""The command flyannot explain, which shows the patches that support or oppose a term."""

import click

from flyannot.base.errors import InputError
from flyannot.base.text import pluralise
from flyannot.cli.shared import options as shared
from flyannot.cli.shared.output import log, print_text
from flyannot.pipeline.options import Selection

_MAX_SHOWN = 3  # printed patches of an image


@click.command("explain", cls=shared.Command)
@click.argument("model", type=shared.ModelFile())
@click.argument("images", type=shared.IN_FILE, nargs=-1, required=True)
@click.option(
    "--term",
    "terms",
    multiple=True,
    help="Explain this term (repeatable). By default the three most probable terms of each group.",
)
@click.option("--gene", "genes", multiple=True, help="Explain only this gene of a data set (repeatable).")
@shared.add_options(selection=(Selection, ["stage_range", "view", "guess_stages", "recursive", "columns"]))
@shared.out_folder_option("Write pictures and a table to this new folder.", required=False)
@shared.overwrite_option("Write into a folder that is not empty.")
def command(model, images, terms, genes, selection, folder, force):
    """Show which patches of an image support or oppose a term.

    The contributions of the patches and the intercept sum exactly to the decision value. MODEL comes from
    `flyannot train`, with a linear method (the default). IMAGES are as for `flyannot annotate`, or the output
    folder of a run, whose pictures are then not needed. The strongest patches are listed with the row and
    column of their centre, in pixels of the standard 320 x 128 image.
    With -o, every image is drawn: orange patches support the term, blue patches oppose it. The file
    contributions.csv lists all patches.

    \b
    Example:
        flyannot explain model.h5 embryo.png --stage-range 4-6 --term "pole cell" -o why
        flyannot explain results/model.h5 results
    """
    from flyannot.pipeline.steps.annotate import read_images_for_model
    from flyannot.results.explain import explain, explain_results
    from flyannot.results.explanation_pictures import draw_explanations

    if len(images) == 1 and (images[0] / "features.h5").is_file():
        if selection.view:
            raise InputError("a run answers by all views of a gene together", fix="leave out --view")
        more = {"stage_ranges": selection.stage_range, "genes": genes, "terms": terms}
        explanations = explain_results(model, images[0], **more)
    else:
        chosen = read_images_for_model(model, images, selection, genes=genes)
        explanations = explain(model, chosen, terms=terms)
    if folder is None:
        pairs = ((one, [image.name for image in one.images]) for one in explanations)
    else:
        pairs = draw_explanations(explanations, folder, force=force)
    for explained, names in pairs:
        print_text(_format(explained, names))
    if folder is not None:
        log.info("wrote %s", folder)


def _format(explained, names):
    from flyannot.results.explain import format_decomposition

    lines = [
        f"{explained.gene or explained.group}, {explained.stage_range}: {explained.term}: "
        f"{'yes' if explained.yes else 'no'}, probability {explained.probability:.3f}",
        f"  {format_decomposition(explained)}",
    ]
    for number, name in enumerate(names):
        centres_px, contribution = explained.patches(number)
        first = list(zip(centres_px, contribution))[:_MAX_SHOWN]
        strongest = ", ".join(f"{c:+.4f} at ({row:g}, {column:g})" for (row, column), c in first)
        patches = pluralise(len(contribution), "patch", "patches")
        lines.append(f"  {name}: {contribution.sum():+.4f} from {patches}")
        none = "no patch of this image gives the largest value of any feature"
        lines.append(f"      {strongest or none}")
    return "\n".join(lines)

"""flyannot annotate: a model and new images to terms."""

from pathlib import Path

import click

from flyannot.cli.shared.options import (
    IN_FILE,
    Command,
    StageRange,
    finish,
    force_option,
    jobs_option,
    ontology_option,
    out_option,
    shard_option,
    work_of,
)


@click.command("annotate", cls=Command)
@click.argument("model", type=IN_FILE)
@click.argument("images", type=click.Path(path_type=Path), nargs=-1, required=True)
@out_option("predictions")
@click.option(
    "--stage-range", type=StageRange(),
    help="The stage range of a plain folder or of single images; of a data set, the only one to annotate.",
)  # fmt: skip
@click.option(
    "--view", "views", multiple=True, help="Only images of this view (repeatable), such as lateral."
)
@click.option(
    "--cannot-say", type=click.FloatRange(0, 1), default=0.0, show_default=True,
    help='Answer "cannot say" where the probability is this near to that at the threshold of the term.',
)  # fmt: skip
@ontology_option
@shard_option
@jobs_option
@force_option
def command(model, images, out, stage_range, views, cannot_say, ontology, shard, jobs, force):
    """Predict the terms of new images.

    MODEL comes from `flyannot train`. IMAGES is a data set folder (with images.csv; images of one gene
    in one stage range are judged together), or, with --stage-range, a plain folder or single image
    files (each judged by itself). Beside the output, NAME.csv lists every term with its probability.

    \b
    Example:
        flyannot annotate model.h5 my-images --stage-range 4-6 -o predictions.h5
    """
    from flyannot.dataset.selection import images_named, select_images
    from flyannot.steps.annotate import annotate

    chosen = select_images(
        images_named(images, stage_range), views=views, stage_ranges=[stage_range] if stage_range else ()
    )
    work = work_of(force, jobs)
    return finish(annotate(model, chosen, out, work, ontology=ontology, cannot_say=cannot_say, shard=shard))

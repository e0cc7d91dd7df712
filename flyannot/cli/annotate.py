"""flyannot annotate: a model and new images to terms."""

import click

from flyannot.cli.shared.options import (
    IN_FILE,
    Command,
    ParsedBy,
    execution_of,
    finish,
    force_option,
    out_option,
    shard_option,
    takes,
)  # fmt: skip
from flyannot.stage_ranges import StageRange
from flyannot.steps.options import AnnotateOptions, RunOptions, Selection


@click.command("annotate", cls=Command)
@click.argument("model", type=IN_FILE)
@click.argument("images", type=IN_FILE, nargs=-1, required=True)
@out_option("predictions")
@click.option(
    "--stage-range", type=ParsedBy(StageRange()),
    help="The stage range of a plain folder or of single images; of a data set, the only one to annotate.",
)  # fmt: skip
@takes(options=AnnotateOptions, selection=(Selection, ["view"]), run=RunOptions)
@shard_option
@force_option
def command(model, images, out, stage_range, options, selection, run, shard, force):
    """Predict the terms of new images.

    MODEL comes from `flyannot train`. IMAGES is a data set folder (with images.csv; images of one gene
    in one stage range are taken together), or, with --stage-range, a plain folder or single image
    files (each taken separately); or a features file. Beside the output NAME.h5, NAME.csv lists every
    term with its probability.

    The answer is yes where the probability is above the threshold of the term, which stands beside it and is
    low for a rare term; to choose otherwise, train with --operating-point. n_genes and auc say how far to
    trust the term: how many genes it was learned from, and how well it was told apart in cross-validation.

    \b
    Example:
        flyannot annotate model.h5 my-images --stage-range 4-6 -o predictions.h5
    """
    from flyannot.dataset.images import images_named, select_images
    from flyannot.steps.annotate import annotate
    from flyannot.steps.annotate_features import annotate_features
    from flyannot.store.reading import kind_claimed

    stage_ranges = [stage_range] if stage_range else ()
    if len(images) == 1 and kind_claimed(images[0]) == "features":
        execution = execution_of(force, run)
        return finish(annotate_features(model, images[0], out, options, execution, stage_ranges=stage_ranges))
    chosen = select_images(images_named(images, stage_range), views=selection.view, stage_ranges=stage_ranges)
    outcome = annotate(model, chosen, out, options, execution_of(force, run), shard=shard)
    return finish(outcome, images=chosen)

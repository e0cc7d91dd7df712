"""flyannot train: features and curated terms to a model."""

from dataclasses import replace

import click

from flyannot.classifiers import CLASSIFIERS
from flyannot.cli.shared.classify_options import classify_options, classify_options_of
from flyannot.cli.shared.options import (
    IN_FILE,
    Command,
    finish,
    force_option,
    jobs_option,
    out_option,
    seed_option,
    stage_range_option,
    work_of,
)


@click.command("train", cls=Command)
@click.argument("features", type=IN_FILE, nargs=-1, required=True)
@click.argument("annotations", type=IN_FILE)
@out_option("model")
@classify_options
@click.option(
    "--second-opinion", type=click.Choice(CLASSIFIERS),
    help="Another classifier, of the same rows, whose answers stand beside those of the first: siso passes "
         "on the terms of the genes that a pattern is like.",
)  # fmt: skip
@stage_range_option
@seed_option
@jobs_option
@force_option
def command(features, annotations, out, second_opinion, stage_ranges, seed, jobs, force, **options):
    """Train one linear SVM per term and stage range.

    FEATURES comes from `flyannot pool` (several files count as one), ANNOTATIONS is a table with the
    columns gene, stage_range and term. The model holds all that `flyannot annotate` needs.

    \b
    Example:
        flyannot train features.h5 embryos/annotations.csv -o model.h5
    """
    from flyannot.steps.train import train

    chosen = replace(classify_options_of(**options), second_opinion=second_opinion)
    return finish(
        train(
            features, annotations, out, chosen, work_of(force, jobs),
            seed=seed, stage_ranges=stage_ranges,
        )
    )  # fmt: skip

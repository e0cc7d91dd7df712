"""flyannot train: features and curated terms to a model."""

import click

from flyannot.classifiers.options import ClassifyOptions
from flyannot.cli.shared.options import (
    IN_FILE,
    Command,
    execution_of,
    finish,
    force_option,
    out_option,
    seed_option,
    takes,
)  # fmt: skip
from flyannot.steps.options import RunOptions, Selection


@click.command("train", cls=Command)
@click.argument("features", type=IN_FILE, nargs=-1, required=True)
@click.argument("annotations", type=IN_FILE)
@out_option("model")
@takes(options=ClassifyOptions, selection=(Selection, ["stage_range"]), run=RunOptions)
@seed_option
@force_option
def command(features, annotations, out, options, selection, run, seed, force):
    """Train a classifier of the terms of every stage range.

    FEATURES comes from `flyannot pool` (several files count as one), ANNOTATIONS is a table with the
    columns gene, stage_range and term. The model holds all that `flyannot annotate` needs, and how well it
    tells every term apart: `flyannot show model.h5`.

    The answer to a term is yes where its probability is above the threshold of that term: the one with the
    largest sensitivity + specificity on held-out genes, which for a rare term is low. --operating-point
    precision=0.8 makes yes rarer and surer, sensitivity=0.9 finds more.

    \b
    Example:
        flyannot train features.h5 embryos/annotations.csv -o model.h5
    """
    from flyannot.steps.train import train

    execution, chosen = execution_of(force, run), selection.stage_range
    return finish(train(features, annotations, out, options, execution, seed=seed, stage_ranges=chosen))

"""The options of `train` and `evaluate`: how features become terms."""

import click

from flyannot.classifiers import CLASSIFIERS
from flyannot.cli.shared.options import COUNT, Aim

_OPTIONS = (
    click.option(
        "--method", type=click.Choice(CLASSIFIERS), default="svm", show_default=True,
        help="The classifier: a linear SVM per term, or one of its rivals.",
    ),
    click.option(
        "--scheme", type=click.Choice(["group", "mean", "image"]), default="group", show_default=True,
        help="Pool all patches of a group into one vector, take the mean of its images' vectors, or score "
             "every image and merge.",
    ),
    click.option(
        "--merge", type=click.Choice(["max", "mean"]), default="max", show_default=True,
        help="With --scheme image: how the values of a group's images become the group's.",
    ),
    click.option(
        "--normalisation", type=click.Choice(["l2", "power", "none"]), default="l2", show_default=True,
        help="Scale feature vectors to norm 1, or their square roots, or leave them.",
    ),
    click.option(
        "--min-groups", type=COUNT, default=5, show_default=True,
        help="Leave out terms that fewer groups carry.",
    ),
    click.option(
        "--exclude-terms", multiple=True, metavar="TERMS",
        help="Leave out these terms (repeatable, or separated by commas); not-anatomy stands for "
             "ubiquitous, maternal, faint ubiquitous, no staining and subset.",
    ),
    click.option(
        "--inner-folds", type=click.IntRange(min=2), default=3, show_default=True,
        help="Folds, split by gene, that choose C, calibrate, and set thresholds.",
    ),
    click.option(
        "--at", type=Aim(),
        help="Say yes above the threshold that gives this on the inner folds; by default that of the largest "
             "sensitivity + specificity.",
    ),
)  # fmt: skip


def classify_options(function):
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def classify_options_of(method, scheme, merge, normalisation, min_groups, exclude_terms, inner_folds, at):
    """The options as the library takes them."""
    from flyannot.classifiers.training_set import SetOptions
    from flyannot.steps.train import ClassifyOptions

    rows = SetOptions(scheme, normalisation, min_groups, terms_named(exclude_terms))
    return ClassifyOptions(rows, method, merge, inner_folds, at)


def terms_named(texts):
    """The terms meant by the values of --exclude-terms."""
    from flyannot.scores.metrics import NOT_ANATOMY

    named = [term.strip() for text in texts for term in text.split(",") if term.strip()]
    plain = {term for term in named if term != "not-anatomy"}
    return tuple(sorted(plain | set(NOT_ANATOMY if "not-anatomy" in named else ())))

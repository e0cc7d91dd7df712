"""flyannot bow: classifiers side by side on published features."""

import click

from flyannot.classifiers import CLASSIFIERS
from flyannot.cli.shared.options import COUNT, IN_FILE, Command, log, seed_option


@click.command("bow", cls=Command)
@click.argument("features", type=IN_FILE)
@click.option(
    "--method", "methods", type=click.Choice(CLASSIFIERS), multiple=True, default=["svm", "coupled-ridge"],
    show_default=True, help="A classifier (repeatable); each is compared with the first.",
)  # fmt: skip
@click.option(
    "--folds", "n_folds", type=click.IntRange(min=2), default=5, show_default=True,
    help="Folds of the cross-validation, the same for all.",
)  # fmt: skip
@click.option(
    "--min-groups",
    type=COUNT,
    default=10,
    show_default=True,
    help="Leave out terms that fewer embryos carry.",
)
@seed_option
def command(features, methods, n_folds, min_groups, seed):
    """Compare classifiers on the bag-of-words features of Cai et al. 2012.

    FEATURES is an npz file with the arrays features, terms and stage_range. The table has the mean AUC of
    each stage range; beside it stands the difference to the first method, with its 95 % interval by
    drawing embryos anew.

    \b
    Example:
        flyannot bow bdgp_bow.npz --method svm --method coupled-ridge --method rbf-svm
    """
    from flyannot.benchmarks.bag_of_words import evaluate_bag_of_words, read_bag_of_words
    from flyannot.runtime.blas_threads import one_blas_thread
    from flyannot.scores.table import format_rivals

    bow, results = read_bag_of_words(features), {}
    for method in dict.fromkeys(methods):
        log.info("%s", method)
        with one_blas_thread():
            results[method] = evaluate_bag_of_words(
                bow, method, n_folds=n_folds, min_groups=min_groups, seed=seed
            )
    click.echo(format_rivals(results))

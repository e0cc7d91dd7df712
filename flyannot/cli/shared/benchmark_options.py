"""What `flyannot bench` and `flyannot reproduce` are told alike."""

from pathlib import Path

import click

from flyannot.cli.shared.options import COUNT, IN_FILE, force_option, seed_option
from flyannot.errors import InputError


def benchmark_options(repeats):
    """The argument ITEM and the options of both; `repeats` is the default of --repeats in words."""
    options = (
        click.argument("items", metavar="[ITEM]...", nargs=-1, shell_complete=_names),
        click.option(
            "--data-set", type=IN_FILE,
            help="Measure on the images of this folder.  [default: flyexpress below FLYANNOT_DATA, else "
            "synthetic embryos]",
        ),
        click.option(
            "--ratings", type=IN_FILE,
            help="A ratings file: u.data, ratings.dat or ratings.csv of MovieLens, or Netflix's "
            "combined_data_1.txt.  [default: synthetic ratings]",
        ),
        click.option("--quick/--full", default=True, show_default=True, help="Minutes, or the full sizes."),
        click.option("--repeats", type=COUNT, help=f"Measurements of each comparison.  [default: {repeats}]"),
        click.option(
            "--list", is_flag=True, is_eager=True, expose_value=False, callback=_list,
            help="Name all items, and measure nothing.",
        ),
        seed_option,
        force_option,
    )  # fmt: skip

    def decorate(function):
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def setup_of(data_set, ratings, quick, repeats, seed, *, repeats_unless_given):
    """The `Setup` that the options ask for."""
    from flyannot.benchmarks.setup import Setup
    from flyannot.dataset.public import data_folder

    for path in (data_set, ratings):
        if path is not None and not path.exists():
            raise InputError(f"no such file or folder: {path}", fix="name one that is there")
    return Setup(
        "quick" if quick else "full",
        Path(),
        data_set,
        data_folder(),
        ratings,
        seed,
        repeats or repeats_unless_given,
    )


def _list(ctx, param, asked):
    if asked:
        from flyannot.benchmarks.items import ITEMS

        click.echo("\n".join(f"{name:<16} {item.title}" for name, item in ITEMS.items()))
        ctx.exit()


def _names(ctx, param, incomplete):
    from flyannot.benchmarks.items import ITEMS

    return [name for name in ITEMS if name.startswith(incomplete)]

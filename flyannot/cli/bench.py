"""flyannot bench: how fast are we beside our peers?"""

from pathlib import Path

import click

from flyannot.cli.shared.options import COUNT, OUT_FILE, Command

WHAT = (
    "learn", "learners", "code", "sift", "target", "scaling", "masks", "signals", "threads", "siso",
    "classifiers",
)  # fmt: skip


@click.command("bench", cls=Command)
@click.argument("what", type=click.Choice(WHAT), nargs=-1)
@click.option(
    "--data-set", type=click.Path(path_type=Path),
    help="Measure on the images of this folder.  [default: FlyExpress images beside the checkout, else the "
    "photographs of scikit-image]",
)  # fmt: skip
@click.option("--quick/--full", default=True, show_default=True, help="Minutes, or nearer to half an hour.")
@click.option("--json", "json_file", type=OUT_FILE, help="Also write all rows to this JSON file.")
@click.option("--repeats", type=COUNT, help="Repeat every measurement so often.  [default: 2; 3 with --full]")
@click.option("--n-patches", type=COUNT, help="Measure on at most this many patches.")
def command(what, data_set, quick, json_file, repeats, n_patches):
    """Measure flyannot and its peers on the same images.

    WHAT is any of learn, learners, code, sift, target (time to an objective), scaling, masks (whole
    pictures), signals (of other kinds), threads, siso (codes over very many atoms) and classifiers; all
    by default. Contenders take turns, each measurement in a process of its own; medians over the
    repeats and ratios within them are printed. A peer that is not installed is named as absent: SPAMS
    comes with `pip install 'flyannot[bench]'`.

    \b
    Example:
        flyannot bench learn code --json bench.json
    """
    from flyannot.benchmarks.speed.bounds import chosen
    from flyannot.benchmarks.speed.sections import sections
    from flyannot.runtime.atomic_file import write_text

    bounds = chosen(full=not quick, repeats=repeats, n_patches=n_patches)
    for section in sections(what, bounds, data_set):
        click.echo(section.text)
        if json_file:
            write_text(json_file, section.json)

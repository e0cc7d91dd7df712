"""flyannot report: a page that shows a run."""

from pathlib import Path

import click

from flyannot.cli.shared.options import IN_FILE, OUT_FILE, OUT_FOLDER, Command, finish


@click.command("report", cls=Command)
@click.argument("run", type=OUT_FOLDER)
@click.option(
    "-o", "--output", "out", type=OUT_FILE, help="The page to write; by default report.html within RUN."
)
@click.option(
    "--data-set", type=click.Path(path_type=Path),
    help="The data set folder, for images and curated terms; by default the one that the run used.",
)  # fmt: skip
@click.option(
    "--ontology", type=IN_FILE, multiple=True,
    help="An OBO file, such as FBbt or FBdv (repeatable): terms link to their entries at FlyBase. "
    "Without it, the ids that `annotate --ontology` wrote are taken.",
)  # fmt: skip
def command(run, out, data_set, ontology):
    """Write a page with all that a run found: open it in any browser.

    RUN is the output folder of `flyannot run`. The page shows every gene's images, predicted and curated
    terms, and what in the images speaks for each; the scores with their curves; the dictionary; and how
    all of it was made. It needs no network. When it would pass 20 MB, its images lie in a folder beside it.

    \b
    Example:
        flyannot report results -o report.html
    """
    from flyannot.report.making import make_report

    return finish(make_report(run, out or run / "report.html", data_set=data_set, ontology=ontology))

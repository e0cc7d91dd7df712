"""flyannot report: a page that shows a run."""

import click

from flyannot.cli.shared.options import IN_FILE, OUT_FILE, Command, takes
from flyannot.cli.shared.output import execution_of, finish
from flyannot.pipeline.options import ReportOptions


@click.command("report", cls=Command)
@click.argument("run", type=IN_FILE)
@click.option(
    "-o",
    "--output",
    "out",
    type=OUT_FILE,
    help="The page to write; by default report.html within RUN, or NAME.html beside NAME.h5.",
)
@click.option(
    "--data-set",
    type=IN_FILE,
    help="The data set folder, for pictures and curated terms, or a folder of pictures. By default the one "
    "that the run used, else the one near RUN that has them.",
)
@takes(options=ReportOptions)
def command(run, out, data_set, options):
    """Write a page that shows a run: open it in any browser.

    RUN is the output folder of `flyannot run`, or a folder with the files of the steps under the same names
    (predictions.h5, of any model, features.h5 and so on), or a predictions file. The page shows every gene's
    images, its predicted and curated terms, and what in the images supports each; the scores with their
    curves; a map of the patterns of a stage range, with similar genes side by side; the dictionary; and how
    everything was made. It needs no network. If it would be larger than 20 MB, its images are put into a
    folder beside it. The map takes about 4 s of processor time for every 1,000 genes of a stage range.

    \b
    Example:
        flyannot report results -o report.html
    """
    from flyannot.pipeline.engine.task import run_task
    from flyannot.report.build import ReportTask

    page = run.with_suffix(".html") if run.is_file() else run / "report.html"
    task = ReportTask(run, out or page, data_set, options)
    return finish(run_task(task, execution_of()))

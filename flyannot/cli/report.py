"""The command flyannot report, which writes a page that shows a run."""

import click

from flyannot.base.errors import InputError
from flyannot.cli.shared.options import IN_FILE, Command, add_options, out_option
from flyannot.cli.shared.output import build_execution, log_outcome
from flyannot.pipeline.options import ReportOptions, RunOptions, Selection


@click.command("report", cls=Command)
@click.argument("run", type=IN_FILE)
@out_option("The page to write.  [default: report.html in RUN, or NAME.html beside NAME.h5]", required=False)
@click.option(
    "--data-set",
    type=IN_FILE,
    help="A data set folder with curated terms, for files that no run made.  [default: the terms that the "
    "run learned from]",
)
@add_options(options=ReportOptions, selection=(Selection, ["columns"]), workers=RunOptions)
def command(run, out, data_set, options, selection, workers):
    """Write a page that shows a run. Open it in any browser.

    RUN is the output folder of `flyannot run`, a folder with files of the same names (such as predictions.h5
    and features.h5), or a predictions file. The page shows the images of every gene, its predicted and
    curated terms, and the parts of the images that support each term. It also has the scores, a map of
    similar patterns, the dictionary, and the options of every step. It works without a network, and is made
    of the files in RUN alone, without the pictures of the data set.

    If the page would be larger than 20 MB, its images are stored in a folder beside it: keep the two
    together. The map takes 0.5 to 0.9 s of processor time per 1,000 genes of a stage range.

    \b
    Example:
        flyannot report results -o report.html
    """
    from flyannot.pipeline.engine.curated_terms import CuratedTerms
    from flyannot.pipeline.engine.task import run_task
    from flyannot.report.build import ReportTask

    if not run.exists():
        raise InputError(f"no such folder: {run}", fix="name the output folder of: flyannot run CONFIG")
    page = run.with_suffix(".html") if run.is_file() else run / "report.html"
    curated = CuratedTerms(data_set, columns=selection.columns) if data_set else None
    task = ReportTask(run, out or page, curated, options)
    return log_outcome(run_task(task, build_execution(run=workers)))

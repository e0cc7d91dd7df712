"""The command flyannot verify, which checks files, tables with the files they came from, and models."""

import click

from flyannot.base.errors import FlyannotError
from flyannot.cli.shared.messages import Progress, colour_text
from flyannot.cli.shared.options import Command, ModelFile
from flyannot.cli.shared.output import log, print_text


@click.command("verify", cls=Command)
@click.argument("files", type=ModelFile(), nargs=-1, required=True)
def command(files):
    """Check that FILES are complete and undamaged, and find what tables came from.

    Every byte is read and compared with the digest in the header. A model that has test pictures (in the
    folder NAME-test beside NAME.h5, or with flyannot) annotates them, and must give the expected answers.
    A table, such as predictions.csv, names its model: it must be in the same folder, or come with flyannot.

    The exit code is 0 if all is well, 65 if a file is damaged, differs or is missing beside a table, and 2
    if one of FILES does not exist.

    \b
    Example:
        flyannot verify descriptors.h5 model.h5
        flyannot verify predictions.csv
        flyannot verify blastoderm
    """
    from flyannot.results.verify import verify_file

    worst = 0
    for path in files:
        try:
            kind = verify_file(path, Progress())
        except FlyannotError as error:
            print_text(f" {error.message}", head=colour_text("NOT whole:", "red"))
            log.error("Fix: %s", error.fix)
            worst = max(worst, error.exit_code)
        else:
            print_text(f"    {path} ({kind})", head=colour_text("whole", "green"))
    return worst

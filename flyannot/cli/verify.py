"""The command flyannot verify, which checks that files are complete and undamaged."""

import click

from flyannot.base.errors import FlyannotError
from flyannot.cli.shared.messages import Progress, colour_text
from flyannot.cli.shared.options import IN_FILE, Command
from flyannot.cli.shared.output import log, print_text


@click.command("verify", cls=Command)
@click.argument("files", type=IN_FILE, nargs=-1, required=True)
def command(files):
    """Check that FILES are complete and undamaged.

    Every byte is read and compared with the digest in the header. The exit code is 0 if all files are whole,
    65 if a file is damaged, and 2 if a file does not exist.

    \b
    Example:
        flyannot verify descriptors.h5 model.h5
    """
    from flyannot.files.hdf5.reading import verify_stored_file

    worst = 0
    for path in files:
        try:
            kind = verify_stored_file(path, Progress())
        except FlyannotError as error:
            print_text(f" {error.message}", head=colour_text("NOT whole:", "red"))
            log.error("Fix: %s", error.fix)
            worst = max(worst, error.exit_code)
        else:
            print_text(f"    {path} ({kind})", head=colour_text("whole", "green"))
    return worst

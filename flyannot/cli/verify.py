"""flyannot verify: are files whole?"""

import click

from flyannot.base.errors import FlyannotError
from flyannot.cli.shared.messages import Progress, coloured
from flyannot.cli.shared.options import IN_FILE, Command
from flyannot.cli.shared.output import log, say


@click.command("verify", cls=Command)
@click.argument("files", type=IN_FILE, nargs=-1, required=True)
def command(files):
    """Read every byte of every FILE and compare it with the digest in its header.

    The exit code is 0 when all are whole, 65 when one is damaged, 2 when one is not there.

    \b
    Example:
        flyannot verify descriptors.h5 model.h5
    """
    from flyannot.files.hdf5.reading import verify_stored

    worst = 0
    for path in files:
        try:
            kind = verify_stored(path, Progress())
        except FlyannotError as error:
            say(f" {error.message}", head=coloured("NOT whole:", "red"))
            log.error("Fix: %s", error.fix)
            worst = max(worst, error.exit_code)
        else:
            say(f"    {path} ({kind})", head=coloured("whole", "green"))
    return worst

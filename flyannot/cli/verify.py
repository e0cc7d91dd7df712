"""flyannot verify: are files whole?"""

import click

from flyannot.base.errors import FlyannotError
from flyannot.cli.shared.messages import coloured
from flyannot.cli.shared.options import IN_FILE, Command, json_option, log, say, say_json


@click.command("verify", cls=Command)
@click.argument("files", type=IN_FILE, nargs=-1, required=True)
@json_option
def command(files, as_json):
    """Read every byte of every FILE and compare it with the digest in its header.

    The exit code is 0 when all are whole, 65 when one is damaged, 2 when one is not there.

    \b
    Example:
        flyannot verify descriptors.h5 model.h5
    """
    from flyannot.cli.shared.messages import Progress
    from flyannot.files.hdf5.reading import verify_stored

    worst, reports = 0, []
    for path in files:
        report = {"file": str(path), "whole": True, "kind": None, "error": None, "fix": None}
        try:
            report["kind"] = verify_stored(path, Progress())
        except FlyannotError as error:
            report |= {"whole": False, "error": error.message, "fix": error.fix}
            worst = max(worst, error.exit_code)
        reports.append(report)
        if as_json:
            continue
        if report["whole"]:
            say(f"    {path} ({report['kind']})", head=coloured("whole", "green"))
        else:
            say(f" {report['error']}", head=coloured("NOT whole:", "red"))
            log.error("Fix: %s", report["fix"])
    if as_json:
        say_json(reports)
    return worst

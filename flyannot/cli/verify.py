"""flyannot verify: are files whole?"""

import click

from flyannot.cli.options import IN_FILE, Command


@click.command("verify", cls=Command)
@click.argument("files", type=IN_FILE, nargs=-1, required=True)
def command(files):
    """Read every byte of every FILE and compare it with the digest in its header.

    The exit code is 0 when all are whole, 65 when one is damaged, 2 when one is not there.

    \b
    Example:
        flyannot verify descriptors.h5 model.h5
    """
    from flyannot.errors import FlyannotError
    from flyannot.store.reading import verify_stored

    worst = 0
    for path in files:
        try:
            click.echo(f"whole    {path} ({verify_stored(path)})")
        except FlyannotError as error:
            click.echo(f"NOT whole: {error}")
            click.echo(f"Fix: {error.fix}", err=True)
            worst = max(worst, error.exit_code)
    return worst

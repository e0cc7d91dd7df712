"""flyannot verify: are files whole?"""

import click

from flyannot.cli.options import IN_FILE, Command


@click.command("verify", cls=Command)
@click.argument("files", type=IN_FILE, nargs=-1, required=True)
def command(files):
    """Read every byte of every FILE and compare it with the digest in its header.

    The exit code is 0 when all are whole, 65 when one is not.

    \b
    Example:
        flyannot verify descriptors.h5 model.h5
    """
    from flyannot.errors import DataError
    from flyannot.store.reading import verify_stored

    damaged = 0
    for path in files:
        try:
            click.echo(f"whole    {path} ({verify_stored(path)})")
        except DataError as error:
            click.echo(f"damaged  {path}: {error}")
            click.echo(f"Fix: {error.fix}", err=True)
            damaged = DataError.exit_code
    return damaged

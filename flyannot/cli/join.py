"""flyannot join: the files of shards to one file."""

import click

from flyannot.cli.shared.options import IN_FILE, Command, execution_of, finish, force_option, out_option


@click.command("join", cls=Command)
@click.argument("files", type=IN_FILE, nargs=-1, required=True)
@out_option("joined")
@force_option
def command(files, out, force):
    """Make one file of the files of all shards.

    FILES are descriptors, features or predictions of different images, made with the same options,
    such as those of `--shard 1/8` to `--shard 8/8`. `learn-dict`, `pool`, `train` and `evaluate` take
    the files of shards as they are. Joined predictions get their table NAME.csv too.

    \b
    Example:
        flyannot join predictions.1.h5 predictions.2.h5 -o predictions.h5
    """
    from flyannot.steps.join import join_files

    return finish(join_files(list(files), out, execution_of(force)))

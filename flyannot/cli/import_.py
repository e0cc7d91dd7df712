"""flyannot import: published data to a data set folder, and vectors of other programs to features."""

from functools import partial

import click

from flyannot.cli.shared.help_page import LazyGroup
from flyannot.cli.shared.options import (
    IN_FILE,
    Command,
    force_option,
    out_folder_option,
    out_option,
    overwrite_option,
    takes,
)
from flyannot.cli.shared.output import execution_of, finish, log, say
from flyannot.dataset.importers import IMPORTERS


def _make_command(name):
    """Return the command of one importer."""
    importer = IMPORTERS[name]
    is_several = importer.sources.endswith("...")

    def run(sources, folder, options, force):
        from flyannot.dataset.importers.import_log import text_of_summary

        sources = sources if is_several else [sources]
        summary = importer.run(sources, folder, options, force=force)
        say(text_of_summary(summary))
        log.info("wrote %s", folder)

    n = -1 if is_several else 1
    for decorate in (
        overwrite_option("Write into a folder that is not empty."),
        takes(options=importer.options),
        out_folder_option("The data set folder."),
        click.argument("sources", type=IN_FILE, nargs=n, required=True, metavar=importer.sources),
    ):
        run = decorate(run)
    return click.command(name, cls=Command, help=importer.help)(run)


@click.command("features", cls=Command)
@click.argument("table", type=IN_FILE)
@out_option("The features file to write.")
@force_option
def features(table, out, force):
    """Make features of vectors from another program, such as the embeddings of a network.

    TABLE is an npz or parquet file with image, gene, stage_range and vector (fbgn, view and group are
    optional): arrays of these names, or columns. The file does all that ours do
    (train, evaluate, compare, similar, annotate, report), but for maps: there are no patches to show.

    \b
    Example:
        flyannot import features network.npz -o network.h5
    """
    from flyannot.pipeline.import_features import import_features

    return finish(import_features(table, out, execution_of(force)))


_COMMANDS = {
    **{name: (partial(_make_command, name), IMPORTERS[name].help.partition("\n\n")[0]) for name in IMPORTERS},
    features.name: ("flyannot.cli.import_:features", features.about),
}


@click.group("import", cls=LazyGroup, table=lambda: {"Commands": _COMMANDS})
def command():
    """Turn published data into a data set folder, or vectors of another program into features.

    \b
    Example:
        flyannot import wu2016 patterns.npz -o wu2016
    """

"""flyannot import: published data to a data set folder, and what other programs learned to files of ours."""

import click

from flyannot.cli.shared.help_page import Group
from flyannot.cli.shared.options import (
    IN_FILE,
    OUT_FOLDER,
    Command,
    execution_of,
    finish,
    force_option,
    log,
    out_option,
    say,
    takes,
)
from flyannot.dataset.importers import IMPORTERS
from flyannot.dataset.importers.vectors import AtomsOptions
from flyannot.steps.options import Selection


class _Importers(Group):
    """The commands of the importers, and those that were added."""

    def list_commands(self, ctx):
        return [*IMPORTERS, *super().list_commands(ctx)]

    def get_command(self, ctx, name):
        return _command_of(name) if name in IMPORTERS else super().get_command(ctx, name)


@click.group("import", cls=_Importers)
def command():
    """Turn published data into a data set folder, atoms into a dictionary, or vectors into features.

    \b
    Example:
        flyannot import wu2016 patterns.npz -o wu2016
    """


def _command_of(name):
    """The command of one importer."""
    importer = IMPORTERS[name]
    is_several = importer.sources.endswith("...")

    def run(sources, folder, options, force):
        from flyannot.dataset.importers.import_log import text_of_summary

        sources = sources if is_several else [sources]
        summary = importer.run(sources, folder, options, force=force)
        say(text_of_summary(summary))
        log.info("wrote %s", folder)

    run.__doc__ = importer.help
    for decorate in (
        click.option("--force", is_flag=True, help="Write into a folder that is not empty."),
        takes(options=importer.options),
        click.option("-o", "--output", "folder", type=OUT_FOLDER, required=True, help="The data set folder."),
        click.argument(
            "sources", type=IN_FILE, nargs=-1 if is_several else 1, required=True, metavar=importer.sources
        ),
    ):
        run = decorate(run)
    return click.command(name, cls=Command)(run)


@command.command("dictionary", cls=Command)
@click.argument("atoms", type=IN_FILE)
@click.option(
    "--descriptors",
    type=IN_FILE,
    multiple=True,
    required=True,
    help="The descriptors that are to be coded with it (repeatable).",
)
@out_option("dictionary")
@takes(options=AtomsOptions, selection=(Selection, ["stage_range"]))
@force_option
def dictionary(atoms, descriptors, out, options, selection, force):
    """Atoms that another program learned, for `flyannot pool`.

    ATOMS is an npy, npz or mat file with a matrix: an atom a row, or a column as in SPAMS; the shape says
    which, and the summary repeats it. Arrays named 4-6 or D_4_6 serve those stage ranges, any other all.
    The atoms must have been learned on descriptors with their mean removed and scaled to norm 1.

    \b
    Example:
        flyannot import dictionary D.mat --descriptors descriptors.h5 -o dictionary.h5
    """
    from flyannot.steps.import_arrays import import_dictionary

    execution, stage_ranges = execution_of(force), selection.stage_range or None
    return finish(import_dictionary(atoms, descriptors, out, options, execution, stage_ranges=stage_ranges))


@command.command("features", cls=Command)
@click.argument("table", type=IN_FILE)
@out_option("features")
@force_option
def features(table, out, force):
    """Feature vectors that another program made, such as the embeddings of a network.

    TABLE is an npz or parquet file with image, gene, stage_range and vector (fbgn, view and group are
    optional): arrays of these names, or columns. The file does all that ours do
    (train, evaluate, compare, similar, annotate, report), but for maps: there are no patches to show.

    \b
    Example:
        flyannot import features network.npz -o network.h5
    """
    from flyannot.steps.import_arrays import import_features

    return finish(import_features(table, out, execution_of(force)))

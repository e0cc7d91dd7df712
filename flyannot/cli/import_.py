"""The commands flyannot import, which convert published data and vectors of other programs."""

from functools import partial

import click

from flyannot.cli.shared import options as shared
from flyannot.cli.shared.help_page import LazyGroup
from flyannot.cli.shared.output import build_execution, log, log_outcome, print_text
from flyannot.dataset.importers import IMPORTERS


def _build_command(name):
    """Build the click command of the importer with this name, such as "bdgp"."""
    importer = IMPORTERS[name]
    is_several = importer.sources.endswith("...")

    def run(sources, folder, options, force):
        from flyannot.dataset.importers.import_log import format_import_summary

        sources = sources if is_several else [sources]
        summary = importer.run(sources, folder, options, force=force)
        print_text(format_import_summary(summary))
        log.info("wrote %s", folder)

    n = -1 if is_several else 1
    for decorate in (
        shared.overwrite_option("Write into a folder that is not empty."),
        shared.add_options(options=importer.options),
        shared.out_folder_option("The data set folder."),
        click.argument("sources", type=shared.IN_FILE, nargs=n, required=True, metavar=importer.sources),
    ):
        run = decorate(run)
    return click.command(name, cls=shared.Command, help=importer.help)(run)


@click.command("features", cls=shared.Command)
@click.argument("table", type=shared.IN_FILE)
@shared.out_option("The features file to write.")
@click.option(
    "--images",
    type=shared.IN_FOLDER,
    help="The folder of the pictures, by the names in TABLE, which the report then shows.",
)
@shared.force_option
def features(table, out, images, force):
    """Convert vectors from another program, such as embeddings of a network, into features.

    TABLE is an npz file with arrays named image, gene, stage_range and vector, and
    optionally fbgn, view and group. The features work with train, evaluate, compare, similar, annotate and
    report. Maps are not available, because there are no patches.

    \b
    Example:
        flyannot import features network.npz -o network.h5
    """
    from flyannot.pipeline.commands.import_features import ImportTask
    from flyannot.pipeline.engine.task import run_task

    return log_outcome(run_task(ImportTask(table, out, images), build_execution(force)))


_COMMANDS: dict = {
    name: (partial(_build_command, name), IMPORTERS[name].help.partition("\n\n")[0]) for name in IMPORTERS
}
_COMMANDS[features.name] = "flyannot.cli.import_:features", str(features.help).partition("\n\n")[0]


@click.group("import", cls=LazyGroup, table=lambda: {"Commands": _COMMANDS})
def command():
    """Convert published data into a data set folder, or vectors of another program into features.

    \b
    Example:
        flyannot import wu2016 patterns.npz -o wu2016
    """

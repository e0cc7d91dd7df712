"""The command flyannot export, which converts results for other tools."""

import click

from flyannot.cli.shared.options import IN_FILE, Command, add_options, out_option, overwrite_option
from flyannot.cli.shared.output import log
from flyannot.export import EXPORTERS, all_formats
from flyannot.pipeline.options import AnnotateOptions, Selection

_HELP = """Convert FILE for other tools.

    \b
    {formats}

    For Excel, use xlsx: Excel turns the stage ranges in a CSV file into dates. anndata needs
    the package with the same name. Spreadsheets run text that begins with = + - or @, so in csv such
    text gets an apostrophe in front. Numbers are not changed.

    \b
    Example:
        flyannot export predictions.h5 --to xlsx -o predictions.xlsx
    """
_LISTED = "\n    ".join(f"{kind:<12} {' '.join(formats)}" for kind, formats in EXPORTERS.items())


@click.command("export", cls=Command, help=_HELP.format(formats=_LISTED))
@click.argument("file", type=IN_FILE)
@click.option("--to", type=click.Choice(all_formats()), required=True, help="The format.")
@out_option("The file to write.")
@add_options(selection=(Selection, ["stage_range"]), ids=(AnnotateOptions, ["ontology"]))
@overwrite_option("Replace an existing output.")
def command(file, to, out, selection, ids, force):
    """Convert a file for other tools."""
    from flyannot.export.export import export

    export(file, to, out, stage_ranges=selection.stage_range, ontology=ids.ontology, force=force)
    log.info("wrote %s", out)

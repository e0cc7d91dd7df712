"""flyannot export: results for other tools."""

import click

from flyannot.cli.shared.options import IN_FILE, OUT_FILE, Command, takes
from flyannot.cli.shared.output import log
from flyannot.export import EXPORTERS, all_formats
from flyannot.pipeline.options import AnnotateOptions, Selection

_HELP = """Write what FILE holds for other tools.

    \b
    {formats}

    xlsx, which takes the package xlsxwriter, is for Excel: that makes dates of the stage ranges of a CSV.
    parquet and anndata take packages of those names. Spreadsheets run cells that begin with = + - or @: in
    csv and tsv such text gets an apostrophe in front; numbers stay numbers. In mat files atoms are columns,
    as in SPAMS; elsewhere they are rows.

    \b
    Example:
        flyannot export predictions.h5 --to tsv -o predictions.tsv
    """
_LISTED = "\n    ".join(f"{kind:<12} {' '.join(formats)}" for kind, formats in EXPORTERS.items())


@click.command("export", cls=Command, help=_HELP.format(formats=_LISTED))
@click.argument("file", type=IN_FILE)
@click.option("--to", type=click.Choice(all_formats()), required=True, help="The format.")
@click.option("-o", "--output", "out", type=OUT_FILE, required=True, help="The file to write.")
@takes(selection=(Selection, ["stage_range"]), ids=(AnnotateOptions, ["ontology"]))
@click.option("--force", is_flag=True, help="Replace the output if it is there.")
def command(file, to, out, selection, ids, force):
    """Write what a file holds for other tools."""
    from flyannot.export.export import export

    export(file, to, out, stage_ranges=selection.stage_range, ontology=ids.ontology, force=force)
    log.info("wrote %s", out)

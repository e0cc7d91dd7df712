"""flyannot export: results for other tools."""

import click

from flyannot.cli.shared.options import IN_FILE, OUT_FILE, Command, log, ontology_option, stage_range_option
from flyannot.export.formats import FORMATS


@click.command("export", cls=Command)
@click.argument("file", type=IN_FILE)
@click.option("--to", type=click.Choice(FORMATS), required=True, help="The format.")
@click.option("-o", "--output", "out", type=OUT_FILE, required=True, help="The file to write.")
@stage_range_option
@ontology_option
@click.option("--force", is_flag=True, help="Replace the output if it is there.")
def command(file, to, out, stage_ranges, ontology, force):
    """Write what FILE holds for other tools.

    \b
    predictions  csv tsv json html omero-csv; parquet and anndata with extra packages
    features     csv npz; parquet and anndata with extra packages
    dictionary   npy npz mat csv

    Spreadsheets run cells that begin with = + - or @: in csv and tsv such text gets an apostrophe in
    front; numbers stay numbers. In mat files atoms are columns, as in SPAMS; elsewhere they are rows.

    \b
    Example:
        flyannot export predictions.h5 --to tsv -o predictions.tsv
    """
    from flyannot.export.files import export

    export(file, to, out, stage_ranges=stage_ranges, ontology=ontology, force=force)
    log.info("wrote %s", out)

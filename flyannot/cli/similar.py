"""The command flyannot similar, which finds genes and images with similar patterns."""

from pathlib import Path

import click

from flyannot.cli.shared.options import IN_FILE, Command, add_options, out_option, overwrite_option
from flyannot.cli.shared.output import log, print_text
from flyannot.pipeline.options import Selection, SimilarOptions

_MAX_SHOWN = 5  # printed genes


@click.command("similar", cls=Command)
@click.argument("file", type=IN_FILE)
@click.argument("queries", nargs=-1, required=True, metavar="QUERY...")
@out_option("The table (CSV) to write.")
@click.option(
    "--data-set",
    type=click.Path(path_type=Path, exists=True),  # it is opened only if a query needs it
    help="The data set folder, for pictures and curated terms.  [default: a folder near FILE]",
)
@add_options(options=SimilarOptions, selection=(Selection, ["stage_range", "columns"]))
@overwrite_option("Replace an existing output.")
def command(file, queries, out, data_set, options, selection, force):
    """Rank genes and images by their similarity to each QUERY.

    FILE is a features file. QUERY is a gene (symbol or FlyBase number) or an image in FILE, or a new picture,
    which is processed like the images in FILE. A query is compared with other images of its stage range.
    --lacks and --has choose among the annotated genes.

    Features of the registered stain work best: see configs/similar.toml.

    \b
    Example:
        flyannot similar features.h5 embryo.png --stage-range 4-6 -o similar.csv
        flyannot similar features.h5 embryo.png --stage-range 4-6 --lacks gap --data-set embryos -o chosen.csv
    """
    from flyannot.files.hdf5.reading import open_stored_file
    from flyannot.pipeline.engine.curated_terms import CuratedTerms
    from flyannot.results.similar import SimilarityIndex, rank_similar, write_search_results

    curated = CuratedTerms(data_set, columns=selection.columns) if data_set else None
    stored = open_stored_file(file, "features")
    index = SimilarityIndex(stored, curated)
    results = list(rank_similar(index, queries, options, stage_ranges=selection.stage_range))
    write_search_results(out, results, index, force=force)
    for result in results:
        print_text(_format(result, index))
    log.info("wrote %s", out)


def _format(results, index):
    columns = index.columns[results.query.stage_range]
    shown = results.genes[:_MAX_SHOWN]
    listed = [f"{columns['gene'][g] or columns['group'][g]} {similarity:.2f}" for _, g, similarity in shown]
    return f"{results.query.text}, {results.query.stage_range}: {', '.join(listed) or 'no other gene'}"

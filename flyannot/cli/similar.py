"""flyannot similar: which genes and images look alike."""

import click

from flyannot.cli.shared.options import IN_FILE, Command, out_option, overwrite_option, takes
from flyannot.cli.shared.output import log, say
from flyannot.pipeline.options import Selection, SimilarOptions

_MOST_SHOWN = 5  # genes that are printed


@click.command("similar", cls=Command)
@click.argument("file", type=IN_FILE)
@click.argument("queries", nargs=-1, required=True, metavar="QUERY...")
@out_option("The table (CSV) to write.")
@click.option(
    "--data-set",
    type=IN_FILE,
    help="The folder of pictures.  [default: looked for near FILE]",
)
@takes(options=SimilarOptions, selection=(Selection, ["stage_range"]))
@overwrite_option("Replace the output if it is there.")
def command(file, queries, out, data_set, options, selection, force):
    """Rank genes and images by how similar they are to each QUERY.

    FILE is a features file. QUERY is a gene (symbol or FlyBase number) or an image of FILE; or a new
    picture, processed like the images of FILE. A query is compared with the images of its own stage
    range, and never finds itself.

    The best features for this are those of the registered stain: configs/similar.toml.

    \b
    Example:
        flyannot similar features.h5 embryo.png --stage-range 4-6 -o similar.csv
    """
    from flyannot.files.hdf5.reading import open_stored
    from flyannot.pipeline.similar import SimilarityIndex, similar, write_similar

    with open_stored(file, "features") as stored:
        index = SimilarityIndex(stored, data_set)
        results = list(similar(index, queries, top=options.top, stage_ranges=selection.stage_range))
        write_similar(out, results, index, force=force)
        for result in results:
            say(_in_words(result, index))
    log.info("wrote %s", out)


def _in_words(results, index):
    columns = index.columns[results.query.stage_range]
    listed = [
        f"{columns['gene'][number] or columns['group'][number]} {similarity:.2f}"
        for _, number, similarity in results.genes[:_MOST_SHOWN]
    ]
    return f"{results.query.text}, {results.query.stage_range}: {', '.join(listed) or 'no other gene'}"

"""flyannot import: published data to a data set folder, and others' atoms to a dictionary."""

from pathlib import Path

import click

from flyannot.cli.shared.help_page import Group
from flyannot.cli.shared.options import (
    IN_FILE,
    OUT_FOLDER,
    POSITIVE,
    Command,
    execution_of,
    finish,
    force_option,
    log,
    out_option,
    stage_range_option,
)

_output = click.option(
    "-o", "--output", "folder", type=OUT_FOLDER, required=True, help="The data set folder to make."
)
_force = click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
_genes = click.option(
    "--genes", "genes_table", type=IN_FILE,
    help="A table that says which gene a name is: columns fbgn, gene, perhaps cg and synonyms (a|b).",
)  # fmt: skip
_table_options = (
    _genes,
    click.option("--only-annotated", is_flag=True, help="Leave out images of groups without a term."),
    click.option("--copy", is_flag=True, help="Copy the images instead of linking to their folder."),
    click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
    _force,
)


def _of_tables(function):
    for option in reversed((_output, *_table_options)):
        function = option(function)
    return function


@click.group("import", cls=Group)
def command():
    """Turn published data into a data set folder, or atoms into a dictionary.

    \b
    Example:
        flyannot import wu2016 patterns.npz -o wu2016
    """


@command.command("wu2016", cls=Command)
@click.argument("patterns", type=IN_FILE)
@_output
@_genes
@_force
def wu2016(patterns, folder, genes_table, force):
    """The blastoderm patterns of Wu et al. 2016 (stage range 4-6), drawn as 320 x 128 images.

    PATTERNS is the archive of staNMF 1.1, or the CSV in it: --genes then says which genes its columns
    are, and gives their terms if it has the columns stage_range and term, as BDGP's annotations have.
    Or it is an npz file with patterns, image_id, gene, fbgn and mask; the annotations.csv that lies
    beside it is copied.

    \b
    Example:
        flyannot import wu2016 staNMF-1.1.tar.gz --genes bdgp.csv -o wu2016
    """
    from flyannot.dataset.importers.wu2016 import import_wu2016

    made = import_wu2016(Path(patterns), Path(folder), genes_table=genes_table, force=force)
    for reason, n in made["dropped"].items():
        log.info("%s images dropped: %s; all in dropped.csv", f"{n:,}", reason)
    counts = (f"{n:,} {what.removeprefix('n_')}" for what, n in made.items() if isinstance(n, int))
    log.info("wrote %s: %s; annotations from %s", folder, ", ".join(counts), made["annotations"])


@command.command("flyexpress", cls=Command)
@click.argument("sources", type=IN_FILE, nargs=-1, required=True)
@_of_tables
def flyexpress(sources, folder, as_json, **options):
    """FlyExpress's tables and images.

    SOURCES are, in any order, the folder of images (N_s.bmp or insituN_s.bmp), the table of images
    (columns gene, stage, direction, image_url) and that of annotations (gene, stage, annotation), plain
    or gzipped. Stages are 1 to 6. What is left out is listed in dropped.csv, with the reason.

    \b
    Example:
        flyannot import flyexpress images.csv annotations.csv bmp/ --genes genes.csv -o embryos
    """
    _import_tables("flyexpress", sources, folder, as_json, options)


@command.command("bdgp", cls=Command)
@click.argument("sources", type=IN_FILE, nargs=-1, required=True)
@_of_tables
def bdgp(sources, folder, as_json, **options):
    """BDGP's dumps insitu_annot.csv and insitu_images.csv, and the images they name.

    SOURCES are the folder of images and the two dumps, plain or gzipped, in any order; the dumps may
    lie in the folder, as `flyannot fetch` leaves them. What is left out is listed in dropped.csv.

    \b
    Example:
        flyannot import bdgp bdgp-files -o embryos
    """
    _import_tables("bdgp", sources, folder, as_json, options)


def _import_tables(kind, sources, folder, as_json, options):
    import json

    from flyannot.dataset.importers.folder import import_tables
    from flyannot.dataset.importers.summary import summary_text

    summary = import_tables(kind, sources, folder, **options)
    click.echo(json.dumps(summary, indent=2, ensure_ascii=False) if as_json else summary_text(summary))
    log.info("wrote %s", folder)


@command.command("dictionary", cls=Command)
@click.argument("atoms", type=IN_FILE)
@click.option(
    "--descriptors", type=IN_FILE, multiple=True, required=True,
    help="The descriptors that are to be coded with it (repeatable).",
)  # fmt: skip
@out_option("dictionary")
@click.option(
    "--lam", type=POSITIVE, help="Weight of the L1 norm when coding.  [default: 1.2 / sqrt(128), about 0.106]"
)
@click.option("--variable", help="The array in an npz or mat file.  [default: D, or the only one]")
@click.option(
    "--atoms-in", type=click.Choice(["rows", "columns"]),
    help="Where atoms are; SPAMS has them in columns.  [default: as the shape says]",
)  # fmt: skip
@click.option("--scale", is_flag=True, help="Scale every atom to norm 1.")
@stage_range_option
@force_option
def dictionary(atoms, descriptors, out, stage_ranges, force, **options):
    """Atoms that another program learned, for `flyannot pool`.

    ATOMS is an npy, npz or mat file with a matrix: an atom a row, or a column as in SPAMS; the shape says
    which, and the summary repeats it. Arrays named 4-6 or D_4_6 serve those stage ranges, any other all.
    The atoms must have been learned on descriptors with their mean removed and scaled to norm 1.

    \b
    Example:
        flyannot import dictionary D.mat --descriptors descriptors.h5 -o dictionary.h5
    """
    from flyannot.steps.import_dictionary import AtomsOptions, import_dictionary

    chosen = AtomsOptions(**options)
    return finish(
        import_dictionary(atoms, descriptors, out, chosen, execution_of(force), stage_ranges=stage_ranges)
    )

"""The data set folder that an import makes, and the summary of it."""

import json
import os
import shutil
from pathlib import Path

from flyannot.dataset.coverage import count_coverage
from flyannot.dataset.folder import read_annotations, read_images, write_annotations_csv, write_images_csv
from flyannot.dataset.importers import bdgp, flyexpress
from flyannot.dataset.importers.accounts import Accounts, write_drops
from flyannot.dataset.importers.gathering import gather
from flyannot.dataset.importers.genes import Genes, read_genes
from flyannot.dataset.importers.pictures import Pictures
from flyannot.errors import InputError
from flyannot.runtime.atomic_file import write_text
from flyannot.runtime.atomic_folder import new_folder
from flyannot.runtime.digest import digest_of_file

KINDS = {"flyexpress": flyexpress, "bdgp": bdgp}
_MOST_MISSING = 3  # names shown where no image was found


def import_tables(kind, sources, folder, *, genes_table=None, only_annotated=False, copy=False, force=False):
    """Turn published tables and a folder of images into a data set folder.

    Parameters
    ----------
    kind : "flyexpress" or "bdgp"
    sources : list of paths
        One folder of images, the table of images, and perhaps that of annotations; they are told apart
        by what they hold.  BDGP's dumps may lie in the folder of images.
    folder : path of the data set folder to make
        Gets `images.csv`, `annotations.csv`, `dropped.csv` (all that was left out, with table, line and
        reason), `import.json` (the summary) and `images`, a link to the folder of images.
    genes_table : path of a table of genes, see `flyannot.dataset.importers.genes.read_genes`
    only_annotated : bool
        Leave out images of genes that are not annotated in their stage range.
    copy : bool
        Copy the images instead of linking to their folder.
    force : bool
        Write into a folder that holds something already.

    Returns
    -------
    summary : dict
        What `import.json` holds.

    Raises
    ------
    InputError
        If a source is missing or is no such table, the folder is taken, or not one image was found.
    WriteError
        If the folder cannot be written.
    """
    image_folder, tables = _sorted_sources(kind, sources)
    images_table, terms_table = KINDS[kind].sort_tables(tables)
    accounts = Accounts()
    genes = read_genes(genes_table) if genes_table else Genes()
    image_rows = KINDS[kind].read_image_rows(images_table, accounts)
    term_rows = KINDS[kind].read_term_rows(terms_table, accounts) if terms_table else []
    if kind == "bdgp":
        bdgp.add_genes(genes, [*image_rows, *term_rows])
    pictures = Pictures(image_folder)
    gathered = gather(image_rows, term_rows, genes, pictures, accounts, only_annotated=only_annotated)
    if not gathered.images:
        raise _nothing(accounts, pictures)
    sources = {"images": images_table, "annotations": terms_table, "genes": genes_table}
    with new_folder(folder, force=force) as staged:
        _place_images(staged, Path(folder), pictures, gathered.images, copy)
        _write_tables(staged, gathered, accounts)
        summary = _summary(kind, staged, gathered, accounts, sources)
        write_text(staged / "import.json", json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    return summary


def _sorted_sources(kind, sources):
    """The folder of images and the tables."""
    folders = [source for source in sources if os.path.isdir(source)]
    tables = [source for source in sources if not os.path.isdir(source)]
    if len(folders) != 1:
        raise InputError(
            f"{len(folders) or 'no'} folders of images are named",
            fix="name the one folder of images",
        )
    if kind == "bdgp" and not tables:
        tables = bdgp.dumps_in(folders[0])
    return folders[0], tables


def _nothing(accounts, pictures):
    drops = accounts.drops[:_MOST_MISSING]
    shown = "; ".join(f"line {drop.line}, {drop.item}: {drop.reason}" for drop in drops)
    where = f"{pictures.folder} holds {len(pictures):,} files"
    return InputError(
        f"no image can be taken ({shown or 'the table is empty'}; {where})",
        fix="name the folder that holds the images, and the tables that name them",
    )


def _place_images(staged, folder, pictures, rows, copy):
    place = folder / "images"
    if not copy:
        if place.is_dir() and not place.is_symlink():
            raise InputError(f"{place} is a folder already", fix="add --copy, or name another folder")
        os.symlink(pictures.folder, staged / "images", target_is_directory=True)
        return
    if place.is_symlink():
        raise InputError(f"{place} is a link already", fix="name another folder")
    for row in rows:
        to = staged / row["image"]
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(pictures.folder) / row["image"].removeprefix("images/"), to)


def _write_tables(staged, gathered, accounts):
    write_images_csv(staged / "images.csv", gathered.images)
    if gathered.terms:
        write_annotations_csv(staged / "annotations.csv", gathered.terms)
    write_drops(staged / "dropped.csv", accounts)


def _summary(kind, staged, gathered, accounts, sources):
    """Counted from the tables as they were written: what the next command will read."""
    images = read_images(staged)
    annotations = read_annotations(staged) if gathered.terms else None
    terms = {}
    for row in gathered.terms:
        terms[row["term"]] = terms.get(row["term"], 0) + 1
    return {
        "kind": kind,
        "sources": {role: digest_of_file(path) for role, path in sources.items() if path},
        "accounts": {name: account.as_json() for name, account in accounts.by_name.items()},
        "stage_ranges": count_coverage(images, annotations),
        "n_genes": len({image.gene_id for image in images}),
        "n_genes_without_fbgn": len({image.gene_id for image in images if not image.fbgn}),
        "one_gene": gathered.merged,
        "terms": dict(sorted(terms.items(), key=lambda item: (-item[1], item[0]))),
    }

"""How far the images and the annotations of a data set cover each other."""

import re
from collections import defaultdict

from flyannot.dataset.folder import Image
from flyannot.dataset.table_warnings import named
from flyannot.stage_ranges import STAGE_RANGES

_SIGNS = re.compile(r"[\W_]+")


def notes_on_columns(columns_of, annotations):
    """`coverage_notes` on the image columns (a dict of lists) of some stage ranges, and on no other."""
    images = [
        Image("", name, gene, stage_range, fbgn=fbgn, group=group)
        for stage_range, columns in columns_of.items()
        for name, gene, fbgn, group in zip(*(columns[c] for c in ("image", "gene", "fbgn", "group")))
    ]
    return coverage_notes(images, annotations, list(columns_of))


def count_coverage(images, annotations=None):
    """Counts of every stage range that has images or annotations.

    Parameters
    ----------
    images : list of Image, from `read_images`
    annotations : Annotations, from `read_annotations`, or None

    Returns
    -------
    counts : dict, in the order of development, stage range -> dict of `n_images`, `n_genes`, `n_groups`,
        `n_annotated_groups` and `n_genes_without_images` (annotated there, but without an image there)
    """
    annotated = annotations.terms_by_gene if annotations else {}
    counts = {}
    for stage_range in STAGE_RANGES:
        here = [image for image in images if image.stage_range == stage_range]
        wanted = {gene for gene, where in annotated if where == stage_range}
        if here or wanted:
            counts[stage_range] = _count(here, wanted, annotations)
    return counts


def coverage_notes(images, annotations, stage_ranges=STAGE_RANGES):
    """What images and annotations lack of each other: a line each, with counts and the first names; no error.

    A gene without an image that differs from one with images in capitals or signs only comes first.
    """
    counts = count_coverage(images, annotations)
    absent = {s: n["n_genes_without_images"] for s, n in counts.items() if s in stage_ranges}
    bare = {s: (n["n_groups"] - n["n_annotated_groups"], n["n_groups"]) for s, n in counts.items()}
    lines = []
    if any(absent.values()):
        where = ", ".join(f"{n:,} in {s}" for s, n in absent.items() if n)
        names = _genes_without_images(images, annotations, stage_ranges)
        lines.append(f"annotated genes without an image: {where} ({named(names)})")
    if any(n for n, _ in bare.values()):
        where = ", ".join(f"{n:,} of {n_all:,} in {s}" for s, (n, n_all) in bare.items() if n)
        lines.append(f"groups without annotation: {where} ({named(_bare_groups(images, annotations))})")
    return lines


def _genes_without_images(images, annotations, stage_ranges):
    """The genes that are annotated where they have no image, those with a suggestion first."""
    symbols = {gene_id: symbol for symbol, ids in annotations.genes_by_symbol.items() for gene_id in ids}
    here = {(annotations.gene_id(i.gene, i.fbgn), i.stage_range) for i in images}
    absent = sorted({g for g, s in annotations.terms_by_gene.keys() - here if s in stage_ranges})
    alike = defaultdict(set)
    for image in images:
        alike[_plain(image.gene)].add((image.gene, image.fbgn))
    hinted, others = [], []
    for gene_id in absent:
        symbol = symbols[gene_id]
        has_number = symbol != gene_id  # two FlyBase numbers are two genes, however they are written
        close = sorted(g for g, fbgn in alike[_plain(symbol)] if g != symbol and not (fbgn and has_number))
        if close:
            hinted.append(f'{symbol}: did you mean "{close[0]}"?')
        else:
            others.append(symbol)
    return hinted + others


def _bare_groups(images, annotations):
    bare = (i for i in images if annotations.terms_of(i.gene, i.stage_range, i.fbgn) is None)
    return list(dict.fromkeys(i.gene or i.group for i in bare))


def _plain(symbol):
    return _SIGNS.sub("", symbol.casefold())


def _count(images, wanted, annotations):
    """The counts of one stage range; `wanted` holds the gene_ids that are annotated in it."""
    genes = {i.group: annotations.gene_id(i.gene, i.fbgn) for i in images} if wanted else {}
    return {
        "n_images": len(images),
        "n_genes": len({image.gene_id for image in images}),
        "n_groups": len({image.group for image in images}),
        "n_annotated_groups": sum(gene in wanted for gene in genes.values()),
        "n_genes_without_images": len(wanted - set(genes.values())),
    }

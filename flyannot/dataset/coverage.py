"""How far the images and the annotations of a data set cover each other."""

from flyannot.dataset.folder import Image
from flyannot.stage_ranges import STAGE_RANGES


def notes_on_columns(columns_of, annotations):
    """`coverage_notes` on the image columns (a dict of lists) of some stage ranges, and on no other."""
    images = [
        Image("", name, gene, stage_range, fbgn=fbgn, group=group)
        for stage_range, columns in columns_of.items()
        for name, gene, fbgn, group in zip(*(columns[c] for c in ("image", "gene", "fbgn", "group")))
    ]
    counts = count_coverage(images, annotations)
    return coverage_notes({s: counts[s] for s in columns_of})


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


def coverage_notes(counts):
    """One line for every stage range where images and annotations do not cover each other; no error."""
    lines = []
    for stage_range, n in counts.items():
        if n["n_genes_without_images"]:
            lines.append(f"{stage_range}: {n['n_genes_without_images']} annotated genes without an image")
        if n["n_groups"] > n["n_annotated_groups"]:
            missing = n["n_groups"] - n["n_annotated_groups"]
            lines.append(f"{stage_range}: {missing} of {n['n_groups']} groups without annotation")
    return lines


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

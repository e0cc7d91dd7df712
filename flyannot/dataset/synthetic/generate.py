"""Labelled synthetic embryos: a data set folder with known terms, since the program drew them.

They serve to try the program and to test it.  A score on them shows that the steps work, and nothing
about real embryos.  The column `source` of `images.csv` is "synthetic" for every image.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from PIL import Image

from flyannot.base.stage_ranges import STAGE_RANGES, stage_range_rng
from flyannot.base.text import pluralise
from flyannot.dataset.folder import write_annotations_csv, write_images_csv
from flyannot.dataset.synthetic.render import EVERYWHERE, TERMS, render_embryo
from flyannot.files.atomic_file import atomic_folder
from flyannot.jobs.executor import Executor
from flyannot.jobs.progress_events import report_item

NO_STAINING = "no staining"  # BDGP's term for a group without any other

README = "README.txt"
_README = """These embryos are synthetic: drawn by `flyannot synthesize`, not photographed.
The genes do not exist. Scores on these images say nothing about real embryos.

Edition {edition} of the drawings; {options}.
"""
_EDITION = 2  # raise it when the same options and seed give other pictures
_GROUPS_PER_TASK = 10
_TISSUES = sorted({region.tissue for terms in TERMS.values() for region in terms.values()})


class SyntheticGroup(NamedTuple):
    """The terms and images of one synthetic gene in one stage range."""

    gene: str
    stage_range: str
    strengths: dict  # term -> strength of its stain
    n_images: int
    part: int  # seed of the part of each region that the gene stains


def synthesize(folder, options, *, seed=0, force=False, progress=None, workers=None):
    """Write a data set folder of synthetic embryos with known terms.

    A gene prefers some tissues, so that terms occur together.  Every group has a lateral first image that
    shows all its terms.  Each further image leaves out about a quarter of them.  About a third of the
    further images are dorsal views, in which some terms cannot be seen.

    The same seed gives the same bytes.  The images of a gene depend only on the seed, the gene and
    `max_images`.  The folder gets `images/*.png` (320 x 128 px RGB), `images.csv`, `annotations.csv` and
    `README.txt`.

    Parameters
    ----------
    folder : path
    options : SynthesizeOptions
    seed : int
    force : whether to write into a folder that is not empty
    progress : function of (done, total, unit), or None
    workers : Executor; None for this process alone

    Returns
    -------
    counts : dict of the numbers of images, groups, genes and annotations

    Raises
    ------
    InputError
        If the folder is taken.
    WriteError
        If it cannot be written; nothing is left behind.
    """
    stage_ranges = [s for s in STAGE_RANGES if s in options.stage_range]
    genes = [f"syn{i:03d}" for i in range(1, options.n_genes + 1)]
    groups = [draw_group(gene, stage, seed, options.max_images) for gene in genes for stage in stage_ranges]
    with atomic_folder(folder, force=force) as staged:
        (staged / "images").mkdir()
        n_images = sum(group.n_images for group in groups)
        starts = range(0, len(groups), _GROUPS_PER_TASK)
        rows_of_tasks = (workers or Executor()).run_all(
            partial(_write_images, staged, seed),
            [groups[start : start + _GROUPS_PER_TASK] for start in starts],
            on_items=lambda n: progress and progress(min(n, n_images), n_images, "image"),
            name=lambda task: f"the images of {task[0].gene}",
            folder=staged,
            n_items=lambda task: sum(group.n_images for group in task),
        )
        image_rows = sum(rows_of_tasks, [])
        term_rows = [
            {"gene": group.gene, "stage_range": group.stage_range, "term": term}
            for group in groups
            for term in group.strengths or (NO_STAINING,)
        ]
        write_annotations_csv(staged / "annotations.csv", term_rows)
        write_images_csv(staged / "images.csv", image_rows)
        (staged / README).write_text(format_readme(options, seed), encoding="utf-8", newline="\n")
    counts = len(image_rows), len(groups), options.n_genes, len(term_rows)
    return dict(zip(("images", "groups", "genes", "annotations"), counts))


def _write_images(folder, seed, groups):
    """Draw the images of SyntheticGroups into `folder`; return their rows of images.csv, a list of dicts."""
    rows = []
    np.empty(31 << 20, np.uint8)  # glibc then keeps freed memory, which saves a tenth of the time
    for group in groups:
        for index in range(group.n_images):
            picture, view = render_group_image(group, index, seed)
            name = f"images/{group.gene}_{group.stage_range}_{index + 1}.png"
            Image.fromarray(picture).save(folder / name, compress_level=1)
            row = {"image": name, "gene": group.gene, "stage_range": group.stage_range, "view": view}
            rows.append(row | {"source": "synthetic"})
            report_item()
    return rows


def format_readme(options, seed):
    """Format README.txt: that the embryos are synthetic, and the options that they depend on."""
    genes = pluralise(options.n_genes, "gene")
    images = pluralise(options.max_images, "image")
    chosen = f"{genes}, at most {images} of a group, seed {seed}"
    stages = f"stage ranges {', '.join(options.stage_range)}"
    return _README.format(edition=_EDITION, options=f"{chosen}, {stages}")


def draw_group(gene, stage_range, seed, max_images):
    """Draw at random the terms of a gene in a stage range, their stain and the number of images.

    Returns a SyntheticGroup.
    """
    # A gene prefers some tissues in all stage ranges.
    taste = stage_range_rng(seed, gene).random(len(_TISSUES)) < 0.25
    prefers = dict(zip(_TISSUES, np.where(taste, 2.2, 0.6)))
    rng = stage_range_rng(seed, f"{gene}/{stage_range}")
    terms = TERMS[stage_range]
    drawn = rng.random(len(terms)) < [min(0.9, r.frequency * prefers[r.tissue]) for r in terms.values()]
    strengths = np.clip(np.exp(rng.normal(0, 0.5, len(terms))), 0.35, 2.2)
    chosen = {term: float(s) for term, s, yes in zip(terms, strengths, drawn) if yes}
    if any(terms[term].tissue not in EVERYWHERE for term in chosen):
        # At full strength, stain in the whole body would hide all other terms.
        chosen = {t: 0.4 * s if terms[t].tissue in EVERYWHERE else s for t, s in chosen.items()}
    n_images = int(rng.integers(1, max_images + 1))
    return SyntheticGroup(gene, stage_range, chosen, n_images, int(rng.integers(2**62)))


def render_group_image(group, index, seed):
    """Draw image number `index` of a SyntheticGroup.

    Return the picture, uint8 (128, 320, 3), and its view.
    """
    rng = stage_range_rng(seed, f"{group.gene}/{group.stage_range}/{index}")
    view = "dorsal" if rng.random() < 0.3 and index else "lateral"
    shown = rng.random(len(group.strengths)) < (0.75 if index else 1.0)
    # Some embryos are stained for longer.
    swing = np.exp(rng.normal(0, 0.1, len(group.strengths)) + rng.normal(0, 0.25))
    strengths = {t: s * w for (t, s), w, yes in zip(group.strengths.items(), swing, shown) if yes}
    return render_embryo(group.stage_range, strengths, rng, view=view, part=group.part), view

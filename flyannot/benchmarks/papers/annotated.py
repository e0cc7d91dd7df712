"""Pictures with terms: the blastoderm patterns of Wu et al. 2016, or synthetic embryos."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from flyannot.benchmarks.papers.embryos import Source, embryo_images
from flyannot.classifiers.training_set import annotated_groups
from flyannot.dataset.folder import read_annotations
from flyannot.dataset.importers.wu2016 import STAGE_RANGE, read_patterns, render_patterns
from flyannot.descriptors.options import ExtractOptions
from flyannot.descriptors.standard_image import read_grey
from flyannot.features.groups import Groups, groups_of
from flyannot.scores.metrics import NOT_ANATOMY

_N_TERMS = 10


@dataclass(frozen=True)
class Pictures:
    """Pictures of one stage range, their annotated groups, and the truth of the ten most frequent terms."""

    stage_range: str
    make_greys: object  # () -> iterable of uint8 pictures
    groups: Groups
    terms: list
    truth: np.ndarray
    source: Source
    patch_px: int
    note: str

    def greys(self):
        """The pictures, one after the other."""
        return self.make_greys()

    def extract_options(self, coarseness):
        """Windows as large as the detail allows; the stride grows with `coarseness`."""
        return ExtractOptions(patch_px=self.patch_px, stride_px=8 * coarseness, min_std=2)


def annotated_pictures(setup):
    """The `Pictures` at hand: patterns of Wu et al., else the images of stage range 4-6."""
    patterns = setup.shared_file("wu2016", "patterns.npz")
    if patterns is not None and setup.data_set is None:
        return _wu2016(patterns)
    images, source = embryo_images(setup)
    images = [image for image in images if image.stage_range == STAGE_RANGE]
    folder = setup.data_set or (setup.scratch / "embryos")
    columns = {name: [getattr(i, name) for i in images] for name in ("gene", "fbgn", "group")}
    note = f"Images of {source.text}, stage range {STAGE_RANGE} only."
    return _pictures(
        lambda: (np.rint(read_grey(i.path)).astype(np.uint8) for i in images),
        columns, read_annotations(folder), source, 16, note,
    )  # fmt: skip


def _wu2016(patterns):
    arrays = read_patterns(patterns)
    columns = {name: arrays[name].tolist() for name in ("gene", "fbgn")}
    columns["group"] = [fbgn or gene for gene, fbgn in zip(columns["gene"], columns["fbgn"])]
    text = (
        f"{len(arrays['gene']):,} real BDGP patterns of Wu et al. 2016 (stage range 4-6), drawn as pictures"
    )
    note = (
        "Stage range 4-6 only: of the others there are real images of seven genes, too few to score. "
        "Patterns of 405 values carry no detail, so windows have 64 px, not 16."
    )
    return _pictures(
        lambda: render_patterns(arrays["patterns"], arrays["mask"]),
        columns, read_annotations(patterns.parent), Source(text, "rendered"), 64, note,
    )  # fmt: skip


def _pictures(make_greys, columns, annotations, source, patch_px, note):
    groups, carried = annotated_groups(groups_of(columns), annotations, STAGE_RANGE)
    counts = Counter(term for terms in carried for term in terms if term not in NOT_ANATOMY)
    terms = sorted(counts, key=lambda term: (-counts[term], term))[:_N_TERMS]
    truth = np.array([[term in terms_ for term in terms] for terms_ in carried], bool)
    left_out = ", ".join(NOT_ANATOMY)
    note = f"{note} The ten most frequent terms of {len(groups)} groups, without {left_out}."
    return Pictures(STAGE_RANGE, make_greys, groups, terms, truth, source, patch_px, note)

"""Pictures to the terms of groups, as the paper does it and as we do: the difference is a `Protocol`."""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.findings import Source
from benchmarks.inputs.pictures import (
    drawn_patterns,
    embryo_images,
    grey_levels,
    image_folder,
    synthetic_folder,
)
from benchmarks.references.classifiers import evaluate_by_libsvm
from benchmarks.scc import claims
from benchmarks.scc.learning import learned_atoms
from flyannot.classifiers.cross_validation import cross_validate
from flyannot.classifiers.folds import folds_of_genes
from flyannot.classifiers.scorer import FitOptions
from flyannot.classifiers.training_set import LabelledRows, annotated_groups, truth_of
from flyannot.dataset.folder import read_annotations, read_images
from flyannot.dataset.importers.wu2016 import STAGE_RANGE
from flyannot.descriptors.extract import describe_patches
from flyannot.descriptors.options import ExtractOptions
from flyannot.features.groups import Groups, group_features, groups_of, normalise_features
from flyannot.features.image_features import atoms_of_features, features_of
from flyannot.features.options import PoolOptions
from flyannot.scores.metrics import NOT_ANATOMY
from flyannot.steps.engine.images import image_columns

N_FOLDS = 5
N_TERMS = 10
STAGE_RANGES = ("7-8", "9-10", "11-12", "13-16")  # of which there are no real images with terms
LEARNERS = {
    "SCC": {"learner": "scc", "variant": "paper", "n_epochs": 10},
    "OL": {"learner": "ol", "batch_size": 512, "n_epochs": 10},
}


@dataclass(frozen=True)
class Protocol:
    """How pictures are annotated.

    stride_px : from one patch to the next; at patch_px they do not overlap
    grid : cells in which codes are pooled by maximum
    rows : "image": every image is a row with the terms of its gene, and a group has the largest value of its
        images; "group": a group is one row, pooled from all its images
    svm : "hinge": LIBSVM's as it comes; "balanced": flyannot's, balanced classes, C and threshold from inner
        folds; "balanced, above 0": the same without its threshold
    """

    patch_px: int = 16
    stride_px: int = 16
    grid: tuple = ((1, 1),)
    rows: str = "image"
    svm: str = "hinge"


PAPERS_OWN = Protocol()
OURS = Protocol(patch_px=64, stride_px=8, grid=((2, 4),), rows="group", svm="balanced")
# One difference of ours at a time, in the paper's own; then all of them.
DIFFERENCES = {
    claims.OVERLAPPING: replace(PAPERS_OWN, stride_px=OURS.stride_px),
    claims.LARGER: replace(PAPERS_OWN, patch_px=OURS.patch_px),
    claims.CELLS: replace(PAPERS_OWN, grid=OURS.grid),
    claims.GROUPED: replace(PAPERS_OWN, rows=OURS.rows),
    claims.BALANCED: replace(PAPERS_OWN, svm="balanced, above 0"),
    claims.THRESHOLD: replace(PAPERS_OWN, svm=OURS.svm),
    claims.ALL_OF_OURS: OURS,
}


@dataclass(frozen=True)
class Pictures:
    """Pictures of one stage range, their annotated groups, and the truth of the ten most frequent terms."""

    stage_range: str
    greys: list  # uint8 pictures
    groups: Groups
    terms: list
    truth: np.ndarray
    source: Source
    note: str
    _described: dict = field(default_factory=dict, repr=False)

    def described(self, protocol):
        """The `Described` patches of all pictures, made once for every way of cutting them."""
        size = protocol.patch_px, protocol.stride_px
        if size not in self._described:
            options = ExtractOptions(patch_px=size[0], stride_px=size[1], min_std=2)
            self._described[size] = [describe_patches(grey, options) for grey in self.greys]
        return self._described[size]


def annotated_pictures(setup):
    """The `Pictures` of stage range 4-6: patterns of Wu et al., else the images of the data set."""
    patterns = drawn_patterns(setup)
    if patterns is None:
        return _of_folder(image_folder(setup), *embryo_images(setup), STAGE_RANGE)
    greys, arrays, source = patterns
    note = "The real images of FlyExpress are of seven genes, too few to score."
    genes, fbgns = (arrays[name].tolist() for name in ("gene", "fbgn"))
    groups = [fbgn or gene for gene, fbgn in zip(genes, fbgns)]
    columns, folder = {"gene": genes, "fbgn": fbgns, "group": groups}, setup.data_file("wu2016").parent
    return _with_terms(greys, columns, folder, STAGE_RANGE, source, note)


def synthetic_pictures(setup, stage_range):
    """The `Pictures` of synthetic embryos of a stage range, made once in a run."""
    folder = synthetic_folder(setup, "labelled-embryos", setup.sizes["n_genes"], STAGE_RANGES)
    images = read_images(folder)
    n = sum(image.stage_range == stage_range for image in images)
    source = Source(f"{n} SYNTHETIC embryos of {stage_range}", "synthetic")
    return _of_folder(folder, images, source, stage_range)


def _of_folder(folder, images, source, stage_range):
    images = [image for image in images if image.stage_range == stage_range]
    greys, note = [grey_levels(image.path) for image in images], f"Images of stage range {stage_range} only."
    return _with_terms(greys, image_columns(images), folder, stage_range, source, note)


def _with_terms(greys, columns, folder, stage_range, source, note):
    groups, carried = annotated_groups(groups_of(columns), read_annotations(folder), stage_range)
    counts = Counter(term for terms in carried for term in terms if term not in NOT_ANATOMY)
    terms = sorted(counts, key=lambda term: (-counts[term], term))[:N_TERMS]
    note = f"{note} The ten most frequent terms of {len(groups)} groups, without {', '.join(NOT_ANATOMY)}."
    return Pictures(stage_range, greys, groups, terms, truth_of(carried, terms), source, note)


def annotate(setup, pictures, protocol, who, n_atoms, *, seed=0):
    """The held-out `TermOutcomes` of every group, with a dictionary of n_atoms learned by one of LEARNERS.

    The seed is that of the dictionary: of the patches it learns from, and of its first atoms.
    """
    if protocol.svm == "balanced, above 0":
        outcome = annotate(setup, pictures, replace(protocol, svm="balanced"), who, n_atoms, seed=seed)
        return replace(outcome, yes=outcome.values > 0)
    key = "annotated", pictures.stage_range, protocol, who, n_atoms, seed
    return setup.once(key, lambda: _annotated(setup, pictures, protocol, who, n_atoms, seed))


def _annotated(setup, pictures, protocol, who, n_atoms, seed):
    described = pictures.described(protocol)
    descriptors, rng = np.concatenate([d.descriptors for d in described]), setup.rng(f"atoms {seed}")
    rows = rng.permutation(len(descriptors))[: setup.sizes["n_learn"]]
    features = pooled(described, protocol, *learned_atoms(descriptors[rows], n_atoms, rng, **LEARNERS[who]))
    n_groups = len(pictures.groups)
    if protocol.rows == "group":
        X = group_features(features, pictures.groups)
        return evaluated(setup, pictures, protocol, X, np.arange(n_groups))
    of_row = np.repeat(np.arange(n_groups), [len(rows) for rows in pictures.groups.rows])
    X = features[np.concatenate(pictures.groups.rows)]
    return merge_images(evaluated(setup, pictures, protocol, X, of_row), of_row)


def pooled(described, protocol, D, lam):
    """The features of every image (n_images, n_features), pooled over the dictionary D."""
    atoms = atoms_of_features(D, lam, np.unique(described[0].patch_px))
    options = PoolOptions(grid=protocol.grid)
    return np.stack([features_of(one, atoms, options).features for one in described])


def evaluated(setup, pictures, protocol, X, group_of_row):
    """Held-out values of rows that carry the terms of their group; a gene is in one fold."""
    genes = [pictures.groups.gene_ids[g] for g in group_of_row]
    X, Y = normalise_features(X, "l2"), pictures.truth[group_of_row]
    rows = LabelledRows(X=X, Y=Y, genes=genes, terms=pictures.terms)
    folds = folds_of_genes(pictures.groups.gene_ids, N_FOLDS, setup.rng("folds"))
    if protocol.svm == "hinge":
        return evaluate_by_libsvm(rows, folds=folds)
    return cross_validate(rows, folds=folds, rng=setup.rng("svm"), options=FitOptions(n_folds=3))


def merge_images(outcome, group_of_image):
    """The outcome of groups: the largest value of their images, which lie in one fold, and its consequences.

    Parameters
    ----------
    outcome : flyannot.scores.metrics.TermOutcomes of images
    group_of_image : int array (n_images,), rising from 0
    """
    first = np.unique(group_of_image, return_index=True)[1]
    largest = {
        name: np.maximum.reduceat(getattr(outcome, name), first)
        for name in ("values", "yes", "probabilities")
    }
    return replace(outcome, truth=outcome.truth[first], folds=outcome.folds[first], **largest)

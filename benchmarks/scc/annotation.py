"""Pictures to the terms of groups, as the paper does it and as we do: the difference is a `Protocol`."""

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from benchmarks.findings import Finding, Source
from benchmarks.inputs.pictures import drawn_patterns
from benchmarks.references.classifiers import evaluate_by_libsvm, gaussian_kernel
from benchmarks.rows import Rows
from benchmarks.scc import claims
from benchmarks.scc.learning import learned_atoms
from flyannot.dataset.folder import read_annotations
from flyannot.dataset.importers.wu2016 import STAGE_RANGE
from flyannot.encode.encoder import Encoder
from flyannot.encode.groups import Groups, group_images, normalise_features, pool_groups
from flyannot.encode.options import PoolOptions
from flyannot.images.extract import describe_patches
from flyannot.images.options import ExtractOptions
from flyannot.terms.bootstrap import bootstrap_aucs, bootstrap_gene_weights, bootstrap_interval
from flyannot.terms.cross_validation import cross_validate
from flyannot.terms.folds import assign_gene_folds
from flyannot.terms.metrics import NOT_ANATOMY
from flyannot.terms.scorer import FitOptions
from flyannot.terms.training_set import LabelledRows, annotated_groups, truth_matrix

N_FOLDS = 5
N_TERMS = 10
LEARNERS = {
    "SCC": {"learner": "scc", "variant": "paper", "n_epochs": 10},
    "OL": {"learner": "ol", "batch_size": 512, "n_epochs": 10},
}


@dataclass(frozen=True)
class Protocol:
    """A way to annotate pictures.

    stride_px : step from one patch to the next; at patch_px they do not overlap
    grid : cells in which codes are pooled by maximum
    rows : "image" or "group".  By "image" every image is a row with the terms of its gene, and a group has
        the largest value of its images.  By "group" a group is one row, pooled from all its images.
    svm : "hinge" is LIBSVM's as it comes.  "balanced" is flyannot's: balanced classes, C and threshold from
        inner folds.  "balanced, above 0" is "balanced" with a threshold of 0.
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
        """Return the described patches of all pictures, which are computed once for every size and stride."""
        size = protocol.patch_px, protocol.stride_px
        if size not in self._described:
            options = ExtractOptions(patch_px=size[0], stride_px=size[1], min_std=2)
            self._described[size] = [describe_patches(grey, options) for grey in self.greys]
        return self._described[size]


def annotated_pictures(setup, least=None):
    """Return the `Pictures` of the patterns of Wu et al.

    They have the ten most frequent anatomical terms, or all terms that at least `least` groups carry.
    """
    greys, arrays, source = drawn_patterns(replace(setup, data_set=None))
    genes, fbgns = (arrays[name].tolist() for name in ("gene", "fbgn"))
    columns = {"gene": genes, "fbgn": fbgns, "group": [fbgn or gene for gene, fbgn in zip(genes, fbgns)]}
    annotations = read_annotations(setup.data_file("wu2016").parent)
    groups, carried = annotated_groups(group_images(columns), annotations, STAGE_RANGE)
    counts = Counter(term for terms in carried for term in terms if least or term not in NOT_ANATOMY)
    terms = sorted(counts, key=lambda term: (-counts[term], term))
    terms = [term for term in terms if counts[term] >= least] if least else terms[:N_TERMS]
    note = f"{len(terms)} terms of {len(groups)} groups: {', '.join(terms)}."
    return Pictures(STAGE_RANGE, greys, groups, terms, truth_matrix(carried, terms), source, note)


def annotate(setup, pictures, protocol, who, n_atoms, *, seed=0):
    """Return the held-out `TermOutcomes` of every group, with a dictionary learned by one of LEARNERS.

    seed : decides the patches that the dictionary is learned from, and its first atoms
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
        X = pool_groups([(0, features)], pictures.groups)
        return evaluated(setup, pictures, protocol, X, np.arange(n_groups))
    of_row = np.repeat(np.arange(n_groups), [len(rows) for rows in pictures.groups.rows])
    X = features[np.concatenate(pictures.groups.rows)]
    return merge_images(evaluated(setup, pictures, protocol, X, of_row), of_row)


def pooled(described, protocol, D, lam):
    """Return the features of every image (n_images, n_features), pooled over the dictionary D."""
    extract = ExtractOptions(patch_px=np.unique(described[0].patch_px).tolist())
    encoder = Encoder(extract, PoolOptions(grid=protocol.grid), D, lam)
    return np.stack([encoder.encode_patches(one).features for one in described])


def evaluated(setup, pictures, protocol, X, group_of_row):
    """Held-out values of rows that carry the terms of their group; a gene is in one fold."""
    genes = [pictures.groups.gene_ids[g] for g in group_of_row]
    X, Y = normalise_features(X, "l2"), pictures.truth[group_of_row]
    rows = LabelledRows(X=X, Y=Y, genes=genes, terms=pictures.terms)
    folds = assign_gene_folds(pictures.groups.gene_ids, N_FOLDS, setup.rng("folds"))
    if protocol.svm == "hinge":
        return evaluate_by_libsvm(rows, folds=folds)
    return cross_validate(
        rows, folds=folds, rng=setup.rng("svm"), method="svm", options=FitOptions(n_folds=3)
    )


def merge_images(outcome, group_of_image):
    """Merge the outcomes of images into the outcome of groups, by the largest value.

    Parameters
    ----------
    outcome : TermOutcomes of images; the images of one group lie in one fold
    group_of_image : int array (n_images,), rising from 0
    """
    first = np.unique(group_of_image, return_index=True)[1]
    largest = {
        name: np.maximum.reduceat(getattr(outcome, name), first)
        for name in ("values", "yes", "probabilities")
    }
    return replace(outcome, truth=outcome.truth[first], folds=outcome.folds[first], observed=None, **largest)


_LEAST = 20  # genes of a term


def measure_baselines(setup):
    """Measure a kernel on pixels, and the gain from a dictionary that has seen the tested images."""
    pictures, rows = annotated_pictures(setup, least=_LEAST), Rows()
    genes, rng = pictures.groups.gene_ids, setup.rng("dictionaries")
    folds = assign_gene_folds(genes, N_FOLDS, setup.rng("folds"))
    fold_of = np.array([folds[gene] for gene in genes])

    def by_ridge(X):
        labelled = LabelledRows(X=X, Y=pictures.truth, genes=genes, terms=pictures.terms)
        options = FitOptions(n_folds=5)
        return cross_validate(
            labelled, folds=folds, rng=setup.rng("ridge"), method="coupled-ridge", options=options
        )

    def by_atoms_of(groups):
        described = pictures.described(OURS)
        images = np.concatenate([pictures.groups.rows[g] for g in groups])
        patches = np.concatenate([described[i].descriptors for i in images])
        patches = patches[rng.permutation(len(patches))[: setup.sizes["n_learn"]]]
        learned = learned_atoms(patches, setup.sizes["n_atoms"], rng, n_epochs=3, variant="quick")
        features = pooled(described, OURS, *learned)
        return normalise_features(pool_groups([(0, features)], pictures.groups), "l2")

    whole = by_ridge(by_atoms_of(range(len(genes))))
    apart = replace(whole, values=whole.values.copy())
    for fold in range(N_FOLDS):
        found = by_ridge(by_atoms_of(np.flatnonzero(fold_of != fold)))
        apart.values[fold_of == fold] = found.values[fold_of == fold]
    levels, of_group = _grey_levels(setup, pictures.groups)
    outcomes = {f"the {levels.shape[1]} grey levels": by_ridge(of_group @ levels)}
    outcomes |= {"grey levels, RBF kernel between sets of images": by_ridge(_by_kernel(levels, of_group))}
    outcomes |= {"one dictionary of all images": whole, "in every fold one of its training genes": apart}
    (weights,) = bootstrap_gene_weights(genes, n_samples=1000)
    anatomy = [j for j, term in enumerate(pictures.terms) if term not in NOT_ANATOMY]
    for (name, outcome), kept in product(outcomes.items(), (range(len(pictures.terms)), anatomy)):
        areas = bootstrap_aucs(outcome, weights)
        low, high = bootstrap_interval(areas[1:, kept].mean(axis=1))
        row = {"features": name, "terms": len(kept), "auc": areas[0, kept].mean()}
        rows.append(row | {"low": low, "high": high})
    variant = f"coupled ridge; patches of 64 px, a grid of 2x4, {setup.sizes['n_atoms']:,} atoms"
    return Finding(pictures.source, variant, rows=rows, notes=[pictures.note])


def _grey_levels(setup, groups):
    """Stain of every image in the cells of the embryo, and the matrix that takes the mean of each group."""
    levels = drawn_patterns(replace(setup, data_set=None))[1]["patterns"].astype(float)
    of_group = np.zeros((len(groups), len(levels)))
    for g, images in enumerate(groups.rows):
        of_group[g, images] = 1 / len(images)
    return levels, of_group


def _by_kernel(levels, of_group):
    """Rows of groups whose products are the mean kernel of their images' square roots of stain."""
    roots = np.sqrt(levels)
    kernel = gaussian_kernel(roots, roots, 1 / (2 * roots.var(axis=0).sum()))
    values, vectors = np.linalg.eigh(of_group @ kernel @ of_group.T)
    return vectors * np.sqrt(np.maximum(values, 0))


def cells_of(grey, n_cells):
    """Mean grey levels of so many rows and columns of cells."""
    rows, columns = (n // k for n, k in zip(grey.shape, n_cells))
    return grey.reshape(n_cells[0], rows, n_cells[1], columns).mean(axis=(1, 3))

"""Unlikeness of an image: how far it is from the images on which a model was trained.

The square roots of the features of an image are reduced to a sketch: sums of features with random signs.
Sketches nearly preserve the angle between two images.  The distance of an image is one minus the largest
cosine to a training image of another gene.  Its unlikeness is a rank: the fraction of training images whose
own distance is smaller.  So one in ten images like the training images is above UNLIKE.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.base.quality_warnings import QualityWarning

UNLIKE = 0.9  # an image with a larger rank gets a warning
LEAST_IMAGES = 20  # with fewer training images a rank says too little
UNLIKE_WORDS = "unlike the images that the model learned from"
_N_NUMBERS = 512  # numbers of a sketch
_MAX_IMAGES = 4096  # more images are sampled at random
_ROWS = 1024  # rows that are compared at once
_SEED = 0  # for the signs of sketches: a part of the file format

ARRAYS = {  # types and dimensions, as in the module `schema`
    "sketch": ("i", ("n_known", _N_NUMBERS)),
    "gene": ("S", ("n_known",)),
    "distance": ("f", ("n_known",)),
    "view": ("S", ("n_views",)),
}


@dataclass(frozen=True)
class NoveltyReference:
    """The training images of a model, as sketches to compare other images with.

    sketch : int8 (n_known, 512)
    gene : list of n_known gene identifiers
    distance : float64 (n_known,), sorted, the distance of each training image to the nearest of another gene
    view : list of the views of the training images, each once; empty if the view of some image is unknown
    """

    sketch: np.ndarray
    gene: list
    distance: np.ndarray
    view: list

    @classmethod
    def from_images(cls, blocks, images, genes, views, rng):
        """Build the reference from the training images of a stage range.

        At most 4,096 are kept, drawn at random.

        Parameters
        ----------
        blocks : iterable of (number of the first image, array (n, n_features)) over all images
        images : int array, the numbers of the training images
        genes, views : lists of str, for each image of the features
        rng : numpy Generator
        """
        chosen = np.sort(images)
        if len(chosen) > _MAX_IMAGES:
            chosen = np.sort(rng.choice(chosen, _MAX_IMAGES, replace=False))
        sketch = np.empty((len(chosen), _N_NUMBERS), np.int8)
        for first, block in blocks:
            here = np.flatnonzero((chosen >= first) & (chosen < first + len(block)))
            sketch[here] = compute_sketches(block[chosen[here] - first])
        genes = [genes[i] for i in chosen]
        far = _distances(sketch, genes, sketch, genes)
        known_views = {views[i] for i in images}
        return cls(sketch, genes, np.sort(far), [] if "" in known_views else sorted(known_views))

    def novelty(self, X, genes):
        """Return the unlikeness of images, float64 (n_images,) from 0 to 1.

        Nan with fewer than 20 training images.

        Parameters
        ----------
        X : float array (n_images, n_features)
        genes : sequence (n_images,) of gene identifiers; an image is not compared with images of its own
            gene
        """
        if len(self.gene) < LEAST_IMAGES:
            return np.full(len(X), np.nan)
        far = _distances(compute_sketches(X), genes, self.sketch, self.gene)
        return np.searchsorted(self.distance, far) / len(self.distance)

    def arrays(self):
        """Return the fields as a dict by name, for a file."""
        return {name: getattr(self, name) for name in ARRAYS}


def compute_sketches(X):
    """Reduce rows of features to sketches, int8 (n_rows, 512), which nearly preserve angles between rows.

    X : float array (n_rows, n_features)
    """
    from scipy.sparse import csr_array

    n_features = X.shape[1]
    rng = np.random.default_rng(_SEED)
    place = rng.integers(0, _N_NUMBERS, n_features)
    sign = rng.choice([-1.0, 1.0], n_features)
    sums = csr_array((sign, place, np.arange(n_features + 1)), shape=(n_features, _N_NUMBERS))
    roots = np.sign(X) * np.sqrt(np.abs(X, dtype=np.float64))
    values = roots @ sums
    largest = np.abs(values).max(axis=1, keepdims=True, initial=0)
    return np.rint(values * (127 / np.where(largest > 0, largest, 1))).astype(np.int8)


def _distances(A, genes_of_A, B, genes_of_B):
    """Return the distance of each sketch in A to the nearest sketch in B of another gene; 1 if there is none.

    A, B : int8 arrays (n, 512); genes_of_A, genes_of_B : the gene of each row
    """
    names = {name: i for i, name in enumerate(dict.fromkeys([*genes_of_A, *genes_of_B]))}
    of_A, of_B = (np.array([names[gene] for gene in genes], int) for genes in (genes_of_A, genes_of_B))
    largest = np.zeros(len(A))
    for start in range(0, len(A), _ROWS):
        rows = slice(start, start + _ROWS)
        # The numbers are whole and below 2**24, so that products are exact in float32 in any order.
        cosines = (A[rows].astype(np.float32) @ B.astype(np.float32).T) / _lengths(B)
        cosines[of_A[rows, None] == of_B] = 0
        largest[rows] = cosines.max(axis=1, initial=0) / _lengths(A[rows])
    return 1 - largest


def _lengths(sketch):
    """Return the Euclidean length of every row, float64; 1 for a row of zeros."""
    lengths = np.sqrt((sketch.astype(np.int64) ** 2).sum(axis=1))
    return np.where(lengths > 0, lengths, 1)


def novelty_warnings(known, X, genes, views):
    """Return the unlikeness of every image, and a list of QualityWarnings for each.

    An image on which the model was trained gets no warning, even if it is unlike most others.

    Parameters
    ----------
    known : NoveltyReference of the model
    X : float array (n_images, n_features)
    genes, views : lists of str, for each image
    """
    ranks = known.novelty(X, genes)
    learned = {sketch.tobytes() for sketch in known.sketch}
    warnings = []
    for rank, view, sketch in zip(ranks, views, compute_sketches(X)):
        said = []
        if rank > UNLIKE and sketch.tobytes() not in learned:
            detail = f"more unusual than {100 * rank:.1f}% of the training images"
            said.append(QualityWarning(UNLIKE_WORDS, detail))
        if known.view and view and view not in known.view:
            unknown = view.replace(", ", " ")  # commas separate warnings
            said.append(QualityWarning("of a view that the model did not learn from", unknown))
        warnings.append(said)
    return ranks, warnings

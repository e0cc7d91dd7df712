"""How unlike an image is to those that a model learned from: whether the model knows such pictures at all.

The features of an image, each as its square root, are written as a sketch: numbers that are sums of features
with random signs, which nearly keep the angle between two images.  The distance of an image is one minus the
largest cosine to an image of another gene.  Its unlikeness is a rank: the part of the training images that
are nearer to one of another gene.  Of images like these one in twenty is above UNLIKE.
"""

from dataclasses import dataclass

import numpy as np

from flyannot.base.text import short_repr

UNLIKE = 0.95  # above it an image is named
LEAST_IMAGES = 20  # of fewer training images no rank says that much
UNLIKE_WORDS = "unlike the images that the model learned from"
_N_NUMBERS = 512  # of a sketch
_MOST_IMAGES = 4096  # of which sketches are kept
_ROWS = 1024  # compared at once
_SEED = 0  # of what a sketch draws: a part of the file format

ARRAYS = {  # as in `flyannot.files.hdf5.schema`
    "sketch": ("i", ("n_known", _N_NUMBERS)),
    "gene": ("S", ("n_known",)),
    "distance": ("f", ("n_known",)),
    "view": ("S", ("n_views",)),
}


@dataclass(frozen=True)
class NoveltyReference:
    """What a model keeps of the images that it learned from.

    sketch : int8 (n_known, 512); gene : list of gene ids, one an image
    distance : float64 (n_known,), sorted: of each from the nearest of another gene
    view : list of the views they are of, each once; empty where one is of a view that is not known
    """

    sketch: np.ndarray
    gene: list
    distance: np.ndarray
    view: list

    __repr__ = short_repr

    @classmethod
    def of_images(cls, features, images, genes, views, rng):
        """Keep some images of a stage range, at most 4,096, drawn at random.

        Parameters
        ----------
        features : what has `shape` and `blocks(columns)`, as `InMemoryFeatures`
        images : int array, the numbers of the images that were learned from
        genes, views : lists, of every image of the features
        rng : numpy Generator
        """
        chosen = np.sort(images)
        if len(chosen) > _MOST_IMAGES:
            chosen = np.sort(rng.choice(chosen, _MOST_IMAGES, replace=False))
        sketch = np.empty((len(chosen), _N_NUMBERS), np.int8)
        for first, block in features.blocks(slice(None)):
            here = np.flatnonzero((chosen >= first) & (chosen < first + len(block)))
            sketch[here] = sketches(block[chosen[here] - first])
        genes, of_all = [genes[i] for i in chosen], {views[i] for i in images}
        far = _distances(sketch, genes, sketch, genes)
        return cls(sketch, genes, np.sort(far), [] if "" in of_all else sorted(of_all))

    def novelty(self, X, genes):
        """The rank of every image, float64 (n_images,) from 0 to 1; nan where too few images are known.

        Parameters
        ----------
        X : float array (n_images, n_features)
        genes : sequence (n_images,) of gene ids; an image is not compared with those of its own gene
        """
        if len(self.gene) < LEAST_IMAGES:
            return np.full(len(X), np.nan)
        far = _distances(sketches(X), genes, self.sketch, self.gene)
        return np.searchsorted(self.distance, far) / len(self.distance)

    def arrays(self):
        """All that it is, by name."""
        return {name: getattr(self, name) for name in ARRAYS}


def sketches(X):
    """The sketch of every row of features (n_rows, n_features): int8 (n_rows, 512)."""
    from scipy.sparse import csr_array

    n_features = X.shape[1]
    rng = np.random.default_rng(_SEED)
    place, sign = rng.integers(0, _N_NUMBERS, n_features), rng.choice([-1.0, 1.0], n_features)
    sums = csr_array((sign, place, np.arange(n_features + 1)), shape=(n_features, _N_NUMBERS))
    roots = np.sign(X) * np.sqrt(np.abs(X, dtype=np.float64))
    values = roots @ sums
    largest = np.abs(values).max(axis=1, keepdims=True, initial=0)
    return np.rint(values * (127 / np.where(largest > 0, largest, 1))).astype(np.int8)


def _distances(A, genes_of_A, B, genes_of_B):
    """The distance of every sketch of A from the nearest of B that is of another gene; 1 where none is."""
    names = {name: i for i, name in enumerate(dict.fromkeys([*genes_of_A, *genes_of_B]))}
    of_A, of_B = (np.array([names[gene] for gene in genes], int) for genes in (genes_of_A, genes_of_B))
    largest = np.zeros(len(A))
    for start in range(0, len(A), _ROWS):
        rows = slice(start, start + _ROWS)
        # Whole numbers below 2**24: their products are exact in float32, in any order, on any machine.
        cosines = (A[rows].astype(np.float32) @ B.astype(np.float32).T) / _lengths(B)
        cosines[of_A[rows, None] == of_B] = 0
        largest[rows] = cosines.max(axis=1, initial=0) / _lengths(A[rows])
    return 1 - largest


def _lengths(sketch):
    """The length of every row, float64; 1 of what is 0 throughout."""
    lengths = np.sqrt((sketch.astype(np.int64) ** 2).sum(axis=1))
    return np.where(lengths > 0, lengths, 1)


def warnings_of_images(known, X, genes, views):
    """The unlikeness of every image, and what is to be said of each: a text, "" if nothing.

    That an image it learned from is among the strangest of these is no warning.
    """
    ranks, learned = known.novelty(X, genes), {sketch.tobytes() for sketch in known.sketch}
    texts = []
    for rank, view, sketch in zip(ranks, views, sketches(X)):
        said = []
        if rank > UNLIKE and sketch.tobytes() not in learned:
            said.append(f"{UNLIKE_WORDS}: stranger than {100 * rank:.1f} % of them")
        if known.view and view and view not in known.view:
            said.append(f"of a view that the model did not learn from: {view}")
        texts.append(", ".join(said))
    return ranks, texts

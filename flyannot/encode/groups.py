"""Groups: all images of one gene in one stage range.  Terms belong to groups, not to single images."""

from dataclasses import dataclass

import numpy as np

_ROWS = 256  # rows that are scaled at once


@dataclass(frozen=True)
class Groups:
    """The groups of one stage range, sorted by name. A group has all images of one gene in the stage range.

    name, gene, fbgn : lists, one str for each group
    rows : list with an int array for each group, the indices of its images
    """

    name: list
    gene: list
    fbgn: list
    rows: list

    def __len__(self):
        return len(self.name)

    @property
    def gene_ids(self):
        """Return an identifier of the gene of each group: its FlyBase number, or else its symbol.

        If neither is known, the identifier is the name of the group.
        """
        return [fbgn or gene or name for fbgn, gene, name in zip(self.fbgn, self.gene, self.name)]

    @property
    def group_numbers(self):
        """Return the index of the group of every image, int32 array (n_images,)."""
        groups = np.empty(sum(map(len, self.rows)), np.int32)
        for g, rows in enumerate(self.rows):
            groups[rows] = g
        return groups

    def find(self, name):
        """Return the indices of the groups with a name, or whose gene has this symbol or FlyBase number."""
        every = enumerate(zip(self.name, self.gene, self.fbgn))
        return [g for g, names in every if name and name in names]

    def subset(self, chosen):
        """Return Groups with some groups, given by their indices; the indices of images do not change."""
        columns = vars(self).values()
        return Groups(*([column[g] for g in chosen] for column in columns))


def group_images(columns):
    """Divide the images of a stage range into Groups.

    columns : dict from "group", "gene" and "fbgn" to a list with the text of each image
    """
    names = np.array(columns["group"])
    name, first, group_of_image = np.unique(names, return_index=True, return_inverse=True)
    rows = [np.flatnonzero(group_of_image == g) for g in range(len(name))]
    gene, fbgn = ([columns[column][i] for i in first] for column in ("gene", "fbgn"))
    return Groups(name.tolist(), gene, fbgn, rows)


def image_gene_ids(columns):
    """Return an identifier of the gene of each image, as `Groups.gene_ids`.

    columns : dict from "group", "gene" and "fbgn" to a list with the text of each image
    """
    groups = group_images(columns)
    return np.array(groups.gene_ids)[groups.group_numbers].tolist()


def pool_groups(blocks, groups, scheme="group"):
    """Pool the feature vectors of images to one vector for each group, while the images are read.

    Parameters
    ----------
    blocks : iterable of (index of the first image, array (n_images, n_features)), such as [(0, X)]
    groups : Groups
    scheme : "group" for the largest of each feature over the images of a group, or "mean"

    Returns
    -------
    pooled : array (n_groups, n_features), of the type of the features
    """
    group_of_image = {i: g for g, images in enumerate(groups.rows) for i in images}
    n_waiting = [len(images) for images in groups.rows]
    sums = {}  # in float64, of groups with images that are still to come
    pooled = np.zeros((len(groups), 0))
    for first, block in blocks:
        if not pooled.shape[1]:
            pooled = np.zeros((len(groups), block.shape[1]), block.dtype)
        for i, row in enumerate(block, first):
            g = group_of_image.get(i)
            if g is None:
                continue
            is_first = n_waiting[g] == len(groups.rows[g])
            n_waiting[g] -= 1
            if scheme == "group":
                pooled[g] = row if is_first else np.maximum(pooled[g], row)
                continue
            sums[g] = row.astype(np.float64) if is_first else sums[g] + row
            if not n_waiting[g]:
                pooled[g] = sums.pop(g) / len(groups.rows[g])
    return pooled


def training_rows(blocks, groups, options):
    """Return the feature vectors of groups with which a classifier is trained, array (n_groups, n_features).

    blocks : feature vectors of images, as `pool_groups` takes them; groups : Groups
    options : options of the classifier, with the `scheme` of pooling and the `normalisation` of vectors
    """
    X = pool_groups(blocks, groups, options.scheme)
    for start in range(0, len(X), _ROWS):
        rows = slice(start, start + _ROWS)
        X[rows] = normalise_features(X[rows], options.normalisation)
    return X


def unit_rows(X):
    """Scale the rows of a matrix X to length 1, and return them as float32; rows of zeros stay zeros.

    Blocks of rows are converted to float64, so that lengths are accurate and memory is small.
    """
    units = np.empty(X.shape, np.float32)
    for start in range(0, len(X), _ROWS):
        rows = np.asarray(X[start : start + _ROWS], np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        units[start : start + _ROWS] = rows / np.where(lengths > 0, lengths, 1)[:, None]
    return units


def normalise_features(X, normalisation):
    """Scale feature vectors to norm 1 (`l2`), or return them unchanged (`none`)."""
    if normalisation == "none":
        return X
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1)

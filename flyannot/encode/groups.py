"""Groups: all images of one gene in one stage range.  Terms belong to groups, not to single images."""

from dataclasses import dataclass

import numpy as np

_ROWS = 256  # rows that are scaled at once


@dataclass(frozen=True)
class Groups:
    """The groups of one stage range, sorted by name. A group is all images of one gene in it.

    name, gene, fbgn : lists, one str for each group
    rows : list with an int array for each group, the numbers of its images
    """

    name: list
    gene: list
    fbgn: list
    rows: list

    def __len__(self):
        return len(self.name)

    @property
    def gene_ids(self):
        """Return an identifier of the gene of each group.

        It is the FlyBase number, otherwise the symbol, otherwise (gene unknown) the name of the group.
        """
        return [fbgn or gene or name for fbgn, gene, name in zip(self.fbgn, self.gene, self.name)]

    @property
    def group_numbers(self):
        """Return the number of the group of every image, int32 (n_images,)."""
        groups = np.empty(sum(map(len, self.rows)), np.int32)
        for g, rows in enumerate(self.rows):
            groups[rows] = g
        return groups

    def find(self, name):
        """Return the numbers of the groups with a name, or whose gene has this symbol or FlyBase number."""
        every = enumerate(zip(self.name, self.gene, self.fbgn))
        return [g for g, names in every if name and name in names]

    def subset(self, chosen):
        """Return the groups with the given numbers, in this order; the numbers of images do not change."""
        columns = vars(self).values()
        return Groups(*([column[g] for g in chosen] for column in columns))


def group_images(columns):
    """Divide the images of a stage range into Groups.

    columns : dict of lists, the columns of the images, with group, gene and fbgn
    """
    names = np.array(columns["group"])
    name, first, group_of_image = np.unique(names, return_index=True, return_inverse=True)
    rows = [np.flatnonzero(group_of_image == g) for g in range(len(name))]
    gene, fbgn = ([columns[column][i] for i in first] for column in ("gene", "fbgn"))
    return Groups(name.tolist(), gene, fbgn, rows)


def image_gene_ids(columns):
    """Return an identifier of the gene of each image; the parameter is as in `group_images`."""
    groups = group_images(columns)
    return np.array(groups.gene_ids)[groups.group_numbers].tolist()


def pool_groups(blocks, groups, scheme="group"):
    """Combine the features of images to features of groups, as the images are read.

    Parameters
    ----------
    blocks : iterable of (number of the first image, array (n_images, n_features)), such as [(0, X)] for all
        images
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
    """Return the feature vectors of groups, (n_groups, n_features), pooled and normalised.

    blocks : features of the images, as `pool_groups` takes them; groups : Groups; options : with the
    `scheme` and the `normalisation` of the classifier
    """
    X = pool_groups(blocks, groups, options.scheme)
    for start in range(0, len(X), _ROWS):
        rows = slice(start, start + _ROWS)
        X[rows] = normalise_features(X[rows], options.normalisation)
    return X


def unit_rows(X):
    """Return the rows of X, scaled to length 1, as float32; rows of zeros stay zeros.

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

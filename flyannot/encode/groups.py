"""Groups: all images of one gene in one stage range.  Terms belong to the group, not to each image."""

from dataclasses import dataclass

import numpy as np

from flyannot.base.text import short_repr


@dataclass(frozen=True)
class Groups:
    """The groups of one stage range, sorted by name; `rows` are the numbers of each one's images."""

    name: list
    gene: list
    fbgn: list
    rows: list

    __repr__ = short_repr

    def __len__(self):
        return len(self.name)

    @property
    def gene_ids(self):
        """What no two genes share: FlyBase number, else symbol, else (gene unknown) the group's name."""
        return [fbgn or gene or name for fbgn, gene, name in zip(self.fbgn, self.gene, self.name)]

    @property
    def of_image(self):
        """The number of the group of every image."""
        groups = np.empty(sum(map(len, self.rows)), np.int32)
        for g, rows in enumerate(self.rows):
            groups[rows] = g
        return groups

    def subset(self, chosen):
        """The groups with the given numbers, in that order; image numbers stay."""
        columns = self.name, self.gene, self.fbgn, self.rows
        return Groups(*([column[g] for g in chosen] for column in columns))


def groups_of(columns):
    """The groups of a stage range, from its image columns (a dict of lists: group, gene, fbgn)."""
    names = np.array(columns["group"])
    name, first, group_of_image = np.unique(names, return_index=True, return_inverse=True)
    rows = [np.flatnonzero(group_of_image == g) for g in range(len(name))]
    gene, fbgn = ([columns[column][i] for i in first] for column in ("gene", "fbgn"))
    return Groups(name.tolist(), gene, fbgn, rows)


def group_features(features, groups, scheme="group"):
    """The features of groups (n_groups, n_features), of images whose features lie in memory.

    With the scheme "group" they are exactly those of all patches of a group together.
    """
    return pooled_columns(InMemoryFeatures(features), groups, slice(None), scheme)


class InMemoryFeatures:
    """Features of images that lie in memory, as `pooled_columns` reads those of files."""

    def __init__(self, features):
        self._features, self.shape, self.dtype = features, features.shape, features.dtype

    def blocks(self, columns):
        """The number of the first image and the wanted columns of some images, block after block."""
        yield 0, self._features[:, columns]


def pooled_columns(features, groups, columns, scheme):
    """Some columns of the feature vectors of groups, pooled as the images are read.

    Parameters
    ----------
    features : `InMemoryFeatures`, or an object with the same `shape` (n_images, n_features), `dtype` and
        `blocks(columns)`
    columns : slice, of the features
    scheme : "group", the largest of each feature over a group's images, or "mean"

    Returns
    -------
    pooled : array (n_groups, n_columns) of the type of the features
    """
    of_image = np.full(features.shape[0], -1)
    for g, images in enumerate(groups.rows):
        of_image[images] = g
    pooled = np.zeros((len(groups), len(range(features.shape[1])[columns])), features.dtype)
    waiting, sums = (
        [len(images) for images in groups.rows],
        {},
    )  # in float64, of the groups that wait for more
    for first, block in features.blocks(columns):
        for i, row in enumerate(block, first):
            g = of_image[i]
            if g < 0:
                continue
            if scheme == "group":
                pooled[g] = row if waiting[g] == len(groups.rows[g]) else np.maximum(pooled[g], row)
            else:
                sums[g] = sums[g] + row if g in sums else row.astype(np.float64)
            waiting[g] -= 1
            if not waiting[g] and g in sums:
                pooled[g] = sums.pop(g) / len(groups.rows[g])
    return pooled


def normalise_features(X, normalisation):
    """Feature vectors as the model sees them: scaled to norm 1 (`l2`), or as they are (`none`)."""
    if normalisation == "none":
        return X
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1)

"""Groups: all images of one gene in one stage range.  Terms belong to the group, not to each image."""

from dataclasses import dataclass

import numpy as np

from flyannot.runtime.short_repr import short_repr


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
        return Groups(
            *([column[g] for g in chosen] for column in (self.name, self.gene, self.fbgn, self.rows))
        )


def groups_of(columns):
    """The groups of a stage range, from its image columns (a dict of lists: group, gene, fbgn)."""
    names = np.array(columns["group"])
    found, first, group_of_image = np.unique(names, return_index=True, return_inverse=True)
    rows = [np.flatnonzero(group_of_image == g) for g in range(len(found))]
    return Groups(
        found.tolist(), [columns["gene"][i] for i in first], [columns["fbgn"][i] for i in first], rows
    )


def group_features(features, groups):
    """The features of every group, exactly those of all its patches together: (n_groups, n_features)."""
    return _of_groups([features[rows].max(axis=0) for rows in groups.rows], features)


def mean_features(features, groups):
    """The mean of the features of every group's images: (n_groups, n_features)."""
    return _of_groups([features[rows].mean(axis=0, dtype=np.float64) for rows in groups.rows], features)


def _of_groups(rows, features):
    return np.array(rows, features.dtype).reshape(len(rows), features.shape[1])


def normalise_features(X, normalisation):
    """Feature vectors as the model sees them: scaled to norm 1 (`l2`), or as they are (`none`)."""
    if normalisation == "none":
        return X
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1)

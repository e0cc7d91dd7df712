"""What a classifier is trained on or judged by: feature vectors and terms of the annotated groups."""

from dataclasses import dataclass, replace

import numpy as np

from flyannot.features.groups import Groups, group_features, groups_of, mean_features, normalise_features

SCHEMES = ("group", "mean", "image")


@dataclass(frozen=True)
class SetOptions:
    """How groups become rows, and which terms take part.

    scheme: `group` pools all patches of a group into one row; `mean` makes it the mean of its images'
    rows; `image` gives every image a row that inherits the terms of its group. normalisation: see
    `normalise_features`. min_groups: the least number of groups that carry a term.
    """

    scheme: str = "group"
    normalisation: str = "l2"
    min_groups: int = 5
    exclude_terms: tuple = ()


@dataclass(frozen=True, kw_only=True)
class LabelledRows:
    """X (n_rows, n_features) and Y, bool (n_rows, n_terms), with the gene of every row.

    bags is the group number of every row, or None where rows are groups.  reasons says of every term
    why it takes no part, "" if it does; None if all do.
    """

    X: np.ndarray
    Y: np.ndarray
    genes: list
    terms: list
    reasons: list | None = None
    bags: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class TrainingSet(LabelledRows):
    """The annotated `groups` of a stage range as rows; bags holds their numbers."""

    groups: Groups

    def __len__(self):
        return len(self.X)

    def of_genes(self, genes):
        """The rows and groups of the given genes; bags are numbered anew."""
        groups = [g for g, gene in enumerate(self.groups.gene_ids) if gene in genes]
        rows = np.array([gene in genes for gene in self.genes], bool)
        bags = None if self.bags is None else np.searchsorted(groups, self.bags[rows])
        return replace(
            self, X=self.X[rows], Y=self.Y[rows], genes=[gene for gene in self.genes if gene in genes],
            bags=bags, groups=self.groups.subset(groups),
        )  # fmt: skip


def rows_of(features, n_patches, groups, options, *, pooling):
    """Rows as the model sees them, and the group number of each (None where rows are groups)."""
    if options.scheme == "group":
        X, bags = group_features(features, n_patches, groups, pooling=pooling), None
    elif options.scheme == "mean":
        X, bags = mean_features(features, groups), None
    else:
        order = np.concatenate(groups.rows) if len(groups) else np.empty(0, int)
        X, bags = features[order], np.repeat(np.arange(len(groups)), [len(rows) for rows in groups.rows])
    return normalise_features(X, options.normalisation), bags


def training_set(loaded, annotations, stage_range, options, *, pooling):
    """The annotated groups of one stage range.

    Parameters
    ----------
    loaded : (columns, features, n_patches) as `read_features` returns
    annotations : flyannot.dataset.folder.Annotations
    stage_range : str
    options : SetOptions
    pooling : how the features were pooled
    """
    columns, features, n_patches = loaded
    groups, carried = annotated_groups(groups_of(columns), annotations, stage_range)
    terms = sorted(set().union(*carried))
    truth = np.array([[t in carries for t in terms] for carries in carried], bool)
    truth = truth.reshape(len(groups), len(terms))
    reasons = [_left_out(t, n, options) for t, n in zip(terms, truth.sum(axis=0))]
    X, bags = rows_of(features, n_patches, groups, options, pooling=pooling)
    of_row = np.arange(len(groups)) if bags is None else bags
    genes = [groups.gene_ids[g] for g in of_row]
    rows = {"X": X, "Y": truth[of_row], "genes": genes, "bags": bags}
    return TrainingSet(**rows, terms=terms, reasons=reasons, groups=groups)


def annotated_groups(groups, annotations, stage_range):
    """The groups whose gene is annotated in this stage range, and the set of terms of each."""
    terms = [annotations.terms_of(gene, stage_range, fbgn) for gene, fbgn in zip(groups.gene, groups.fbgn)]
    annotated = [g for g, found in enumerate(terms) if found is not None]
    return groups.subset(annotated), [terms[g] for g in annotated]


def _left_out(term, count, options):
    if term in options.exclude_terms:
        return "excluded by request"
    if count < options.min_groups:
        return (
            f"not evaluable: {count} positive group{'' if count == 1 else 's'}, {options.min_groups} needed"
        )
    return ""

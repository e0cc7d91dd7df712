"""What a classifier is trained or evaluated on: feature vectors and terms of the annotated groups."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from flyannot.classifiers import CLASSIFIERS
from flyannot.classifiers.group_rows import GroupRows
from flyannot.classifiers.observed import part_of
from flyannot.features.groups import Groups, HeldFeatures, groups_of
from flyannot.runtime.counted import counted
from flyannot.runtime.short_repr import short_repr


@dataclass(frozen=True, kw_only=True)
class LabelledRows:
    """X (n_rows, n_features) and Y, bool (n_rows, n_terms), with the gene of every row.

    A row is a group.  reasons says of every term why it takes no part, "" if it does; None if all do.
    observed : bool (n_rows, n_terms), which entries of Y were observed, or None: all
    """

    X: np.ndarray
    Y: np.ndarray
    genes: list
    terms: list
    reasons: list | None = None
    observed: np.ndarray | None = None

    __repr__ = short_repr


@dataclass(frozen=True, kw_only=True)
class TrainingSet(LabelledRows):
    """The annotated `groups` of a stage range as rows.

    Rows that are fewer than their features are written in a basis of their own where a linear method is to
    learn from them (`flyannot.classifiers.own_basis`); `in_features` makes its models those of features.
    """

    groups: Groups
    in_features: Callable = field(default=lambda scorer: scorer, repr=False)

    __repr__ = short_repr

    def __len__(self):
        return len(self.X)

    def of_genes(self, genes):
        """The groups of the given genes."""
        rows = [g for g, gene in enumerate(self.genes) if gene in genes]
        return replace(
            self, X=self.X[rows], Y=self.Y[rows], genes=[self.genes[g] for g in rows],
            groups=self.groups.subset(rows), observed=part_of(self.observed, rows),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CuratedGroups:
    """What is known of the annotated groups of a stage range, but for their features: as of `TrainingSet`."""

    Y: np.ndarray
    terms: list
    reasons: list
    groups: Groups
    observed: np.ndarray | None = None

    __repr__ = short_repr

    def __len__(self):
        return len(self.groups)

    def training_set(self, features, options, n_threads=1):
        """With their features, which are read.

        Parameters
        ----------
        features : of images, (n_images, n_features), as `flyannot.features.groups.pooled_columns` takes them
        options : flyannot.classifiers.options.TrainOptions
        """
        rows = GroupRows(features, self.groups, options)
        in_features = {}
        if CLASSIFIERS[options.method].is_linear and 0 < len(self) < features.shape[1]:
            basis, lengths = rows.own_basis(n_threads)
            X = basis.coordinates
            in_features = {"in_features": lambda scorer: rows.in_features(scorer, basis, lengths)}
        else:
            X = rows.whole()
        return TrainingSet(
            X=X, Y=self.Y, genes=self.groups.gene_ids, terms=self.terms, reasons=self.reasons,
            groups=self.groups, observed=self.observed, **in_features,
        )  # fmt: skip


def training_rows(features, groups, options):
    """Groups as the model sees them, (n_groups, n_features), by `ClassifyOptions`' scheme and
    normalisation."""
    return GroupRows(HeldFeatures(features), groups, options).whole()


def curated_groups(columns, annotations, stage_range, options):
    """The annotated groups of one stage range.

    Parameters
    ----------
    columns : image columns, as `flyannot.store.features.StoredFeatures` has them
    annotations : flyannot.dataset.folder.Annotations
    stage_range : str
    options : flyannot.classifiers.options.TrainOptions
    """
    groups, carried = annotated_groups(groups_of(columns), annotations, stage_range)
    terms = sorted(set().union(*carried))
    truth = truth_of(carried, terms)
    observed = observed_terms(groups, annotations, stage_range, terms)
    reasons = [_left_out(t, n, options) for t, n in zip(terms, truth.sum(axis=0))]
    return CuratedGroups(Y=truth, terms=terms, reasons=reasons, groups=groups, observed=observed)


def annotated_groups(groups, annotations, stage_range):
    """The groups whose gene is annotated in this stage range, and the set of terms of each."""
    terms = [annotations.terms_of(gene, stage_range, fbgn) for gene, fbgn in zip(groups.gene, groups.fbgn)]
    annotated = [g for g, found in enumerate(terms) if found is not None]
    return groups.subset(annotated), [terms[g] for g in annotated]


def truth_of(carried, terms):
    """Which of the terms each group has, bool (n_groups, n_terms), from the set of terms of each."""
    truth = np.array([[term in carries for term in terms] for carries in carried], bool)
    return truth.reshape(len(carried), len(terms))


def observed_terms(groups, annotations, stage_range, terms):
    """Whether it is known of every group if it has each term, bool (n_groups, n_terms); None if all is."""
    unknown = [
        annotations.unknown_terms(gene, stage_range, terms, fbgn)
        for gene, fbgn in zip(groups.gene, groups.fbgn)
    ]
    if not any(unknown):
        return None
    return np.array([[term not in one for term in terms] for one in unknown], bool)


def _left_out(term, count, options):
    if term in options.exclude_terms:
        return "excluded by request"
    if count < options.min_groups:
        return f"not evaluable: {counted(count, 'positive group')}, {options.min_groups} needed"
    return ""

"""What a classifier is trained or evaluated on: feature vectors and terms of the annotated groups."""

from dataclasses import dataclass, replace

import numpy as np

from flyannot.classifiers.observed import part_of
from flyannot.features.groups import Groups, group_features, groups_of, mean_features, normalise_features
from flyannot.runtime.short_repr import short_repr


@dataclass(frozen=True, kw_only=True)
class LabelledRows:
    """X (n_rows, n_features) and Y, bool (n_rows, n_terms), with the gene of every row.

    A row is a group.  reasons says of every term why it takes no part, "" if it does; None if all do.
    observed : bool (n_rows, n_terms), which entries of Y are known, or None: all
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
    """The annotated `groups` of a stage range as rows."""

    groups: Groups

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


def training_rows(features, groups, options):
    """Groups as the model sees them, (n_groups, n_features), by `ClassifyOptions`' scheme and
    normalisation."""
    pooled = group_features if options.scheme == "group" else mean_features
    return normalise_features(pooled(features, groups), options.normalisation)


def training_set(columns, features, annotations, stage_range, options):
    """The annotated groups of one stage range.

    Parameters
    ----------
    columns, features : image columns and features (n_images, n_features), as `read_features` returns
    annotations : flyannot.dataset.folder.Annotations
    stage_range : str
    options : flyannot.classifiers.options.ClassifyOptions
    """
    groups, carried = annotated_groups(groups_of(columns), annotations, stage_range)
    terms = sorted(set().union(*carried))
    truth = np.array([[t in carries for t in terms] for carries in carried], bool)
    truth = truth.reshape(len(groups), len(terms))
    observed = observed_terms(groups, annotations, stage_range, terms)
    reasons = [_left_out(t, n, options) for t, n in zip(terms, truth.sum(axis=0))]
    X = training_rows(features, groups, options)
    return TrainingSet(
        X=X, Y=truth, genes=groups.gene_ids, terms=terms, reasons=reasons, groups=groups, observed=observed
    )


def annotated_groups(groups, annotations, stage_range):
    """The groups whose gene is annotated in this stage range, and the set of terms of each."""
    terms = [annotations.terms_of(gene, stage_range, fbgn) for gene, fbgn in zip(groups.gene, groups.fbgn)]
    annotated = [g for g, found in enumerate(terms) if found is not None]
    return groups.subset(annotated), [terms[g] for g in annotated]


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
        return (
            f"not evaluable: {count} positive group{'' if count == 1 else 's'}, {options.min_groups} needed"
        )
    return ""

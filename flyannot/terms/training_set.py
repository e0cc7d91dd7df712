"""What a classifier is trained or evaluated on: feature vectors and terms of the annotated groups."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import numpy as np

from flyannot.base.text import pluralise, short_repr
from flyannot.encode.groups import Groups, InMemoryFeatures, groups_of, normalise_features, pooled_columns
from flyannot.jobs.resources import require_bytes
from flyannot.terms import CLASSIFIERS
from flyannot.terms.feature_rows import CholeskyBasis, add_inner_products
from flyannot.terms.scorer import observed_mask

_BLOCK_BYTES = 1 << 29  # of columns of all groups, held at once
_ROWS = 256  # normalised at once
ENOUGH_GROUPS = 5  # with a term, to learn it, where there are such


@dataclass(frozen=True, kw_only=True)
class LabelledRows:
    """X (n_rows, n_features) and Y, bool (n_rows, n_terms), with the gene of every row.

    A row is a group.  reasons says of every term why it takes no part, "" if it does.
    observed : bool (n_rows, n_terms), which entries of Y were observed
    Without reasons or observed, all terms and all entries take part.
    """

    X: np.ndarray
    Y: np.ndarray
    genes: list
    terms: list
    reasons: list | None = None
    observed: np.ndarray | None = None

    __repr__ = short_repr

    def __post_init__(self):
        object.__setattr__(self, "observed", observed_mask(self.observed, self.Y.shape))
        object.__setattr__(self, "reasons", self.reasons or [""] * len(self.terms))


@dataclass(frozen=True, kw_only=True)
class TrainingSet(LabelledRows):
    """The annotated `groups` of a stage range as rows; X has no column until `with_features` reads it.

    Rows that are fewer than their features are written in a basis of their own where a linear method is to
    learn from them (`flyannot.terms.feature_rows`); `in_features` makes its models those of features.
    """

    groups: Groups
    in_features: Callable = field(default=lambda scorer: scorer, repr=False)

    __repr__ = short_repr

    def __len__(self):
        return len(self.groups)

    def of_genes(self, genes):
        """The groups of the given genes."""
        rows = [g for g, gene in enumerate(self.genes) if gene in genes]
        groups, part = self.groups.subset(rows), {n: getattr(self, n)[rows] for n in ("X", "Y", "observed")}
        return replace(self, genes=groups.gene_ids, groups=groups, **part)

    def with_features(self, features, options, n_threads=1):
        """The same with X, which is read.

        Parameters
        ----------
        features : of images, (n_images, n_features), as `flyannot.encode.groups.pooled_columns` takes them
        options : TrainOptions
        """
        rows = GroupRows(features, self.groups, options)
        if not CLASSIFIERS[options.method].is_linear or not 0 < len(self) < features.shape[1]:
            return replace(self, X=rows.whole())
        basis, lengths = rows.own_basis(n_threads)
        in_features = partial(rows.in_features, basis=basis, lengths=lengths)
        return replace(self, X=basis.coordinates, in_features=in_features)


class GroupRows:
    """The feature vectors of groups, pooled and normalised as `TrainOptions` say: (n_groups, n_features).

    features : of images, as `flyannot.encode.groups.pooled_columns` takes them
    """

    def __init__(self, features, groups, options):
        self._features, self._groups, self._options = features, groups, options
        self.shape = len(groups), features.shape[1]

    def whole(self):
        """All of them, in the type of the features."""
        X = self._pooled(slice(None))
        for start in range(0, len(X), _ROWS):
            rows = slice(start, start + _ROWS)
            X[rows] = normalise_features(X[rows], self._options.normalisation)
        return X

    def own_basis(self, n_threads=1):
        """The rows in a basis of their own, from inner products that add up over blocks of columns.

        Returns
        -------
        basis : CholeskyBasis
        lengths : float64 array (n_groups,), what the pooled rows were divided by

        Raises
        ------
        FlyannotError
            If the memory does not suffice.
        """
        n_groups, n_features = self.shape
        block = min(_BLOCK_BYTES, 4 * n_groups * n_features)
        what, fix = (
            f"the inner products of {n_groups:,} groups",
            "use a machine with more memory, or fewer groups",
        )
        require_bytes(2 * 8 * n_groups**2 + block, what, fix=fix)
        K = np.zeros((n_groups, n_groups))
        for columns in self._blocks():
            add_inner_products(K, self._pooled(columns), n_threads=n_threads)
        lengths = np.sqrt(np.diagonal(K))
        lengths = np.where((lengths > 0) & (self._options.normalisation == "l2"), lengths, 1.0)
        K /= lengths
        K /= lengths[:, None]
        return CholeskyBasis.of_products(K), lengths

    def in_features(self, scorer, basis, lengths):
        """A linear scorer of the basis as one of the features, which are read once more."""
        parts = basis.of_rows(scorer.weights) / lengths
        weights = np.empty((len(parts), self.shape[1]))
        for columns in self._blocks():
            weights[:, columns] = parts @ self._pooled(columns)
        return replace(scorer, weights=weights)

    def _pooled(self, columns):
        return pooled_columns(self._features, self._groups, columns, self._options.scheme)

    def _blocks(self):
        """Cut by the numbers of groups and features alone: so are the sums."""
        width = max(1, _BLOCK_BYTES // (4 * len(self._groups)))
        return (slice(start, start + width) for start in range(0, self.shape[1], width))


def training_rows(features, groups, options):
    """Groups as the model sees them, (n_groups, n_features), by `TrainOptions`' scheme and
    normalisation."""
    return GroupRows(InMemoryFeatures(features), groups, options).whole()


def curated_groups(columns, annotations, stage_range, options):
    """The `TrainingSet` of one stage range; its X has no column.

    Parameters
    ----------
    columns : image columns, as `StoredFeatures` has them
    annotations : Annotations
    stage_range : str
    options : TrainOptions
    """
    groups, carried = annotated_groups(groups_of(columns), annotations, stage_range)
    terms = sorted(set().union(*carried))
    truth = truth_of(carried, terms)
    observed = observed_terms(groups, annotations, stage_range, terms)
    reasons = [_left_out(t, n, options) for t, n in zip(terms, truth.sum(axis=0))]
    genes = groups.gene_ids
    return TrainingSet(
        X=np.empty((len(groups), 0)),
        Y=truth,
        genes=genes,
        terms=terms,
        reasons=reasons,
        groups=groups,
        observed=observed,
    )


def enough_groups(carried_of, excluded=()):
    """How many groups must carry a term that is learned, and how many folds genes are cut into, where no
    number is given: 5; of few groups a quarter of them, no more than carry the most frequent term that not
    all carry, and 2 at least.

    Parameters
    ----------
    carried_of : of every stage range, the set of terms of each annotated group
    excluded : terms that do not count
    """
    n_groups, most = 0, 0
    for carried in carried_of:
        counts = Counter(chain.from_iterable(carried))
        learnable = (n for t, n in counts.items() if t not in excluded and n <= len(carried) - 2)
        n_groups, most = max(n_groups, len(carried)), max(most, *learnable, 0)
    return max(2, min(ENOUGH_GROUPS, n_groups // 4, most))


def enough_groups_of_columns(columns_of, annotations, excluded=()):
    """`enough_groups` by the image columns of every stage range, a dict."""
    parts = (annotated_groups(groups_of(columns), annotations, s) for s, columns in columns_of.items())
    return enough_groups([carried for _, carried in parts], excluded)


def annotated_groups(groups, annotations, stage_range):
    """The groups whose gene is annotated in this stage range, and the set of terms of each."""
    terms = [annotations.terms_of(gene, stage_range, fbgn) for gene, fbgn in zip(groups.gene, groups.fbgn)]
    annotated = [g for g, of_group in enumerate(terms) if of_group is not None]
    return groups.subset(annotated), [terms[g] for g in annotated]


def truth_of(carried, terms):
    """Which of the terms each group has, bool (n_groups, n_terms), from the set of terms of each."""
    truth = np.array([[term in carries for term in terms] for carries in carried], bool)
    return truth.reshape(len(carried), len(terms))


def observed_terms(groups, annotations, stage_range, terms):
    """Return whether curators said of every group if it has each term, bool (n_groups, n_terms)."""
    genes = zip(groups.gene, groups.fbgn)
    unknown = [annotations.unknown_terms(gene, stage_range, terms, fbgn) for gene, fbgn in genes]
    return ~truth_of(unknown, terms)


def _left_out(term, count, options):
    if term in options.exclude_terms:
        return "excluded by request"
    least = options.min_groups or ENOUGH_GROUPS
    if count < least:
        return f"not evaluable: {pluralise(count, 'positive group')}, {least} needed"
    return ""

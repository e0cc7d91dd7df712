"""Training sets: feature vectors and terms of the annotated groups."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import numpy as np

from flyannot.base.text import pluralise
from flyannot.encode.groups import Groups, group_images, pool_groups, training_rows
from flyannot.jobs.resources import require_memory
from flyannot.terms.feature_rows import CholeskyBasis, add_inner_products
from flyannot.terms.model import untrainable_reason
from flyannot.terms.scorer import list_observed_rows, observed_mask

_BLOCK_BYTES = 1 << 29  # columns of all groups that are in memory at once
ENOUGH_GROUPS = 5  # with a term, to learn it; fewer in small data sets


@dataclass(frozen=True, kw_only=True)
class LabelledRows:
    """Feature vectors of groups with their terms, for training or evaluation.

    X : float array (n_rows, n_features), one row for each group
    Y : bool array (n_rows, n_terms), True if the group has the term
    genes : list of n_rows names, the gene of each row
    terms : list of n_terms names
    reasons : list of n_terms texts, why the term is left out, or ""; None for no reasons
    observed : bool array (n_rows, n_terms), True where Y is known; None for everywhere
    """

    X: np.ndarray
    Y: np.ndarray
    genes: list
    terms: list
    reasons: list | None = None
    observed: np.ndarray | None = None

    def __post_init__(self):
        object.__setattr__(self, "observed", observed_mask(self.observed, self.Y.shape))
        object.__setattr__(self, "reasons", self.reasons or [""] * len(self.terms))


@dataclass(frozen=True, kw_only=True)
class TrainingSet(LabelledRows):
    """The annotated groups of a stage range as LabelledRows, whose features are read when they are needed.

    At first X has no columns; `with_features` returns a copy with X.  A linear classifier on fewer rows than
    features is trained faster in a basis of the span of the rows, so X then has coordinates in that basis.
    `in_features` converts a scorer that was trained on them to a scorer of features.

    groups : Groups
    """

    groups: Groups
    in_features: Callable = field(default=lambda scorer: scorer, repr=False)

    def __len__(self):
        return len(self.groups)

    def select_genes(self, genes):
        """Return the LabelledRows of the groups of these genes."""
        rows = [g for g, gene in enumerate(self.genes) if gene in genes]
        groups = self.groups.subset(rows)
        part = {name: getattr(self, name)[rows] for name in ("X", "Y", "observed")}
        return replace(self, genes=groups.gene_ids, groups=groups, **part)

    def with_features(self, features, options, n_threads=1):
        """Return a copy whose X was computed from the features of the images.

        Parameters
        ----------
        features : StoredFeatures of all images (n_images, n_features)
        options : TrainOptions
        n_threads : int
        """
        if not 0 < len(self) < features.shape[1]:
            return replace(self, X=training_rows(features.iterate_blocks(), self.groups, options))
        basis, lengths = _own_basis(features, self.groups, options, n_threads)
        of_rows = {"features": features, "groups": self.groups, "scheme": options.scheme}
        in_features = partial(_in_features, basis=basis, lengths=lengths, **of_rows)
        return replace(self, X=basis.coordinates, in_features=in_features)


def _own_basis(features, groups, options, n_threads):
    """Return the coordinates of the feature vectors of groups in a basis of their own span.

    The inner products are added up over blocks of columns, so that all features are never in memory.

    Parameters
    ----------
    features : StoredFeatures of the images
    groups : Groups
    options : TrainOptions
    n_threads : int

    Returns
    -------
    basis : CholeskyBasis
    lengths : float64 array (n_groups,), by which the pooled rows were divided to normalise them

    Raises
    ------
    FlyannotError
        If there is too little memory.
    """
    n_groups = len(groups)
    block = min(_BLOCK_BYTES, 4 * n_groups * features.shape[1])
    what = f"the inner products of {n_groups:,} groups"
    fix = "use a machine with more memory, or fewer groups"
    require_memory(2 * 8 * n_groups**2 + block, what, fix=fix)
    K = np.zeros((n_groups, n_groups))
    for _, rows in _pool_columns(features, groups, options.scheme):
        add_inner_products(K, rows, n_threads=n_threads)
    lengths = np.sqrt(np.diagonal(K))
    lengths = np.where((lengths > 0) & (options.normalisation == "l2"), lengths, 1.0)
    K /= lengths
    K /= lengths[:, None]
    return CholeskyBasis.from_inner_products(K), lengths


def _in_features(scorer, *, features, groups, scheme, basis, lengths):
    """Convert a linear scorer of coordinates to a scorer of features.

    Parameters
    ----------
    scorer : Scorer, trained on the coordinates of `basis`
    features, groups, scheme : as in `_pool_columns`
    basis, lengths : as `_own_basis` returned
    """
    parts = basis.row_coefficients(scorer.weights) / lengths
    weights = np.empty((len(parts), features.shape[1]))
    for columns, rows in _pool_columns(features, groups, scheme):
        weights[:, columns] = parts @ rows
    return replace(scorer, weights=weights)


def _pool_columns(features, groups, scheme):
    """Yield (slice of columns, pooled rows of all groups) for blocks of columns of the features.

    The blocks, and so the sums, depend only on the shape of the features.

    features : StoredFeatures of the images; groups : Groups; scheme : as in `pool_groups`
    """
    width = max(1, _BLOCK_BYTES // (4 * len(groups)))
    for start in range(0, features.shape[1], width):
        columns = slice(start, start + width)
        yield columns, pool_groups(features.iterate_blocks(columns), groups, scheme)


def build_training_set(columns, annotations, stage_range, options):
    """Return the `TrainingSet` of one stage range; its X has no columns.

    Parameters
    ----------
    columns : image columns, see `StoredFeatures`
    annotations : Annotations
    stage_range : str
    options : TrainOptions
    """
    groups, carried = annotated_groups(group_images(columns), annotations, stage_range)
    terms = sorted(set().union(*carried))
    truth = truth_matrix(carried, terms)
    observed = observed_terms(groups, annotations, stage_range, terms)
    reasons = [_exclusion_reason(t, n, options) for t, n in zip(terms, truth.sum(axis=0))]
    more = {"reasons": reasons, "groups": groups, "observed": observed}
    return TrainingSet(X=np.empty((len(groups), 0)), Y=truth, genes=groups.gene_ids, terms=terms, **more)


def trainable_terms(curated):
    """Return the numbers of the terms of a TrainingSet that can be trained."""
    genes = np.asarray(curated.groups.gene_ids)
    return [
        j
        for j, rows in enumerate(list_observed_rows(curated.observed))
        if not curated.reasons[j] and not untrainable_reason(curated.Y[rows, j], genes[rows])
    ]


def default_min_groups(columns_of, annotations, excluded=()):
    """Choose the least number of groups with a term that is learned, which is also the number of folds.

    It is 5.  For few groups it is a quarter of their number, and at least 2.  It is at most the number of
    groups with the most frequent term that not all have.

    Parameters
    ----------
    columns_of : dict, stage range -> dict of the columns of its images
    annotations : Annotations
    excluded : terms that do not count
    """
    n_groups = 0
    most = 0
    for stage_range, columns in columns_of.items():
        _, carried = annotated_groups(group_images(columns), annotations, stage_range)
        counts = Counter(chain.from_iterable(carried))
        learnable = (n for t, n in counts.items() if t not in excluded and n <= len(carried) - 2)
        n_groups = max(n_groups, len(carried))
        most = max(most, *learnable, 0)
    return max(2, min(ENOUGH_GROUPS, n_groups // 4, most))


def annotated_groups(groups, annotations, stage_range):
    """Return the Groups whose gene is annotated in a stage range, and a list with the set of terms of each.

    groups : Groups; annotations : Annotations
    """
    terms = [annotations.terms_of(gene, stage_range, fbgn) for gene, fbgn in zip(groups.gene, groups.fbgn)]
    annotated = [g for g, of_group in enumerate(terms) if of_group is not None]
    return groups.subset(annotated), [terms[g] for g in annotated]


def truth_matrix(carried, terms):
    """Return which terms each group has, bool (n_groups, n_terms).

    carried : list with the set of terms of each group; terms : list of names
    """
    truth = np.array([[term in carries for term in terms] for carries in carried], bool)
    return truth.reshape(len(carried), len(terms))


def observed_terms(groups, annotations, stage_range, terms):
    """Return for which groups and terms the curators' answer is known, bool (n_groups, n_terms)."""
    genes = zip(groups.gene, groups.fbgn)
    unknown = [annotations.unknown_terms(gene, stage_range, terms, fbgn) for gene, fbgn in genes]
    return ~truth_matrix(unknown, terms)


def judged_weights(groups, annotations, stage_range, terms):
    """Return the weights of `Annotations.judged_weights` for all groups, float64 (n_groups, n_terms)."""
    genes = zip(groups.gene, groups.fbgn)
    return np.array([annotations.judged_weights(gene, stage_range, terms, fbgn) for gene, fbgn in genes])


def _exclusion_reason(term, count, options):
    """Return the reason why a term is left out of training, or "".

    term : str; count : int, the number of groups with the term; options : TrainOptions
    """
    if term in options.exclude_terms:
        return "excluded by request"
    least = options.min_groups or ENOUGH_GROUPS
    if count < least:
        return f"not evaluable: {pluralise(count, 'positive group')}, {least} needed"
    return ""

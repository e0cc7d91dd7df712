"""Adaptation of a trained model to the curated terms of other groups, such as the verdicts of a curator.

A model carries the rows that it learned from (`TrainingRows`).  The adapted model is trained on these rows
and on the new groups together, so that it forgets nothing.

Verdicts are a chosen sample: a term that was added by eye is always a yes.  They inflated probabilities, and
made the answers about other genes worse.  So only genes that were judged whole teach the terms of the model.
The adapted model is used only if a gain is shown on held-out genes (`compare_answers`).  All terms of genes
that were judged whole count, and of other genes those that were drawn at random with a known chance.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from flyannot.base.stage_ranges import stage_range_rng
from flyannot.base.text import pluralise
from flyannot.encode.groups import Groups
from flyannot.terms.bootstrap import bootstrap_gene_weights, bootstrap_interval
from flyannot.terms.cross_validation import cross_validate, exclusion_reasons
from flyannot.terms.model import fit_model, model_from_arrays
from flyannot.terms.training_set import judged_weights, observed_terms, trainable_terms, training_rows

MOST_VALUES = 1 << 26  # larger rows are not kept, so that files of models stay small
_LARGEST = 127  # int8
_LEAST_PROBABILITY = 1e-6  # in a logarithm
_LEAST_ERRORS = 1.645  # standard errors of a gain that is trusted: one-sided, 5%; 1 let F1 fall by .03


@dataclass(frozen=True)
class TrainingRows:
    """The rows from which a model learned, in 8 bits for each feature.

    value : int8 (n_rows, n_features)
    scale : float32 (n_rows,), by which the values of a row are multiplied
    gene : list of n_rows names
    truth : int8 (n_rows, n_terms), 1 if the row has the term, 0 if not, -1 if unknown
    """

    value: np.ndarray
    scale: np.ndarray
    gene: list
    truth: np.ndarray

    ARRAYS: ClassVar[dict] = {"value": ("i1", ("n_rows", "n_features")), "scale": ("f4", ("n_rows",))}
    ARRAYS |= {"gene": ("S", ("n_rows",)), "truth": ("i1", ("n_rows", "n_terms"))}

    @classmethod
    def from_features(cls, X, genes, Y, observed):
        """Round the features X (n_rows, n_features) of groups; Y and observed are as in `LabelledRows`."""
        scale = (np.abs(X).max(axis=1, initial=0) / _LARGEST).astype(np.float32)
        value = np.round(X / np.where(scale > 0, scale, 1)[:, None]).astype(np.int8)
        return cls(value, scale, list(genes), np.where(observed, Y, -1).astype(np.int8))

    @property
    def X(self):
        """The features, float32 (n_rows, n_features)."""
        return self.value * self.scale[:, None]


@dataclass(frozen=True)
class ExtendedFeatures:
    """Features of images, read as `StoredFeatures`, and after them the rows X of a model, one an image."""

    features: Any
    X: np.ndarray

    @property
    def shape(self):
        """The number of rows and of features."""
        return self.features.shape[0] + len(self.X), self.features.shape[1]

    def iterate_blocks(self, columns=slice(None)):
        """Yield (number of the first row, array of features), as `StoredFeatures` does."""
        yield from self.features.iterate_blocks(columns)
        yield self.features.shape[0], self.X[:, columns]


def extend_training_set(curated, observed, n_images, terms, rows):
    """Add the rows of a model to a training set.

    Parameters
    ----------
    curated : TrainingSet of the new groups
    observed : bool array (n_groups, n_terms), True where it is known whether a group has a term of the model
    n_images : int, the number of images of the features of `curated`
    terms : list of the n_terms terms of the model
    rows : TrainingRows of the model

    Returns
    -------
    TrainingSet of the new groups, followed by the rows
        Its terms are the model's, followed by those that only the new groups have.
    """
    new = [j for j, term in enumerate(curated.terms) if term not in terms]
    columns = [curated.terms.index(term) if term in curated.terms else -1 for term in terms]
    Y = np.pad(curated.Y, ((0, 0), (0, 1)))[:, columns + new]
    observed = np.hstack([observed, curated.observed[:, new]])
    truth = np.pad(rows.truth, ((0, 0), (0, len(new))), constant_values=-1)
    for gene, of_gene in zip(curated.genes, observed):  # a verdict replaces the answer of before
        truth[np.ix_(np.array(rows.gene) == gene, of_gene)] = -1
    names = [f"row {i}" for i in range(len(truth))]
    images = [np.array([n_images + i]) for i in range(len(truth))]
    added = names, [""] * len(names), list(rows.gene), images
    return replace(
        curated,
        Y=np.vstack([Y, truth == 1]),
        observed=np.vstack([observed, truth >= 0]),
        genes=[*curated.genes, *rows.gene],
        terms=[*terms, *(curated.terms[j] for j in new)],
        reasons=[""] * len(terms) + [curated.reasons[j] for j in new],
        groups=Groups(*map(list.__add__, vars(curated.groups).values(), added)),
    )


def join_models(base, adapted):
    """Return the Model `base` with the additional terms of the Model `adapted`, which stand after its own."""
    arrays = adapted.arrays()
    for name, of_base in base.arrays().items():
        if of_base.shape[1:] == arrays[name].shape[1:]:
            arrays[name] = np.concatenate([of_base, arrays[name][len(of_base) :]])
    return model_from_arrays(base.method, arrays)


def compare_answers(before, after, weights, genes):
    """Compare the answers of a model before and after its adaptation, on terms that were not chosen.

    Parameters
    ----------
    before, after : TermOutcomes of the same groups; the first terms are the base model's
    weights : float array (n_groups, n_base_terms), as `Annotations.judged_weights` returns
    genes : list of n_groups names

    Returns
    -------
    is_gain : bool, True if the logarithmic loss of a gene falls by more than _LEAST_ERRORS
    sentence : str, what was measured; F1 is over all terms of all genes
    """
    known = slice(weights.shape[1])
    if not weights.any():
        return False, "no new gene is finished, so no gain can be shown: the model keeps its answers"
    rows = np.flatnonzero(weights.any(axis=1))
    weights = weights[rows]
    truth = before.truth[rows, known]
    (draws,) = bootstrap_gene_weights([genes[g] for g in rows])
    f1 = []
    losses = []
    for outcome in (before, after):
        yes = outcome.yes[rows, known]
        right, listed = (draws @ (weights * n).sum(axis=1) for n in (2 * (yes & truth), yes + truth * 1))
        f1.append(right / np.maximum(listed, _LEAST_PROBABILITY))
        p = np.where(truth, *(sign * outcome.probabilities[rows, known] + (sign < 0) for sign in (1, -1)))
        losses.append(-(weights * np.log(np.maximum(p, _LEAST_PROBABILITY))).sum(axis=1))
    gains = losses[0] - losses[1]
    error = gains.std() / np.sqrt(len(gains))
    is_gain = bool(gains.mean() > _LEAST_ERRORS * error)
    low, high = bootstrap_interval((f1[1] - f1[0])[1:])
    number = pluralise(len({genes[g] for g in rows}), "gene")
    return is_gain, (
        f"verdicts on {number}: F1 {f1[0][0]:.3f} -> {f1[1][0]:.3f} (95% interval {low:+.3f} to {high:+.3f})"
        f", log loss of a gene {-gains.mean():+.2f} (less is better; standard error {error:.2f}): "
        f"the model {'is adapted' if is_gain else 'keeps its answers'}"
    )


class Adaptation:
    """A model of one stage range, and the curated groups to which it is adapted.

    Parameters
    ----------
    base : StageRangeModel, with rows
    curated : TrainingSet, not empty
    features : StoredFeatures
    annotations : Annotations
    stage_range : str
    options : TrainOptions
    n_threads, seed : int
    """

    def __init__(self, base, curated, features, annotations, stage_range, options, n_threads, seed):
        self._base = base
        self._seed = seed, stage_range
        weights = judged_weights(curated.groups, annotations, stage_range, base.terms)
        known = observed_terms(curated.groups, annotations, stage_range, base.terms)
        known &= ~np.isin(base.terms, options.exclude_terms)
        teaches = known & (weights == 1)
        rows = extend_training_set(curated, teaches, features.shape[0], base.terms, base.rows)
        self._rows = rows.with_features(ExtendedFeatures(features, base.rows.X), options, n_threads)
        self._X = training_rows(features.iterate_blocks(), curated.groups, options)
        self._observed = np.hstack([known, rows.observed[: len(curated), len(base.terms) :]])
        # A gene that the model knows cannot test it, and nothing is to test if no group teaches anything.
        is_new = np.array([gene not in base.train_genes for gene in curated.genes])
        self._weights = weights * known * is_new[:, None] * teaches.any()

    def compare(self, folds, options):
        """Predict the groups before and after the adaptation, and compare the answers.

        folds : dict from the genes of the groups to folds; options : FitOptions

        Returns
        -------
        outcome : TermOutcomes of the groups, by the model that `train` makes
        is_gain, sentence : as `compare_answers` returns them
        """
        n = len(self._X)
        known = slice(len(self._base.terms))
        model = self._base.model
        genes = self._rows.genes[:n]
        folds = dict.fromkeys(self._rows.genes, -1) | folds
        more = {"rng": stage_range_rng(*self._seed), "method": model.method, "options": options}
        after = cross_validate(self._rows, folds=folds, **more)
        after = replace(after.subset(slice(n), range(len(after.terms))), observed=self._observed)
        about = np.array(genes), after.folds, max(folds.values()) + 1, after.observed
        own = exclusion_reasons(after.truth, *about)
        after = replace(after, reasons=[why or mine for why, mine in zip(self._rows.reasons or own, own)])
        before = replace(after.subset(slice(n), range(len(after.terms))), reasons=after.reasons)
        is_unknown = np.isnan(after.values[:, known])  # no fold could train these terms
        for name, of_one in model.outcomes(model.decision_values(self._X)).items():
            getattr(before, name)[:, known] = of_one
            np.copyto(getattr(after, name)[:, known], of_one, where=is_unknown)
        is_gain, sentence = compare_answers(before, after, self._weights, genes)
        return after if is_gain else before, is_gain, sentence

    def train(self, folds, options):
        """Return the adapted StageRangeModel, and the sentence of `compare_answers`.

        If no gain is shown, the model keeps its answers, and only learns the terms that it does not know.
        The parameters are as in `compare`.
        """
        _, is_gain, sentence = self.compare(folds, replace(options, on_terms=lambda n: None))
        base = self._base
        rows = self._rows
        model = base.model
        n_known = len(base.terms)
        kept = [*range(n_known), *(j for j in trainable_terms(rows) if j >= n_known)]
        Y = rows.Y[:, kept]
        observed = rows.observed[:, kept]
        if is_gain or len(kept) > n_known:
            more = {"rng": stage_range_rng(*self._seed), "options": options, "observed": observed}
            adapted = fit_model(model.method, rows.X, Y, rows.genes, **more)
            adapted = replace(adapted, scorer=rows.in_features(adapted.scorer))
            model = adapted if is_gain else join_models(model, adapted)
        carried = TrainingRows.from_features(np.concatenate([self._X, base.rows.X]), rows.genes, Y, observed)
        terms = [rows.terms[j] for j in kept]
        genes = base.train_genes.union(rows.genes)
        return replace(base, terms=terms, model=model, train_genes=genes, rows=carried), sentence

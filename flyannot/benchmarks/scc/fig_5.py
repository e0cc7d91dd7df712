"""SCC, Figure 5: annotation with dictionaries of OL and of SCC, by a weighted average over ten terms.

A group is annotated from one vector, pooled from all its images, as everywhere in flyannot; and, as the paper
does it, from the values of its single images.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from flyannot.benchmarks.findings import Finding, Panel, Size, Source
from flyannot.benchmarks.inputs.pictures import (
    columns_of_patterns,
    drawn_patterns,
    embryo_images,
    grey_levels,
    image_folder,
)
from flyannot.benchmarks.items import Item, paper_values, papers
from flyannot.benchmarks.rows import Rows, Series
from flyannot.benchmarks.scc import claims
from flyannot.benchmarks.scc.learning import learned_atoms
from flyannot.benchmarks.scc.resampled import METRICS, resampled_metrics
from flyannot.classifiers.cross_validation import cross_validate
from flyannot.classifiers.folds import folds_of_genes
from flyannot.classifiers.scorer import FitOptions
from flyannot.classifiers.training_set import LabelledRows, annotated_groups
from flyannot.dataset.folder import read_annotations
from flyannot.dataset.importers.wu2016 import STAGE_RANGE
from flyannot.descriptors.extract import describe
from flyannot.descriptors.options import ExtractOptions
from flyannot.features.groups import Groups, group_features, groups_of, normalise_features
from flyannot.features.image_features import atoms_of_features, features_of
from flyannot.features.options import PoolOptions
from flyannot.scores.bootstrap import bootstrap_interval
from flyannot.scores.metrics import NOT_ANATOMY, Outcome

_GRID = ((2, 4),)
_N_FOLDS = 5
_LEARNERS = {
    "SCC": {"learner": "scc", "variant": "paper", "n_epochs": 10},
    "OL": {"learner": "ol", "batch_size": 512, "n_epochs": 10},
}
_ALSO_BY_IMAGE = "SCC", 1000
_N_TERMS = 10


@dataclass(frozen=True)
class Pictures:
    """Pictures of one stage range, their annotated groups, and the truth of the ten most frequent terms."""

    stage_range: str
    greys: list  # uint8 pictures
    groups: Groups
    terms: list
    truth: np.ndarray
    source: Source
    patch_px: int  # as large as the detail allows
    note: str


def _annotated_pictures(setup):
    """The `Pictures` there are: patterns of Wu et al., else the images of stage range 4-6."""
    patterns = drawn_patterns(setup)
    if patterns is not None:
        greys, arrays, source = patterns
        columns = columns_of_patterns(arrays)
        note = (
            "Stage range 4-6 only: of the others there are real images of seven genes, too few to score. "
            "Patterns of 405 values carry no detail, so patches have 64 px, not 16."
        )
        folder, patch_px = setup.data_file("wu2016").parent, 64
    else:
        images, source = embryo_images(setup)
        images = [image for image in images if image.stage_range == STAGE_RANGE]
        greys = [grey_levels(image.path) for image in images]
        columns = {name: [getattr(i, name) for i in images] for name in ("gene", "fbgn", "group")}
        note = f"Images of {source.text}, stage range {STAGE_RANGE} only."
        folder, patch_px = image_folder(setup), 16
    groups, carried = annotated_groups(groups_of(columns), read_annotations(folder), STAGE_RANGE)
    counts = Counter(term for terms in carried for term in terms if term not in NOT_ANATOMY)
    terms = sorted(counts, key=lambda term: (-counts[term], term))[:_N_TERMS]
    truth = np.array([[term in terms_ for term in terms] for terms_ in carried], bool)
    left_out = ", ".join(NOT_ANATOMY)
    note = f"{note} The ten most frequent terms of {len(groups)} groups, without {left_out}."
    return Pictures(STAGE_RANGE, greys, groups, terms, truth, source, patch_px, note)


def measure(setup):
    """Learn, code, pool by maximum, and evaluate linear SVMs by cross-validation over genes."""
    paper, pictures = paper_values("scc", "fig-5"), _annotated_pictures(setup)
    stride_px = 8 * setup.sizes["coarseness"]
    options = ExtractOptions(patch_px=pictures.patch_px, stride_px=stride_px, min_std=2)
    described = [describe(grey, options) for grey in pictures.greys]
    rows = Rows()
    for m in paper["sizes"]:
        for who in _LEARNERS:
            features = _pooled(setup, described, who, m)
            levels = (_by_group, _by_image) if (who, m) == _ALSO_BY_IMAGE else (_by_group,)
            for annotate in levels:
                columns = {"learner": who, "n_atoms": m, "annotated_by": _LEVELS[annotate]}
                rows += _rows_of(columns, annotate(setup, pictures, features), pictures.groups.gene_ids)
    n_patches = sum(len(d.descriptors) for d in described)
    text = f"{pictures.source.text}; {n_patches:,} patches of {pictures.patch_px} px"
    return Finding(
        source=Source(text, pictures.source.kind),
        size=Size("patches", n_patches, papers()["scc"]["n_patches"][pictures.stage_range]),
        variant="SCC paper and our own OL (batch 512), ten epochs each; cd codes, max of |z|, 2x4 grid, "
        f"linear SVM, {_N_FOLDS} folds by gene",
        explanation="Patterns of 405 values carry too little detail for a larger dictionary to show.",
        rows=rows,
        panels=_panels(paper["sizes"], rows),
        notes=[pictures.note, "Annotated by image: every image is a row with the terms of its gene, and a "
               "group has the largest value of its images. No gene is in two folds. Intervals are by "
               "bootstrap over genes; the seed of the dictionaries is one."],
    )  # fmt: skip


def _rows_of(columns, outcome, genes):
    """A row for every measure: its value, its interval and its draws."""
    measured, draws = resampled_metrics(outcome, genes)
    for metric in METRICS:
        row = columns | {"average": "weighted_top10", "metric": metric, "value": measured[metric]}
        low, high = bootstrap_interval(draws[metric])
        yield row | {"low": low, "high": high, "draws": draws[metric].round(5).tolist()}


def _pooled(setup, described, who, m):
    """The features of every image, pooled over one learner's dictionary."""
    descriptors, rng = np.concatenate([d.descriptors for d in described]), setup.rng("atoms")
    rows = rng.permutation(len(descriptors))[: setup.sizes["n_learn"]]
    D, lam = learned_atoms(descriptors[rows], m, rng, **_LEARNERS[who])
    atoms, options = atoms_of_features(D, lam, np.unique(described[0].patch_px)), PoolOptions(grid=_GRID)
    return np.stack([features_of(one, atoms, options).features for one in described])


def _by_group(setup, pictures, features):
    """Every group from one vector, pooled from all its patches."""
    X = group_features(features, pictures.groups)
    return _cross_validated(setup, pictures, X, np.arange(len(pictures.groups)))


def _by_image(setup, pictures, features):
    """Every image by itself, then its group."""
    of_row = np.repeat(np.arange(len(pictures.groups)), [len(rows) for rows in pictures.groups.rows])
    X = features[np.concatenate(pictures.groups.rows)]
    return merge_images(_cross_validated(setup, pictures, X, of_row), of_row)


_LEVELS = {_by_group: "group", _by_image: "image, merged by maximum"}


def _cross_validated(setup, pictures, X, group_of_row):
    """Held-out values of rows that carry the terms of their group."""
    genes = [pictures.groups.gene_ids[g] for g in group_of_row]
    rows = LabelledRows(
        X=normalise_features(X, "l2"), Y=pictures.truth[group_of_row], genes=genes, terms=pictures.terms
    )
    return cross_validate(
        rows,
        folds=folds_of_genes(pictures.groups.gene_ids, _N_FOLDS, setup.rng("folds")),
        rng=setup.rng("svm"),
        options=FitOptions(n_folds=3),
    )


def merge_images(outcome, group_of_image):
    """The outcome of groups: the largest value of their images, which lie in one fold, and its consequences.

    Parameters
    ----------
    outcome : flyannot.scores.metrics.Outcome of images
    group_of_image : int array (n_images,), rising from 0
    """
    first = np.unique(group_of_image, return_index=True)[1]
    largest = [np.maximum.reduceat(a, first) for a in (outcome.values, outcome.yes, outcome.probabilities)]
    return Outcome(
        outcome.terms, outcome.truth[first], largest[0], largest[1], outcome.folds[first], largest[2],
        outcome.reasons,
    )  # fmt: skip


def _panels(sizes, rows):
    names, shown = [f"m={m}" for m in sizes], rows.where(annotated_by=_LEVELS[_by_group])
    return [
        Panel(f"{metric}, weighted over ten terms", "", metric, [
            Series(who, names, shown.column("value", learner=who, metric=metric)) for who in _LEARNERS
        ])
        for metric in METRICS
    ]  # fmt: skip


ITEM = Item(
    "scc-fig-5", "Annotation with dictionaries of OL and of SCC", measure, "scc", "fig-5",
    sizes={"n_learn": (20_000, 100_000), "coarseness": (2, 1)}, statements=claims.FIG_5,
)  # fmt: skip

"""What a run can learn from the curated terms of its data set."""

from dataclasses import replace

import numpy as np

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.pipeline.engine.images import image_columns
from flyannot.terms.training_set import build_training_set, default_min_groups

MIN_GENES = 2  # a term is learned from at least as many genes with it, and as many without it


def build_training_sets(images, annotations, train):
    """Build the TrainingSets of the annotated groups, as the step `train` does.

    Parameters
    ----------
    images : list of Image; images without a stage range are left out
    annotations : Annotations
    train : TrainOptions

    Returns
    -------
    curated : dict, stage range -> TrainingSet; without the stage ranges that have no annotated group
    """
    columns = {s: image_columns([i for i in images if i.stage_range == s]) for s in STAGE_RANGES}
    if train.min_groups is None:
        enough = default_min_groups(columns, annotations, train.exclude_terms)
        train = replace(train, min_groups=enough)
    curated = {s: build_training_set(of_range, annotations, s, train) for s, of_range in columns.items()}
    return {s: groups for s, groups in curated.items() if len(groups)}


def count_genes(curated):
    """Return the number of genes of the TrainingSets of all stage ranges."""
    return len({gene for groups in curated.values() for gene in groups.genes})


def can_learn(curated):
    """Return whether any term has enough groups, and `MIN_GENES` genes with it and as many without."""
    for groups in curated.values():
        genes = np.asarray(groups.genes)
        for truth, observed, reason in zip(groups.Y.T, groups.observed.T, groups.reasons):
            counts = [len(set(genes[observed & (truth == has_term)])) for has_term in (True, False)]
            if not reason and min(counts) >= MIN_GENES:
                return True
    return False


def check_numbers(curated, train, folds, source):
    """Refuse numbers in [train] and [evaluate] with which nothing can be learned or tested.

    Parameters
    ----------
    curated : dict, as `build_training_sets` returns
    train : TrainOptions
    folds : int, or None if flyannot chooses the number of folds
    source : path or str, where the terms come from

    Raises
    ------
    InputError
    """
    n_genes = count_genes(curated)
    n_groups = [
        int(n)
        for groups in curated.values()
        for term, n in zip(groups.terms, groups.Y.sum(axis=0))
        if term not in train.exclude_terms
    ]
    most = max(n_groups, default=0)
    if train.min_groups and most < train.min_groups:
        count = pluralise(most, "group with images has", "groups with images have")
        raise InputError(
            f"no term of {source} can be learned: at most {count} the same term, and min-groups is "
            f"{train.min_groups}",
            fix="remove min-groups from [train], and flyannot chooses it by the data",
        )
    if train.min_groups and not can_learn(curated):
        raise InputError(
            f"no term of {source} can be learned: no term with enough genes is known to be absent from "
            f"{MIN_GENES} genes",
            fix="reject a term for genes that do not show it; a missing verdict does not count as absence",
        )
    if folds and n_genes < folds:
        raise InputError(
            f"{pluralise(n_genes, 'gene')} cannot be split into {folds} folds",
            fix="remove folds from [evaluate], and flyannot chooses it by the data",
        )

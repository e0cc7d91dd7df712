"""Cross-validation on features, split by gene over all stage ranges at once."""

from dataclasses import dataclass

import numpy as np

from flyannot.classifiers.cross_validation import cross_validate, joined
from flyannot.classifiers.folds import folds_of_genes
from flyannot.classifiers.training_set import training_set
from flyannot.dataset.coverage import notes_on_columns
from flyannot.dataset.folder import read_images
from flyannot.dataset.selection import select_images
from flyannot.features.pixel_baseline import pixel_features
from flyannot.scores.group_outcomes import judged_groups
from flyannot.scores.metrics import evaluate
from flyannot.stage_ranges import STAGE_RANGES, rng_for
from flyannot.steps.curated_terms import annotations_of, is_synthetic, nothing_annotated
from flyannot.steps.extract import image_columns, in_order
from flyannot.steps.inputs import chosen_stage_ranges, open_all, require_known_terms
from flyannot.store.features import read_features


@dataclass(frozen=True)
class Validation:
    """How features are cross-validated.  `jobs` does not change the result.

    roll_up: OBO files; a gene that has a term then has all its parents among the terms too.
    inner: judge within the training genes of every fold, so that nothing is chosen by the folds that test.
    """

    n_folds: int = 5
    seed: int = 0
    jobs: int = 1
    inner: bool = False
    roll_up: tuple = ()


def read_feature_files(paths, stage_ranges):
    """Columns, features and patch counts by stage range, and how the features were pooled."""
    with open_all(paths, "features") as files:
        chosen = chosen_stage_ranges(files, stage_ranges)
        return {s: read_features(files, s) for s in chosen}, files[0].options["pooling"]


def read_pixels(data_set, stage_ranges, grid):
    """As `read_feature_files`, of the grey levels of images; each counts as one patch."""
    images = select_images(in_order(read_images(data_set)), stage_ranges=stage_ranges or ())
    loaded = {}
    for s in STAGE_RANGES:
        mine = [image for image in images if image.stage_range == s]
        if mine:
            X = pixel_features([image.path for image in mine], grid)
            columns = image_columns(mine) | {"source": [image.source for image in mine]}
            loaded[s] = columns, X, np.ones((len(mine), 1), np.int32)
    return loaded


def cross_validate_features(loaded, annotations_csv, options, validation, path):
    """Split by gene over all stage ranges at once."""
    annotations, seed = annotations_of(annotations_csv, validation.roll_up), validation.seed
    require_known_terms(options.rows.exclude_terms, annotations, annotations_csv)
    loaded, pooling = loaded
    sets = {s: training_set(loaded[s], annotations, s, options.rows, pooling=pooling) for s in loaded}
    sets = {s: found for s, found in sets.items() if len(found)}
    if not sets:
        raise nothing_annotated(path, annotations_csv)
    genes = sorted({gene for found in sets.values() for gene in found.genes})
    folds = folds_of_genes(genes, validation.n_folds, np.random.default_rng(seed))
    judge = _judge_inside if validation.inner else _judge
    outcomes, members = judge(sets, folds, options, validation)
    covered = notes_on_columns({s: columns for s, (columns, *_) in loaded.items()}, annotations)
    how = "within the training genes of each fold of a" if validation.inner else "a"
    notes = [
        f"{how} {validation.n_folds}-fold cross-validation, split by gene over all stage ranges: "
        f"{len(genes)} genes",
        *covered,
    ]
    judged = {
        s: judged_groups(
            o, [sets[s].groups.name[g] for g in members[s]], [sets[s].groups.gene_ids[g] for g in members[s]]
        )
        for s, o in outcomes.items()
    }
    return evaluate(outcomes) | {"notes": notes, "synthetic": is_synthetic(loaded), "judged": judged}


def _judge(sets, folds, options, validation):
    """The outcome of every stage range, and the numbers of its groups in the outcome's order."""
    outcomes = {
        s: cross_validate(
            found,
            folds=folds,
            rng=rng_for(validation.seed, s),
            method=options.method,
            options=options.trainer(validation.jobs),
        )
        for s, found in sets.items()
    }
    return outcomes, {s: np.arange(len(found.groups)) for s, found in sets.items()}


def _judge_inside(sets, folds, options, validation):
    """As `_judge`, once within the training genes of every fold; the genes of the fold take no part."""
    parts, members = {s: [] for s in sets}, {s: [] for s in sets}
    for fold in range(validation.n_folds):
        training = [gene for gene, of_gene in folds.items() if of_gene != fold]
        inner = folds_of_genes(training, validation.n_folds, np.random.default_rng([validation.seed, fold]))
        inside = {s: found.of_genes(inner) for s, found in sets.items()}
        inside = {s: found for s, found in inside.items() if len(found)}
        outcomes, _ = _judge(inside, inner, options, validation)
        for s, outcome in outcomes.items():
            parts[s].append(outcome)
            members[s] += [sets[s].groups.name.index(name) for name in inside[s].groups.name]
    return {s: joined(found) for s, found in parts.items() if found}, members

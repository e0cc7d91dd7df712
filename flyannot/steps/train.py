"""features.h5 and annotations.csv to model.h5."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from flyannot.classifiers.model import Model, fit_model, model_of_no_terms, untrainable
from flyannot.classifiers.training_set import training_set
from flyannot.dataset.coverage import notes_on_columns
from flyannot.dataset.folder import annotations_table, read_annotations
from flyannot.errors import InputError
from flyannot.runtime.blas_threads import one_blas_thread
from flyannot.runtime.digest import digest_of_file
from flyannot.stage_ranges import rng_for
from flyannot.steps.count import Count
from flyannot.steps.elsewhere import elsewhere
from flyannot.steps.inputs import chosen_stage_ranges, digests_of, open_all, require_known_terms
from flyannot.steps.learned_terms import terms_of_model, weak_terms
from flyannot.steps.tasks import Outcome, carry_out, file_task
from flyannot.store.dictionary import read_dictionary
from flyannot.store.features import read_features
from flyannot.store.header import Header
from flyannot.store.model import write_model
from flyannot.store.writing import create_stored

log = logging.getLogger("flyannot")


@dataclass(frozen=True)
class _Trained:
    """What was learned of one stage range, and from which genes."""

    terms: list
    model: Model
    genes: frozenset


def train(paths, annotations_csv, out, options, execution, *, seed=0, stage_ranges=None):
    """Train one model per stage range.

    Parameters
    ----------
    paths : list of Path of features files, read as if they were one
    annotations_csv : Path, of the table or of its data set folder
    out : Path of the model file
    options : flyannot.classifiers.options.ClassifyOptions
    execution : flyannot.steps.tasks.Execution
    seed : int
    stage_ranges : the stage ranges to train; None for all that the features have

    Raises
    ------
    InputError
        If no term of any stage range can be trained.
    """
    task = train_task(paths, annotations_csv, out, options, seed=seed, stage_ranges=stage_ranges)
    return carry_out(task, execution)


def train_task(paths, annotations_csv, out, options, *, seed=0, stage_ranges=None):
    """The `flyannot.steps.tasks.Task` of `train`."""
    annotations_csv = annotations_table(annotations_csv)
    with open_all(paths, "features") as files:
        annotations = read_annotations(annotations_csv)
        require_known_terms(options.exclude_terms, annotations, annotations_csv)
        chosen = chosen_stage_ranges(files, stage_ranges)
        digests = digests_of(files)
        header = Header(
            "model",
            files[0].options | {"classify": options.as_header() | {"stage_ranges": chosen}},
            {"features": [file.digest for file in files], "annotations": [digest_of_file(annotations_csv)]},
            seed,
        )

    def make(execution):
        with open_all(paths, "features", digests=digests) as files:
            trained = _train(files, annotations, chosen, options, lambda s: rng_for(seed, s), execution, out)
            if not any(one.terms for one in trained.values()):
                raise InputError(
                    f"no term can be trained from {annotations_csv} and {paths[0]}",
                    fix="lower --min-groups, or check that genes are spelled alike in both",
                )
            with create_stored(out, header) as file:
                for stage_range, one in trained.items():
                    D = read_dictionary(next(f for f in files if stage_range in f.stage_ranges), stage_range)
                    arrays = one.model.arrays()
                    write_model(file, stage_range, D, one.terms, one.model.method, arrays, one.genes)
        for s, one in trained.items():
            if weak := weak_terms(terms_of_model(one.terms, one.model)):
                log.warning("warning: %s: %s. Which: flyannot show %s", s, weak, out)
        summary = [
            f"{s:>5}: {len(one.terms)} terms from {len(one.genes)} genes" for s, one in trained.items()
        ]
        return Outcome(out, True, "\n".join(summary))

    return file_task(out, header, make, [*paths, annotations_csv])


def _train(files, annotations, stage_ranges, options, rng_of: Callable, execution, out):
    """Stage range -> _Trained."""
    loaded = {s: read_features(files, s) for s in stage_ranges}
    for note in notes_on_columns({s: columns for s, (columns, _) in loaded.items()}, annotations):
        log.info("note: %s", note)
    with one_blas_thread():
        sets = {
            s: training_set(columns, features, annotations, s, options)
            for s, (columns, features) in loaded.items()
        }
        count = Count(execution.progress, sum(len(found.terms) for found in sets.values()), "term")
        fit_options = options.fit_options(
            execution.jobs, on_terms=count.add, elsewhere=elsewhere(execution.workers, out)
        )
        trained = {
            s: _train_stage_range(found, options.method, fit_options, rng_of(s)) for s, found in sets.items()
        }
        count.finish()
    return trained


def _train_stage_range(found, method, options, rng):
    kept = [
        j for j, why in enumerate(found.reasons) if not why and not untrainable(found.Y[:, j], found.genes)
    ]
    genes = frozenset(found.genes)
    if not kept:
        return _Trained([], model_of_no_terms(found.X.shape[1]), genes)
    options.on_terms(len(found.terms) - len(kept))
    terms, Y = [found.terms[j] for j in kept], found.Y[:, kept]
    model = fit_model(method, found.X, Y, found.genes, rng=rng, options=options)
    return _Trained(terms, model, genes)

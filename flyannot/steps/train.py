"""features.h5 and annotations.csv to model.h5."""

import logging
from dataclasses import asdict, dataclass, field

from flyannot.classifiers import fit, of_no_terms
from flyannot.classifiers.linear_svm import TrainOptions, untrainable
from flyannot.classifiers.training_set import SetOptions, training_set
from flyannot.dataset.coverage import notes_on_columns
from flyannot.dataset.folder import read_annotations
from flyannot.errors import InputError
from flyannot.runtime.blas_threads import one_blas_thread
from flyannot.runtime.digest import digest_of_file
from flyannot.stage_ranges import rng_for
from flyannot.steps.inputs import chosen_stage_ranges, open_all, require_known_terms
from flyannot.steps.output import Outcome, output_of
from flyannot.store.dictionary import read_dictionary
from flyannot.store.features import read_features
from flyannot.store.header import Header
from flyannot.store.model import write_model
from flyannot.store.writing import create

log = logging.getLogger("flyannot")


@dataclass(frozen=True)
class ClassifyOptions:
    """All that decides how features become terms; the same for `train` and `evaluate`.

    second_opinion: another method, fitted beside it on the same rows; `train` only.
    """

    rows: SetOptions = field(default_factory=SetOptions)
    method: str = "svm"
    merge: str = "max"
    inner_folds: int = 3
    at: tuple | None = None
    second_opinion: str | None = None

    def trainer(self, jobs):
        """The options of the SVM."""
        return TrainOptions(n_folds=self.inner_folds, merge=self.merge, n_threads=jobs, at=self.at)

    def as_dict(self):
        """Flat, for a file's header."""
        return asdict(self.rows) | {
            "method": self.method,
            "merge": self.merge,
            "inner_folds": self.inner_folds,
            **({"at": list(self.at)} if self.at else {}),
            **({"second_opinion": self.second_opinion} if self.second_opinion else {}),
        }


def train(paths, annotations_csv, out, options, work, *, seed=0, stage_ranges=None):
    """Train one model per term and stage range.

    Parameters
    ----------
    paths : list of Path of features files, read as if they were one
    annotations_csv : Path
    out : Path of the model file
    options : ClassifyOptions
    work : flyannot.steps.output.Work
    seed : int
    stage_ranges : the stage ranges to train; None for all that the features have

    Raises
    ------
    InputError
        If no term of any stage range can be trained.
    """
    with open_all(paths, "features") as files:
        chosen = chosen_stage_ranges(files, stage_ranges)
        annotations = read_annotations(annotations_csv)
        require_known_terms(options.rows.exclude_terms, annotations, annotations_csv)
        header = Header(
            "model",
            {"train": options.as_dict(), "stage_ranges": chosen, "pool": files[0].options},
            {
                "features": [file.digest for file in files],
                "annotations": [digest_of_file(annotations_csv)],
            },
            seed,
        )
        with output_of(out, header, work, inputs=[*paths, annotations_csv]) as must_make:
            if not must_make:
                return Outcome(out, False, "up to date")
            columns = {s: read_features(files, s)[0] for s in chosen}
            for note in notes_on_columns(columns, annotations):
                log.info("note: %s", note)
            with one_blas_thread():
                trained = {
                    s: _train_stage_range(files, annotations, s, options, work, header) for s in chosen
                }
            if not any(terms for terms, *_ in trained.values()):
                raise InputError(
                    f"no term can be trained from {annotations_csv} and {paths[0]}",
                    fix="lower --min-groups, or check that genes are spelled alike in both",
                )
            with create(out, header) as file:
                for stage_range, (terms, fitted, second, genes) in trained.items():
                    D = read_dictionary(next(f for f in files if stage_range in f.stage_ranges), stage_range)
                    write_model(file, stage_range, D, terms, fitted, genes, second)
    return Outcome(out, True, "\n".join(_summary(s, *trained[s]) for s in chosen))


def _train_stage_range(files, annotations, stage_range, options, work, header):
    """Terms, the classifier of them, that of the second opinion or None, the genes that were learned from."""
    pooling = header.options["pool"]["pooling"]
    found = training_set(
        read_features(files, stage_range), annotations, stage_range, options.rows, pooling=pooling
    )
    kept = [
        j for j, why in enumerate(found.reasons) if not why and not untrainable(found.Y[:, j], found.genes)
    ]
    if not kept:
        return [], of_no_terms(found.X.shape[1]), None, set(found.genes)
    fitted, second = (
        method
        and fit(
            method,
            found.X,
            found.Y[:, kept],
            found.genes,
            rng=rng_for(header.seed, stage_range),
            bags=found.bags,
            options=options.trainer(work.jobs),
        )
        for method in (options.method, options.second_opinion)
    )
    return [found.terms[j] for j in kept], fitted, second, set(found.genes)


def _summary(stage_range, terms, fitted, second, genes):
    return f"{stage_range:>5}: {len(terms)} terms from {len(genes)} genes"

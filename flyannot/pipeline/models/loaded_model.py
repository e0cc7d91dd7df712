"""The models of stage ranges, loaded once to annotate, explain or report images."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from flyannot.base.errors import DataError, InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.encode.encoder import Encoder
from flyannot.files.hdf5 import model as store
from flyannot.files.hdf5.dictionary import read_dictionary
from flyannot.files.hdf5.reading import damaged_file_error, open_stored_file
from flyannot.files.hdf5.supplied import resolve_model_path
from flyannot.files.hdf5.writing import describe_changes
from flyannot.pipeline.engine.images import list_stage_ranges
from flyannot.pipeline.engine.inputs import encoding_options, imported_width, is_imported, read_options
from flyannot.pipeline.models.encoding import build_encoder
from flyannot.terms.adaptation import TrainingRows
from flyannot.terms.model import Model, array_schema, model_from_arrays
from flyannot.terms.options import TrainOptions
from flyannot.terms.unlikeness import ARRAYS, NoveltyReference


@dataclass(frozen=True)
class StageRangeModel:
    """The model of one stage range, with all that leads from pictures to decision values.

    encoder : Encoder; None if the model was trained on imported features, or just now
    terms : list of str
    model : Model
    train_genes : frozenset of the identifiers of the training genes
    known : NoveltyReference of the training images; None if the file has none
    classify : TrainOptions
    rows : TrainingRows, to adapt the model; None if the file has none
    """

    encoder: Encoder | None
    terms: list
    model: Model
    train_genes: frozenset
    known: NoveltyReference | None
    classify: TrainOptions
    rows: Any = None


@lru_cache(maxsize=len(STAGE_RANGES))
def load_model(path, digest, stage_range):
    """Load the model of a stage range, and keep it in memory for the next images.

    Returns None if the file has no model of the stage range.

    path : Path of the model file; digest : identifies its contents
    """
    stored = open_stored_file(path, "model", digest)
    if stage_range not in stored.stage_ranges:
        return None
    encoder = None if is_imported(stored) else build_encoder(stored, stage_range)
    n_features = encoder.n_features if encoder else imported_width(stored)
    known = store.read_optional_arrays(stored, stage_range, store.KNOWN, ARRAYS)
    rows = store.read_optional_arrays(stored, stage_range, store.ROWS, TrainingRows.ARRAYS, n_features)
    return StageRangeModel(
        encoder,
        store.read_terms(stored, stage_range),
        _classifier(stored, stage_range, n_features),
        store.read_train_genes(stored, stage_range),
        NoveltyReference(**known) if known else None,
        read_options(stored, TrainOptions),
        TrainingRows(**rows) if rows else None,
    )


def stage_ranges_with_terms(stored):
    """Return the stage ranges for which an open model has terms, in order.

    Raises
    ------
    InputError
        If it is the stage model, whose terms are stage ranges.
    """
    terms = {s: store.read_terms(stored, s) for s in stored.stage_ranges}
    if any(set(of_range) == set(STAGE_RANGES) for of_range in terms.values()):
        raise InputError(
            f"{stored.path.stem} is the stage model, which has no terms of anatomy",
            fix="name a model of terms, such as blastoderm; for stage ranges: flyannot check",
        )
    return [s for s in stored.stage_ranges if terms[s]]


def require_stage_ranges_with_terms(stored, images):
    """Return the stage ranges for which an open model has terms, after checking that it can annotate images.

    Parameters
    ----------
    stored : StoredFile of a model
    images : list of Image to annotate

    Raises
    ------
    InputError
        If no image is of one of these stage ranges, or the model was trained on imported features.
    """
    if is_imported(stored):
        raise InputError(
            f"{stored.path} learned from imported features, which flyannot cannot make of pictures",
            fix="annotate features: flyannot annotate MODEL FEATURES; they have no patches to explain",
        )
    known = stage_ranges_with_terms(stored)
    asked = list_stage_ranges(images)
    if not set(known) & set(asked):
        raise InputError(
            f"{stored.path} has terms for stage range {' and '.join(known) or 'none'}, "
            f"and the images are of {' and '.join(asked)}",
            fix=f"take a model that was trained on annotated images of stage range {asked[0]}"
            + (f", or images of {' or '.join(known)}" if known else ""),
        )
    return known


def require_same_encoding(model, features):
    """Check that features were made in the way of the features on which a model was trained.

    model, features : StoredFiles, open

    Raises
    ------
    DataError
        If an option or a dictionary differs.
    """
    learned, made = (encoding_options(stored.options) for stored in (model, features))
    changes = "; ".join(describe_changes(learned, made))
    for s in (s for s in features.stage_ranges if s in model.stage_ranges and not changes):
        if not np.array_equal(read_dictionary(model, s), read_dictionary(features, s)):
            changes = f"another dictionary of {s}"
    if changes:
        raise DataError(
            f"{features.path} was made in another way than the features of {model.path}: {changes}",
            fix=f"make the features again: flyannot pool PICTURES {model.path} -o features.h5",
        )


def adapted_options(options):
    """Return TrainOptions with the method, the normalisation and the answers of the model to adapt.

    options : TrainOptions; they are returned unchanged if there is no model to adapt
    """
    if options.adapt is None:
        return options
    path = resolve_model_path(options.adapt)
    stored = open_stored_file(path, "model")
    of_base = read_options(stored, TrainOptions)
    names = ("method", "operating_point", "scheme", "normalisation")
    return replace(options, adapt=path, **{name: getattr(of_base, name) for name in names})


def load_base_models(path, files):
    """Load the model to adapt, if features were made by its dictionary and options.

    Parameters
    ----------
    path : Path of the model file, or None
    files : open StoredFiles of features

    Returns
    -------
    digests : list with the digest of the model file; empty without a model
    models : dict, stage range -> StageRangeModel; empty without a model
    """
    if path is None:
        return [], {}
    stored = open_stored_file(resolve_model_path(path), "model")
    for features in files:
        require_same_encoding(stored, features)
    models = {s: load_model(stored.path, stored.digest, s) for s in stage_ranges_with_terms(stored)}
    if any(model.rows is None for model in models.values()):
        what = f"{stored.path} lacks the rows from which it learned, so it cannot be adapted"
        raise InputError(what, fix="train on its data set and on yours together")
    return [stored.digest], models


def _classifier(stored, stage_range, n_features):
    """Read the Model of a stage range from an open model file.

    n_features : int, the number of features that it must have
    """
    method = store.read_classifier_name(stored, stage_range)
    try:
        datasets = array_schema(method)
    except InputError as error:
        what = f"{stage_range}/method: {error.message}"
        raise damaged_file_error(stored.path, what, stored.kind) from error
    return model_from_arrays(method, store.read_classifier(stored, stage_range, datasets, n_features))

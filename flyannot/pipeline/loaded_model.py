"""A stage range's model, read once and kept while images are annotated, explained or reported."""

from dataclasses import dataclass
from functools import lru_cache

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.encode.encoder import Encoder
from flyannot.files.hdf5.file_cache import cached_file
from flyannot.files.hdf5.model import (
    read_classifier,
    read_known_images,
    read_method,
    read_terms,
    read_train_genes,
)
from flyannot.files.hdf5.reading import damaged_file
from flyannot.pipeline.encoding import encoder_of
from flyannot.pipeline.engine.inputs import imported_width, is_imported, options_from
from flyannot.terms.model import Model, model_from_arrays, schema_of
from flyannot.terms.options import TrainOptions
from flyannot.terms.unlikeness import ARRAYS, NoveltyReference


@dataclass(frozen=True)
class LoadedModel:
    """All that leads from an image of one stage range to decision values.

    encoder : None if the model learned from imported features
    known : None if the model keeps nothing of the images that it learned from
    """

    encoder: Encoder | None
    terms: list
    model: Model
    train_genes: frozenset
    known: NoveltyReference | None
    classify: TrainOptions


@lru_cache(maxsize=len(STAGE_RANGES))
def load_model(path, digest, stage_range):
    """Load the model of a stage range, and keep it between images.

    The digest tells one content of the path from another.  Returns None if the file lacks the stage range.
    """
    stored = cached_file(path, "model", digest)
    if stage_range not in stored.stage_ranges:
        return None
    encoder = None if is_imported(stored) else encoder_of(stored, stage_range)
    n_features = encoder.n_features if encoder else imported_width(stored)
    known = read_known_images(stored, stage_range, ARRAYS)
    return LoadedModel(
        encoder,
        read_terms(stored, stage_range),
        _classifier(stored, stage_range, n_features),
        read_train_genes(stored, stage_range),
        NoveltyReference(**known) if known else None,
        options_from(stored, TrainOptions),
    )


def stage_ranges_with_terms(stored):
    """Those of an open model of which it knows a term, in order."""
    return [s for s in stored.stage_ranges if read_terms(stored, s)]


def require_stage_ranges_with_terms(stored, images):
    """`stage_ranges_with_terms` of a model that is to annotate images.

    Raises
    ------
    InputError
        If none of the images (Image) is of these.
    """
    if is_imported(stored):
        raise InputError(
            f"{stored.path} learned from imported features, which flyannot cannot make of pictures",
            fix="annotate features: flyannot annotate MODEL FEATURES; they have no patches to explain",
        )
    known = stage_ranges_with_terms(stored)
    asked = [s for s in STAGE_RANGES if any(image.stage_range == s for image in images)]
    if not set(known) & set(asked):
        raise InputError(
            f"{stored.path} knows terms of stage range {' and '.join(known) or 'none'}, "
            f"and the images are of {' and '.join(asked)}",
            fix=f"take a model that was trained on annotated images of stage range {asked[0]}"
            + (f", or images of {' or '.join(known)}" if known else ""),
        )
    return known


def _classifier(stored, stage_range, n_features):
    method = read_method(stored, stage_range)
    try:
        datasets = schema_of(method)
    except InputError as error:
        raise damaged_file(stored.path, f"{stage_range}/method: {error.message}", stored.kind) from error
    return model_from_arrays(method, read_classifier(stored, stage_range, datasets, n_features))

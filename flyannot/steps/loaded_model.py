"""A stage range's model, read once and kept while images are annotated, explained or reported."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from flyannot.classifiers.model import Model, model_from_arrays, schema_of
from flyannot.classifiers.options import TrainOptions
from flyannot.classifiers.unlikeness import ARRAYS, KnownImages
from flyannot.descriptors.extract import describe_patches
from flyannot.descriptors.images.picture import read_embryo
from flyannot.errors import InputError
from flyannot.features.image_features import atoms_of_features, features_of
from flyannot.features.options import n_cells
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.steps.engine.inputs import (
    extract_options,
    is_imported,
    lam_of_dictionary,
    pool_options,
    train_options,
    width_of_imported,
)
from flyannot.store.file_cache import cached_file
from flyannot.store.model import (
    read_atoms,
    read_classifier,
    read_known_images,
    read_method,
    read_terms,
    read_train_genes,
)
from flyannot.store.reading import damaged_file


@dataclass(frozen=True)
class LoadedModel:
    """All that leads from an image of one stage range to decision values; of a model that learned from
    imported features, from these: atoms, extract and pool are None.

    known : flyannot.classifiers.unlikeness.KnownImages; None of a model that keeps none
    """

    atoms: Any
    terms: list
    model: Model
    train_genes: frozenset
    known: KnownImages | None
    extract: Any
    pool: Any
    classify: TrainOptions

    def pooled(self, pictures):
        """Of some pictures, (path or address, view) each, their grey levels and patches, two lists; features
        and winners, (n_pictures, n_features).  DataError if one cannot be read."""
        paths, views = zip(*pictures)
        greys = [read_embryo(path, self.extract)[0] for path in paths]
        patches = [describe_patches(grey, self.extract) for grey in greys]
        pooled = [features_of(p, self.atoms, self.pool, view=view) for p, view in zip(patches, views)]
        return greys, patches, *(np.stack([getattr(p, n) for p in pooled]) for n in ("features", "winner"))


@lru_cache(maxsize=len(STAGE_RANGES))
def load_model(path, digest, stage_range):
    """A stage range's model, kept between images (the digest tells one file's contents from another's).

    None if the file holds no such stage range.
    """
    stored = cached_file(path, "model", digest)
    if stage_range not in stored.stage_ranges:
        return None
    atoms = extract = pool = None
    if is_imported(stored):
        n_features = width_of_imported(stored)
    else:
        extract, pool = extract_options(stored), pool_options(stored)
        D = read_atoms(stored, stage_range)
        atoms = atoms_of_features(D, lam_of_dictionary(stored), extract.patch_px, coder_name=pool.coder)
        n_features = len(D) * n_cells(pool.grid, extract.patch_px)
    return LoadedModel(
        atoms,
        read_terms(stored, stage_range),
        _classifier(stored, stage_range, n_features),
        read_train_genes(stored, stage_range),
        KnownImages(**known) if (known := read_known_images(stored, stage_range, ARRAYS)) else None,
        extract,
        pool,
        train_options(stored),
    )


def stage_ranges_with_terms(stored):
    """Those of an open model of which it knows a term, in order."""
    return [s for s in stored.stage_ranges if read_terms(stored, s)]


def known_stage_ranges(stored, images):
    """`stage_ranges_with_terms` of a model that is to annotate images.

    Raises
    ------
    InputError
        If none of the images (flyannot.dataset.folder.Image) is of these.
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

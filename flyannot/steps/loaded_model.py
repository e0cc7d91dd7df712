"""A stage range's model, read once and kept while images are annotated, explained or reported."""

from dataclasses import dataclass
from functools import lru_cache

from flyannot.classifiers.training_set import SetOptions
from flyannot.descriptors.options import ExtractOptions
from flyannot.features.image_features import PoolOptions, atoms_of
from flyannot.stage_ranges import STAGE_RANGES
from flyannot.store.model import read_model, read_second_opinion
from flyannot.store.reading import open_stored


@dataclass(frozen=True)
class LoadedModel:
    """All that leads from an image of one stage range to decision values."""

    atoms: object
    terms: list
    fitted: object
    second: object
    train_genes: frozenset
    extract: ExtractOptions
    pool: PoolOptions
    rows: SetOptions
    merge: str


@lru_cache(maxsize=len(STAGE_RANGES))
def load_model(path, digest, stage_range):
    """A stage range's model, kept between images (the digest tells one file's contents from another's).

    None if the file holds no such stage range.
    """
    with open_stored(path, "model") as stored:
        if stage_range not in stored.stage_ranges:
            return None
        D, terms, fitted, train_genes = read_model(stored, stage_range)
        second = read_second_opinion(stored, stage_range)
        made, trained = stored.options["pool"], stored.options["train"]
    return LoadedModel(
        atoms_of(D, made["learn"]["lam"], made["extract"]["patch_px"], coder_name=made["coder"]),
        terms,
        fitted,
        second,
        train_genes,
        ExtractOptions.of_header(made["extract"]),
        PoolOptions.of(made),
        SetOptions(trained["scheme"], trained["normalisation"]),
        trained["merge"],
    )

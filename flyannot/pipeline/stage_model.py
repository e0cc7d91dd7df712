"""The stage model that comes with flyannot, which rates the stage range that a photograph looks like.

The stage model is an ordinary model file, whose terms are the six stage ranges.  Its one dictionary was
learned from photographs of all stage ranges.
"""

import logging
import math
from dataclasses import replace
from functools import lru_cache

from flyannot.base.errors import DataError, InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import pluralise
from flyannot.encode.groups import normalise_features
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.supplied import STAGE_MODEL
from flyannot.images.picture import read_unevenness
from flyannot.images.quality import find_refusal, join_warnings
from flyannot.jobs.executor import map_ordered
from flyannot.pipeline.loaded_model import load_model
from flyannot.terms.unlikeness import UNLIKE

log = logging.getLogger("flyannot")

STORED_UNDER = "4-6"  # a model file stores everything under a stage range, although this model is for all six
LOOKS_LIKE = "looks like"  # begins the warning about a picture that contradicts its stage range
# A picture contradicts a stage range if another one has 100 times its odds.  Of the photographs with which
# docs/models.md tests the stage model, fewer than 1 in 20 then contradict their true stage range.
_ODDS_RATIO = 100.0
_BLASTODERM = "4-6"
# By `measure_unevenness`.  30 photographs of stage range 4-6 have at most 0.113.  Of the photographs that
# docs/pictures/make_models.py simulates from 1,337 patterns, 3% have more than 0.12.
_MOST_UNEVEN = 0.12
UNEVEN = "uneven for a blastoderm: folds or organs?"  # a warning


def log_odds(model, X):
    """Return the logarithm of the calibrated odds of every stage range, float64 (n_images, 6).

    Parameters
    ----------
    model : Model whose terms are STAGE_RANGES
    X : float array (n_images, n_features), the normalised features of images
    """
    return model.logits(model.decision_values(X))


def contradicted(odds):
    """Return True for each stage range that another one exceeds by _ODDS_RATIO, bool (n_images, 6).

    odds : float array (n_images, 6), as from `log_odds`
    """
    return odds.max(axis=1, keepdims=True) - odds > math.log(_ODDS_RATIO)


@lru_cache(maxsize=1)
def load_stage_model():
    """Return the LoadedModel of the stage model, which is read once."""
    with open_stored_file(STAGE_MODEL, "model") as stored:
        return load_model(STAGE_MODEL, stored.digest, STORED_UNDER)


@lru_cache(maxsize=2**16)  # a run reads its images for every step
def rate_stage_ranges(address):
    """Return the `log_odds` of one picture, float64 (1, 6), or None if the stage model cannot rate it.

    A picture cannot be rated if it cannot be read, or if no embryo is found in it.  A picture that is unlike
    all photographs from which the stage model learned is not rated either: many drawn patterns are.

    address : path or address of the picture, as `Image.address`
    """
    loaded = load_stage_model()
    try:
        grey, warnings = loaded.encoder.read(address)
    except DataError:
        return None
    if find_refusal(warnings, is_registered=True):
        return None
    features = loaded.encoder.encode(grey).features[None]
    if loaded.known.novelty(features, [""])[0] > UNLIKE:
        return None
    return log_odds(loaded.model, normalise_features(features, loaded.classify.normalisation))


def guess_stage_ranges(images):
    """Return Images whose unknown stage ranges are those that the pictures look like most.

    Images that the stage model cannot rate are left out, with a warning that names them.
    """
    open_images = [image for image in images if not image.stage_range]
    odds = dict(zip(open_images, map_ordered(_rate_image, open_images)))
    guesses = {
        image: replace(image, stage_range=STAGE_RANGES[rated.argmax()], stage_is_guessed=True)
        for image, rated in odds.items()
        if rated is not None
    }
    left_out = [image.name for image in open_images if image not in guesses]
    if left_out:
        log.warning(
            "warning: %s left out, because no stage range can be guessed: %s; give it in images.csv",
            pluralise(len(left_out), "image was", "images were"),
            ", ".join(left_out),
        )
    if images and len(left_out) == len(images):
        raise InputError(
            "the stage range of no image can be guessed: no picture looks like an embryo on a photograph",
            fix="give the stage range with --stage-range",
        )
    return [guesses.get(image, image) for image in images if image.stage_range or image in guesses]


@lru_cache(maxsize=2**16)
def is_uneven(address):
    """Return whether the embryo of a picture has a surface too uneven for a blastoderm; False if unknown.

    address : path or address of the picture, as `Image.address`
    """
    try:
        return bool(read_unevenness(address, load_stage_model().encoder.extract) > _MOST_UNEVEN)
    except DataError:
        return False


def find_stage_warnings(images):
    """Return a dict, Image -> warning, of the images whose picture contradicts their stage range.

    Warnings are "looks like 13-16" and `UNEVEN`.  Rated images without a stage range are in it with the
    stage range that they look like.

    images : list of Image
        Synthetic images are not rated, because they are drawn, and images whose stage range was guessed.
    """
    rated = [image for image in images if image.source != "synthetic" and not image.stage_is_guessed]
    found = {}
    for image, odds in zip(rated, map_ordered(_rate_image, rated)):
        own = image.stage_range
        if odds is not None and (not own or contradicted(odds)[0, STAGE_RANGES.index(own)]):
            found[image] = f"{LOOKS_LIKE} {STAGE_RANGES[odds.argmax()]}"
    blastoderms = [image for image in rated if image.stage_range == _BLASTODERM]
    for image, uneven in zip(blastoderms, map_ordered(_is_uneven_image, blastoderms)):
        if uneven:
            found[image] = join_warnings(found.get(image), UNEVEN)
    return found


def _rate_image(image):
    return rate_stage_ranges(image.address)


def _is_uneven_image(image):
    return is_uneven(image.address)

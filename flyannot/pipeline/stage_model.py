"""The stage model that comes with flyannot, which rates the stage range that a photograph looks like.

The stage model is an ordinary model file, whose terms are the six stage ranges.  Its one dictionary was
learned from photographs of all stage ranges.
"""

import logging
import math
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from flyannot.base.errors import DataError, InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.encode.groups import normalise_features
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.supplied import STAGE_MODEL
from flyannot.images.picture import read_embryo_and_unevenness
from flyannot.images.quality import find_refusal, join_warnings
from flyannot.jobs.executor import map_ordered
from flyannot.pipeline.engine.failures import format_failure
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
_NOT_GUESSED = "its stage range cannot be guessed"
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
    """Return the StageRangeModel of the stage model, which is read once."""
    with open_stored_file(STAGE_MODEL, "model") as stored:
        return load_model(STAGE_MODEL, stored.digest, STORED_UNDER)


class StageRating(NamedTuple):
    """What the stage model says of one picture.

    odds : `log_odds` of the picture, float64 (1, 6); None if the stage model cannot rate it
    why_not : str, why it cannot, as `format_failure` writes it; "" if it can
    is_uneven : bool, whether the embryo has a surface too uneven for a blastoderm; False if unknown
    """

    odds: Any = None
    why_not: str = ""
    is_uneven: bool = False


@lru_cache(maxsize=2**16)  # a run reads its images for every step
def rate_picture(address):
    """Return the StageRating of one picture.

    A picture cannot be rated if it cannot be read, or if no embryo is found in it.  A picture that is unlike
    all photographs from which the stage model learned is not rated either: many drawn patterns are.

    address : path or address of the picture, as `Image.address`
    """
    loaded = load_stage_model()
    try:
        grey, warnings, unevenness = read_embryo_and_unevenness(address, loaded.encoder.extract)
    except DataError as error:
        return StageRating(why_not=format_failure(error))
    is_uneven = bool(unevenness > _MOST_UNEVEN)
    if why_not := find_refusal(warnings, is_registered=True):
        return StageRating(why_not=why_not, is_uneven=is_uneven)
    features = loaded.encoder.encode(grey).features[None]
    if loaded.known.novelty(features, [""])[0] > UNLIKE:
        return StageRating(why_not="unlike the photographs of the stage model", is_uneven=is_uneven)
    X = normalise_features(features, loaded.classify.normalisation)
    return StageRating(log_odds(loaded.model, X), is_uneven=is_uneven)


def guess_stage_ranges(images, left_out):
    """Return Images whose unknown stage ranges are those that the pictures look like most.

    Images that the stage model cannot rate are left out, with a warning.

    Parameters
    ----------
    images : list of Image
    left_out : list that gets (name, reason) of the images that are left out
    """
    unknown = [image for image in images if not image.stage_range]
    ratings = dict(zip(unknown, map_ordered(rate_picture, [image.address for image in unknown])))
    failures = [(image.name, f"{_NOT_GUESSED}: {r.why_not}") for image, r in ratings.items() if r.why_not]
    if images and len(failures) == len(images):
        raise InputError(
            f"the stage range of no image can be guessed: {failures[0][0]}: {failures[0][1]}",
            fix="give the stage range with --stage-range",
        )
    for failure in failures:
        log.warning("warning: %s is left out, because %s", *failure)
    left_out += failures
    guesses = {
        image: replace(image, stage_range=STAGE_RANGES[rating.odds.argmax()], stage_is_guessed=True)
        for image, rating in ratings.items()
        if not rating.why_not
    }
    return [guesses.get(image, image) for image in images if image.stage_range or image in guesses]


def find_stage_warnings(images):
    """Return a dict, Image -> warning, of the images whose picture contradicts their stage range.

    Warnings are "looks like 13-16" and `UNEVEN`.  Rated images without a stage range are in it with the
    stage range that they look like.

    images : list of Image
        Synthetic images are not rated, because they are drawn, and images whose stage range was guessed.
    """
    rated = [image for image in images if image.source != "synthetic" and not image.stage_is_guessed]
    found = {}
    for image, rating in zip(rated, map_ordered(rate_picture, [image.address for image in rated])):
        own = image.stage_range
        odds = rating.odds
        if odds is not None and (not own or contradicted(odds)[0, STAGE_RANGES.index(own)]):
            found[image] = f"{LOOKS_LIKE} {STAGE_RANGES[odds.argmax()]}"
        if rating.is_uneven and own == _BLASTODERM:
            found[image] = join_warnings(found.get(image), UNEVEN)
    return found

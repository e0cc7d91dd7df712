"""The stage model that comes with flyannot, which rates the stage range that a photograph looks like.

The stage model is an ordinary model file, whose terms are the six stage ranges.  Its one dictionary was
learned from photographs of all stage ranges.
"""

import math
from functools import cached_property, lru_cache

import numpy as np

from flyannot.base.fates import SkippedImage, find_advice
from flyannot.base.quality_warnings import QualityWarning
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.encode.groups import normalise_features
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.supplied import STAGE_MODEL
from flyannot.images.embryo import Embryo
from flyannot.images.quality import find_refusal
from flyannot.pipeline.models.loaded_model import load_model

STORED_UNDER = "4-6"  # a model file stores everything under a stage range, although this model is for all six
LOOKS_LIKE = "looks like another stage range"  # the kind of a warning
# A picture contradicts a stage range if another one has 100 times its odds.  Of the photographs with which
# docs/models.md tests the stage model, fewer than 1 in 20 then contradict their true stage range.
_ODDS_RATIO = 100.0
_BLASTODERM = "4-6"
# By `measure_unevenness`.  30 photographs of stage range 4-6 have at most 0.113.  Of the photographs that
# docs/pictures/make_models.py simulates from 1,337 patterns, 3% have more than 0.12.
_MOST_UNEVEN = 0.12
_MOST_NOVELTY = 0.98  # of a picture that is rated
_NOT_GUESSED = "its stage range cannot be guessed"
UNEVEN = QualityWarning("uneven for a blastoderm", "folds or organs?")


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
    """Return the StageRangeModel of the stage model, which is read once, and the digest of its file."""
    stored = open_stored_file(STAGE_MODEL, "model")
    return load_model(STAGE_MODEL, stored.digest, STORED_UNDER), stored.digest


def stage_model_digest():
    """Return the digest of the stage model, which guesses and warnings depend on."""
    return load_stage_model()[1]


class RatedEmbryo(Embryo):
    """An `Embryo` that the stage model rates once, when it is first asked for.

    An embryo cannot be rated if it is not found in its picture. A picture that is unlike all photographs from
    which the stage model learned is not rated either: many drawn patterns are.
    """

    @cached_property
    def _rating(self):
        """The `log_odds` of the embryo (6,), and ""; or None, and the reason why it cannot be rated."""
        loaded, _ = load_stage_model()
        view = self.view(loaded.encoder.extract)
        if why_not := find_refusal(view.warnings, is_registered=True):
            return None, why_not
        features = loaded.encoder.encode(view.grey).features[None]
        if loaded.known.novelty(features, [""])[0] > _MOST_NOVELTY:
            return None, "unlike the photographs of the stage model"
        X = normalise_features(features, loaded.classify.normalisation)
        return log_odds(loaded.model, X)[0], ""

    @property
    def stage_odds(self):
        """The `log_odds` of the embryo, float64 (6,); None if it cannot be rated."""
        return self._rating[0]

    @property
    def stage_odds_text(self):
        """The probability of each stage range of at least 1%, such as "11-12 92%, 9-10 8%"; "" if unknown."""
        if self.stage_odds is None:
            return ""
        odds = np.exp(self.stage_odds - self.stage_odds.max())
        ranked = sorted(zip(odds / odds.sum(), STAGE_RANGES), reverse=True)
        return ", ".join(f"{s} {part:.0%}" for part, s in ranked if part >= 0.01)

    def guess_stage_range(self):
        """Return the stage range that the embryo looks like most.

        Raises
        ------
        SkippedImage
            If the stage model cannot rate it.
        """
        odds, why_not = self._rating
        if odds is None:
            fix = f"{find_advice(why_not)}, or write its stage range"
            raise SkippedImage(f"{_NOT_GUESSED}: {why_not}", fix=fix)
        return STAGE_RANGES[odds.argmax()]

    def stage_warnings(self, stage_range):
        """Return the QualityWarnings about a picture that contradicts its stage range, a list.

        They are LOOKS_LIKE, with the stage range that it looks like, and UNEVEN.
        """
        odds = self.stage_odds
        warnings = []
        if odds is not None and contradicted(odds[None])[0, STAGE_RANGES.index(stage_range)]:
            warnings.append(QualityWarning(LOOKS_LIKE, STAGE_RANGES[odds.argmax()]))
        if stage_range == _BLASTODERM and self.unevenness > _MOST_UNEVEN:
            warnings.append(UNEVEN)
        return warnings

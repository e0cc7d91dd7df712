"""The six stage ranges of BDGP, their other spellings, and one random generator for each."""

import numpy as np

from flyannot.errors import InputError, did_you_mean
from flyannot.options import Kind

# In the order of development.  HDF5 sorts names as text (11-12 before 4-6): loop over this instead.
STAGE_RANGES = ("1-3", "4-6", "7-8", "9-10", "11-12", "13-16")

_SPELLINGS = {
    **{name: name for name in STAGE_RANGES},
    **{str(i): name for i, name in enumerate(STAGE_RANGES, start=1)},  # FlyExpress numbers them
    "13-17": "13-16",  # the papers count the hatched larva in
}


def parse_stage_range(text):
    """The BDGP name of a stage range written in any accepted way.

    Accepts BDGP's names, 13-17, FlyExpress's 1 to 6, a leading "stage", spaces and any kind of dash.

    Raises
    ------
    InputError
        If the text names no stage range.
    """
    plain = str(text).strip().lower().removeprefix("stages").removeprefix("stage").replace(" ", "")
    for dash in "‐‑‒–—−_":
        plain = plain.replace(dash, "-")
    if plain in _SPELLINGS:
        return _SPELLINGS[plain]
    raise InputError(
        f'unknown stage range "{text}".{did_you_mean(plain, STAGE_RANGES)}',
        fix=f"use one of {', '.join(STAGE_RANGES)} (13-17 and FlyExpress's 1 to 6 are accepted too)",
    )


class StageRange(Kind):
    """A stage range in any accepted spelling."""

    name = "STAGES"
    words = f"one of {', '.join(STAGE_RANGES)}"
    choices = STAGE_RANGES

    def parse(self, value):
        """Its BDGP name."""
        return parse_stage_range(value)


def rng_for(seed, stage_range):
    """The generator of one stage range: the same whichever other stage ranges are worked on."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=tuple(stage_range.encode())))

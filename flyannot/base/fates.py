"""Fates of pictures: what became of each picture that lies in a folder or that a table names."""

from typing import NamedTuple

from flyannot.base.errors import DataError, InputError
from flyannot.base.text import pluralise

FATES = ("used", "warned", "left out", "refused", "not read", "not named", "missing")
USED, WARNED, LEFT_OUT, REFUSED, NOT_READ, NOT_NAMED, MISSING = FATES
_FAULTS = (REFUSED, NOT_READ, MISSING)  # neither chosen by the user nor outside the table
_MOST_REASONS = 3  # that a message names
CROP = "crop it to one whole embryo on a plain background"
_NO_CROP = {  # advice where cropping does not help, by words of the reason
    "border of the picture cuts": "use a picture of the whole embryo",
    "low contrast": "raise its contrast",
    "nothing stands out": "raise its contrast if it shows an embryo",
}


class PictureFate(NamedTuple):
    """The fate of one picture, which is one of FATES, with the reason and the advice in words.

    The other texts are as in the row of the table; "" if they are not known. A row at fault that names no
    picture has the image "". `stage_odds` has the stage ranges that the picture may be of, such as "4-6 98%".
    """

    image: str
    gene: str = ""
    stage_range: str = ""
    view: str = ""
    fate: str = USED
    reason: str = ""
    advice: str = ""
    stage_odds: str = ""

    @classmethod
    def of(cls, image, fate=USED, reason="", advice=""):
        """Return the fate of an Image."""
        return cls(image.name, image.gene, image.stage_range, image.view, fate, reason, advice)

    @property
    def is_fault(self):
        """True if the picture could not be used although it should be, so that a command ends with code 3."""
        return self.fate in _FAULTS

    @property
    def words(self):
        """The reason and the advice as one text."""
        return f"{self.reason}; {self.advice}" if self.advice else self.reason


def find_advice(reason):
    """Return what to do about a picture that was refused for a reason."""
    return next((advice for words, advice in _NO_CROP.items() if words in reason), CROP)


def merge_fates(*several):
    """Merge lists of fates into one list, with one fate of each picture: the last one. Sorted by image."""
    merged = {fate.image or fate.reason: fate for fates in several for fate in fates}
    return sorted(merged.values())


class SkippedImage(DataError):
    """An error for a picture that an output leaves out; its message is the reason.

    fate : REFUSED, or LEFT_OUT if the user chose other pictures
    """

    def __init__(self, message, fate=REFUSED, *, fix=None):
        super().__init__(message, fix=fix or (find_advice(message) if fate == REFUSED else None))
        self.fate = fate


class NoUsableImage(InputError):
    """An error for an output of which not one image could be used.

    Its message has the first reasons that differ, each with the name of an image.

    fates : sequence of the PictureFates of the images, for their table
    """

    def __init__(self, fates):
        first: dict = {}
        for fate in fates:
            first.setdefault(fate.reason, fate)
        some = list(first.values())[:_MOST_REASONS]
        named = "; ".join(f"{fate.image}: {fate.reason}" for fate in some)
        more = f"; and {pluralise(n, 'other reason')}" if (n := len(first) - _MOST_REASONS) > 0 else ""
        fix = "; ".join(dict.fromkeys(fate.advice for fate in some if fate.advice))
        what = f"not one image of {len(fates):,} could be used: {named}{more}"
        super().__init__(what, fix=fix or "check the images that the table or the command names")
        self.fates = fates

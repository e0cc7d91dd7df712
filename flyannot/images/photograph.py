"""Finding, numbering and cutting out the embryos on a photograph of several embryos.

Everything that stands out from the background is numbered line by line, from left to right.  Each embryo is
cut out with some background around it and without its neighbours.  From then on it is a picture like any
other.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from flyannot.images import registration
from flyannot.images.geometry import load_opencv, resize_image
from flyannot.images.grey_levels import to_grey
from flyannot.images.quality import SEVERAL_EMBRYOS, UNCLEAR, picture_warnings
from flyannot.images.registration import dilate_mask, label_connected_parts

_WORK_PX = 1000  # longest side of the small copy, in which embryos are searched for
_CLOSED_PX = 4  # half the width of the gaps in the small copy that are closed
_OPENED_PX = 8  # half the width of the bumps that are removed
_LEAST_PIXELS = 400  # anything smaller in the small copy is dust
_DUST = 0.05  # relative to the median area of the embryos; anything smaller is dust
_SMALL = 0.4  # relative to the median area; anything smaller is not a whole embryo
_LARGE = 2.0  # relative to the median area; anything larger is several embryos
_CUT = 0.4  # part of an embryo's breadth that may lie within _CUT_PX of a side that it touches
_CUT_PX = 3
_AROUND = 0.1  # width of the background that is cut out with an embryo, relative to the embryo's length
_HALO_PX = 6  # rim in the small copy that is painted over with a neighbour


class EmbryoBox(NamedTuple):
    """The place of an embryo on its photograph, in pixels from the top left corner.

    left, top, width, height : the box that was cut out
    x, y : the middle of the embryo
    length, breadth : of the embryo, along its long and its short axis
    angle : of the long axis to the horizontal, in degrees, clockwise
    """

    left: int
    top: int
    width: int
    height: int
    x: float
    y: float
    length: float
    breadth: float
    angle: float

    def to_text(self):
        """Return the numbers of the box as text, such as "left=10 top=20"."""
        return " ".join(f"{name}={value:g}" for name, value in self._asdict().items())

    @classmethod
    def from_text(cls, text):
        """Return an EmbryoBox from text that `to_text` made; its fields are texts such as "10.5"."""
        return cls(**dict(part.split("=") for part in text.split()))


@dataclass(frozen=True)
class EmbryoCandidate:
    """Something that stands out from the background of a photograph, and may be an embryo.

    place : EmbryoBox
    why_not : str, the reason why it cannot be used as an embryo; "" if it can
    mask : bool array (height, width), its pixels in a small copy of the photograph
    """

    place: EmbryoBox
    why_not: str
    mask: np.ndarray


def find_embryos(picture):
    """Find everything that stands out from the background of a photograph, in reading order.

    Parameters
    ----------
    picture : array (height, width) of grey levels, or (height, width, 3) of colours

    Returns
    -------
    candidates : list of EmbryoCandidate, without dust
        Also things that the border cuts, that touch others, or that do not have the shape of an embryo.

    Raises
    ------
    NoEmbryo
        If nothing stands out.
    """
    things = [(mask, *registration.measure_mask(mask)) for mask in _foreground_masks(picture)]
    if not things:
        raise registration.no_embryo_error("nothing stands out from the background")
    embryos = [thing for thing in things if thing[2]] or things
    usual = np.median([mask.sum() for mask, *_ in embryos])
    things = [thing for thing in things if thing[0].sum() >= _DUST * usual]
    candidates = []
    for k in _reading_order([pose for _, pose, _ in things]):
        mask, pose, has_shape = things[k]
        why_not = _rejection_reason(pose, has_shape, mask, mask.sum() / usual)
        candidates.append(EmbryoCandidate(_measure_box(pose, mask, picture), why_not, mask))
    return [_reject_touching(picture, candidate, candidates) for candidate in candidates]


def cut_out_embryo(picture, embryo, candidates):
    """Return the picture of one embryo, cut out of a photograph, with all other candidates painted over.

    The other candidates get the median colour of the background around the embryo.

    picture : the photograph; embryo : EmbryoCandidate; candidates : all EmbryoCandidates of the photograph
    """
    left, top, width, height = embryo.place[:4]
    box = slice(top, top + height), slice(left, left + width)
    others = sum((one.mask for one in candidates if one is not embryo), np.zeros_like(embryo.mask))
    painted = (
        dilate_mask(others, _HALO_PX) & ~dilate_mask(embryo.mask, _HALO_PX / 2) if others.any() else others
    )
    painted = _enlarge_mask(painted, picture)[box]
    cut = picture[box].copy()
    if painted.any():
        background = ~(painted | _enlarge_mask(dilate_mask(embryo.mask, _HALO_PX), picture)[box])
        if background.any():
            cut[painted] = np.median(cut[background], axis=0)
    return cut


def _foreground_masks(picture):
    """Return a list with a mask of each connected thing that stands out from the background of a picture.

    The masks are bool arrays of the size of a small copy of the picture.
    """
    height, width = picture.shape[:2]
    scale = min(1.0, _WORK_PX / max(height, width))
    small = resize_image(picture, (max(1, round(width * scale)), max(1, round(height * scale))))
    background = registration.subtract_background(to_grey(small))
    opened = registration.foreground_mask(*background, _CLOSED_PX, _OPENED_PX)
    parts, areas = label_connected_parts(opened)
    return [parts == k for k, area in enumerate(areas, 1) if area >= _LEAST_PIXELS]


def _reading_order(poses):
    """Return the indices of EmbryoPoses in reading order: line by line, from left to right (list of int).

    A line consists of all embryos that lie less than the median breadth below its first one.
    """
    breadth = 2 * np.median([pose.half_sides[1] for pose in poses])
    lines = []
    for k in sorted(range(len(poses)), key=lambda k: tuple(poses[k].centre[::-1])):
        if not lines or poses[k].centre[1] - poses[lines[-1][0]].centre[1] > breadth:
            lines.append([])
        lines[-1].append(k)
    return [k for line in lines for k in sorted(line, key=lambda k: poses[k].centre[0])]


def _measure_box(pose, mask, picture):
    """Return the EmbryoBox of a candidate, in pixels of the photograph.

    pose : EmbryoPose and mask : bool array, both in the small copy; picture : array, the photograph
    """
    height, width = picture.shape[:2]
    zoom = np.array([width, height]) / mask.shape[::-1]
    (x, y), (length, breadth) = pose.centre * zoom, 2 * pose.half_sides * zoom.mean()
    around = max(10.0, _AROUND * length)
    places = np.argwhere(mask)[:, ::-1]
    first = np.maximum(np.floor(places.min(axis=0) * zoom - around), 0).astype(int)
    last = np.minimum(np.ceil((places.max(axis=0) + 1) * zoom + around), [width, height]).astype(int)
    angle = np.degrees(np.arctan2(pose.direction[1], pose.direction[0]))
    exact = (round(float(value), 1) for value in (x, y, length, breadth, angle))
    return EmbryoBox(*first.tolist(), *(last - first).tolist(), *exact)


def _rejection_reason(pose, has_shape, mask, part):
    """Return the reason why a thing on a photograph cannot be used as an embryo, or "" if it can.

    Parameters
    ----------
    pose : EmbryoPose of the thing
    has_shape : True if the mask has the shape of one embryo
    mask : bool array (height, width), its pixels in a small copy of the photograph
    part : float, area of the mask over the median area of all masks that have the shape of one embryo
    """
    sides = (mask, mask[::-1], mask.T, mask.T[::-1])
    if max(side[_CUT_PX].sum() * side[0].any() for side in sides) > _CUT * 2 * pose.half_sides[1]:
        return "cut by the border of the photograph"
    if part > _LARGE:
        return "several embryos that touch each other, or something else that is too large for one"
    if part < _SMALL:
        return "too small compared with the other embryos of the photograph"
    if not has_shape:
        return "not the shape of one embryo: outline not clear, or several that touch each other?"
    return ""


def _reject_touching(picture, candidate, candidates):
    """Return an EmbryoCandidate, with a reason in `why_not` if its picture shows several or is unclear.

    The outline of embryos that touch can look like the outline of one.  `picture_warnings` tells them apart
    by the distances of pixels from the outline.

    picture : the photograph; candidate : EmbryoCandidate; candidates : all that were found on the photograph
    """
    if candidate.why_not:
        return candidate
    warnings = picture_warnings(cut_out_embryo(picture, candidate, candidates))
    why_not = "several embryos that touch each other" if SEVERAL_EMBRYOS in warnings else ""
    return replace(candidate, why_not=UNCLEAR if UNCLEAR in warnings else why_not)


def _enlarge_mask(mask, picture):
    """Enlarge a bool mask of the small copy to the size of the photograph, given as an array."""
    cv2 = load_opencv()
    return cv2.resize(mask.astype(np.uint8), picture.shape[1::-1], interpolation=cv2.INTER_NEAREST) > 0

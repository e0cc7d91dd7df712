"""Warnings about the quality of a picture, in the words of a biologist; most embryos get none.

They are found in a small copy of the picture: the faults are large, and the check must cost little time.
"""

import numpy as np

from flyannot.base.quality_warnings import QualityWarning
from flyannot.images.geometry import STANDARD_PX, border_values, load_opencv
from flyannot.images.grey_levels import CAMERA_BITS, WHITE
from flyannot.images.registration import fill_holes, measure_mask

_STEP_ROUNDING = 0.01  # rounding error in float32, in steps of 14 bits
_ROUNDING = 0.01  # rounding error of scaling, in grey levels
_LEAST_RANGE = 10.0  # grey levels between the 1st and 99th percentile; a smaller range is low contrast
_BORDER_TOLERANCE = 20.0  # grey levels around the background's
_BORDER_FRACTION = 0.3  # part of the border that may differ; real embryos cover up to 0.29
_EVERY = 4  # percentiles are taken of every fourth pixel, down and across
_ENLARGED = 2.0  # times: a picture that must be enlarged more shows no detail of patches
_DARK = 96.0  # grey levels: the background of a stained embryo in transmitted light is lighter

_WORK_PX = 160  # longest side of the small copy
_WORK_TIMES = 3  # a picture that is not large is shrunk this many times,
_WORK_HEIGHT_PX = 40  # unless its shorter side would become shorter
_STEP = 8.0  # grey levels between the background and an embryo
_NOISES = 4.0  # the same, in standard deviations of the background
_LEAST_AREA = 0.02  # part of the picture that embryos cover
_LEAST_DEPTH_PX = 2.5  # distance from the outline to the middle of an embryo, in the small copy
_CORES = (0.5, 0.65)  # relative to the largest distance; one embryo is connected farther inside
_PALE = 20.0  # grey levels: the outline of a paler embryo has gaps (165 of FlyExpress: 27 to 140)
_CLUMP_CORE = 0.8  # the same as _CORES, if the outline does not have the shape of one embryo
# Kinds of warnings.
NOT_REGISTERED = "not registered"
EITHER_WAY = "cannot tell which end is anterior"
_LOW_CONTRAST = "low contrast"
_UNUSABLE = {"blank", "uniform", "no plain background"}  # no embryo can be seen in such a picture
PORTRAIT = "portrait"
SEVERAL_EMBRYOS = "several embryos"
UNCLEAR = "outline not clear"
POSTERIOR_LEFT = "posterior left?"
DORSAL_DOWN = "dorsal side down?"
_LOWER_BULGE = -0.03  # `EmbryoPose.lower_bulge` of a lateral view: less in 4% of 85, in 71% turned over
_SURE_LOWER_BULGE = -0.2  # the same, if the view is unknown: 3% of 55 seen from above, either way up
_SAYS_NOTHING = "7-8"  # stage range in which the edges of embryos bulge either way
SMOOTH = QualityWarning("smooth inside", "is it an embryo?")
_LEAST_TEXTURE = 0.7  # of 165 embryos of FlyExpress .16, then .75 and more; of 300 drawn ellipses at most .53
_POINTS_RIGHT = -0.021  # `EmbryoPose.axis_asymmetry`; for 165 embryos of FlyExpress -0.017 to 0.080


def standard_warnings(grey):
    """Return the warnings about the grey levels of a picture at the standard size.

    Parameters
    ----------
    grey : float array (height, width), from 0 (black) to 255 (white)

    Returns
    -------
    warnings : tuple of QualityWarning
        - "blank": white everywhere.
        - "uniform": one other grey level everywhere.
        - "low contrast": the 1st and the 99th percentile lie within 10 grey levels.
        - "no plain background": more than 30% of the border differ from its median by over 20 grey levels,
          as in noise, in a photograph, or with several embryos.
    """
    if grey.max() - grey.min() < _ROUNDING:
        return (QualityWarning("blank" if grey[0, 0] >= WHITE - 1 else "uniform"),)
    warnings = []
    some = grey[::_EVERY, ::_EVERY].ravel()
    rank = some.size // 100
    low, high = np.partition(some, (rank, some.size - 1 - rank))[[rank, -1 - rank]]
    if high - low < _LEAST_RANGE:
        warnings.append(QualityWarning(_LOW_CONTRAST))
    if not _is_plain_border(border_values(grey)):
        warnings.append(QualityWarning("no plain background"))
    return tuple(warnings)


def find_refusal(quality_warnings, is_registered):
    """Return the reason why a picture shows no embryo that can be annotated, or "".

    Parameters
    ----------
    quality_warnings : tuple of QualityWarning, of an `EmbryoView`
    is_registered : bool, True if the outline of the embryo was searched for
    """
    if is_registered:
        found = [warning.detail for warning in quality_warnings if warning.kind == NOT_REGISTERED]
    else:
        found = [warning.kind for warning in quality_warnings if warning.kind in _UNUSABLE]
    is_pale = any(warning.kind == _LOW_CONTRAST for warning in quality_warnings)
    return f"no embryo found: {', '.join(found[:1] + is_pale * [_LOW_CONTRAST])}" if found else ""


def picture_warnings(picture):
    """Return the warnings about a picture as it was taken, before it is scaled, turned or cut out.

    Parameters
    ----------
    picture : array (height, width) of grey levels, or (height, width, 3) of colours, from 0 to 255

    Returns
    -------
    warnings : tuple of QualityWarning
        - "fewer than 16 bits: 12": numbers of a camera, stored in 16 bits.
        - "small: 60 x 24 px": enlarged more than twofold.
        - "portrait": taller than wide.
        - "dark background": fluorescence or dark field.
        - "several embryos": on a plain background, touching or not.
        - "outline not clear": like several embryos, but pale.
        - "posterior left?": the left end is blunter, by more than in any of FlyExpress's 165 embryos.
    """
    height, width = picture.shape[:2]
    warnings = [QualityWarning("fewer than 16 bits", str(bits)) for bits in _bits_in_use(picture)]
    is_small = min(STANDARD_PX[0] / height, STANDARD_PX[1] / width) > _ENLARGED
    if is_small:
        warnings.append(QualityWarning("small", f"{width} x {height} px"))
    if height > width:
        warnings.append(QualityWarning(PORTRAIT))
    small = _small_copy(picture)
    border = border_values(small)
    if _upper_median(border) < _DARK:
        warnings.append(QualityWarning("dark background"))
    if _is_plain_border(border) and not is_small:
        warnings += map(QualityWarning, _find_shape_faults(*_find_foreground(small)))
    return tuple(warnings)


def is_smooth(shown):
    """Return True if the middle of a registered embryo has no texture, as in fruit and in drawings.

    Texture is the median difference between means over 5 and over 17 pixels, which noise of a camera hardly
    changes.

    shown : uint8 array (height, width) or (height, width, 3), at the standard size
    """
    cv2 = load_opencv()
    grey = cv2.cvtColor(shown, cv2.COLOR_RGB2GRAY) if shown.ndim == 3 else shown
    near, far = (cv2.boxFilter(grey, cv2.CV_32F, (side, side)) for side in (5, 17))
    height, width = grey.shape
    middle = np.s_[height // 4 : -height // 4, width // 5 : -width // 5]
    return _upper_median(np.abs(near - far)[middle]) < _LEAST_TEXTURE


def is_dorsal_down(lower_bulge, view, stage_range):
    """Return True if the outline of an embryo suggests that its dorsal side is down.

    The limits were chosen on the 165 photographs of FlyExpress. Of 85 lateral views, 4% get the warning as
    they lie, and 71% if they are turned upside down.

    lower_bulge : float, of its `EmbryoPose`; view, stage_range : str, "" if not known
    """
    if view not in ("", "lateral"):
        return False
    is_sure = view and stage_range != _SAYS_NOTHING
    return lower_bulge < (_LOWER_BULGE if is_sure else _SURE_LOWER_BULGE)


def _bits_in_use(picture):
    """Return [number of bits of the camera], such as [12], if a 16-bit picture was scaled up from fewer bits.

    The list is empty if the picture uses all 16 bits, or only 8.

    picture : array of numbers from 0 to 255
    """
    if picture.dtype == np.uint8 or picture.min() == picture.max():
        return []
    some = picture[::_EVERY, ::_EVERY].astype(float)
    steps = {bits: some * (2**bits - 1) / WHITE for bits in CAMERA_BITS}
    in_use = [bits for bits, n in steps.items() if (np.abs(n - np.rint(n)) < _STEP_ROUNDING).all()]
    return [] if 8 in in_use else in_use[:1]


def _upper_median(values):
    """Return the median of an array (float); for an even number of values, the larger of the middle two.

    It is ten times as fast as the usual median, the mean of the middle two.
    """
    half = values.size // 2
    return float(np.partition(values, half, axis=None)[half])


def _is_plain_border(border):
    """Return True if most pixels on the border of a picture have nearly the same grey level.

    border : float array (n,), their grey levels
    """
    return (np.abs(border - np.float32(_upper_median(border))) > _BORDER_TOLERANCE).mean() <= _BORDER_FRACTION


def _small_copy(picture):
    """Return the grey levels of a smaller copy of a picture, float32 array, at most _WORK_PX long."""
    cv2 = load_opencv()
    height, width = picture.shape[:2]
    times = max(-(-max(height, width) // _WORK_PX), min(_WORK_TIMES, min(height, width) // _WORK_HEIGHT_PX))
    if times > 1:
        rest = (0, -height % times, 0, -width % times)  # averaging whole blocks is six times as fast
        picture = cv2.copyMakeBorder(picture, *rest, cv2.BORDER_REPLICATE)
        size = -(-width // times), -(-height // times)
        picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    if picture.ndim == 3:
        picture = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    return picture.astype(np.float32)


def _find_foreground(grey):
    """Find the pixels that stand out from the background of a picture, and their contrast.

    The background is a slope from side to side, because light is seldom even.

    grey : float array (height, width), grey levels

    Returns
    -------
    bodies : uint8 mask without holes, with a margin of two pixels
    contrast : float, the median difference of its pixels from the background, in grey levels
    """
    cv2 = load_opencv()
    left, right, top, bottom = (_upper_median(side) for side in (grey[:, 0], grey[:, -1], grey[0], grey[-1]))
    across = np.linspace(left - right, right - left, grey.shape[1], dtype=np.float32) / 2
    down = np.linspace(top - bottom, bottom - top, grey.shape[0], dtype=np.float32) / 2
    off = np.abs(grey - (left + right + top + bottom) / 4 - across - down[:, None])
    least = max(_STEP, _NOISES * 1.4826 * _upper_median(border_values(off)))
    stands_out = cv2.copyMakeBorder((off > least).view(np.uint8), 2, 2, 2, 2, cv2.BORDER_CONSTANT, value=0)
    closed = cv2.morphologyEx(stands_out, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    bodies = fill_holes(closed)
    inside = off[bodies[2:-2, 2:-2] > 0]
    return bodies, _upper_median(inside) if inside.size else 0.0


def _find_shape_faults(mask, contrast):
    """Return a warning if a mask is not like one embryo, or if its posterior end is left.

    Embryos that touch each other are counted by their cores, the pixels far from the outline: one embryo has
    one core. A flat embryo has two cores if only the very farthest pixels count, so two limits are tried.

    The result is a list with one of three warnings, or [].

    mask : uint8 array (height, width), 1 on the pixels that stand out from the background
    contrast : median difference of its pixels from the background; below _PALE, gaps in the outline are
        usual
    """
    cv2 = load_opencv()
    depth = cv2.distanceTransform(mask, cv2.DIST_L2, cv2.DIST_MASK_3)
    deepest = depth.max()
    if deepest < _LEAST_DEPTH_PX or np.count_nonzero(mask) < _LEAST_AREA * mask.size:
        return []
    n_parts, part_of = cv2.connectedComponents(mask, ltype=cv2.CV_16U)
    if n_parts > 2:  # the background, the largest, and others
        mask = (part_of == part_of.flat[depth.argmax()]).astype(np.uint8)
    pose, is_embryo = measure_mask(mask > 0)
    for core in _CORES if is_embryo else (*_CORES, _CLUMP_CORE):
        if cv2.connectedComponents((depth > core * deepest).astype(np.uint8))[0] > 2:
            return [SEVERAL_EMBRYOS if contrast >= _PALE else UNCLEAR]
    is_level = abs(pose.direction[0]) > abs(pose.direction[1])
    return [POSTERIOR_LEFT] if is_embryo and is_level and pose.axis_asymmetry < _POINTS_RIGHT else []

"""Picture files, and the embryos on them, which are found, turned and scaled.

All code that reads the picture of an embryo reads it here. A `PictureFile` gives the digest of its bytes and
the picture at an address. An `Embryo` is found, turned and scaled in the picture, in the way that options
ask for.
"""

import hashlib
from contextlib import contextmanager
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np

from flyannot.base.quality_warnings import QualityWarning
from flyannot.files.text_files import open_regular_file
from flyannot.images import quality
from flyannot.images.address import split_address, split_turn
from flyannot.images.geometry import STANDARD_PX, load_opencv, resize_to_fit
from flyannot.images.grey_levels import separate_stain, to_grey
from flyannot.images.image_file import decode_plane, explain_decoding_errors
from flyannot.images.pattern import measure_unevenness, redraw_as_pattern
from flyannot.images.photograph import cut_out_embryo, find_embryos
from flyannot.images.registration import NoEmbryo, crop_embryo, find_pose
from flyannot.images.shown import draw_shown
from flyannot.images.unreadable import require_image_size, unreadable_image_error

_LEAST_ASYMMETRY = 0.0075  # 17 of 165 embryos of FlyExpress have less, and so have all drawn patterns
_SEARCH_BYTES = {2: 4, 3: 8}  # by dimensions; half of what a pixel takes while embryos are searched for


@contextmanager
def open_picture(path):
    """Open a picture file, and yield it as a `PictureFile` for a `with` block.

    Raises
    ------
    UnusableImage
        If the file does not exist or cannot be opened.
    """
    with explain_decoding_errors(path):
        file = open_regular_file(path)
    with file:
        yield PictureFile(path, file)


class PictureFile:
    """An open picture file, which keeps the plane that was decoded last, and the embryos found on it.

    Parameters
    ----------
    path : path of the file
    file : the open file
    """

    def __init__(self, path, file):
        self.path = path
        self._file = file
        # Functions, not methods, which would keep the pictures until garbage is collected.
        self._decode = lru_cache(maxsize=1)(partial(_decode_plane, path, file))
        self._find = lru_cache(maxsize=1)(partial(_find_candidates, path, self._decode))

    @cached_property
    def digest(self):
        """The SHA-256 digest of the bytes of the file, in hexadecimal."""
        with explain_decoding_errors(self.path):
            self._file.seek(0)
            return hashlib.file_digest(self._file, "sha256").hexdigest()

    def read_picture(self, address, usual_planes=()):
        """Read a picture of this file, in the colours of the file.

        Parameters
        ----------
        address : path or str, the file itself, or with a plane and an embryo, such as "slide.czi#z=5#3"
        usual_planes : sequence of str, such as "z=5", the plane to read unless the address chooses one

        Returns
        -------
        picture : uint8 or float32 array from 0 to 255, (height, width) or (height, width, 3)
            See `decode_plane`. The picture of an embryo of a photograph is cut out.

        Raises
        ------
        UnusableImage
            If the plane cannot be decoded, see `decode_plane`. Also if the photograph has no embryo of this
                number, or if that embryo cannot be used.
        """
        _, chosen, number = split_address(address)
        turn, chosen = split_turn(address, chosen)
        if number is None:
            return np.ascontiguousarray(self._decode(chosen, tuple(usual_planes))[turn])
        picture, candidates = self._find(chosen, tuple(usual_planes))
        if not 1 <= number <= len(candidates):
            n = len(candidates)
            reason = f"{n} things stand out from the background of the photograph"
            raise unreadable_image_error(address, reason)
        candidate = candidates[number - 1]
        if candidate.why_not:
            raise unreadable_image_error(address, candidate.why_not)
        return np.ascontiguousarray(cut_out_embryo(picture, candidate, candidates)[turn])

    def find_embryos(self, address, usual_planes=()):
        """Return a list of EmbryoCandidate: everything that stands out from the background of a photograph.

        The parameters are as in `read_picture`.

        Raises
        ------
        UnusableImage
            If the plane cannot be decoded, see `decode_plane`; NoEmbryo if nothing stands out.
        """
        _, chosen, _ = split_address(address)
        return self._find(split_turn(address, chosen)[1], tuple(usual_planes))[1]


def _decode_plane(path, file, chosen, usual_planes):
    """Decode a plane as `decode_plane` does, with every error turned into an UnusableImage."""
    with explain_decoding_errors(path):
        return decode_plane(path, file, chosen, usual_planes)


def _find_candidates(path, decode, chosen, usual_planes):
    """Return a plane of a photograph, and the list of EmbryoCandidates on it.

    Parameters
    ----------
    path : path of the photograph, for messages
    decode : function (chosen, usual_planes) that returns the plane
    chosen, usual_planes : tuples of str, such as "z=5": the chosen plane, and the one for other axes
    """
    picture = decode(chosen, usual_planes)
    height, width = picture.shape[:2]
    require_image_size(path, width, height, _SEARCH_BYTES[picture.ndim])
    return picture, find_embryos(picture)


def read_picture(address, planes=()):
    """Open a picture file and read the picture at an address, as `PictureFile.read_picture` returns it.

    address : path or str, such as "slide.czi#z=5#3"; planes : sequence of str, such as "z=5", its usual plane
    """
    with open_picture(split_address(address)[0]) as opened:
        return opened.read_picture(address, planes)


def read_grey(address, *, size_px=STANDARD_PX):
    """Read the grey levels of a whole picture, scaled to a size: float32 array, from 0 (black) to 255.

    Parameters
    ----------
    address : path or address of the picture
    size_px : (height, width) of the result, in pixels; the picture keeps its proportions

    Raises
    ------
    UnusableImage
        If the picture cannot be read, as in `PictureFile.read_picture`.
    """
    return resize_to_fit(to_grey(read_picture(address)), size_px)


class EmbryoView(NamedTuple):
    """The picture of an embryo at the standard size, prepared as the options of `flyannot extract` say.

    grey : float32 array of shape STANDARD_PX, the grey levels from which descriptors are computed
    warnings : tuple of QualityWarning, also NOT_REGISTERED with the reason if no embryo was found
    shown : uint8 array (height, width) or (height, width, 3), the picture for display
    """

    grey: np.ndarray
    warnings: tuple
    shown: np.ndarray


class Embryo:
    """The picture of one embryo; the outline of the embryo is searched for once, at its first use.

    Parameters
    ----------
    picture : array (height, width) or (height, width, 3), from 0 to 255, at its own size
    is_cut_out : bool, True if it was cut out of a photograph of several embryos
    """

    def __init__(self, picture, *, is_cut_out=False):
        self._picture = picture
        self._is_cut_out = is_cut_out
        self._frames: dict = {}
        self._drawn: dict = {}

    def view(self, options):
        """Return the EmbryoView of this embryo: at the standard size, and turned as the options say.

        options : ExtractOptions
        """
        pose, why_not = self._pose if options.register == "axis" else (None, ())
        is_mirrored = bool(pose) and options.orient and pose.axis_asymmetry <= -_LEAST_ASYMMETRY
        if pose and options.orient and abs(pose.axis_asymmetry) < _LEAST_ASYMMETRY:
            why_not = (QualityWarning(quality.EITHER_WAY),)
        elif pose and not options.orient and pose.axis_asymmetry <= -_LEAST_ASYMMETRY:
            why_not = (QualityWarning(quality.POSTERIOR_LEFT),)
        grey = self._scale("grey" if options.channel == "grey" else "own", pose, is_mirrored)
        if grey.ndim == 3:
            grey = grey[..., 2] if options.channel == "blue" else separate_stain(grey)
        # The pose is more exact than the small copy that `picture_warnings` measures.
        ignored = {quality.POSTERIOR_LEFT} if pose else set()
        ignored |= {quality.PORTRAIT} if self._is_cut_out else set()
        of_picture = (warning for warning in self._warnings if warning.kind not in ignored)
        drawn = redraw_as_pattern(grey) if options.channel == "pattern" else grey
        shown = load_opencv().convertScaleAbs(self._scale("own", pose, is_mirrored))  # rounds to bytes
        smooth = [quality.SMOOTH] if pose and self._is_smooth else []
        return EmbryoView(drawn, (*quality.standard_warnings(grey), *of_picture, *why_not, *smooth), shown)

    def draw(self, view, options):
        """Return the ShownPicture of an EmbryoView; its JPEG is made once for all views that lie alike.

        view : EmbryoView, as `view` returns; options : ExtractOptions of the view
        """
        turned = options.register, options.orient
        if turned not in self._drawn:
            self._drawn[turned] = draw_shown(view)
        return self._drawn[turned]

    def side_warnings(self, options, view, stage_range):
        """Return [DORSAL_DOWN] if the outline of the embryo shows that its dorsal side is down; otherwise [].

        Parameters
        ----------
        options : ExtractOptions; the list is empty unless they register the embryo
        view : str, the view of the embryo, such as "lateral"; "" if not known
        stage_range : str, such as "4-6"; "" if not known
        """
        pose = self._pose[0] if options.register == "axis" else None
        is_down = pose and quality.is_dorsal_down(pose.lower_bulge, view, stage_range)
        return [QualityWarning(quality.DORSAL_DOWN)] if is_down else []

    @cached_property
    def unevenness(self):
        """The unevenness of the tissue of the embryo (float), as `measure_unevenness` returns it.

        It is nan if the picture is grey, or if no embryo is found.
        """
        pose = self._pose[0] if self._picture.ndim == 3 else None
        return measure_unevenness(self._scale("own", pose, False)) if pose else float("nan")

    @cached_property
    def _is_smooth(self):
        """True if the embryo has no texture inside; mirroring the picture does not change this."""
        return quality.is_smooth(load_opencv().convertScaleAbs(self._scale("own", self._pose[0], False)))

    @cached_property
    def _warnings(self):
        """The tuple of QualityWarnings about the picture before it is turned and scaled."""
        return quality.picture_warnings(self._picture)

    @cached_property
    def _pose(self):
        """The EmbryoPose and (), or None and a tuple with the QualityWarning why no embryo was found."""
        try:
            return find_pose(self._picture), ()
        except NoEmbryo as error:
            return None, (QualityWarning(quality.NOT_REGISTERED, error.reason),)

    def _scale(self, levels, pose, is_mirrored):
        """Return the picture at the standard size; it is computed once for each combination of parameters.

        Parameters
        ----------
        levels : "grey" for its grey levels, or "own" for its own colours
        pose : EmbryoPose by which it is turned and cut out; None to scale the whole picture to fit
        is_mirrored : bool, True to exchange left and right
        """
        key = levels if self._picture.ndim == 3 else "own", pose is None, is_mirrored
        if key not in self._frames:
            picture = to_grey(self._picture) if levels == "grey" else self._picture
            framed = crop_embryo(picture, STANDARD_PX, pose) if pose else resize_to_fit(picture, STANDARD_PX)
            self._frames[key] = np.ascontiguousarray(framed[:, ::-1]) if is_mirrored else framed
        return self._frames[key]

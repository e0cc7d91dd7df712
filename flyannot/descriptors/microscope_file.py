"""The planes that a microscope's file holds: OME-TIFF and other TIFFs of several pages, CZI, LIF.

Every format is a context manager that yields a `Stack`; one plane is decoded, never the whole file.  TIFF is
read by tifffile, CZI by Zeiss's pylibCZIrw, LIF by liffile: `pip install 'flyannot[microscopy]'`.
"""

import logging
import re
from collections.abc import Callable
from contextlib import contextmanager
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from flyannot.descriptors.grey_levels import as_luma, to_eight_bit_range
from flyannot.descriptors.planes import Axis, chosen_plane
from flyannot.descriptors.unreadable import (
    MAX_DEEP_PIXELS,
    MAX_PIXELS,
    require_size,
    too_large,
    unknown_pixels,
    unreadable,
)
from flyannot.runtime.environment import optional_package

_EXTRA = "microscopy"
_AXIS_NAMES = {"C": "channel", "Z": "z", "T": "time", "Q": "page", "I": "page", "R": "page"}
_MOST_BYTES = 1_000_000_000  # of a TIFF that is stored in one piece, and must be read whole


class Scene(NamedTuple):
    """One scene (series, image) of a file: planes of one size.

    axes : list of Axis; size : (width, height); dtype : of its numbers
    n_bits : function of a plane's coordinates, to how many bits of a number are used by what the file says;
        0 where it does not
    read : function of a plane's coordinates (dict from the name of an axis to a number from 0), to an array
        (height, width) or (height, width, 3 or more), colours first
    inverted : whether 0 is white
    """

    name: str
    axes: list
    size: tuple
    dtype: np.dtype
    n_bits: Callable
    read: Callable
    inverted: bool = False


def plane_of(path, file, planes, mode):
    """One plane of a microscope's file.

    Numbers of 16 bits come from 0 to what the bits that the file says are used can hold, to 0 to 255;
    nothing is stretched.

    Parameters
    ----------
    path : of the file; file : the open file
    planes : texts such as "z=5", as in `flyannot.descriptors.planes.chosen_plane`
    mode : "L" or "RGB"

    Returns
    -------
    picture : as `flyannot.descriptors.image_file.decoded_image`

    Raises
    ------
    InputError
        If a package is missing.
    UnreadableImage
        As `flyannot.descriptors.image_file.decoded_image`.
    """
    with _FORMATS[format_of(file)](path, file) as scenes:
        if not scenes:
            raise unreadable(path, "it holds no picture")
        scene_axis = Axis("scene", len(scenes), tuple(scene.name for scene in scenes))
        is_one = all(scene.axes == scenes[0].axes for scene in scenes)
        axes = [scene_axis, *(scenes[0].axes if is_one else ())]
        scene = scenes[chosen_plane(path, axes, planes)["scene"]]
        chosen = chosen_plane(path, scene.axes, planes)
        require_size(path, *scene.size, MAX_PIXELS if scene.dtype.itemsize == 1 else MAX_DEEP_PIXELS)
        return _picture(path, scene, chosen, mode)


def format_of(file):
    """ "czi", "lif" or "tiff" by the first bytes of an open file, "" for anything else; it is rewound."""
    file.seek(0)
    start = file.read(16)
    file.seek(0)
    if start.startswith(b"ZISRAWFILE"):
        return "czi"
    if start[:4] == b"\x70\0\0\0" and start[8:9] == b"\x2a":
        return "lif"
    return "tiff" if start[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+") else ""


def _picture(path, scene, chosen, mode):
    pixels = np.asarray(scene.read(chosen))
    if pixels.dtype.kind not in "uf" or pixels.ndim not in (2, 3) or pixels.shape[2:] in ((2,),):
        raise unknown_pixels(path, f"{pixels.dtype} of shape {' x '.join(map(str, pixels.shape))}")
    if pixels.ndim == 3:
        pixels = np.ascontiguousarray(pixels[..., :3]) if pixels.shape[2] > 2 else pixels[..., 0]
    if pixels.dtype == np.uint8:
        pixels = 255 - pixels if scene.inverted else pixels
    else:
        bits = scene.n_bits(chosen) if pixels.dtype.kind == "u" else 0
        full = float(2**bits - 1) if 0 < bits < 8 * pixels.dtype.itemsize else None
        pixels = to_eight_bit_range(path, pixels, pixels.dtype, inverted=scene.inverted, full=full)
    return as_luma(pixels) if pixels.ndim == 3 and mode == "L" else pixels


@contextmanager
def _tiff(path, file):
    import tifffile

    logging.getLogger("tifffile").setLevel(logging.CRITICAL)  # one line for a bad file: ours
    with tifffile.TiffFile(file) as tiff:
        bits = re.findall(r'<Pixels[^>]*?\bSignificantBits="(\d+)"', tiff.ome_metadata or "")
        channels = _ome_channels(tiff.ome_metadata)
        scenes = []
        for k, series in enumerate(tiff.series):
            n_bits = int(bits[k]) if len(bits) == len(tiff.series) else 0
            names = channels[k] if len(channels) == len(tiff.series) else ()
            scenes.append(_series(path, series, n_bits, names))
        yield scenes


def _ome_channels(text):
    """The names of the channels of every image of OME-XML."""
    try:
        images = [one for one in ElementTree.fromstring(text or "<x/>").iter() if one.tag.endswith("}Image")]
    except ElementTree.ParseError:
        return []
    of_image = [[one for one in image.iter() if one.tag.endswith("}Channel")] for image in images]
    return [tuple(one.get("Name", "") for one in channels) for channels in of_image]


def _series(path, series, n_bits, names):
    page = series.keyframe
    n_outer = series.ndim - page.ndim
    outer, shape = series.axes[:n_outer], series.shape[:n_outer]
    if series.axes[n_outer:] != page.axes or page.axes not in ("YX", "YXS", "SYX"):
        raise unknown_pixels(path, f"{series.dtype} in a TIFF with axes {series.axes}")
    if page.is_tiled and page.tilewidth * page.tilelength > MAX_PIXELS:
        raise too_large(path, f" (tiles of {page.tilewidth} x {page.tilelength} pixels)")

    def read(chosen):
        index = tuple(chosen[_axis_name(one)] for one in outer)
        try:
            if len(series.pages) == max(1, int(np.prod(shape))):
                one = series.pages[int(np.ravel_multi_index(index, shape)) if index else 0]
                _require_whole(path, one)
                pixels = one.asarray()
            elif series.nbytes <= _MOST_BYTES:
                pixels = series.asarray()[index]
            else:
                raise unreadable(path, "too large, and in one piece", fix="save the plane that you mean")
        except ValueError as error:
            if "imagecodecs" in str(error):
                optional_package("imagecodecs", _EXTRA, f"the compression of {path} needs")
            raise
        return np.moveaxis(pixels, 0, -1) if page.axes == "SYX" else pixels

    axes = [
        Axis(_axis_name(one), size, names if one == "C" and len(names) == size else ())
        for one, size in zip(outer, shape)
    ]
    size, inverted = (page.imagewidth, page.imagelength), page.photometric == 0
    name = "" if re.fullmatch(r"(Image|Series):?\d*|", series.name) else series.name
    return Scene(name, axes, size, np.dtype(series.dtype), lambda _: n_bits, read, inverted)


def _require_whole(path, page):
    """Of what is not there, tifffile makes zeros."""
    end = page.parent.filehandle.size
    if any(start + n > end for start, n in zip(page.dataoffsets, page.databytecounts)):
        raise unreadable(path, "damaged or cut short (the file ends before the plane does)")


def _axis_name(letter):
    return _AXIS_NAMES.get(letter, letter.lower())


@contextmanager
def _czi(path, file):
    czi = optional_package("pylibCZIrw.czi", _EXTRA, f"{path} is a CZI, and to read it needs")
    with czi.open_czi(str(path)) as reader:
        box = reader.total_bounding_box
        names, bits = _czi_channels(reader.raw_metadata)
        axes = [
            Axis(_axis_name(d), n, names if d == "C" and len(names) == n else ())
            for d, (_, n) in box.items()
            if d not in "XYSM"
        ]
        places = reader.scenes_bounding_rectangle or {None: reader.total_bounding_rectangle}
        kinds = reader.pixel_types
        is_byte = all(kind in ("Gray8", "Bgr24") for kind in kinds.values())
        dtype = np.dtype(np.uint8 if is_byte else np.uint16)

        def reads(scene, place):
            def read(chosen):
                plane = {d: chosen[_axis_name(d)] for d in box if d not in "XYSM"}
                kind = kinds.get(plane.get("C", 0), "")
                paper = (1, 1, 1) if kind.startswith("Bgr") else (0, 0, 0)  # between the tiles of a mosaic
                pixels = reader.read(roi=tuple(place), plane=plane, scene=scene, background_pixel=paper)
                return pixels[..., ::-1] if pixels.shape[2] == 3 else pixels[..., 0]

            return read

        def n_bits(chosen):
            channel = chosen.get("channel", 0)
            return bits[channel] if channel < len(bits) else 0

        yield [
            Scene("", axes, (place.w, place.h), dtype, n_bits, reads(scene, place))
            for scene, place in places.items()
        ]


def _czi_channels(xml):
    """Names and numbers of used bits of the channels, by a CZI's metadata."""
    try:
        root = ElementTree.fromstring(xml or "<x/>")
    except ElementTree.ParseError:
        return (), []
    found = root.findall(".//Information/Image/Dimensions/Channels/Channel")
    common = root.findtext(".//Information/Image/ComponentBitCount") or "0"
    bits = [one.findtext("ComponentBitCount") or common for one in found]
    names = tuple(one.get("Name", "") for one in found)
    return names, [int(text) if text.isdecimal() else 0 for text in bits]


@contextmanager
def _lif(path, file):
    liffile = optional_package("liffile", _EXTRA, f"{path} is a LIF, and to read it needs")
    logging.getLogger("liffile").setLevel(logging.CRITICAL)
    with liffile.LifFile(file) as lif:
        yield [_lif_image(path, image) for image in lif.images if {"X", "Y"} <= set(image.dims)]


def _lif_image(path, image):
    about = image.xml_element.findall("./Data/Image/ImageDescription/Channels/ChannelDescription")
    outer = [one for one in image.dims if one not in "XYS"]
    n_channels = image.sizes.get("C", 1)
    names = tuple(one.get("LUTName", "") for one in about) if len(about) == n_channels else ()
    axes = [Axis(_axis_name(d), image.sizes[d], names if d == "C" else ()) for d in outer]

    def read(chosen):
        return image.frame(**{d: chosen[_axis_name(d)] for d in outer})

    def n_bits(chosen):
        number = chosen.get("channel", 0)
        return int(about[number].get("Resolution", 0)) if number < len(about) else 0

    size = image.sizes["X"], image.sizes["Y"]
    return Scene(image.name, axes, size, np.dtype(image.dtype), n_bits, read)


_FORMATS = {"tiff": _tiff, "czi": _czi, "lif": _lif}

"""Planes of microscopes' files: OME-TIFF and other TIFFs, CZI, LIF.

Every format is a context manager that yields a list of `Scene`.  Only the chosen plane is decoded.  TIFF is
read by tifffile, CZI by Zeiss's pylibCZIrw, LIF by liffile: `pip install 'flyannot[microscopy]'`.
"""

import logging
import math
import re
from collections.abc import Callable
from contextlib import contextmanager
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from flyannot.base.packages import import_optional
from flyannot.images.address import Axis, choose_plane
from flyannot.images.grey_levels import rescale_to_255, to_luma
from flyannot.images.unreadable import (
    MAX_PAGES,
    TIFF_SIGNATURES,
    require_image_size,
    require_tile_size,
    unknown_pixel_type_error,
    unreadable_image_error,
)

_EXTRA = "microscopy"
_AXIS_NAMES = {"C": "channel", "Z": "z", "T": "time", "Q": "page", "I": "page", "R": "page"}
_MAX_BYTES = 1_000_000_000  # a TIFF whose planes are stored in one piece is read whole


class Scene(NamedTuple):
    """One scene (series, image) of a file: planes of one size.

    axes : list of Axis
    size : (width, height)
    dtype : type of its numbers
    used_bits : for each channel, the number of bits in use as stated by the file; 0 if it is not stated, and
        possibly fewer entries than channels
    read : function of the coordinates of a plane, a dict from the name of an axis to a number from 0; it
        returns an array (height, width) or (height, width, 3 or more), colours first
    inverted : whether 0 is white
    """

    name: str
    axes: list
    size: tuple
    dtype: np.dtype
    used_bits: tuple
    read: Callable
    inverted: bool = False


def detect_format(file):
    """Return "czi", "lif" or "tiff" by the first bytes of an open file, or "" for another format.

    The file is rewound.
    """
    file.seek(0)
    start = file.read(16)
    file.seek(0)
    if start.startswith(b"ZISRAWFILE"):
        return "czi"
    if start[:4] == b"\x70\0\0\0" and start[8:9] == b"\x2a":
        return "lif"
    return "tiff" if start[:4] in TIFF_SIGNATURES else ""


def read_plane(path, file, planes, mode):
    """Read one plane of a microscope's file.

    Numbers of 16 bits are scaled to 0 to 255 by the bits that the file says are in use.  The range of the
    grey levels is not stretched.

    Parameters
    ----------
    path : path of the file
    file : the open file
    planes : sequence of str, such as "z=5", as in `choose_plane`
    mode : "L" or "RGB"

    Returns
    -------
    picture : as from `decode_image`

    Raises
    ------
    InputError
        If a package is missing.
    UnusableImage
        As `decode_image`.
    """
    with _FORMATS[detect_format(file)](path, file) as scenes:
        if not scenes:
            raise unreadable_image_error(path, "it contains no picture")
        scene_axis = Axis("scene", len(scenes), tuple(scene.name for scene in scenes))
        is_alike = all(scene.axes == scenes[0].axes for scene in scenes)
        axes = [scene_axis, *(scenes[0].axes if is_alike else ())]
        scene = scenes[choose_plane(path, axes, planes)["scene"]]
        chosen = choose_plane(path, scene.axes, planes)
        require_image_size(path, *scene.size, scene.dtype.itemsize)
        return _picture(path, scene, chosen, mode)


def _picture(path, scene, chosen, mode):
    """Read the chosen plane of a Scene, and scale it to 0 to 255."""
    pixels = np.asarray(scene.read(chosen))
    if pixels.dtype.kind not in "uf" or pixels.ndim not in (2, 3) or pixels.shape[2:] in ((2,),):
        raise unknown_pixel_type_error(path, f"{pixels.dtype} of shape {' x '.join(map(str, pixels.shape))}")
    if pixels.ndim == 3:
        pixels = np.ascontiguousarray(pixels[..., :3]) if pixels.shape[2] > 2 else pixels[..., 0]
    if pixels.dtype == np.uint8:
        pixels = 255 - pixels if scene.inverted else pixels
    else:
        channel = chosen.get("channel", 0)
        is_said = pixels.dtype.kind == "u" and channel < len(scene.used_bits)
        bits = scene.used_bits[channel] if is_said else 0
        full = float(2**bits - 1) if 0 < bits < 8 * pixels.dtype.itemsize else None
        pixels = rescale_to_255(path, pixels, pixels.dtype, inverted=scene.inverted, full=full)
    return to_luma(pixels) if pixels.ndim == 3 and mode == "L" else pixels


def _axes(sizes, channel_names):
    """Return an Axis for each (letter, size)."""
    return [
        Axis(_axis_name(letter), n, channel_names if letter == "C" and len(channel_names) == n else ())
        for letter, n in sizes
    ]


def _axis_name(letter):
    """Return the name of the axis with a letter."""
    return _AXIS_NAMES.get(letter, letter.lower())


def _parse_count(text):
    """Return the absolute value of a whole number in a text, or 0 for another text."""
    try:
        return abs(int(text))
    except ValueError:
        return 0


def _parse_xml(text):
    """Return the root element of XML metadata; an empty element if they are missing or damaged."""
    try:
        return ElementTree.fromstring(text or "<x/>")
    except ElementTree.ParseError:
        return ElementTree.Element("x")


@contextmanager
def _tiff(path, file):
    """Open a TIFF, and yield a Scene for each series."""
    import tifffile

    logging.getLogger("tifffile").setLevel(logging.CRITICAL)  # a bad file gets one line: ours
    with tifffile.TiffFile(file) as tiff:
        first = tiff.pages.first
        root = _parse_xml(tiff.ome_metadata)
        if len(tiff.pages) == 1 and not tiff.is_ome and first.compression != tifffile.COMPRESSION.NONE:
            # The size of a compressed strip is not known before it is decoded.
            raise unknown_pixel_type_error(path, f"{first.dtype} in a compressed TIFF with axes {first.axes}")
        _refuse_many_planes(path, root, first)
        images = root.findall("{*}Image")
        if len(images) != len(tiff.series):
            images = [ElementTree.Element("x")] * len(tiff.series)
        yield [_tiff_series(path, series, about) for series, about in zip(tiff.series, images)]


def _refuse_many_planes(path, root, page):
    """Raise an UnusableImage if the metadata of a TIFF claim too many planes.

    tifffile allocates memory for every claimed plane before it checks whether the plane exists.

    root : root element of the OME metadata; page : the first page
    """

    def claimed(tag, *names):
        of_tag = root.iterfind(f".//{{*}}{tag}")
        return sum(math.prod(_parse_count(e.get(name, "1")) for name in names) for e in of_tag)

    n_pixels = claimed("Pixels", "SizeX", "SizeY", "SizeZ", "SizeC", "SizeT")
    n_planes = n_pixels // (page.imagewidth * page.imagelength or 1)
    n_planes = max(n_planes, claimed("TiffData", "PlaneCount", "NumPlanes"))
    if n_planes > MAX_PAGES:
        raise unreadable_image_error(path, f"it claims {n_planes:,} planes, more than {MAX_PAGES:,}")


def _tiff_series(path, series, about):
    """Return the Scene of one series of a TIFF.

    path : for messages; series : tifffile's series; about : element of the OME metadata that describes it
    """
    page = series.keyframe
    n_outer = series.ndim - page.ndim
    outer = series.axes[:n_outer]
    shape = series.shape[:n_outer]
    if series.axes[n_outer:] != page.axes or page.axes not in ("YX", "YXS", "SYX"):
        raise unknown_pixel_type_error(path, f"{series.dtype} in a TIFF with axes {series.axes}")
    if page.tags.valueof("Orientation", 1) != 1:
        raise unknown_pixel_type_error(path, f"{series.dtype} in a TIFF with an orientation")
    if page.is_tiled:
        require_tile_size(path, page.tilewidth, page.tilelength)

    def read(chosen):
        index = tuple(chosen[_axis_name(letter)] for letter in outer)
        try:
            if len(series.pages) == max(1, int(np.prod(shape))):
                plane = series.pages[int(np.ravel_multi_index(index, shape)) if index else 0]
                _require_whole(path, plane)
                pixels = plane.asarray()
            elif series.nbytes <= _MAX_BYTES:
                pixels = series.asarray()[index]
            else:
                reason = "too large, and all planes are stored in one piece"
                raise unreadable_image_error(path, reason, fix="save the wanted plane as a file")
        except ValueError as error:
            if "imagecodecs" in str(error):
                import_optional("imagecodecs", _EXTRA, f"the compression of {path} needs")
            raise
        return np.moveaxis(pixels, 0, -1) if page.axes == "SYX" else pixels

    axes = _axes(zip(outer, shape), tuple(e.get("Name", "") for e in about.iterfind(".//{*}Channel")))
    pixels = about.find("{*}Pixels")
    n_bits = 0 if pixels is None else _parse_count(pixels.get("SignificantBits", "0"))
    used_bits = (n_bits,) * dict(zip(outer, shape)).get("C", 1)
    size = page.imagewidth, page.imagelength
    inverted = page.photometric == 0
    name = "" if re.fullmatch(r"(Image|Series):?\d*|", series.name) else series.name
    return Scene(name, axes, size, np.dtype(series.dtype), used_bits, read, inverted)


def _require_whole(path, page):
    """Raise an UnusableImage if the data of a page are not complete; tifffile would fill them with zeros."""
    end = page.parent.filehandle.size
    if any(start + n > end for start, n in zip(page.dataoffsets, page.databytecounts)):
        raise unreadable_image_error(path, "damaged or cut short (the file ends before the plane does)")


@contextmanager
def _czi(path, file):
    """Open a CZI, and yield its scenes."""
    czi = import_optional("pylibCZIrw.czi", _EXTRA, f"{path} is a CZI, and to read it needs")
    with czi.open_czi(str(path)) as reader:
        sizes = {d: n for d, (_, n) in reader.total_bounding_box.items() if d not in "XYSM"}
        names, used_bits = _czi_channels(reader.raw_metadata)
        places = reader.scenes_bounding_rectangle or {None: reader.total_bounding_rectangle}
        kinds = reader.pixel_types
        is_byte = all(kind in ("Gray8", "Bgr24") for kind in kinds.values())
        dtype = np.dtype(np.uint8 if is_byte else np.uint16)

        def reader_of(scene, place):
            def read(chosen):
                plane = {d: chosen[_axis_name(d)] for d in sizes}
                kind = kinds.get(plane.get("C", 0), "")
                paper = (1, 1, 1) if kind.startswith("Bgr") else (0, 0, 0)  # between the tiles of a mosaic
                pixels = reader.read(roi=tuple(place), plane=plane, scene=scene, background_pixel=paper)
                return pixels[..., ::-1] if pixels.shape[2] == 3 else pixels[..., 0]

            return read

        axes = _axes(sizes.items(), names)
        yield [
            Scene("", axes, (place.w, place.h), dtype, used_bits, reader_of(scene, place))
            for scene, place in places.items()
        ]


def _czi_channels(xml):
    """Return the names of the channels and their numbers of used bits, from the metadata of a CZI."""
    root = _parse_xml(xml)
    channels = root.findall(".//Information/Image/Dimensions/Channels/Channel")
    common = root.findtext(".//Information/Image/ComponentBitCount") or "0"
    bits = [channel.findtext("ComponentBitCount") or common for channel in channels]
    return tuple(channel.get("Name", "") for channel in channels), tuple(map(_parse_count, bits))


@contextmanager
def _lif(path, file):
    """Open a LIF, and yield a Scene for each image."""
    liffile = import_optional("liffile", _EXTRA, f"{path} is a LIF, and to read it needs")
    logging.getLogger("liffile").setLevel(logging.CRITICAL)
    with liffile.LifFile(file) as lif:
        yield [_lif_image(image) for image in lif.images if {"X", "Y"} <= set(image.dims)]


def _lif_image(image):
    """Return the Scene of an image of a LIF."""
    channels = image.xml_element.findall("./Data/Image/ImageDescription/Channels/ChannelDescription")
    outer = [letter for letter in image.dims if letter not in "XYS"]
    axes = _axes([(d, image.sizes[d]) for d in outer], tuple(e.get("LUTName", "") for e in channels))
    used_bits = tuple(_parse_count(e.get("Resolution", "0")) for e in channels)

    def read(chosen):
        return image.frame(**{d: chosen[_axis_name(d)] for d in outer})

    size = image.sizes["X"], image.sizes["Y"]
    return Scene(image.name, axes, size, np.dtype(image.dtype), used_bits, read)


_FORMATS = {"tiff": _tiff, "czi": _czi, "lif": _lif}

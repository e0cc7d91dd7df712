"""TIFF files: plain, of several pages, of ImageJ, OME-TIFF.

tifffile reads the structure, and imagecodecs unpacks.  Neither opens a second file: the planes of an OME-TIFF
are looked up here, and a plane that lies in another file is refused.
"""

import logging
import math
import os
import re
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from flyannot.images.address import AXIS_NAMES, name_axes
from flyannot.images.scene import N_COLOURS, Scene, StoredPlane
from flyannot.images.unreadable import (
    MAX_PAGES,
    require_tile_size,
    unknown_pixel_type_error,
    unreadable_image_error,
)
from flyannot.images.xml_metadata import parse_count, parse_xml

_SHORT = "damaged or cut short (the file ends before the plane does)"
_MISSING = "damaged or cut short (a page of the TIFF is missing)"
_WHITE_IS_ZERO = 0  # values of the tag PhotometricInterpretation
_COLOURS = {_WHITE_IS_ZERO: "grey", 1: "grey", 2: "rgb", 3: "palette", 5: "cmyk", 6: "ycbcr"}
_PHOTOMETRIC = 262  # tags
_MAX_SAMPLE = (281, 341)  # MaxSampleValue, SMaxSampleValue
_ORIENTATION = 274
_INK_SET = 332
_NOT_CMYK = 2
_FAX = range(2, 5)  # compressions, whose white is 0 unless the file says otherwise
_UNPACKED_AS_RGB = {6, 7, 33003, 33005, 33007, 34712, 34892, 50001, 50002}  # compressions of whole pictures
_ALPHA = {1: "premultiplied", 2: "straight"}  # values of the tag ExtraSamples
_BYTES = {
    "int8": 1,
    "uint8": 1,
    "bit": 1,
    "int16": 2,
    "uint16": 2,
    "double": 8,
    "complex": 8,
}  # of OME's types


class _Place(NamedTuple):
    """Where a plane of an OME-TIFF lies: the name of a file, "" for this one, and the number of a page."""

    file_name: str
    page: int


@contextmanager
def open_tiff(path, file):
    """Open a TIFF, and yield a Scene for each series."""
    import tifffile

    logging.getLogger("tifffile").setLevel(logging.CRITICAL)  # a bad file gets one line: ours
    # Without these three, tifffile would open other files of the folder.
    with tifffile.TiffFile(file, is_ome=False, is_mmstack=False, is_ndtiff=False) as tiff:
        root = _ome_root(tiff.pages.first)
        if root is not None:
            yield [_ome_scene(path, tiff, root, image) for image in root.iterfind("{*}Image/{*}Pixels/..")]
            return
        all_series = tiff.series
        if tiff.is_imagej and all_series[0].kind != "imagej" and _claims_images(tiff):
            raise unreadable_image_error(path, _SHORT)
        full_size = [series for series in all_series if not series.keyframe.is_reduced] or all_series
        yield [_scene(path, tiff, series) for series in full_size]


def _claims_images(tiff):
    """Return whether the description of ImageJ claims more images than a TIFF has pages."""
    about = tiff.imagej_metadata or {}
    counts = [about.get(name, 1) for name in ("frames", "slices", "channels")]
    return max(math.prod(counts), about.get("images", 1)) > len(tiff.pages)


def _scene(path, tiff, series):
    """Return the Scene of one series of tifffile."""
    page = series.keyframe
    n_outer = series.ndim - page.ndim
    outer, shape = series.axes[:n_outer], series.shape[:n_outer]
    if series.axes[n_outer:] != page.axes:
        raise unknown_pixel_type_error(path, f"{series.dtype} in a TIFF with axes {series.axes}")
    n_planes = math.prod(shape)
    n_pages = len(series.pages)
    if n_planes != n_pages:  # all planes in one piece, as in files of ImageJ of more than 4 GB
        end = page.dataoffsets[0] + n_planes * page.nbytes
        if not page.is_final or end > tiff.filehandle.size:
            raise unreadable_image_error(path, _MISSING if n_pages > 1 else _SHORT)

    def read(chosen):
        index = tuple(chosen[AXIS_NAMES.get(letter, letter.lower())] for letter in outer)
        number = int(np.ravel_multi_index(index, shape)) if index else 0
        if n_planes != n_pages:
            return _read_page(path, page, chosen, about=tiff.pages.first, skipped=number)
        _require_whole(path, series.pages[n_pages - 1])
        return _read_page(path, series.pages[number], chosen, about=tiff.pages.first)

    axes = [*name_axes(zip(outer, shape)), *_sample_axis(page)]
    return Scene(_series_name(series.name), axes, _size(page), _pixel_bytes(page), read)


def _series_name(name):
    """Return the name of a series; "" for a name that only counts."""
    return "" if re.fullmatch(r"(Image|Series|Generic|Uniform|shaped):?\d*|", name or "") else name


def _size(page):
    """Return the (width, height) of a page."""
    return page.imagewidth, page.imagelength


def _pixel_bytes(page):
    """Return the number of bytes of one unpacked pixel of a page."""
    return page.samplesperpixel * (page.dtype.itemsize if page.dtype else 1)


def _read_page(path, page, chosen, *, about, used_bits=0, skipped=0):
    """Return the StoredPlane of one page of a TIFF.

    Parameters
    ----------
    path : path of the file, for messages
    page : page or frame of tifffile
    chosen : coordinates of the plane, for a page whose samples are channels
    about : the first page, which describes the others
    used_bits : number of bits in use, as stated outside the page
    skipped : number of planes before this one, in a page with several

    Raises
    ------
    UnusableImage
        If the page is damaged, or the type of its pixels is not known.
    """
    import tifffile

    key = page.keyframe
    if key.dtype is None or key.axes not in ("YX", "YXS", "SYX"):
        raise unknown_pixel_type_error(path, f"{key.dtype} in a TIFF with axes {key.axes}")
    if key.compression != 1 and key.compression not in tifffile.TIFF.DECOMPRESSORS:
        raise unknown_pixel_type_error(path, f"compression {key.compression}")
    if key.is_tiled:
        require_tile_size(path, key.tilewidth, key.tilelength)
    _require_whole(path, page)
    if skipped:
        handle = key.parent.filehandle
        handle.seek(key.dataoffsets[0] + skipped * key.nbytes)
        dtype = np.dtype(key.parent.byteorder + key.dtype.char)
        samples = handle.read_array(dtype, key.size).reshape(key.shape)
    else:
        samples = page.asarray(maxworkers=1)
    if key.axes == "SYX":
        samples = np.moveaxis(samples, 0, -1)
    colours, alpha = _meaning(path, key)
    n_colours = N_COLOURS[colours]
    if alpha:
        number, kind = alpha
        samples = samples[..., [*range(n_colours), number]] if number != n_colours else samples
    elif samples.ndim == 3:
        first = chosen.get("channel", 0) if _sample_axis(key) else 0
        samples = samples[..., first : first + n_colours]
    tags = page.tags if hasattr(page, "tags") else key.tags
    usual = about.tags.valueof(_ORIENTATION, 1) if about.is_ome else 1
    bits = key.bitspersample if isinstance(key.bitspersample, int) else 0
    return StoredPlane(
        samples,
        colours,
        _palette(path, tags) if colours == "palette" else None,
        alpha=kind if alpha else "",
        used_bits=used_bits or bits % (8 * samples.dtype.itemsize),
        maximum=_stated_maximum(key.tags, about.description),
        is_white_zero=_photometric(key) == _WHITE_IS_ZERO,
        orientation=tags.valueof(_ORIENTATION, usual),
    )


def _photometric(page):
    """Return what the samples of a page are; guess it as libtiff does if the file does not say it."""
    said = page.tags.valueof(_PHOTOMETRIC)
    if said is not None:
        return int(said)
    return 2 if page.samplesperpixel > 2 else _WHITE_IS_ZERO if page.compression in _FAX else 1


def _meaning(path, page):
    """Return the colours of a page, as in StoredPlane, and its alpha.

    Returns
    -------
    colours : str
    alpha : (number of the sample, kind as in StoredPlane), or None

    Raises
    ------
    UnusableImage
        If the samples are other than these.
    """
    photometric = _photometric(page)
    colours = _COLOURS.get(photometric, "")
    n_samples = page.samplesperpixel
    if not colours or n_samples < N_COLOURS[colours] or page.tags.valueof(_INK_SET) == _NOT_CMYK:
        name = getattr(page.photometric, "name", str(photometric))
        raise unknown_pixel_type_error(path, f"{n_samples} samples of the kind {name}")
    if colours == "ycbcr" and page.compression in _UNPACKED_AS_RGB:
        colours = "rgb"
    extra = tuple(page.extrasamples)
    if not extra and colours == "rgb" and n_samples == 4:
        extra = (2,)  # as viewers take it
    kinds = [
        (number, _ALPHA[kind]) for number, kind in enumerate(extra, N_COLOURS[colours]) if kind in _ALPHA
    ]
    return colours, kinds[0] if kinds else None


def _sample_axis(page):
    """Return a list with the Axis of grey samples that are channels, or an empty list."""
    is_grey = _COLOURS.get(_photometric(page)) == "grey"
    has_alpha = any(kind in _ALPHA for kind in page.extrasamples)
    return name_axes(
        [("C", page.samplesperpixel)] if is_grey and page.samplesperpixel > 1 and not has_alpha else []
    )


def _palette(path, tags):
    """Return the palette of a page, uint8 (n, 3), from its tags."""
    table = tags.valueof(320)
    if table is None:
        raise unknown_pixel_type_error(path, "a palette without colours")
    table = np.asarray(table).reshape(3, -1).T
    return (table >> 8 if table.max() > 255 else table).astype(np.uint8)  # some programs write bytes


def _stated_maximum(tags, description):
    """Return the largest number that a TIFF says it has, or 0.

    The number is the largest sample or, in ImageJ's description, the number that is shown as white.
    """
    shown = re.search(r"^max=(\d+)", description, re.MULTILINE)
    said = [np.max(np.asarray(tags.valueof(tag, 0), float)) for tag in _MAX_SAMPLE]
    said = [int(number) for number in said if 0 < number < 2**32]
    return max([*said, int(shown[1]) if shown else 0])


def _require_whole(path, page):
    """Raise an UnusableImage if the data of a page are not complete; tifffile would fill them with zeros."""
    end = page.keyframe.parent.filehandle.size
    if any(not n or start + n > end for start, n in zip(page.dataoffsets, page.databytecounts)):
        raise unreadable_image_error(path, _SHORT)


def _ome_root(page):
    """Return the root element of the OME metadata of a TIFF, from its first page; None without images."""
    if "<OME" not in page.description[:10_000]:
        return None
    root = parse_xml(page.description)
    return root if root.find("{*}Image/{*}Pixels") is not None else None


def _ome_scene(path, tiff, root, image):
    """Return the Scene of one image of an OME-TIFF.

    root, image : elements of the OME metadata
    """
    pixels = image.find("{*}Pixels")
    channels = pixels.findall("{*}Channel")
    n_samples = max(1, parse_count(channels[0].get("SamplesPerPixel", "1"))) if channels else 1
    sizes = {letter: parse_count(pixels.get(f"Size{letter}", "1")) for letter in "XYZCT"}
    sizes["C"] //= n_samples
    outer = [letter for letter in reversed(pixels.get("DimensionOrder", "XYZCT")) if letter in "ZCT"]
    shape = tuple(max(1, sizes[letter]) for letter in outer)
    places = _ome_places(path, tiff, root, pixels, outer, shape)
    used_bits = parse_count(pixels.get("SignificantBits", "0"))

    def read(chosen):
        number = int(np.ravel_multi_index([chosen[AXIS_NAMES[letter]] for letter in outer], shape))
        if number not in places:
            raise unreadable_image_error(path, "damaged or cut short (the plane is missing)")
        with _open_place(path, tiff, places[number]) as page:
            if _size(page) != (sizes["X"], sizes["Y"]):
                raise unreadable_image_error(path, "its metadata do not fit its pages")
            return _read_page(path, page, chosen, about=tiff.pages.first, used_bits=used_bits)

    names = tuple(channel.get("Name", "") for channel in channels)
    axes = name_axes(zip(outer, shape), names)
    pixel_bytes = n_samples * _BYTES.get(pixels.get("Type", ""), 4)
    return Scene(_series_name(image.get("Name")), axes, (sizes["X"], sizes["Y"]), pixel_bytes, read)


def _ome_places(path, tiff, root, pixels, outer, shape):
    """Return where the planes of an image of an OME-TIFF lie.

    Parameters
    ----------
    path, tiff, root : as in `_ome_scene`
    pixels : element of the OME metadata
    outer : list of the letters of its axes, the slowest first
    shape : tuple of their lengths

    Returns
    -------
    places : dict from the number of a plane, with the last axis the fastest, to its _Place

    Raises
    ------
    UnusableImage
        If the metadata claim too many planes.
    """
    n_planes = math.prod(shape)
    data = pixels.findall("{*}TiffData")
    claimed = max(
        [n_planes, *(parse_count(e.get(name, "0")) for e in data for name in ("PlaneCount", "NumPlanes"))]
    )
    if claimed > MAX_PAGES:
        raise unreadable_image_error(path, f"it claims {claimed:,} planes, more than {MAX_PAGES:,}")
    if not data:
        return {number: _Place("", number) for number in range(min(n_planes, len(tiff.pages)))}
    places = {}
    for element in data:
        first = [parse_count(element.get(f"First{letter}", "0")) for letter in outer]
        if any(n >= length for n, length in zip(first, shape)):
            continue  # ImageJ writes such metadata for a part of a picture
        number = int(np.ravel_multi_index(first, shape))
        page = parse_count(element.get("IFD", "0"))
        uuid = element.find("{*}UUID")
        file_name = "" if uuid is None or _is_own(path, root, uuid) else uuid.get("FileName", "")
        n_rest = n_planes - number if file_name else min(n_planes - number, len(tiff.pages) - page)
        count = element.get("PlaneCount", element.get("NumPlanes", "1" if "IFD" in element.attrib else ""))
        for k in range(min(parse_count(count) or n_rest, n_planes - number)):
            places[number + k] = _Place(file_name, page + k)
    return places


def _is_own(path, root, uuid):
    """Return whether a UUID element of OME metadata means the file at `path`, whatever its name is now."""
    is_name = uuid.get("FileName", "").casefold() in ("", os.path.basename(os.fspath(path)).casefold())
    return is_name or bool(uuid.text) and uuid.text == root.get("UUID")


@contextmanager
def _open_place(path, tiff, place):
    """Yield the page of tifffile at a _Place of an OME-TIFF.

    Raises
    ------
    UnusableImage
        If the page is missing, or lies in another file.
    """
    if place.file_name:
        raise unreadable_image_error(
            path,
            f"this plane lies in another file, {place.file_name}",
            fix=f"name the plane of {place.file_name} in the table",
        )
    if place.page >= len(tiff.pages):
        raise unreadable_image_error(path, _MISSING)
    yield tiff.pages[place.page]

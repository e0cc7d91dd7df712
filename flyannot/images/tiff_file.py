"""Reader of TIFF files: plain, of several pages, of ImageJ and OME-TIFF.

tifffile reads the structure, and imagecodecs unpacks.  Neither opens a second file: the planes of an OME-TIFF
are looked up by `ome_tiff`.
"""

import io
import logging
import math
import re
from contextlib import contextmanager

import numpy as np

from flyannot.base.text import pluralise
from flyannot.images.address import AXIS_NAMES, name_axes
from flyannot.images.jpeg_data import END_OF_JPEG, end_jpeg, find_markers, require_whole_jpeg
from flyannot.images.ome_tiff import parse_ome
from flyannot.images.scene import N_COLOURS, Scene, StoredPlane
from flyannot.images.unreadable import (
    NO_PAGE,
    require_image_size,
    require_tile_size,
    unknown_pixel_type_error,
    unreadable_image_error,
)

_SHORT = "damaged or cut short (the file ends before the plane does)"
_WHITE_IS_ZERO = 0  # values of the tag PhotometricInterpretation
_COLOURS = {_WHITE_IS_ZERO: "grey", 1: "grey", 2: "rgb", 3: "palette", 5: "cmyk", 6: "ycbcr"}
_PHOTOMETRIC = 262  # tags
_MAX_SAMPLE = (281, 341)  # MaxSampleValue, SMaxSampleValue
_ORIENTATION = 274
_INK_SET = 332
_PROFILE = 34675
_NOT_CMYK = 2
_FAX = range(2, 5)  # compressions, whose white is 0 unless the file says otherwise
# Compressions that unpack to as many bytes as are asked for.
_BYTEWISE = {1, 2, 3, 4, 5, 8, 32773, 32946, 34925, 50000}
# Compressions by pictures of a format, which are unpacked to the size and colours that they say themselves.
_OLD_JPEG = 6  # without a header of its own
_BY_PICTURES = {
    _OLD_JPEG: "JPEG",
    **dict.fromkeys((7, 33007, 34892), "JPEG"),
    **dict.fromkeys((33003, 33005, 34712), "JPEG2000"),
    50001: "WEBP",
}
_ALPHA = {1: "premultiplied", 2: "straight"}  # values of the tag ExtraSamples


@contextmanager
def open_tiff(path, file):
    """Open a TIFF file, and yield a list with a Scene for each series of planes in it."""
    import tifffile

    logging.getLogger("tifffile").setLevel(logging.CRITICAL)  # a bad file gets one line: ours
    # tifffile would open other files of the folder for OME and the others.
    with tifffile.TiffFile(file, is_ome=False, is_mmstack=False, is_ndtiff=False) as tiff:
        images = parse_ome(path, tiff.pages.first.description)
        if images and all(image.is_whole for image in images):
            yield [_ome_scene(path, tiff, image) for image in images]
            return
        used_bits = images[0].used_bits if images else 0
        all_series = tiff.series
        if tiff.is_imagej and all_series[0].kind != "imagej" and _lacks_pages(tiff):
            raise unreadable_image_error(path, _SHORT)
        full_size = [series for series in all_series if not series.keyframe.is_reduced] or all_series
        yield [_series_scene(path, tiff, series, used_bits) for series in full_size]


def _lacks_pages(tiff):
    """Return True if the metadata of ImageJ claim more images than a TIFF has pages; tiff : TiffFile."""
    metadata = tiff.imagej_metadata or {}
    counts = [metadata.get(name, 1) for name in ("frames", "slices", "channels")]
    return max(math.prod(counts), metadata.get("images", 1)) > len(tiff.pages)


def _series_scene(path, tiff, series, used_bits):
    """Return the Scene that describes one series of planes of a TIFF.

    Parameters
    ----------
    path : path of the file, for messages
    tiff, series : TiffFile and series of tifffile
    used_bits : int, number of bits in use, as the metadata of the file state it; 0 if they do not
    """
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
            raise unreadable_image_error(path, NO_PAGE if n_pages > 1 else _SHORT)

    def read(chosen):
        index = tuple(chosen[AXIS_NAMES.get(letter, letter.lower())] for letter in outer)
        number = int(np.ravel_multi_index(index, shape)) if index else 0
        if n_planes != n_pages:
            return _read_page(path, page, chosen, tiff.pages.first, used_bits, skipped=number)
        _require_whole_page(path, series.pages[n_pages - 1])
        return _read_page(path, series.pages[number], chosen, tiff.pages.first, used_bits)

    axes = name_axes([*zip(outer, shape)])
    labels = (tiff.imagej_metadata or {}).get("Labels", ())
    if [axis.size for axis in axes] == [len(labels)]:  # labels of several axes name no plane on one of them
        axes = [axes[0]._replace(names=tuple(str(label).partition("\n")[0].strip() for label in labels))]
    axes += _sample_axis(page)
    return Scene(_series_name(series.name), axes, _page_size(page), _pixel_bytes(page), read)


def _series_name(name):
    """Return the name of a series of planes; "" for a name that tifffile made up, such as "Series 3"."""
    return "" if re.fullmatch(r"(Image|Series|Generic|Uniform|shaped):?\d*|", name or "") else name


def _page_size(page):
    """Return the (width, height) of a page of a TIFF."""
    return page.imagewidth, page.imagelength


def _pixel_bytes(page):
    """Return the bytes of memory for each pixel while a page of a TIFF is unpacked (int).

    If colours are stored in separate planes, one more sample is counted: planes are unpacked one by one.
    """
    is_planar = page.axes.startswith("S")
    return (page.samplesperpixel + is_planar) * (page.dtype.itemsize if page.dtype else 1)


def _read_page(path, page, chosen, about, used_bits, *, skipped=0):
    """Decode one page of a TIFF, and return its StoredPlane.

    Parameters
    ----------
    path : path of the file, for messages
    page : page or frame of tifffile
    chosen : dict from the name of each axis to a number from 0; "channel" counts if samples are channels
    about : the first page of the file, whose metadata describe all pages
    used_bits : int, number of bits in use, as the metadata of the file state it; 0 if they do not
    skipped : int, number of planes before this one in a page that has several

    Raises
    ------
    UnusableImage
        If the page is damaged, or the type of its pixels is not known.
    """
    key = page.keyframe
    if key.dtype is None or key.axes not in ("YX", "YXS", "SYX"):
        raise unknown_pixel_type_error(path, f"{key.dtype} in a TIFF with axes {key.axes}")
    if key.compression not in _BYTEWISE | set(_BY_PICTURES):
        raise unknown_pixel_type_error(path, f"the compression {key.compression} of TIFF")
    if key.is_tiled:
        require_tile_size(path, key.tilewidth, key.tilelength)
    _require_whole_page(path, page)
    if key.compression in _BY_PICTURES:
        _require_whole_strips(path, page, _BY_PICTURES[key.compression])
    if skipped:
        handle = key.parent.filehandle
        handle.seek(key.dataoffsets[0] + skipped * key.nbytes)
        dtype = np.dtype(key.parent.byteorder + key.dtype.char)
        samples = handle.read_array(dtype, key.size).reshape(key.shape)
    else:
        samples = page.asarray(maxworkers=1)
    if key.axes == "SYX":
        samples = np.moveaxis(samples, 0, -1)
    colours, alpha = _find_colours(path, key)
    n_colours = N_COLOURS[colours]
    if alpha:
        number, kind = alpha
        samples = samples[..., [*range(n_colours), number]] if number != n_colours else samples
    elif samples.ndim == 3:
        first = chosen.get("channel", 0) if _sample_axis(key) else 0
        samples = samples[..., first : first + n_colours]
    tags = page.tags if hasattr(page, "tags") else key.tags
    usual = about.tags.valueof(_ORIENTATION, 1) if about.is_ome or about.is_imagej else 1
    bits = key.bitspersample if isinstance(key.bitspersample, int) else 0
    return StoredPlane(
        samples,
        colours,
        _palette(path, tags) if colours == "palette" else None,
        alpha=kind if alpha else "",
        used_bits=used_bits or bits % (8 * samples.dtype.itemsize),
        maximum=_stated_maximum(key.tags, about.description),
        is_white_zero=_find_photometric(key) == _WHITE_IS_ZERO,
        orientation=tags.valueof(_ORIENTATION, usual),
        profile=bytes(tags.valueof(_PROFILE, b"")),
    )


def _find_photometric(page):
    """Return the number by which a page of a TIFF says what its samples mean (PhotometricInterpretation).

    If the page does not say it, guess it as libtiff does.
    """
    said = page.tags.valueof(_PHOTOMETRIC)
    if said is not None:
        return int(said)
    return 2 if page.samplesperpixel > 2 else _WHITE_IS_ZERO if page.compression in _FAX else 1


def _find_colours(path, page):
    """Return the meaning of the samples of a page of a TIFF: their colours and alpha, as in StoredPlane.

    Returns
    -------
    colours : str
    alpha : (number of the sample, kind as in StoredPlane), or None

    Raises
    ------
    UnusableImage
        If the samples mean something else.
    """
    photometric = _find_photometric(page)
    colours = _COLOURS.get(photometric, "")
    n_samples = page.samplesperpixel
    if not colours or n_samples < N_COLOURS[colours] or page.tags.valueof(_INK_SET) == _NOT_CMYK:
        name = getattr(page.photometric, "name", str(photometric))
        raise unknown_pixel_type_error(path, f"{n_samples} samples of the kind {name}")
    if colours == "ycbcr" and page.compression in _BY_PICTURES:
        colours = "rgb"
    extra = tuple(page.extrasamples)
    if not extra and colours == "rgb" and n_samples == 4:
        extra = (2,)  # as viewers take it
    kinds = [(i, _ALPHA[kind]) for i, kind in enumerate(extra, N_COLOURS[colours]) if kind in _ALPHA]
    return colours, kinds[0] if kinds else None


def _sample_axis(page):
    """Return [Axis] of the channels if the grey samples of a page are channels; otherwise []."""
    is_grey = _COLOURS.get(_find_photometric(page)) == "grey"
    has_alpha = any(kind in _ALPHA for kind in page.extrasamples)
    has_channels = is_grey and page.samplesperpixel > 1 and not has_alpha
    return name_axes([("C", page.samplesperpixel)] if has_channels else [])


def _palette(path, tags):
    """Return the palette of a page of a TIFF, uint8 (n, 3), from its tags.

    path : path of the file, for messages
    """
    table = tags.valueof(320)
    if table is None:
        raise unknown_pixel_type_error(path, "a palette without colours")
    table = np.asarray(table).reshape(3, -1).T
    return (table >> 8 if table.max() > 255 else table).astype(np.uint8)  # some programs write bytes


def _stated_maximum(tags, description):
    """Return the largest number of a TIFF, as the file states it (int); 0 if it is not stated.

    The file states the largest sample or, in ImageJ's description, the number that is shown as white.

    tags : tags of a page; description : str, the description of the first page
    """
    shown = re.search(r"^max=(\d+)", description, re.MULTILINE)
    said = [np.max(np.asarray(tags.valueof(tag, 0), float)) for tag in _MAX_SAMPLE]
    said = [int(number) for number in said if 0 < number < 2**32]
    return max([*said, int(shown[1]) if shown else 0])


def _require_whole_page(path, page):
    """Raise an UnusableImage if the pixels of a page end too early; tifffile would fill them with zeros."""
    end = page.keyframe.parent.filehandle.size
    if any(not n or start + n > end for start, n in zip(page.dataoffsets, page.databytecounts)):
        raise unreadable_image_error(path, _SHORT)


def _require_whole_strips(path, page, format):
    """Raise an UnusableImage if a strip or tile of a page is an incomplete picture, or too large.

    imagecodecs returns half a JPEG without an error, as libjpeg does.

    format : Pillow's name of the format of the strips or tiles
    """
    from PIL import Image, UnidentifiedImageError

    key = page.keyframe
    most = (key.tilewidth, key.tilelength) if key.is_tiled else (key.imagewidth, key.rowsperstrip)
    handle = key.parent.filehandle
    for start, n_bytes in zip(page.dataoffsets, page.databytecounts):
        handle.seek(start)
        content = handle.read(n_bytes)
        is_jpeg = format == "JPEG" and key.compression != _OLD_JPEG
        if is_jpeg and (tables := key.jpegtables):
            content = tables.removesuffix(END_OF_JPEG) + content[2:]
        markers = list(find_markers(content)) if is_jpeg else []
        try:
            coded = end_jpeg(content, markers) if is_jpeg else content
            with Image.open(io.BytesIO(coded), formats=(format,)) as part:
                is_small = part.width <= most[0] and part.height <= most[1]
                if is_small and is_jpeg:
                    require_whole_jpeg(path, content, markers)
        except UnidentifiedImageError:
            if format == "JPEG" and key.bitspersample > 8:
                raise unknown_pixel_type_error(path, f"a JPEG of {key.bitspersample} bits") from None
            is_small = key.compression == _OLD_JPEG
        if not is_small:
            raise unreadable_image_error(path, "damaged or cut short (a part is larger than it should be)")


def _ome_scene(path, tiff, image):
    """Return the Scene that describes an image of an OME-TIFF.

    path : path of the file, for messages; tiff : TiffFile; image : OmeImage
    """

    def read(chosen):
        number = image.find_page(path, chosen)
        n_pages = len(tiff.pages)
        if number >= n_pages:
            place = f"lies on page {number + 1:,} of a file that has {pluralise(n_pages, 'page')}"
            raise unreadable_image_error(path, f"{image.describe(chosen)} {place}")
        page = tiff.pages[number]
        if _page_size(page) != image.size:
            raise unreadable_image_error(path, "its metadata do not fit its pages")
        require_image_size(path, *image.size, _pixel_bytes(page))
        return _read_page(path, page, chosen, tiff.pages.first, image.used_bits)

    return Scene(_series_name(image.name), image.axes, image.size, 1, read)

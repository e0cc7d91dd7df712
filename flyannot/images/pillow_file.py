"""Reader of the pictures that Pillow unpacks: PNG, BMP, JPEG, GIF and WebP.

OpenCV unpacks PNGs of 16-bit colour, of which Pillow keeps 8 bits.  It opens no file.
"""

import io
import struct
import zlib
from contextlib import contextmanager, suppress

import numpy as np

from flyannot.files.content_kind import HEAD_BYTES, recognise_content
from flyannot.images import jpeg_data
from flyannot.images.geometry import load_opencv
from flyannot.images.scene import Scene, StoredPlane
from flyannot.images.unreadable import (
    PNG_SIGNATURE,
    too_large_image_error,
    unknown_pixel_type_error,
    unreadable_image_error,
)

FORMATS = ("PNG", "BMP", "JPEG", "GIF", "WEBP")
_COLOURS = {
    **dict.fromkeys(("1", "L", "LA", "I;16", "I"), "grey"),
    **dict.fromkeys(("P", "PA", "RGB", "RGBA"), "rgb"),
    "CMYK": "cmyk",
}
# Half of the bytes that decoding a pixel takes, by Pillow's mode.
_PIXEL_BYTES = {"1": 1, "L": 1, "P": 3, "PA": 5, "I;16": 3, "LA": 5, "RGBA": 6, "CMYK": 6}
_ORIENTATION = 274  # tag of EXIF
# The chunks of a PNG that Pillow needs, as a browser does: others, such as texts, may be of any size.
_PNG_CHUNKS = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"eXIf", b"acTL", b"fcTL"}
_MAX_PROFILE = 2**20  # bytes of a profile, which is passed over if it is larger
_PNG_TYPE = 25  # place of the byte with the type of a PNG, after its bits
_GREY_AND_ALPHA = 4
_DEEP_COLOUR = {(16, 2), (16, _GREY_AND_ALPHA), (16, 6)}  # bits and type of PNGs of which Pillow keeps 8 bits


@contextmanager
def open_pillow(path, file):
    """Open a picture file with Pillow, and yield a list with its one Scene.

    Only the first picture of an MPO is read: the others are previews.

    Parameters
    ----------
    path : path of the file, for messages
    file : the open file

    Raises
    ------
    UnusableImage
        If the file is not a picture in one of the FORMATS, or if it is an animation.
    """
    from PIL import Image, ImageFile, UnidentifiedImageError

    ImageFile.LOAD_TRUNCATED_IMAGES = False  # another library may have set it
    start = file.read(HEAD_BYTES)
    file.seek(0)
    bits = png_type = used_bits = 0
    profile = b""
    if start.startswith(PNG_SIGNATURE):
        bits, png_type = start[_PNG_TYPE - 1 : _PNG_TYPE + 1]
        file, used_bits, profile = _read_needed_chunks(file)
    is_jpeg = start.startswith(jpeg_data.JPEG_SIGNATURE)
    if is_jpeg:
        content = file.read()
        markers = list(jpeg_data.find_markers(content))
        file = io.BytesIO(jpeg_data.end_jpeg(content, markers))
    try:
        picture = Image.open(file, formats=FORMATS)
    except Image.DecompressionBombError:
        raise too_large_image_error(path) from None
    except UnidentifiedImageError:
        known = ", ".join((*FORMATS, "TIFF"))
        kind = recognise_content(start)
        reason = f"not a picture of the formats {known}{kind.it_is}"
        raise unreadable_image_error(path, reason, fix=kind.fix or None) from None
    with picture:
        if picture.format != "MPO" and getattr(picture, "is_animated", False):
            fix = "save the one that shows the embryo"
            raise unreadable_image_error(path, "it contains several frames or pages", fix=fix)
        is_deep = (bits, png_type) in _DEEP_COLOUR

        def read(chosen):
            if is_jpeg:
                jpeg_data.require_few_scans(path, markers, picture.width * picture.height)
                jpeg_data.require_whole_jpeg(path, content, markers)
            plane = _read_deep_png(path, file, picture) if is_deep else _decode(path, picture, bits)
            used = used_bits if bits == 16 else 0
            return plane._replace(used_bits=used, profile=profile or picture.info.get("icc_profile", b""))

        is_large = is_deep or picture.format == "WEBP"  # its frames are decoded with two copies
        yield [Scene("", [], picture.size, 8 if is_large else _PIXEL_BYTES.get(picture.mode, 4), read)]


def _decode(path, picture, bits):
    """Decode a picture that Pillow has opened, and return its StoredPlane.

    path : path for messages; picture : Pillow's picture; bits : int, bits of a sample if it is a PNG
    """
    if picture.mode not in _COLOURS:
        raise unknown_pixel_type_error(path, f"Pillow's mode {picture.mode}")
    picture.load()
    orientation = _orientation(picture)
    if picture.mode == "CMYK" and "adobe" not in picture.info:
        # Pillow takes all inks for those of Adobe, whose 0 is full.
        picture = picture.point([*range(255, -1, -1)] * 4)
    if picture.mode in ("P", "PA"):
        unpacked = picture.convert("RGBA" if picture.has_transparency_data else "RGB")
        picture.close()  # else its own pixels stay in memory, too
        picture = unpacked
    transparent = picture.info.get("transparency")
    if picture.mode == "L" and bits in (2, 4) and transparent is not None:
        transparent *= 255 // (2**bits - 1)  # Pillow scales the samples, and not this one
    if picture.mode == "1" and transparent is not None:
        transparent = bool(transparent)
    return StoredPlane(
        picture if picture.mode in ("L", "RGB") else np.asarray(picture),
        _COLOURS[picture.mode],
        alpha="straight" if picture.mode in ("LA", "RGBA") else "",
        transparent=() if transparent is None else tuple(np.atleast_1d(transparent).tolist()),
        orientation=orientation,
    )


def _read_deep_png(path, file, picture):
    """Decode a PNG of 16-bit colours, or of 16-bit grey levels with alpha, and return its StoredPlane.

    path : path for messages; file : BytesIO of the PNG; picture : the PNG, opened by Pillow
    """
    cv2 = load_opencv()
    samples = cv2.imdecode(np.frombuffer(file.getbuffer(), np.uint8), cv2.IMREAD_UNCHANGED)
    if samples is None:
        raise unreadable_image_error(path, "damaged or cut short (the pixels of the PNG end too early)")
    if file.getbuffer()[_PNG_TYPE] == _GREY_AND_ALPHA:
        return StoredPlane(samples[..., ::3], "grey", alpha="straight", orientation=_orientation(picture))
    has_alpha = samples.shape[2] == 4
    cv2.cvtColor(samples, cv2.COLOR_BGRA2RGBA if has_alpha else cv2.COLOR_BGR2RGB, samples)
    return StoredPlane(
        samples,
        "rgb",
        alpha="straight" if has_alpha else "",
        transparent=() if has_alpha else tuple(picture.info.get("transparency", ())),
        orientation=_orientation(picture),
    )


def _orientation(picture):
    """Return the orientation, from 1 to 8, in the EXIF data of a picture of Pillow; 1 if it has none."""
    orientation = picture.getexif().get(_ORIENTATION, 1)
    return orientation if orientation in range(1, 9) else 1


def _read_needed_chunks(file):
    """Copy the chunks of an open PNG that are needed to decode it, without unpacking the others.

    The structure of the file has been checked.

    Returns
    -------
    needed : BytesIO of a PNG of these chunks
    used_bits : int, number of bits in use, as stated by the chunk sBIT, or 0
    profile : bytes of an ICC profile or float, a gamma, as in StoredPlane
    """
    chunks = {}
    needed = io.BytesIO()
    needed.write(file.read(len(PNG_SIGNATURE)))
    while head := file.read(8):
        length, kind = struct.unpack(">I4s", head)
        if kind in _PNG_CHUNKS:
            needed.write(head + file.read(length + 4))
        elif kind in (b"sBIT", b"sRGB", b"gAMA", b"iCCP"):
            chunks[kind] = file.read(length + 4)[:-4]
        else:
            file.seek(length + 4, io.SEEK_CUR)
        if kind == b"IEND":
            break
    needed.seek(0)
    return needed, max(chunks.get(b"sBIT", b""), default=0), _png_profile(chunks)


def _png_profile(chunks):
    """Return the colour profile of a PNG: bytes of an ICC profile, or float, a gamma; b"" for sRGB.

    chunks : dict from the type of each chunk, such as b"gAMA", to its content
    """
    if b"iCCP" in chunks:
        unpacker = zlib.decompressobj()
        with suppress(zlib.error):
            profile = unpacker.decompress(chunks[b"iCCP"].partition(b"\0")[2][1:], _MAX_PROFILE)
            return profile if unpacker.eof else b""
    gamma = int.from_bytes(chunks.get(b"gAMA", b"")) / 100_000
    return b"" if b"sRGB" in chunks else gamma or b""

"""One picture in every container, colour form, number of bits and orientation, and what a viewer shows of it.

The colours are computed from the numbers of a file, slowly, one pixel at a time, and no decoder is asked.
Their meaning is taken from the standards: TIFF 6.0, PNG 3, JFIF, Adobe's inks, GIF89a.
"""

import io
import itertools
import struct
import zlib
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import tifffile
from PIL import Image

from tests.images.picture_files import encoded, png_chunk

USUAL_SIZE = 21, 37  # neither tiles of 16 pixels nor bytes of 8 bits divide them
JPEG_PX = 8
WHITE_PAPER = 255.0

# The samples of a pixel in each colour form.
_PALETTES = "palette", "palette with a transparent entry"
COLOURS = dict.fromkeys(("grey", "white is zero", "grey with a transparent level", *_PALETTES), 1)
COLOURS |= {"grey and alpha": 2, "grey and associated alpha": 2, "rgb": 3, "rgb with a transparent colour": 3}
COLOURS |= dict.fromkeys(("rgba", "rgb and associated alpha", "rgb and an unknown sample", "cmyk"), 4)
# The bits that store a number and the bits in use; "stated" says whether the file gives the bits in use.
BITS = {str(n): (n, n, False) for n in (1, 2, 4, 8, 16)} | {f"{n} packed": (n, n, False) for n in (10, 12)}
BITS |= {f"{n} in 16": (16, n, False) for n in (10, 12, 14)}
BITS |= {f"{n} in 16 as stated": (16, n, True) for n in (10, 12, 14)}
BITS |= {"16 signed": (16, 15, False), "float32": (32, None, False), "float64": (64, None, False)}
BITS |= {"float32 to 255": (32, None, False)}


class Case(NamedTuple):
    """One file of the product."""

    container: str
    colour: str
    bits: str
    orientation: int = 1
    big_endian: bool = False
    planar: bool = False
    seed: int = 0


class Numbers(NamedTuple):
    """The numbers of a picture, as a file stores them before it is turned.

    samples : array (height, width, samples)
    white : the number that means full light, or no ink in a form where 0 is white
    palette : int array (entries, 3) from 0 to 255, or None
    transparent : the samples of the transparent colour, or the transparent entry of the palette, or None
    """

    samples: np.ndarray
    white: float
    palette: np.ndarray | None = None
    transparent: tuple | None = None


def picture_size(seed):
    """Return (height, width) in pixels of the picture with a seed: the usual size for 0, else any size."""
    sides = np.random.default_rng(seed).integers(2, 41, 2).tolist()
    return tuple(sides) if seed else USUAL_SIZE


def make_numbers(case):
    """Draw the numbers of a picture of random blocks, none like another, with black and white among them."""
    return _draw_numbers(case.colour, case.bits, case.seed, _block_px(case))


def _block_px(case):
    return JPEG_PX if CONTAINERS[case.container].is_lossy else 3


@cache
def _draw_numbers(colour, bits, seed, block_px):
    rng = np.random.default_rng(seed)
    height, width = picture_size(seed)
    if block_px == JPEG_PX:  # whole blocks of one colour, in every orientation, lose nothing
        height, width = height + -height % JPEG_PX, width + -width % JPEG_PX
    stored_bits, used_bits, is_stated = BITS[bits]
    is_float = used_bits is None
    white = (255.0 if bits.endswith("255") else 1.0) if is_float else 2**used_bits - 1
    n_blocks = max(2, -(-height // block_px)), max(3, -(-width // block_px)), COLOURS[colour]
    light = rng.integers(0, 256, n_blocks) / 255
    light.reshape(-1, n_blocks[2])[:2] = [[1.0], [0.0]]
    palette = transparent = None
    if "associated" in colour or "alpha" in colour or colour == "rgba":
        light[..., -1] = rng.choice([0, 0.4, 1], n_blocks[:2])
        light[0, 0, -1] = light[0, 1, -1] = 1
    if "associated" in colour:
        light[..., :-1] *= light[..., -1:]
    if is_stated:  # a dark picture, which would be taken for fewer bits
        light[..., : 3 if COLOURS[colour] > 2 else 1] /= 8
    if "palette" in colour:
        n_entries = 2**stored_bits
        palette = rng.permuted(np.arange(3 * n_entries).reshape(-1, 3) % 256, axis=1)
        samples = rng.integers(0, n_entries, n_blocks)
        white = 255
    else:
        samples = light * white if is_float else np.rint(light * white).astype(int)
    if "transparent" in colour:
        transparent = tuple(int(number) for number in samples[1, 2])
        # A second colour differs from the transparent one in the last bit of the last sample only.
        # What is transparent everywhere counts as opaque if it has a palette.
        samples[0, 0 if "palette" in colour else 2] = (*transparent[:-1], transparent[-1] ^ 1)
    samples = samples.repeat(block_px, axis=0).repeat(block_px, axis=1)[:height, :width]
    dtype = {32: "float32", 64: "float64"}[stored_bits] if is_float else "uint8"
    dtype = "uint16" if 8 < stored_bits <= 16 else dtype
    dtype = "int16" if bits.endswith("signed") else dtype
    return Numbers(samples.astype(dtype), white, palette, transparent)


def shown_picture(case):
    """Return what a viewer shows on white paper: float array (height, width, 3) from 0 to 255."""
    return _shown_picture(case.colour, case.bits, case.seed, _block_px(case))


@cache
def _shown_picture(colour, bits, seed, block_px):
    numbers = _draw_numbers(colour, bits, seed, block_px)
    known = {}
    height, width, _ = numbers.samples.shape
    shown = np.empty((height, width, 3))
    for y in range(height):
        for x in range(width):
            sample = tuple(numbers.samples[y, x].tolist())
            if sample not in known:
                known[sample] = shown_colour(colour, sample, numbers)
            shown[y, x] = known[sample]
    return shown


def shown_colour(colour, sample, numbers):
    """Return red, green and blue from 0 to 255 of one pixel on white paper, as the standards say.

    colour : one of COLOURS; sample : tuple of the pixel's numbers; numbers : Numbers of the file
    """
    part = [number / numbers.white for number in sample]
    match colour:
        case "grey":
            light, alpha = part * 3, 1
        case "white is zero":  # TIFF 6.0, PhotometricInterpretation 0
            light, alpha = [1 - part[0]] * 3, 1
        case "grey with a transparent level":  # PNG 3, tRNS
            light, alpha = part * 3, 0 if sample == numbers.transparent else 1
        case "palette":
            light, alpha = numbers.palette[sample[0]] / 255, 1
        case "palette with a transparent entry":
            light, alpha = numbers.palette[sample[0]] / 255, 0 if sample == numbers.transparent else 1
        case "grey and alpha":
            light, alpha = part[:1] * 3, part[1]
        case "grey and associated alpha":  # TIFF 6.0, ExtraSamples 1: the light is multiplied by alpha
            return [WHITE_PAPER * (part[0] + 1 - part[1])] * 3
        case "rgb":
            light, alpha = part, 1
        case "rgb with a transparent colour":
            light, alpha = part, 0 if sample == numbers.transparent else 1
        case "rgba":
            light, alpha = part[:3], part[3]
        case "rgb and associated alpha":
            return [WHITE_PAPER * (level + 1 - part[3]) for level in part[:3]]
        case "rgb and an unknown sample":  # TIFF 6.0, ExtraSamples 0: not alpha
            light, alpha = part[:3], 1
        case "cmyk":  # each ink takes its part of the light, and black its part of the rest
            light, alpha = [(1 - ink) * (1 - part[3]) for ink in part[:3]], 1
    return [WHITE_PAPER * (alpha * level + 1 - alpha) for level in light]


def turned(samples, orientation):
    """Return the picture as it is stored with an orientation of TIFF or EXIF.

    The standards name the side of the shown picture that row 0 is, and the side that column 0 is.
    """
    stored = samples if orientation < 5 else samples.swapaxes(0, 1)
    stored = stored[::-1] if orientation in (3, 4, 6, 7) else stored
    return stored[:, ::-1] if orientation in (2, 3, 7, 8) else stored


def exif(orientation):
    """Return the bytes of an EXIF block that says only the orientation."""
    return struct.pack(">2sHIHHHIHHI", b"MM", 42, 8, 1, 274, 3, 1, orientation, 0, 0)


# ---------------------------------------------------------------------------------------------------- PNG
PNG_TYPES = {
    "grey": 0,
    "grey with a transparent level": 0,
    "rgb": 2,
    "rgb with a transparent colour": 2,
    "palette": 3,
    "palette with a transparent entry": 3,
    "grey and alpha": 4,
    "rgba": 6,
}
ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))


def pack_rows(samples, bits):
    """Return the bytes of each row of (height, width, samples): the highest bit first, and whole bytes."""
    if bits in (8, 16):
        return [row.astype(f">u{bits // 8}").tobytes() for row in samples]
    each = (samples[..., None] >> np.arange(bits - 1, -1, -1)) & 1
    return [np.packbits(row).tobytes() for row in each.reshape(len(samples), -1)]


def png(case, numbers, samples):
    """Return the bytes of a PNG, interlaced and with 1,200 texts if the container says so."""
    bits, *_ = BITS[case.bits]
    passes = ADAM7 if "interlaced" in case.container else ((0, 0, 1, 1),)
    rows = b"".join(
        b"\0" + row
        for y, x, down, across in passes
        if samples[y::down, x::across].size
        for row in pack_rows(samples[y::down, x::across], bits)
    )
    height, width = samples.shape[:2]
    kind = PNG_TYPES[case.colour]
    about = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, len(passes) > 1)
    chunks = [png_chunk(b"IHDR", about)]
    if "sBIT" in case.container:
        chunks.append(png_chunk(b"sBIT", bytes([max(1, bits - 4)] * samples.shape[2])))
    if numbers.palette is not None:
        chunks.append(png_chunk(b"PLTE", numbers.palette.astype(np.uint8).tobytes()))
        if numbers.transparent:
            chunks.append(png_chunk(b"tRNS", b"\xff" * numbers.transparent[0] + b"\0"))
    elif numbers.transparent:
        chunks.append(png_chunk(b"tRNS", struct.pack(f">{len(numbers.transparent)}H", *numbers.transparent)))
    if "texts" in case.container:
        chunks += [png_chunk(b"tEXt", b"Comment\0%d" % k) for k in range(1200)]
    if case.orientation > 1:
        chunks.append(png_chunk(b"eXIf", exif(case.orientation)))
    pixels = zlib.compress(rows)
    half = len(pixels) // 2
    chunks += [png_chunk(b"IDAT", pixels[:half]), png_chunk(b"IDAT", pixels[half:]), png_chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


# ------------------------------------------------------------------------------- BMP, JPEG, MPO, GIF, WebP
def pillow_image(case, numbers, samples):
    """Return a Pillow image of the numbers, in Pillow's mode for this colour form."""
    if numbers.palette is not None:
        image = Image.fromarray(samples[..., 0], "P")
        image.putpalette(numbers.palette.astype(np.uint8).tobytes())
        return image
    mode = {"grey": "L", "rgb": "RGB", "rgba": "RGBA", "cmyk": "CMYK"}[case.colour]
    return Image.frombytes(mode, samples.shape[1::-1], samples.tobytes())


def by_pillow(case, numbers, samples):
    """Return the bytes of a BMP, JPEG, MPO, GIF or WebP that Pillow writes."""
    image = pillow_image(case, numbers, samples)
    options = {"exif": b"Exif\0\0" + exif(case.orientation)} if case.orientation > 1 else {}
    format = case.container.partition(" ")[0]
    match format:
        case "jpeg":
            options |= {"quality": 100, "subsampling": 0, "progressive": "progressive" in case.container}
        case "mpo":
            preview = image.resize((2, 3)).transpose(Image.Transpose.ROTATE_180)
            options |= {"quality": 100, "subsampling": 0, "save_all": True, "append_images": [preview]}
        case "gif":
            options |= {"transparency": numbers.transparent[0]} if numbers.transparent else {}
            options["optimize"] = False
        case "webp":
            options |= {"lossless": True, "exact": True}
    return encoded(image, format.upper(), **options)


# --------------------------------------------------------------------------------------------------- TIFF
PHOTOMETRIC = {"white is zero": 0, "palette": 3, "cmyk": 5}
EXTRA_SAMPLES = {"associated": 1, "unknown": 0, "alpha": 2, "rgba": 2}
SHORT, ORIENTATION, MAX_SAMPLE_VALUE = 3, 274, 281


def tiff(case, numbers, samples):
    """Return the bytes of a TIFF, an OME-TIFF or a TIFF of ImageJ; before the picture may lie another."""
    words = case.container.split()
    stored_bits, used_bits, is_stated = BITS[case.bits]
    photometric = PHOTOMETRIC.get(case.colour, 2 if COLOURS[case.colour] > 2 else 1)
    options = {"photometric": photometric, "extratags": [], "truncate": "one" in words}
    extra = [number for word, number in EXTRA_SAMPLES.items() if word in case.colour]
    if extra:
        options["extrasamples"] = extra[:1]
    if numbers.palette is not None:
        options["colormap"] = (numbers.palette.T * 257).astype(np.uint16)
    if case.orientation > 1:
        options["extratags"].append((ORIENTATION, SHORT, 1, case.orientation, True))
    if samples.shape[2] == 1:
        samples = samples[..., 0]
    elif case.planar:
        samples = np.moveaxis(samples, 2, 0)
        options["planarconfig"] = "separate"
    else:
        options["planarconfig"] = "contig"
    samples = samples.astype(bool) if stored_bits == 1 else samples
    if stored_bits % 8:
        options["bitspersample"] = stored_bits
    if "tiles" in words:
        options["tile"] = (16, 16)
    elif "strips" in words:
        options["rowsperstrip"] = 4
    compression = {"lzw", "deflate", "packbits", "jpeg"} & {*words}
    if compression:
        options |= {"compression": compression.pop(), "predictor": "predictor" in words}
    if "jpeg" in words:
        options |= {"compressionargs": {"level": 100}, "subsampling": (1, 1)}
    pages = [np.zeros_like(samples), samples]
    metadata = None
    if "ome" in words or "imagej" in words:
        metadata = {"axes": "YX" if samples.ndim == 2 else "SYX" if case.planar else "YXS"}
        if is_stated:
            metadata |= {"SignificantBits": used_bits, "max": float(numbers.white), "min": 0.0}
    elif is_stated:
        n_samples = COLOURS[case.colour]
        options["extratags"].append((MAX_SAMPLE_VALUE, SHORT, n_samples, [numbers.white] * n_samples, True))
    if "stack" in words:
        metadata["axes"] = "Z" + metadata["axes"]
        pages = [np.stack(pages)]
    buffer = io.BytesIO()
    forms = {"bigtiff": "bigtiff" in words, "ome": "ome" in words, "imagej": "imagej" in words}
    is_big = case.big_endian and stored_bits % 8 == 0  # tifffile packs other numbers in one order of bytes
    with tifffile.TiffWriter(buffer, byteorder=">" if is_big else "<", **forms) as writer:
        for page in pages if "pages" in words else pages[-1:]:
            writer.write(page, metadata=metadata, contiguous=False, **options)
    return buffer.getvalue()


def tiff_by_pillow(case, numbers, samples):
    """Return the bytes of a TIFF of one bit that Pillow writes with the compression of a fax."""
    options = {"tiffinfo": {ORIENTATION: case.orientation}} if case.orientation > 1 else {}
    return encoded(samples[..., 0].astype(bool), "TIFF", compression="group4", **options)


# ------------------------------------------------------------------------------------------- the product
IN_SIXTEEN = tuple(f"{bits} in 16" for bits in (10, 12, 14))
UP_TO_BYTE = ("1", "2", "4", "8")
FLOATS = ("float32", "float64", "float32 to 255")
IN_TIFF = tuple(colour for colour in COLOURS if "transparent" not in colour)
AS_STATED = [f"{bits} as stated" for bits in IN_SIXTEEN]
ABOVE_BYTE = (*IN_SIXTEEN, *AS_STATED, "16", "16 signed", *FLOATS)
WHOLE = (*UP_TO_BYTE, "10 packed", "12 packed", *ABOVE_BYTE)
WHOLE_BYTES = ("8", *ABOVE_BYTE)


class Container(NamedTuple):
    """One kind of file: what writes it, and what it can hold.

    write : function of a Case, its Numbers, and the turned samples, which returns bytes
    planes : the planes to choose
    """

    write: Callable
    colours: tuple
    bits: tuple
    has_orientation: bool = True
    planes: tuple = ()
    is_lossy: bool = False


CONTAINERS = {
    **{
        f"png{how}": Container(png, tuple(PNG_TYPES), (*UP_TO_BYTE, *IN_SIXTEEN, "16"))
        for how in ("", " interlaced", " with texts")
    },
    "png with sBIT": Container(png, tuple(PNG_TYPES), (*UP_TO_BYTE, "16")),
    "bmp": Container(by_pillow, ("palette", "grey", "rgb"), ("8",), False),
    "jpeg": Container(by_pillow, ("grey", "rgb", "cmyk"), ("8",), is_lossy=True),
    "jpeg progressive": Container(by_pillow, ("grey", "rgb", "cmyk"), ("8",), is_lossy=True),
    "mpo": Container(by_pillow, ("grey", "rgb"), ("8",), is_lossy=True),
    "gif": Container(by_pillow, _PALETTES, ("8",), False),
    "webp": Container(by_pillow, ("rgb", "rgba"), ("8",)),
    **{
        f"{kind}{how}": Container(tiff, IN_TIFF, WHOLE if how in ("", " strips") else ("1", *WHOLE_BYTES))
        for kind in ("tiff", "bigtiff")
        for how in ("", " strips", " tiles", " lzw", " deflate tiles", " packbits strips")
    },
    "tiff lzw predictor": Container(tiff, IN_TIFF, WHOLE_BYTES),
    "tiff deflate tiles predictor": Container(tiff, IN_TIFF, WHOLE_BYTES),
    "tiff pages": Container(tiff, IN_TIFF, WHOLE, planes=("page=2",)),
    "tiff lzw strips pages": Container(tiff, IN_TIFF, WHOLE_BYTES, planes=("page=2",)),
    "tiff fax": Container(tiff_by_pillow, ("grey",), ("1",)),
    "tiff jpeg": Container(tiff, ("grey", "rgb"), ("8",), is_lossy=True),
    "ome": Container(tiff, IN_TIFF, ("1", *WHOLE_BYTES)),
    "ome stack": Container(tiff, IN_TIFF, ("1", *WHOLE_BYTES), planes=("z=2",)),
    **{
        f"imagej{how}": Container(
            tiff,
            ("grey", "white is zero", "rgb", "palette"),
            [bits for bits in WHOLE_BYTES if bits not in ("16 signed", "float64", "float32 to 255")],
            planes=("z=2",) if how else (),
        )
        for how in ("", " stack", " stack one")
    },
}


def possible_bits(container, colour):
    """Return the numbers of bits with which a container can hold a colour form."""
    kind = CONTAINERS[container]
    bits = kind.bits
    if "palette" in colour:
        bits = [name for name in bits if name in UP_TO_BYTE]
    if COLOURS[colour] > 1 or kind.write is tiff and "palette" in colour:
        bits = [name for name in bits if name == "8" or name not in UP_TO_BYTE]
    if "imagej" in container and colour != "grey":
        bits = ["8"]
    return bits


def possible_cases(container, colour):
    """Return an iterator over every Case of a container and a colour form that the container can hold."""
    kind = CONTAINERS[container]
    is_tiff = kind.write is tiff
    may_be_planar = is_tiff and COLOURS[colour] > 1 and "imagej" not in container and not kind.is_lossy
    return itertools.starmap(
        Case,
        itertools.product(
            [container],
            [colour],
            possible_bits(container, colour),
            range(1, 9) if kind.has_orientation else [1],
            [False, True] if is_tiff else [False],
            [False, True] if may_be_planar else [False],
        ),
    )


def write_case(path, case):
    """Write the file of a Case; return the planes to choose."""
    numbers = make_numbers(case)
    kind = CONTAINERS[case.container]
    path.write_bytes(kind.write(case, numbers, turned(numbers.samples, case.orientation)))
    return kind.planes

"""One picture in every container, colour form, number of bits and orientation, and what a viewer shows of it.

The colours are computed from the numbers of a file, slowly, one pixel at a time, and no decoder is asked.
Their meaning is taken from the standards: TIFF 6.0, PNG 3, JFIF, Adobe's inks, GIF89a, Windows' bitmaps.
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
BITS = {str(n): (n, n, False) for n in (1, 2, 4, 5, 8, 16)} | {f"{n} packed": (n, n, False) for n in (10, 12)}
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

    @property
    def stored_bits(self):
        return BITS[self.bits][0]


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
    return _draw_numbers(
        case.colour, case.bits, case.seed, JPEG_PX if CONTAINERS[case.container].is_lossy else 3
    )


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
        if "palette" not in colour:
            samples[0, 2] = (*transparent[:-1], transparent[-1] ^ 1)
    samples = samples.repeat(block_px, axis=0).repeat(block_px, axis=1)[:height, :width]
    dtype = {32: "float32", 64: "float64"}[stored_bits] if is_float else "uint8"
    dtype = "uint16" if 8 < stored_bits <= 16 else dtype
    dtype = "int16" if bits.endswith("signed") else dtype
    return Numbers(samples.astype(dtype), white, palette, transparent)


def shown_picture(case):
    """Return what a viewer shows on white paper: float array (height, width, 3) from 0 to 255."""
    return _shown_picture(
        case.colour, case.bits, case.seed, JPEG_PX if CONTAINERS[case.container].is_lossy else 3
    )


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
    """Return the picture as it is stored with an orientation of TIFF or EXIF."""
    return samples[_places(orientation, *samples.shape[:2])]


@cache
def _places(orientation, height, width):
    """Return for each row and column of the stored picture the row and column where it is shown.

    The standards name the side of the shown picture that row 0 is, and the side that column 0 is.
    """
    stored_side = (height, width) if orientation < 5 else (width, height)
    shown = np.empty((2, *stored_side), int)
    for y in range(height):
        for x in range(width):
            from_left, from_top, from_right, from_bottom = x, y, width - 1 - x, height - 1 - y
            place = {
                1: (from_top, from_left),
                2: (from_top, from_right),
                3: (from_bottom, from_right),
                4: (from_bottom, from_left),
                5: (from_left, from_top),
                6: (from_right, from_top),
                7: (from_right, from_bottom),
                8: (from_left, from_bottom),
            }[orientation]
            shown[:, *place] = y, x
    return tuple(shown)


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
    n_rows = len(samples)
    if not samples.size:
        return [b""] * n_rows
    if bits in (8, 16):
        return [row.astype(f">u{bits // 8}").tobytes() for row in samples]
    each = (samples.reshape(n_rows, -1, 1) >> np.arange(bits - 1, -1, -1)) & 1
    return [np.packbits(row).tobytes() for row in each.reshape(n_rows, -1)]


def png(case, numbers, samples):
    """Return the bytes of a PNG, interlaced and with 1,200 texts if the container says so."""
    bits = case.stored_bits
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


# ---------------------------------------------------------------------------------------------------- BMP
def run_lengths(row, bits):
    """Return the bytes of a row of indices of 4 or 8 bits in Windows' run lengths."""
    coded = b""
    for place in range(0, len(row), 3):
        some = row[place : place + 3].tolist()
        runs = some if bits == 8 else [index * 17 for index in some]
        if len(set(some)) == 1:
            coded += bytes([len(some), runs[0]])
        elif len(some) < 3:
            coded += b"".join(bytes([1, run]) for run in runs)
        else:  # three indices as they are, in whole words
            as_they_are = [*some, 0] if bits == 8 else [some[0] << 4 | some[1], some[2] << 4]
            coded += bytes([0, 3, *as_they_are])
    return coded + b"\0\0"


def bmp(case, numbers, samples):
    """Return the bytes of a bitmap of Windows: rows from the bottom up, blue first, rows of whole words."""
    container = case.container
    height, width = samples.shape[:2]
    method, masks, table = 0, b"", b""
    if numbers.palette is not None or case.colour in ("grey", "white is zero"):
        bits = case.stored_bits
        grey = np.arange(2**bits)[:, None] * 255 // (2**bits - 1) * np.ones(3, int)
        grey = grey if case.colour == "grey" else 255 - grey
        colours = grey if numbers.palette is None else numbers.palette
        filler = [] if "os2" in container else [0]
        table = b"".join(bytes([*colour[::-1].tolist(), *filler]) for colour in colours)
        rows = pack_rows(samples, bits)
        if "rle" in container:
            rows, method = [run_lengths(row, bits) for row in samples[..., 0]], 1 if bits == 8 else 2
            rows[0] += b"\0\1"  # the row that is stored last ends the picture
    elif "32" in container or case.colour == "rgba":
        bits = 32
        alpha = samples[..., 3:] if case.colour == "rgba" else np.zeros_like(samples[..., :1])
        rows = [row.tobytes() for row in np.dstack([samples[..., 2::-1], alpha])]
    elif case.bits == "5":
        bits = 16
        rows = [row.astype("<u2").tobytes() for row in samples.astype(int) @ (2**10, 2**5, 1)]
    else:
        bits = 24
        rows = [row.tobytes() for row in samples[..., ::-1]]
    n_bytes = {"v3": 56, "v4": 108, "v5": 124}.get(container.split()[-1], 40)
    if n_bytes > 40:
        method, masks = 3, struct.pack("<IIII", 0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    if "from the top" in container:
        signed_height = -height
    else:
        signed_height = height
        rows = rows[::-1]
    pixels = b"".join(row + b"\0" * (0 if method in (1, 2) else -len(row) % 4) for row in rows)
    about = struct.pack(
        "<IiiHHIIiiII", n_bytes, width, signed_height, 1, bits, method, len(pixels), 2835, 2835, 0, 0
    )
    about = (about + masks + (b"BGRs" if n_bytes > 56 else b"")).ljust(n_bytes, b"\0") + table
    if "os2" in container:
        about = struct.pack("<IHHHH", 12, width, height, 1, bits) + table
    start = 14 + len(about)
    return b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) + about + pixels


# ------------------------------------------------------------------------------------ JPEG, MPO, GIF, WebP
def pillow_image(case, numbers, samples):
    """Return a Pillow image of the numbers, in Pillow's mode for this colour form."""
    if numbers.palette is not None:
        image = Image.fromarray(samples[..., 0], "P")
        image.putpalette(numbers.palette.astype(np.uint8).tobytes())
        return image
    mode = {"grey": "L", "white is zero": "L", "rgb": "RGB", "rgba": "RGBA", "cmyk": "CMYK"}[case.colour]
    return Image.frombytes(mode, samples.shape[1::-1], samples.tobytes())


def by_pillow(case, numbers, samples):
    """Return the bytes of a JPEG, MPO, GIF or WebP that Pillow writes."""
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
            options |= {"interlace": int("interlaced" in case.container), "optimize": False}
            options |= {"transparency": numbers.transparent[0]} if numbers.transparent else {}
        case "webp":
            options |= {"lossless": True, "exact": True}
    return encoded(image, format.upper(), **options)


# --------------------------------------------------------------------------------------------------- TIFF
PHOTOMETRIC = {"white is zero": 0, "palette": 3, "cmyk": 5}
EXTRA_SAMPLES = {"associated": 1, "unknown": 0, "alpha": 2, "rgba": 2}
COMPRESSIONS = {"lzw": 5, "deflate": 8, "packbits": 32773}
TILE_PX = 16
STRIP_ROWS = 4
SHORT, LONG, LONG8 = 3, 4, 16
ORIENTATION, MAX_SAMPLE_VALUE = 274, 281


def difference(piece, bits, order):
    """Return the bytes of rows (height, width, samples) as the predictors 2 and 3 of TIFF store them."""
    before = np.pad(piece, ((0, 0), (1, 0), (0, 0)))[:, :-1]
    if piece.dtype.kind != "f":
        return [row.tobytes() for row in (piece - before).astype(f"{order}u{bits // 8}")]
    n_samples = piece.shape[2]
    rows = []
    for row in piece:  # all first bytes of the floats, then all second bytes, ..., each less the byte before
        by_rank = (
            np.frombuffer(row.astype(f">f{bits // 8}").tobytes(), np.uint8).reshape(-1, bits // 8).T.ravel()
        )
        rows.append((by_rank - np.pad(by_rank, (n_samples, 0))[:-n_samples]).tobytes())
    return rows


def lzw(content):
    """Return bytes in LZW's codes of 9 bits: the table is cleared before it needs longer ones."""
    codes = []
    for place in range(0, len(content), 200):
        codes += [256, *content[place : place + 200]]
    bits = (np.array([*codes, 257])[:, None] >> np.arange(8, -1, -1)) & 1
    return np.packbits(bits.ravel().astype(np.uint8)).tobytes()


def pack_bits(row):
    """Return a row in runs of bytes as they are."""
    runs = [row[place : place + 128] for place in range(0, len(row), 128)]
    return b"".join(bytes([len(run) - 1]) + run for run in runs)


def compressed(rows, words):
    """Return the bytes of the rows of one strip or tile."""
    if "packbits" in words:
        return b"".join(map(pack_bits, rows))
    content = b"".join(rows)
    return lzw(content) if "lzw" in words else zlib.compress(content) if "deflate" in words else content


def tiff_pieces(case, samples, order):
    """Yield the bytes of each strip or tile."""
    words = case.container.split()
    bits = case.stored_bits
    kind = samples.dtype.kind
    rows_of, columns_of = (TILE_PX, TILE_PX) if "tiles" in words else (STRIP_ROWS, samples.shape[1])
    rows_of = rows_of if "tiles" in words or "strips" in words else len(samples)
    for plane in np.split(samples, samples.shape[2], axis=2) if case.planar else [samples]:
        for top in range(0, plane.shape[0], rows_of):
            for left in range(0, plane.shape[1], columns_of):
                piece = plane[top : top + rows_of, left : left + columns_of]
                if "tiles" in words:
                    beyond = [(0, TILE_PX - n) for n in piece.shape[:2]]
                    piece = np.pad(piece, [*beyond, (0, 0)], constant_values=1)
                if "predictor" in words:
                    rows = difference(piece, bits, order)
                elif bits % 8 == 0:
                    rows = [row.astype(f"{order}{kind}{bits // 8}").tobytes() for row in piece]
                else:
                    rows = pack_rows(piece, bits)
                if "reversed" in words:  # FillOrder 2: the lowest bit of a byte comes first
                    bytes_of = (np.unpackbits(np.frombuffer(row, np.uint8)) for row in rows)
                    rows = [np.packbits(bytes_, bitorder="little").tobytes() for bytes_ in bytes_of]
                yield compressed(rows, words)


def tiff(case, numbers, samples):
    """Return the bytes of a TIFF, written by hand, of one page, or with another page before it."""
    words = case.container.split()
    order = ">" if case.big_endian else "<"
    is_big = "bigtiff" in words
    place_form, count_form, entry_form = ("Q", "Q", "HHQ") if is_big else ("I", "H", "HHI")
    content = (b"MM" if case.big_endian else b"II") + struct.pack(order + "H", 43 if is_big else 42)
    content += struct.pack(order + "HH", 8, 0) if is_big else b""
    link = len(content)
    content += struct.pack(order + place_form, 0)
    pages = [samples[::-1, ::-1], samples] if "pages" in words else [samples]
    for page in pages:
        places, lengths = [], []
        for piece in tiff_pieces(case, page, order):
            places.append(len(content))
            lengths.append(len(piece))
            content += piece + b"\0" * (len(piece) % 2)
        entries = b""
        tags = sorted(tiff_tags(case, numbers, page, places, lengths).items())
        for tag, (kind, values) in tags:
            packed = struct.pack(
                f"{order}{len(values)}{ {SHORT: 'H', LONG: 'I', LONG8: 'Q'}[kind] }", *values
            )
            room = struct.calcsize(place_form)
            if len(packed) > room:
                packed, content = struct.pack(order + place_form, len(content)), content + packed
            entries += struct.pack(order + entry_form, tag, kind, len(values)) + packed.ljust(room, b"\0")
        head = struct.pack(order + place_form, len(content))
        content = content[:link] + head + content[link + len(head) :]
        content += struct.pack(order + count_form, len(tags)) + entries
        link = len(content)
        content += struct.pack(order + place_form, 0)
    return content


def tiff_tags(case, numbers, samples, places, lengths):
    """Return the type and the values of each tag of a page.

    places, lengths : where in the file each strip or tile begins, and its number of bytes
    """
    words = case.container.split()
    height, width, n_samples = samples.shape
    at_place = LONG8 if "bigtiff" in words else LONG
    tags = {
        256: (LONG, [width]),
        257: (LONG, [height]),
        258: (SHORT, [case.stored_bits] * n_samples),
        259: (SHORT, [next((n for word, n in COMPRESSIONS.items() if word in words), 1)]),
        262: (SHORT, [PHOTOMETRIC.get(case.colour, 2 if n_samples > 2 else 1)]),
        277: (SHORT, [n_samples]),
        284: (SHORT, [2 if case.planar else 1]),
        339: (SHORT, [{"u": 1, "i": 2, "f": 3}[samples.dtype.kind]] * n_samples),
    }
    if "tiles" in words:
        tags |= {
            322: (LONG, [TILE_PX]),
            323: (LONG, [TILE_PX]),
            324: (at_place, places),
            325: (LONG, lengths),
        }
    else:
        rows_of = STRIP_ROWS if "strips" in words else height
        tags |= {273: (at_place, places), 278: (LONG, [rows_of]), 279: (LONG, lengths)}
    if "predictor" in words:
        tags[317] = SHORT, [3 if samples.dtype.kind == "f" else 2]
    if "reversed" in words:
        tags[266] = SHORT, [2]
    if case.orientation > 1:
        tags[ORIENTATION] = SHORT, [case.orientation]
    if numbers.palette is not None:
        tags[320] = SHORT, (numbers.palette.T.ravel() * 257).tolist()
    if (extra := extra_samples(case)) is not None:
        tags[338] = SHORT, [extra]
    if BITS[case.bits][2]:
        tags[MAX_SAMPLE_VALUE] = SHORT, [numbers.white] * n_samples
    return tags


def extra_samples(case):
    """Return the number of TIFF's tag ExtraSamples for a colour form, or None if it has none."""
    return next((number for word, number in EXTRA_SAMPLES.items() if word in case.colour), None)


def tiff_by_tifffile(case, numbers, samples):
    """Return the bytes of an OME-TIFF or a TIFF of ImageJ, or a TIFF with JPEG's compression."""
    words = case.container.split()
    photometric = PHOTOMETRIC.get(case.colour, 2 if COLOURS[case.colour] > 2 else 1)
    options = {"photometric": photometric, "extratags": [], "truncate": "one" in words}
    if (extra := extra_samples(case)) is not None:
        options["extrasamples"] = [extra]
    if numbers.palette is not None:
        options["colormap"] = (numbers.palette.T * 257).astype(np.uint16)
    if case.orientation > 1:
        options["extratags"] = [(ORIENTATION, SHORT, 1, case.orientation, True)]
    if samples.shape[2] == 1:
        samples = samples[..., 0]
    elif case.planar:
        samples = np.moveaxis(samples, 2, 0)
        options["planarconfig"] = "separate"
    else:
        options["planarconfig"] = "contig"
    samples = samples.astype(bool) if case.stored_bits == 1 else samples
    metadata = {"axes": "YX" if samples.ndim == 2 else "SYX" if case.planar else "YXS"}
    if "stack" in words:
        metadata["axes"] = "Z" + metadata["axes"]
        samples = np.stack([samples[..., ::-1, :], samples])
    if BITS[case.bits][2]:
        metadata |= {"SignificantBits": BITS[case.bits][1], "max": float(numbers.white), "min": 0.0}
    if "jpeg" in words:
        options |= {"compression": "jpeg", "compressionargs": {"level": 100}, "subsampling": (1, 1)}
        metadata = None
    buffer = io.BytesIO()
    order = ">" if case.big_endian else "<"
    with tifffile.TiffWriter(buffer, byteorder=order, ome="ome" in words, imagej="imagej" in words) as writer:
        writer.write(samples, metadata=metadata, **options)
    return buffer.getvalue()


def tiff_by_pillow(case, numbers, samples):
    """Return the bytes of a TIFF of one bit that Pillow writes with the compression of a fax."""
    options = {"tiffinfo": {ORIENTATION: case.orientation}} if case.orientation > 1 else {}
    return encoded(samples[..., 0].astype(bool), "TIFF", compression="group4", **options)


# ------------------------------------------------------------------------------------------- the product
IN_SIXTEEN = tuple(f"{bits} in 16" for bits in (10, 12, 14))
IN_SIXTEEN_AS_STATED = tuple(f"{bits} in 16 as stated" for bits in (10, 12, 14))
UP_TO_BYTE = ("1", "2", "4", "8")
FLOATS = ("float32", "float64", "float32 to 255")
IN_TIFF = tuple(colour for colour in COLOURS if "transparent" not in colour)
IN_BITMAP = ("palette", "grey", "white is zero")
ABOVE_BYTE = (*IN_SIXTEEN, *IN_SIXTEEN_AS_STATED, "16", "16 signed", *FLOATS)
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
    "bmp": Container(bmp, (*IN_BITMAP, "rgb"), ("1", "4", "8"), False),
    "bmp from the top": Container(bmp, (*IN_BITMAP, "rgb"), ("1", "4", "8"), False),
    "bmp rle": Container(bmp, IN_BITMAP, ("4", "8"), False),
    "bmp os2": Container(bmp, (*IN_BITMAP, "rgb"), ("1", "4", "8"), False),
    "bmp 16 bits": Container(bmp, ("rgb",), ("5",), False),
    **{
        f"bmp 32 bits {version}": Container(bmp, ("rgb", "rgba") if version else ("rgb",), ("8",), False)
        for version in ("", "v3", "v4", "v5")
    },
    "jpeg": Container(by_pillow, ("grey", "rgb", "cmyk"), ("8",), is_lossy=True),
    "jpeg progressive": Container(by_pillow, ("grey", "rgb", "cmyk"), ("8",), is_lossy=True),
    "mpo": Container(by_pillow, ("grey", "rgb"), ("8",), is_lossy=True),
    "gif": Container(by_pillow, _PALETTES, ("8",), False),
    "gif interlaced": Container(by_pillow, _PALETTES, ("8",), False),
    "webp": Container(by_pillow, ("rgb", "rgba"), ("8",)),
    **{
        f"{kind}{how}": Container(tiff, IN_TIFF, WHOLE)
        for kind in ("tiff", "bigtiff")
        for how in ("", " strips", " tiles", " lzw", " deflate tiles", " packbits strips")
    },
    "tiff reversed": Container(tiff, IN_TIFF, (*UP_TO_BYTE, "10 packed", "12 packed")),
    "tiff lzw predictor": Container(tiff, IN_TIFF, WHOLE_BYTES),
    "tiff deflate tiles predictor": Container(tiff, IN_TIFF, WHOLE_BYTES),
    "tiff pages": Container(tiff, IN_TIFF, WHOLE, planes=("page=2",)),
    "tiff lzw strips pages": Container(tiff, IN_TIFF, WHOLE, planes=("page=2",)),
    "tiff fax": Container(tiff_by_pillow, ("grey",), ("1",)),
    "tiff jpeg": Container(tiff_by_tifffile, ("grey", "rgb"), ("8",), is_lossy=True),
    "ome": Container(tiff_by_tifffile, IN_TIFF, ("1", *WHOLE_BYTES)),
    "ome stack": Container(tiff_by_tifffile, IN_TIFF, ("1", *WHOLE_BYTES), planes=("z=2",)),
    **{
        f"imagej{how}": Container(
            tiff_by_tifffile,
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
    if (
        kind.write is not tiff
        and COLOURS[colour] > 1
        or kind.write is tiff_by_tifffile
        and "palette" in colour
    ):
        bits = [name for name in bits if name == "8" or name not in UP_TO_BYTE]
    if "imagej" in container and colour != "grey":
        bits = ["8"]
    return bits


def possible_cases(container, colour):
    """Return an iterator over every Case of a container and a colour form that the container can hold."""
    kind = CONTAINERS[container]
    is_tiff = kind.write in (tiff, tiff_by_tifffile)
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

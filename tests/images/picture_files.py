"""Small pictures for tests, as arrays and as the bytes of files."""

import io
import struct
import zlib

import numpy as np
from PIL import Image

from flyannot.images.embryo import Embryo, read_picture

ENCODINGS = {
    "png": {"format": "PNG"},
    "bmp": {"format": "BMP"},
    "jpeg": {"format": "JPEG"},
    "progressive jpeg": {"format": "JPEG", "progressive": True},
    "gif": {"format": "GIF"},
    "tiff": {"format": "TIFF"},
    "tiff lzw": {"format": "TIFF", "compression": "tiff_lzw"},
    "tiff deflate": {"format": "TIFF", "compression": "tiff_adobe_deflate"},
}


def embryo(height=128, width=320):
    """Draw a dark ellipse with a gradient on white, as colours (height, width, 3)."""
    y = (np.arange(height)[:, None] + 0.5) / height * 2 - 1
    x = (np.arange(width) + 0.5) / width * 2 - 1
    body = (x / 0.9) ** 2 + (y / 0.9) ** 2 < 1
    red = np.where(body, 120 + 60 * x + 20 * np.sin(9 * y), 255)
    return np.stack([red, np.where(body, red + 20, 255), np.full_like(red, 255)], axis=2).astype(np.uint8)


def written(write, *content, **options):
    """Return the bytes that `write(file, *content, **options)` writes into a file."""
    file = io.BytesIO()
    write(file, *content, **options)
    return file.getvalue()


def encoded(picture, format, **options):
    """Return the bytes of a file of an image of Pillow or of some pixels."""
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    return written(image.save, format, **options)


def png_chunk(kind, content):
    """Return the bytes of a chunk of a PNG."""
    crc = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", crc)


def png(*chunks, size=(16, 16), bits=8, kind=2, rows=b""):
    """Return the bytes of a PNG of any chunks, whose header claims a size (width, height)."""
    start = png_chunk(b"IHDR", struct.pack(">IIBBBBB", *size, bits, kind, 0, 0, 0))
    end = png_chunk(b"IDAT", zlib.compress(rows, 1)) + png_chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + start + b"".join(chunks) + end


def view(address, options):
    """Return the EmbryoView of the picture at an address."""
    picture = read_picture(address, options.plane)
    return Embryo(picture, is_cut_out=options.multiple_embryos).view(options)


def luma(colours):
    """Return the Rec. 601 luma of colours, as floats."""
    return colours.astype(float) @ (0.299, 0.587, 0.114)

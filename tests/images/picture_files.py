"""Small pictures for tests, as arrays and as the bytes of files."""

import io

import numpy as np
from PIL import Image

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


def encoded(pixels, **options):
    """Return the bytes of a file of some pixels."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, **options)
    return buffer.getvalue()


def luma(colours):
    """Return the Rec. 601 luma of colours, as floats."""
    return colours.astype(float) @ (0.299, 0.587, 0.114)

"""Tests of colour profiles: what a file says of its colours, in every format, against the formulas."""

import struct
import zlib

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

from flyannot.images.embryo import read_picture
from tests.images.picture_files import png_chunk

# Colours of red, green and blue light in XYZ under D50, one row each.
SRGB = np.array([[0.4361, 0.2225, 0.0139], [0.3851, 0.7169, 0.0971], [0.1431, 0.0606, 0.7141]])
PROPHOTO = np.array([[0.7977, 0.2880, 0.0], [0.1352, 0.7119, 0.0], [0.0313, 0.0001, 0.8249]])
LEVELS = np.linspace(0, 255, 16).astype(np.uint8)
COLOURS = np.stack(np.meshgrid(LEVELS, LEVELS, LEVELS), axis=-1).reshape(64, 64, 3)


def icc_profile(space, gamma, colorants=()):
    """Return the bytes of an ICC profile, version 2: a gamma, and the colours of light if it has any."""
    curve = b"curv" + bytes(4) + struct.pack(">IH", 1, round(gamma * 256))
    white = [0.9642, 1.0, 0.8249]
    tags = {b"desc": b"desc" + bytes(4) + struct.pack(">I", 2) + b"a\0" + bytes(78), b"wtpt": white}
    tags |= {b"kTRC": curve} if not len(colorants) else {}
    for letter, colour in zip(b"rgb", colorants):
        tags |= {bytes([letter]) + b"TRC": curve, bytes([letter]) + b"XYZ": colour}
    table, data = struct.pack(">I", len(tags)), b""
    for name, value in tags.items():
        if not isinstance(value, bytes):
            value = b"XYZ " + bytes(4) + struct.pack(">3i", *(round(x * 65536) for x in value))
        table += name + struct.pack(">II", 132 + 12 * len(tags) + len(data), len(value))
        data += value + bytes(-len(value) % 4)
    size = struct.pack(">I", 128 + len(table) + len(data))
    head = size + bytes(4) + b"\x02\x10\0\0" + b"mntr" + space + b"XYZ " + bytes(12) + b"acsp"
    white_point = struct.pack(">3i", *(round(x * 65536) for x in white))
    return head.ljust(68, b"\0") + white_point.ljust(60, b"\0") + table + data


def encode(light):
    light = np.clip(light, 0, 1)
    return 255 * np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def expected(samples, gamma, colorants=()):
    """Return what sRGB has for samples of a profile, by the definition."""
    light = (samples / 255) ** gamma
    return encode(light @ colorants @ np.linalg.inv(SRGB) if light.ndim == 3 and len(colorants) else light)


PROFILES = {
    "ProPhoto": (COLOURS, b"RGB ", 1.8, PROPHOTO),
    "linear colours": (COLOURS, b"RGB ", 1.0, SRGB),
    "linear grey": (COLOURS[..., 0], b"GRAY", 1.0, ()),
    "grey with a profile of colours": (COLOURS[..., 0], b"RGB ", 1.0, SRGB),
}


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("suffix", ["png", "tif", "16.tif", "webp"])
def test_colours_are_converted_to_srgb(tmp_path, name, suffix):
    samples, space, gamma, colorants = PROFILES[name]
    path, icc = tmp_path / f"a.{suffix}", icc_profile(space, gamma, colorants)
    if suffix == "16.tif":
        photometric = "rgb" if samples.ndim == 3 else "minisblack"
        tifffile.imwrite(path, samples.astype(np.uint16) * 257, photometric=photometric, iccprofile=icc)
    else:
        if suffix == "webp" and samples.ndim == 2:
            samples, icc = np.stack([samples] * 3, axis=2), icc_profile(b"RGB ", gamma, SRGB)
        Image.fromarray(samples).save(path, icc_profile=icc, lossless=True)
    picture = read_picture(path)
    shown = expected(samples, gamma, colorants)
    assert np.abs(picture - shown).max() < 1.6


@pytest.mark.parametrize(
    "icc",
    [
        b"",
        ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes(),
        b"no profile",
        icc_profile(b"CMYK", 1.0),
    ],
)
def test_srgb_and_what_is_no_profile_of_these_colours_change_nothing(tmp_path, icc):
    Image.fromarray(COLOURS).save(tmp_path / "a.png", icc_profile=icc)
    np.testing.assert_array_equal(read_picture(tmp_path / "a.png"), COLOURS)


@pytest.mark.parametrize(
    ("chunks", "gamma"),
    [
        ({b"gAMA": struct.pack(">I", 100_000)}, 1.0),
        ({b"gAMA": struct.pack(">I", 50_000 + 10_000)}, 1 / 0.6),
        ({b"gAMA": struct.pack(">I", 45_455)}, None),
        ({b"gAMA": bytes(4)}, None),
        ({b"gAMA": struct.pack(">I", 100_000), b"sRGB": b"\0"}, None),
        (
            {
                b"gAMA": struct.pack(">I", 45_455),
                b"iCCP": b"a\0\0" + zlib.compress(icc_profile(b"RGB ", 1.0, SRGB)),
            },
            1.0,
        ),
    ],
)
@pytest.mark.parametrize("samples", [COLOURS, COLOURS[..., 0], COLOURS.astype(np.uint16) * 257])
def test_the_gamma_of_a_png_counts_unless_it_says_more(tmp_path, samples, chunks, gamma):
    if samples.dtype == np.uint16:
        cv2.imwrite(str(tmp_path / "a.png"), samples[..., ::-1])
    else:
        Image.fromarray(samples).save(tmp_path / "a.png")
    content = (tmp_path / "a.png").read_bytes()
    more = b"".join(png_chunk(kind, data) for kind, data in chunks.items())
    (tmp_path / "a.png").write_bytes(content[:33] + more + content[33:])  # behind IHDR
    grey = samples.astype(float) * 255 / np.iinfo(samples.dtype).max
    shown = grey if gamma is None else expected(grey, gamma)
    assert np.abs(read_picture(tmp_path / "a.png") - shown).max() < (0.01 if gamma is None else 1.6)


def test_inks_with_a_profile_that_cannot_be_read_are_mixed_as_without(tmp_path):
    Image.fromarray(COLOURS).convert("CMYK").save(tmp_path / "a.tif", icc_profile=b"no profile")
    Image.fromarray(COLOURS).convert("CMYK").save(tmp_path / "b.tif")
    np.testing.assert_array_equal(read_picture(tmp_path / "a.tif"), read_picture(tmp_path / "b.tif"))

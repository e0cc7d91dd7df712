"""Tests of files that are not pictures: one clear line, no partial picture, no hang, little memory."""

import os
import pickle
import resource
import struct
from contextlib import nullcontext, suppress

import imagecodecs
import numpy as np
import pytest
import tifffile
from PIL import Image, ImageFile

from flyannot.images.embryo import read_grey, read_picture
from flyannot.images.geometry import STANDARD_PX
from flyannot.images.jpeg_data import find_markers
from flyannot.images.unreadable import MAX_PIXELS, UnusableImage, require_whole_file
from tests.bombs import small_tiff
from tests.images.picture_files import ENCODINGS, embryo, encoded, png, png_chunk

N_CUTS = 20

JPEG_OF_12_BITS = {"compression": "jpeg", "compressionargs": {"bitspersample": 12}}


def count_scans(content):
    """Return the number of markers "start of scan" of a JPEG."""
    return [marker for marker, _ in find_markers(content)].count(0xDA)


def reason(path):
    """Return why a picture is refused; the message must be one line that names the file."""
    with pytest.raises(UnusableImage) as caught:
        read_grey(path)
    message = caught.value.message
    assert "\n" not in message and os.path.basename(path) in message
    assert message.endswith(caught.value.reason)
    return caught.value.reason


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_truncated_picture_is_refused_or_whole(encoding, picture, trials):
    whole = encoded(embryo(), **ENCODINGS[encoding])
    expected = read_grey(picture(whole))
    n_cuts, n_refused = trials(N_CUTS), 0
    for cut in np.linspace(1, len(whole) - 1, n_cuts).astype(int):
        try:
            grey = read_grey(picture(whole[:cut]))
        except UnusableImage as error:
            assert "\n" not in error.message
            n_refused += 1
        else:  # only what follows the pixels may be missing
            assert cut > len(whole) - 16 and (grey == expected).all()
    assert n_refused >= n_cuts - 1


def test_truncation_is_seen_though_another_library_told_pillow_to_ignore_it(picture, monkeypatch):
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    whole = encoded(embryo(), format="JPEG")
    assert "cut short" in reason(picture(whole[: len(whole) // 2]))


@pytest.mark.parametrize(
    "content, expected",
    [
        (b"", "empty"),
        (b"GET", "not a picture"),
        (b"a note that somebody saved as .png\n", "not a picture"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "not a picture"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture"),
        (b"II*\0\xff\xff\xff\xff", "damaged or cut short"),
    ],
)
def test_what_is_no_picture_is_refused(content, expected, picture):
    assert expected in reason(picture(content))


def test_what_is_no_file_is_refused_and_a_fifo_does_not_hang(tmp_path, trials):
    trials(5, campaign=5)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    assert "not a regular file" in reason(tmp_path / "fifo")
    assert "a link to nothing" in reason(tmp_path / "dangling")
    assert "no such file" in reason(tmp_path / "gone")
    assert "folder" in reason(tmp_path)
    with pytest.raises(UnusableImage, match="null"):
        read_grey("nul\0.png")
    with pytest.raises(UnusableImage) as caught:
        read_grey(tmp_path / "two\nlines.png")
    assert "\n" not in caught.value.message


def test_the_error_survives_the_way_from_a_worker():
    with pytest.raises(UnusableImage) as caught:
        read_grey("nowhere.png")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.reason, copy.fix) == (str(caught.value), caught.value.reason, caught.value.fix)
    assert copy.reason == "no such file" and copy.exit_code == 65


def test_bombs_and_huge_claims_are_refused_before_they_are_decoded(tmp_path, trials):
    def claiming(format, marker, offset, size):
        """Return a picture of one pixel whose header claims another size."""
        content = bytearray(encoded(np.zeros((1, 1), np.uint8), format=format))
        start = content.index(marker) + offset
        content[start : start + len(size)] = size
        return bytes(content)

    claims = {
        "a.png": png(size=(20_000, 20_000), rows=b"\0"),
        "b.png": png(size=(2**31 - 1, 2**31 - 1), rows=b"\0"),
        "c.png": png(size=(MAX_PIXELS + 1, 1), rows=b"\0"),
        "d.gif": claiming("GIF", b"GIF", 6, struct.pack("<HH", 60_000, 60_000)),
        "e.bmp": claiming("BMP", b"BM", 18, struct.pack("<ii", 40_000, 40_000)),
        "f.jpg": claiming("JPEG", b"\xff\xc0", 5, struct.pack(">HH", 65_000, 65_000)),
    }
    for name, content in claims.items():
        (tmp_path / name).write_bytes(content)
    Image.new("L", (8_000, 8_000)).save(tmp_path / "g.tif", compression="tiff_adobe_deflate")
    tifffile.memmap(tmp_path / "h.tif", shape=(6_000, 9_000), dtype=np.float64).flush()
    trials(8, campaign=8)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for path in sorted(tmp_path.iterdir()):
        assert "too large" in reason(path), path.name
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes


def test_what_is_not_one_picture_of_known_pixels_is_refused(picture, tiff, trials):
    trials(9, campaign=9)
    frames = [Image.new("L", (30, 20), 80 * i) for i in range(3)]
    for format in ("GIF", "PNG", "WEBP"):
        path = picture(frames[0], format=format, save_all=True, append_images=frames[1:])
        assert "several frames" in reason(path), format
    for pixels, options, expected in (
        (np.zeros((2, *STANDARD_PX)), {"photometric": "minisblack"}, "several pictures: 2 pages"),
        (
            np.zeros((100, 100), np.uint8),
            {"tile": (6000, 6000), "compression": "zlib"},
            "tiles of 6000 x 6000",
        ),
        (np.zeros((9, 9), np.uint16), JPEG_OF_12_BITS, "a JPEG of 12 bits"),
        (np.full((20, 30), -5, np.int8), {}, "signed"),
        (np.full((20, 30), 5, np.int8), {}, "signed"),  # not taken for unsigned bytes
    ):
        assert expected in reason(tiff(pixels, **options))
    numbers = (b"BM", 86, 70, 56, 2, 2, 1, 32, 3, 16, 0, 0, 0, 0, 0x3FF00000, 0xFFC00, 0x3FF, 0)
    path = picture(Image.new("L", (2, 2)), format="BMP")
    path.write_bytes(struct.pack("<2sI4xI3i2H10I16x", *numbers))
    assert "unknown kind of pixel (Unsupported BMP bitfields layout)" in reason(path)
    assert "side" in reason(picture(Image.fromarray(np.zeros((70_000, 2), np.uint8)), format="PNG"))
    with pytest.raises(UnusableImage, match="unknown kind of pixel") as caught:
        read_grey(picture(Image.new("LAB", (32, 16)), format="TIFF"))
    assert "8 bits" in caught.value.fix


def test_a_png_with_a_bit_flipped_is_refused(picture, rng, trials):
    """Flip a bit of every byte: Pillow does not check the checksums of pixels."""
    whole = encoded(embryo(), format="PNG")
    assert whole.count(b"IDAT") == 1
    places = [*range(len(whole) - 12), *range(len(whole) - 8, len(whole))]
    trials(len(places), campaign=len(places))
    for place in places:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        with pytest.raises(UnusableImage):
            read_picture(picture(bytes(flipped)))


def test_a_png_of_very_many_chunks_is_refused_before_it_is_opened(picture):
    whole = encoded(embryo(), format="PNG")
    head, text = 33, png_chunk(b"tEXt", b"a\0b")
    assert read_picture(picture(whole[:head] + 9_000 * text + whole[head:])).shape[:2] == (128, 320)
    assert "chunks" in reason(picture(whole[:head] + 100_100 * text + whole[head:]))


def test_a_jpeg_of_very_many_scans_is_refused(picture):
    whole = encoded(np.full((1000, 1000), 128, np.uint8), format="JPEG", progressive=True, quality=50)
    scan = whole[whole.rfind(b"\xff\xda") : -2]
    assert count_scans(whole) == 6
    assert read_picture(picture(whole[:-2] + 200 * scan + whole[-2:])).shape == (1000, 1000)
    assert "scans" in reason(picture(whole[:-2] + 300 * scan + whole[-2:]))


def test_markers_without_a_length_are_no_segments():
    for marker in (0x01, *range(0xD0, 0xD8)):
        assert count_scans(b"\xff\xd8\xff%c\xff\xda\0\2\xff\xd9" % marker) == 1


JPEGS = {
    "baseline": {"quality": 90},
    "chroma in full": {"subsampling": 0},
    "grey": {"mode": "L"},
    "progressive": {"progressive": True},
    "grey, progressive": {"mode": "L", "progressive": True},
    "inks": {"mode": "CMYK"},
    "inks, progressive": {"mode": "CMYK", "progressive": True},
    "restarts": {"restart_marker_blocks": 5},
    "restart at the end": {"restart_marker_rows": 1},
    "a corner as grey as a missing block": {"mode": "L", "corner": 128},
    "narrow": {"width": 5},
}


@pytest.mark.parametrize("kind", JPEGS)
def test_a_jpeg_is_read_only_if_its_decoder_invents_nothing(kind, picture, tiff):
    """An end or other bytes behind a cut make the decoder go on; a whole picture needs no end."""
    options = dict(JPEGS[kind])
    pixels = embryo()[:, : options.pop("width", None)].copy()
    pixels[-40:, -40:] = options.pop("corner", pixels[-40:, -40:])
    whole = encoded(Image.fromarray(pixels).convert(options.pop("mode", "RGB")), "JPEG", **options)
    expected = read_picture(picture(whole))
    for more in (whole + b"a tail", whole + whole, whole[:-2], whole[:-1]):
        np.testing.assert_array_equal(read_picture(picture(more)), expected)
    scan = whole.rindex(b"\xff\xda")  # the cut scan, and one that is missing altogether
    cuts = [
        scan,
        *np.linspace(20, len(whole) - 3, 10).astype(int),
        *len(whole) - np.array([4, 7, 11, 23, 42]),
    ]
    for cut in cuts:
        for tail in (b"", b"\xff\xd9", b"some text\xff\xd9", bytes(900), whole):
            with suppress(UnusableImage):  # the last bits may change nothing
                np.testing.assert_array_equal(read_picture(picture(whole[:cut] + tail)), expected)
    if expected.ndim == 2:
        about = {"shape": expected.shape, "dtype": np.uint8, "compression": "jpeg", "metadata": None}
        read_picture(tiff(iter([whole]), **about))
        with pytest.raises(UnusableImage, match="cut short"):
            read_picture(tiff(iter([whole[:-7] + b"\xff\xd9"]), **about))


def test_a_jpeg_of_another_coding_is_checked_or_refused(picture):
    lossless = imagecodecs.jpeg8_encode(embryo(), lossless=True)
    np.testing.assert_array_equal(read_picture(picture(lossless)), embryo())
    for more in (lossless[:-300] + b"\xff\xd9", lossless[:-2] + bytes(30) + b"\xff\xd9"):
        assert "cut short" in reason(picture(more))
    arithmetic = encoded(embryo(), "JPEG").replace(b"\xff\xc0", b"\xff\xc9")
    assert "arithmetic codes" in reason(picture(arithmetic))


def test_what_a_tag_of_a_tiff_says_about_the_pixels_must_be_in_the_file(tmp_path):
    path = tmp_path / "a.tif"
    for tag in (258, 270, 280, 281, 320, 338, 339, 340, 341):
        for kind, form in tifffile.TIFF.DATA_FORMATS.items():
            n_bytes = 9 * struct.calcsize(form)
            for missing in (0, 1):
                size = len(small_tiff((tag, kind, 9, 0)))
                path.write_bytes(small_tiff((tag, kind, 9, size - n_bytes + missing)))
                with open(path, "rb") as file, pytest.raises(UnusableImage) if missing else nullcontext():
                    require_whole_file(path, file)


@pytest.mark.parametrize("quality", [30, 100])
@pytest.mark.parametrize("progressive", [False, True])
def test_scans_are_counted_among_any_pixels(quality, progressive, rng):
    noise = rng.integers(0, 256, (257, 131, 3), dtype=np.uint8)
    file = encoded(noise, format="JPEG", quality=quality, progressive=progressive, restart_marker_blocks=3)
    assert count_scans(file) == (10 if progressive else 1)

"""Reading pictures: the right grey levels, or one line; never half a picture, never a hang."""

import io
import os
import pickle
import resource
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageFile

from flyannot.images import MAX_PIXELS, SIZE_PX, UnreadableImage, quality_flags, read_grey

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
N_CUTS = 20


def embryo(height=128, width=320):
    """A dark ellipse with a gradient on white, as colours (height, width, 3)."""
    y = (np.arange(height)[:, None] + 0.5) / height * 2 - 1
    x = (np.arange(width) + 0.5) / width * 2 - 1
    body = (x / 0.9) ** 2 + (y / 0.9) ** 2 < 1
    red = np.where(body, 120 + 60 * x + 20 * np.sin(9 * y), 255)
    return np.stack([red, np.where(body, red + 20, 255), np.full_like(red, 255)], axis=2).astype(np.uint8)


def encoded(pixels, **options):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, **options)
    return buffer.getvalue()


def luma(colours):
    return colours.astype(float) @ (0.299, 0.587, 0.114)


@pytest.fixture
def picture(tmp_path):
    """Write bytes or a Pillow image to a file of a neutral name; the path."""

    def write(content, **options):
        path = tmp_path / "picture"
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            content.save(path, **options)
        return path

    return write


@pytest.fixture
def tiff(tmp_path):
    def write(pixels, **options):
        path = tmp_path / "picture.tif"
        tifffile.imwrite(path, pixels, **options)
        return path

    return write


def reason(path):
    """Why a picture is refused; the message must be one line that names the file."""
    with pytest.raises(UnreadableImage) as caught:
        read_grey(path)
    message = str(caught.value)
    assert "\n" not in message and os.path.basename(path) in message
    assert message.endswith(caught.value.reason)
    return caught.value.reason


@pytest.mark.parametrize("encoding", ["png", "bmp", "tiff", "tiff lzw", "tiff deflate"])
def test_a_picture_of_standard_size_is_its_luma_whatever_the_format_or_the_suffix(encoding, picture):
    grey = read_grey(picture(encoded(embryo(), **ENCODINGS[encoding])))
    assert grey.shape == SIZE_PX and grey.dtype == np.float32
    assert np.abs(grey - luma(embryo())).max() <= 0.51  # rounded to 8 bits, as by Pillow


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_truncated_picture_is_refused_or_whole(encoding, picture):
    whole = encoded(embryo(), **ENCODINGS[encoding])
    expected = read_grey(picture(whole))
    n_refused = 0
    for cut in np.linspace(1, len(whole) - 1, N_CUTS).astype(int):
        try:
            grey = read_grey(picture(whole[:cut]))
        except UnreadableImage as error:
            assert "\n" not in str(error)
            n_refused += 1
        else:  # only what follows the pixels may be missing
            assert cut > len(whole) - 16 and (grey == expected).all()
    assert n_refused >= N_CUTS - 1


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_a_truncated_tiff_of_rare_numbers_is_refused(dtype, tiff):
    path = tiff(luma(embryo()).astype(dtype))
    whole = path.read_bytes()
    for cut in np.linspace(1, len(whole) - 1, N_CUTS).astype(int):
        path.write_bytes(whole[:cut])
        assert reason(path)


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


def test_what_is_no_file_is_refused_and_a_fifo_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    assert "not a regular file" in reason(tmp_path / "fifo")
    assert "a link to nothing" in reason(tmp_path / "dangling")
    assert "no such file" in reason(tmp_path / "gone")
    assert "folder" in reason(tmp_path)
    with pytest.raises(UnreadableImage, match="null"):
        read_grey("nul\0.png")


def test_a_name_with_a_newline_still_makes_one_line(tmp_path):
    with pytest.raises(UnreadableImage) as caught:
        read_grey(tmp_path / "two\nlines.png")
    assert "\n" not in str(caught.value)


def test_the_error_survives_the_way_from_a_worker():
    with pytest.raises(UnreadableImage) as caught:
        read_grey("nowhere.png")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.reason, copy.fix) == (str(caught.value), caught.value.reason, caught.value.fix)
    assert copy.reason == "no such file" and copy.exit_code == 65


def png_claiming(width, height):
    """A PNG whose header claims a size that it does not hold."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0"))
        + chunk(b"IEND", b"")
    )


def test_bombs_and_huge_claims_are_refused_before_they_are_decoded(tmp_path):
    blank = np.zeros((1, 1), np.uint8)
    gif = bytearray(encoded(blank, format="GIF"))
    gif[6:10] = struct.pack("<HH", 60_000, 60_000)
    bmp = bytearray(encoded(blank, format="BMP"))
    bmp[18:26] = struct.pack("<ii", 40_000, 40_000)
    jpeg = bytearray(encoded(blank, format="JPEG"))
    frame = jpeg.index(b"\xff\xc0")
    jpeg[frame + 5 : frame + 9] = struct.pack(">HH", 65_000, 65_000)
    claims = {
        "a.png": png_claiming(20_000, 20_000),
        "b.png": png_claiming(2**31 - 1, 2**31 - 1),
        "c.png": png_claiming(MAX_PIXELS + 1, 1),
        "d.gif": bytes(gif),
        "e.bmp": bytes(bmp),
        "f.jpg": bytes(jpeg),
    }
    for name, content in claims.items():
        (tmp_path / name).write_bytes(content)
    Image.new("L", (6_000, 6_000)).save(tmp_path / "g.tif", compression="tiff_adobe_deflate")
    tifffile.memmap(tmp_path / "h.tif", shape=(4_000, 5_000), dtype=np.float64, mode="w+").flush()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for path in sorted(tmp_path.iterdir()):
        assert "too large" in reason(path), path.name
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes


def test_16_bit_and_float_pictures_keep_their_full_range(tiff, picture, rng):
    deep = rng.integers(0, 65_536, SIZE_PX, dtype=np.uint16)
    expected = deep / 257
    assert np.abs(read_grey(picture(Image.fromarray(deep), format="PNG")) - expected).max() < 1e-3
    for pixels, options in [
        (deep, {}),
        (deep, {"byteorder": ">"}),
        (deep, {"bigtiff": True}),
        (65_535 - deep, {"photometric": "miniswhite"}),  # Pillow alone would show the negative
        (deep.astype(np.int32), {}),
        ((deep / 65_535).astype(np.float32), {}),
        (deep / 65_535, {}),
        (expected.astype(np.float32), {}),
        (np.stack([deep / 65_535] * 3, axis=2).astype(np.float32), {"photometric": "rgb"}),
    ]:
        assert np.abs(read_grey(tiff(pixels, **options)) - expected).max() < 1e-3, (pixels.dtype, options)
    assert (read_grey(tiff(np.stack([deep] * 3, axis=2), photometric="rgb")) == deep >> 8).all()
    assert np.abs(read_grey(tiff((deep / 65_535).astype(np.float16))) - expected).max() < 0.1


def test_grey_levels_that_mean_nothing_are_refused(tiff):
    holed = np.full(SIZE_PX, 0.5, np.float32)
    for bad, expected in [(np.nan, "NaN"), (np.inf, "NaN or infinite"), (-0.1, "outside"), (256, "outside")]:
        holed[3, 5] = bad
        for dtype in (np.float32, np.float64):
            assert expected in reason(tiff(holed.astype(dtype)))
    assert "outside" in reason(tiff(np.full(SIZE_PX, 70_000, np.int32)))


def test_every_kind_of_pixel_shows_what_a_viewer_shows(picture):
    colours = embryo()
    rgb = Image.fromarray(colours)
    expected = np.asarray(rgb.convert("L"), np.float32)
    kinds = {
        "L": (rgb.convert("L"), "PNG", 0),
        "RGBA": (rgb.convert("RGBA"), "PNG", 0),
        "LA": (rgb.convert("LA"), "PNG", 0),
        "CMYK": (rgb.convert("CMYK"), "TIFF", 1),
        "P": (rgb.quantize(256), "PNG", 8),
        "GIF": (rgb.quantize(256), "GIF", 8),
    }
    for kind, (image, format, tolerance) in kinds.items():
        grey = read_grey(picture(image, format=format))
        assert np.abs(grey - expected).max() <= tolerance, kind
    bits = rgb.convert("1")
    assert (read_grey(picture(bits, format="PNG")) == 255.0 * np.asarray(bits)).all()


def test_what_is_transparent_is_white(picture):
    alpha = np.zeros((*SIZE_PX, 4), np.uint8)  # black, and transparent but for the left half
    alpha[:, :160, 3] = 255
    palette = Image.fromarray(np.where(alpha[..., 3] > 0, 0, 1).astype(np.uint8)).convert("P")
    palette.putpalette([0, 0, 0, 10, 10, 10])
    for image, options in [
        (Image.fromarray(alpha), {"format": "PNG"}),
        (Image.fromarray(alpha).convert("LA"), {"format": "PNG"}),
        (palette, {"format": "PNG", "transparency": 1}),
        (palette, {"format": "GIF", "transparency": 1}),
        (
            Image.fromarray(np.where(alpha[..., 3] > 0, 0, 9).astype(np.uint8)),
            {"format": "PNG", "transparency": 9},
        ),
    ]:
        grey = read_grey(picture(image, **options))
        assert (grey[:, :160] == 0).all() and (grey[:, 160:] == 255).all(), (image.mode, options)


@pytest.mark.parametrize("format", ["GIF", "TIFF", "PNG", "MPO"])
def test_several_frames_are_refused(format, picture):
    frames = [Image.new("L", (30, 20), 80 * i) for i in range(3)]
    path = picture(frames[0], format=format, save_all=True, append_images=frames[1:])
    assert "several frames" in reason(path)


def test_several_pages_of_rare_numbers_are_refused(tiff):
    assert "several frames" in reason(tiff(np.zeros((2, *SIZE_PX)), photometric="minisblack"))


def test_unknown_kinds_of_pixel_are_refused_with_a_remedy(picture):
    with pytest.raises(UnreadableImage, match="unknown kind of pixel") as caught:
        read_grey(picture(Image.new("LAB", (32, 16)), format="TIFF"))
    assert "8 bits" in caught.value.fix


def test_the_orientation_that_a_camera_noted_is_applied(picture):
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    turned = Image.fromarray(embryo()[::-1, ::-1])
    for format in ("PNG", "TIFF"):
        assert (
            read_grey(picture(turned, format=format, exif=exif))
            == np.asarray(Image.fromarray(embryo()).convert("L"))
        ).all(), format


def test_other_sizes_fit_inside_undistorted_and_centred(picture):
    for height, width in [(256, 640), (64, 160), (1280, 3200)]:  # the same proportions
        grey = read_grey(picture(Image.fromarray(embryo(height, width)), format="PNG"))
        assert grey.shape == SIZE_PX
        inside = np.abs(grey - luma(embryo())) < 12
        assert inside.mean() > 0.95  # all but the rim of the body
    square = np.full((400, 400), 255, np.uint8)
    square[100:300, 100:300] = 0
    rows, columns = np.nonzero(read_grey(picture(Image.fromarray(square), format="PNG")) < 128)
    assert np.ptp(rows) == np.ptp(columns) == 63
    assert rows.mean() == 63.5 and columns.mean() == 159.5


def test_averaging_keeps_the_mean_and_makes_no_new_extremes(picture, rng):
    noise = rng.integers(100, 200, (1280, 3200), dtype=np.uint8)
    grey = read_grey(picture(Image.fromarray(noise), format="PNG"))
    assert abs(grey.mean() - noise.mean()) < 0.5
    assert grey.min() >= 100 and grey.max() < 200 and grey.std() < 5


def test_padding_makes_no_edge_on_a_grey_background(picture):
    tall = np.full((500, 100), 170, np.uint8)
    tall[200:300, 30:70] = 20
    grey = read_grey(picture(Image.fromarray(tall), format="PNG"))
    assert (grey[:, :100] == 170).all() and (grey[:, -100:] == 170).all() and grey.min() < 60


def test_mirror_images_are_read_as_mirror_images(picture, rng):
    for size in [(128, 320), (300, 700), (64, 64)]:
        pixels = rng.integers(0, 256, size, dtype=np.uint8)
        there = read_grey(picture(Image.fromarray(pixels), format="PNG"))
        mirrored = read_grey(picture(Image.fromarray(pixels[:, ::-1]), format="PNG"))
        assert np.abs(there - mirrored[:, ::-1]).max() < 1e-3


def test_doubtful_pictures_get_a_flag_and_embryos_none(picture, rng):
    def flags(pixels):
        grey = read_grey(picture(Image.fromarray(pixels.astype(np.uint8)), format="PNG"))
        assert np.isfinite(grey).all()
        return quality_flags(grey)

    y, x = np.mgrid[0:240, 0:360]
    assert flags(embryo()) == ()
    assert flags(np.full((50, 70), 255)) == ("blank",)
    assert flags(np.full((50, 70), 90)) == ("uniform",)
    assert flags(np.zeros((1, 1))) == ("uniform",)
    assert flags(rng.integers(250, 254, SIZE_PX)) == ("low contrast",)
    assert flags(rng.integers(0, 256, SIZE_PX)) == ("no plain background",)
    scene = 100 + 80 * np.sin(x / 40) * np.cos(y / 60) + rng.normal(0, 20, x.shape)
    assert flags(scene) == ("no plain background",)


def test_extreme_shapes_are_read(picture):
    for shape in [(1, 1), (1, 5000), (5000, 1), (3, 2)]:
        grey = read_grey(picture(Image.fromarray(np.full(shape, 7, np.uint8)), format="PNG"))
        assert grey.shape == SIZE_PX and (grey == 7).all()


def test_importing_the_module_loads_no_image_library():
    code = "import sys, flyannot.images; print([m for m in ('cv2', 'PIL', 'tifffile') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_every_real_embryo_is_read_and_has_no_flag(shared_data):
    paths = sorted((shared_data / "flyexpress" / "images").iterdir())
    assert len(paths) > 100
    for path in paths:
        assert quality_flags(read_grey(path)) == ()

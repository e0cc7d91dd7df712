"""Tests of the decoder of pictures: planes that do not exist, limits, and what stands beside the pixels."""

import zlib

import imagecodecs
import numpy as np
import pytest
import tifffile
from PIL import Image

from benchmarks.workers import peak_mb
from flyannot.images.embryo import read_picture
from flyannot.images.unreadable import MAX_PIXELS, UnusableImage
from tests.images.picture_files import embryo, encoded, png_chunk

GREY = embryo()[..., 0]
STACK = np.stack([GREY // 3, GREY, GREY // 2])


# How stacks of TIFF may be stored: all pages described, or only the first.
STACKS = {
    "imagej": {"imagej": True},
    "imagej, one directory": {"imagej": True, "truncate": True},
    "tifffile": {"photometric": "minisblack"},
    "tifffile, one directory": {"photometric": "minisblack", "truncate": True},
    "compressed": {"photometric": "minisblack", "compression": "lzw"},
    "ome": {"ome": True},
}


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("kind", STACKS)
def test_every_plane_of_a_stack_is_read_and_no_other(kind, dtype, tmp_path):
    path = tmp_path / "stack.tif"
    factor = 257 if dtype == np.uint16 else 1
    tifffile.imwrite(path, STACK.astype(dtype) * factor, metadata={"axes": "ZYX"}, **STACKS[kind])
    for number, plane in enumerate(STACK, 1):
        np.testing.assert_allclose(read_picture(f"{path}#z={number}"), plane, atol=1e-3)
    for planes in ("", "#z=4", "#z=2#time=2", "#z=1#page=2", "#z=1#scene=2"):
        with pytest.raises(UnusableImage, match="3 z planes|1 scene"):
            read_picture(f"{path}{planes}")
    whole = path.read_bytes()
    for cut in (100, STACK[0].nbytes // 2):  # OME's metadata stand at the end: without them, pages are listed
        path.write_bytes(whole[:-cut])
        for number in (1, 2, 3):
            with pytest.raises(UnusableImage, match="damaged or cut short|several pictures"):
                read_picture(f"{path}#z={number}")


@pytest.mark.parametrize("suffix", ["png", "tif", "ome.tif", "bmp"])
def test_a_plane_that_a_table_names_must_exist_in_every_format(suffix, tmp_path):
    path = tmp_path / f"one.{suffix}"
    if suffix == "ome.tif":
        tifffile.imwrite(path, GREY)
    else:
        Image.fromarray(GREY).save(path)
    for exists in ("#z=1", "#page=1", "#scene=1", "#channel=1#z=1", ""):
        np.testing.assert_array_equal(read_picture(f"{path}{exists}"), GREY)
    for missing in ("#z=5", "#page=2", "#scene=2", "#channel=DAPI"):
        with pytest.raises(UnusableImage, match="it has .*, and no"):
            read_picture(f"{path}{missing}")
    if suffix in ("png", "bmp"):  # `--plane` is for the files that have planes
        np.testing.assert_array_equal(read_picture(path, ("z=5",)), GREY)
    else:
        with pytest.raises(UnusableImage, match="and no z=5"):
            read_picture(path, ("z=5",))
        np.testing.assert_array_equal(read_picture(f"{path}#z=1", ("z=5",)), GREY)


def test_grey_samples_beside_each_other_are_channels(tmp_path):
    path = tmp_path / "a.tif"
    for layout, axis in (("separate", 0), ("contig", 2)):
        pixels = np.stack([GREY // 2, GREY], axis=axis)
        tifffile.imwrite(path, pixels, photometric="minisblack", planarconfig=layout, metadata=None)
        np.testing.assert_array_equal(read_picture(f"{path}#channel=2"), GREY)
        with pytest.raises(UnusableImage, match="2 channels"):
            read_picture(path)


@pytest.mark.parametrize(
    "extra",
    [
        png_chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(3_000_000))),
        png_chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(bytes(3_000_000))),
        png_chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(bytes(3_000_000))),
        png_chunk(b"tEXt", b"Comment\0" + b"a" * 3_000_000),
        png_chunk(b"iTXt", b'XML:com.adobe.xmp\0\0\0\0\0<x tiff:Orientation="3"/>'),
        png_chunk(b"iCCP", b"profile\0\0" + zlib.compress(bytes(3_000_000))),
        png_chunk(b"iCCP", b"profile\0\0damaged"),
        png_chunk(b"eXIf", b"MM\0*\0\0\0\x08\0\xff"),
    ],
    ids=["text", "exif", "xmp", "long text", "orientation", "colours", "damaged colours", "damaged exif"],
)
def test_what_stands_beside_the_pixels_of_a_png_makes_it_neither_damaged_nor_slow(extra, picture):
    whole = encoded(GREY, format="PNG")
    np.testing.assert_array_equal(read_picture(picture(whole[:33] + extra + whole[33:])), GREY)


def test_a_pointer_of_git_lfs_is_named_with_the_command_that_fetches_the_picture(picture):
    with pytest.raises(UnusableImage, match="git-lfs pointer") as caught:
        read_picture(picture(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n"))
    assert "git lfs pull" in caught.value.fix


def test_heic_is_named_with_what_to_do(picture):
    with pytest.raises(UnusableImage, match="it is a HEIC picture") as caught:
        read_picture(picture(b"\0\0\0\x1cftypheic" + bytes(16)))
    assert caught.value.fix == "save it as JPEG or PNG"


def test_50_million_pixels_of_16_bits_take_little_memory(tmp_path):
    path = tmp_path / "a.tif"
    height = 5_000
    tifffile.memmap(path, shape=(height, MAX_PIXELS // height), dtype=np.uint16).flush()
    tifffile.imwrite(tmp_path / "small.tif", GREY.astype(np.uint16))
    read_picture(tmp_path / "small.tif")  # which loads the libraries
    before = peak_mb()
    picture = read_picture(path)
    assert picture.shape == (height, MAX_PIXELS // height) and not picture.any()
    assert peak_mb() - before < 220


@pytest.mark.parametrize("compression", ["jpeg", "webp", "jpeg2k"])
def test_a_picture_within_a_tiff_is_whole_and_no_larger_than_its_part(compression, tiff):
    pixels = np.full((64, 64, 3), 99, np.uint8)
    encode = getattr(imagecodecs, f"{compression}_encode")
    name = {"jpeg2k": "jpeg2000"}.get(compression, compression)
    about = {"shape": pixels.shape, "dtype": np.uint8, "compression": name, "photometric": "rgb"}
    whole = encode(pixels)
    assert np.abs(read_picture(tiff(iter([whole]), metadata=None, **about)) - 99.0).max() <= 1
    larger = encode(np.zeros((3_000, 3_000, 3), np.uint8))
    cuts = [(whole[: tenth * len(whole) // 10], "damaged or cut short") for tenth in range(1, 10)]
    for part, fault in ((larger, "a part is larger"), *cuts):
        with pytest.raises(UnusableImage, match=fault):
            read_picture(tiff(iter([part]), metadata=None, **about))

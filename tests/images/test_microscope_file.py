"""Tests of microscopes' files: a plane is read once it is chosen, and the planes are listed otherwise."""

import struct
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from flyannot.base.errors import InputError
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.images.address import (
    TURNS,
    Axis,
    choose_plane,
    image_path,
    photograph_name,
    split_address,
    split_turn,
)
from flyannot.images.embryo import read_picture
from flyannot.images.unreadable import UnusableImage
from tests.images.picture_files import embryo
from tests.small_embryos import rows_of_csv

CHANNELS = ("DAPI", "EGFP", "brightfield")


def stack(n_z=2, n_channels=3, shape=(64, 160), dtype=np.uint16):
    """Return planes (n_z, n_channels, height, width) of one grey level each, 1000 z + 100 channel, from 1."""
    level = 1000 * np.arange(1, n_z + 1)[:, None] + 100 * np.arange(1, n_channels + 1)
    return np.broadcast_to(level[..., None, None], (n_z, n_channels, *shape)).astype(dtype)


def ome_tiff(path, planes, *, bits=None, names=CHANNELS, **options):
    """Write an OME-TIFF of planes (n_z, n_channels, height, width)."""
    about = {"axes": "ZCYX", "Channel": {"Name": list(names[: planes.shape[1]])}}
    tifffile.imwrite(path, planes, metadata=about | ({"SignificantBits": bits} if bits else {}), **options)
    return path


def czi(path, scenes, *, names=CHANNELS):
    """Write a CZI.

    `scenes` are arrays (n_z, n_channels, height, width) of grey levels, or (height, width, 3) of colours.
    """
    from pylibCZIrw import czi as zeiss

    with zeiss.create_czi(str(path)) as file:
        for number, planes in enumerate(scenes):
            place = {"location": (number * 2 * planes.shape[-1], 0), "scene": number}
            if planes.shape[-1] == 3:
                file.write(np.ascontiguousarray(planes[..., ::-1]), **place)
                continue
            for (z, channel), _ in np.ndenumerate(planes[..., 0, 0]):
                pixels = np.ascontiguousarray(planes[z, channel][..., None])
                file.write(pixels, plane={"Z": z, "C": channel}, **place)
        file.write_metadata("made by a test", channel_names=dict(enumerate(names)))
    return path


_CHANNEL = (
    '<ChannelDescription DataType="0" ChannelTag="0" Resolution="{bits}" LUTName="{name}" '
    'BytesInc="{step}" Min="0" Max="1" Unit="" NameOfMeasuredQuantity="" BitInc="0" IsLUTInverted="0"/>'
)
_DIMENSION = (
    '<DimensionDescription DimID="{id}" NumberOfElements="{n}" Origin="0" Length="1" Unit="m" '
    'BitInc="0" BytesInc="{step}"/>'
)


def lif(path, planes, *, bits=12, names=("Green", "Red", "Gray")):
    """Write a LIF of one image, uint16 (n_z, n_channels, height, width)."""
    n_z, n_channels, height, width = planes.shape
    steps = {"1": 2, "2": 2 * width, "3": 2 * width * height * n_channels}
    counts = {"1": width, "2": height, "3": n_z}
    size = 2 * width * height
    channels = "".join(_CHANNEL.format(bits=bits, name=names[c], step=size * c) for c in range(n_channels))
    dimensions = "".join(_DIMENSION.format(id=i, n=counts[i], step=steps[i]) for i in counts)
    xml = (
        '<LMSDataContainerHeader Version="2"><Element Name="file" Visibility="1" UniqueID="a"><Data/>'
        f'<Memory Size="0" MemoryBlockID="M0"/><Children><Element Name="embryo" UniqueID="b"><Data><Image>'
        f"<ImageDescription><Channels>{channels}</Channels><Dimensions>{dimensions}</Dimensions>"
        f'</ImageDescription></Image></Data><Memory Size="{planes.nbytes}" MemoryBlockID="M1"/>'
        "</Element></Children></Element></LMSDataContainerHeader>"
    )
    text, block = xml.encode("utf-16-le"), "M1".encode("utf-16-le")
    with open(path, "wb") as file:
        file.write(struct.pack("<IIBI", 0x70, len(text) + 5, 0x2A, len(text) // 2) + text)
        file.write(struct.pack("<IIBQBI", 0x70, len(block) + 14, 0x2A, planes.nbytes, 0x2A, len(block) // 2))
        file.write(block + planes.astype("<u2").tobytes())
    return path


SECOND_Z_AND_CHANNEL = 2200  # the grey level of `stack` there


FORMATS = ["OME-TIFF", "compressed OME-TIFF", "czi", "lif"]


def written(format, folder):
    """Write the same planes in a format; returns the path, and the white of its 16-bit numbers."""
    if format == "czi":  # Zeiss's library writes nothing about used bits: the numbers are those of a camera
        return czi(folder / "a.czi", [stack()]), 4095
    if format == "lif":
        return lif(folder / "a.lif", stack()), 4095
    options = {"compression": "lzw", "ome": True} if format == "compressed OME-TIFF" else {}
    return ome_tiff(folder / f"a{'' if options else '.ome'}.tif", stack(), bits=12, **options), 4095


@pytest.mark.parametrize("format", FORMATS)
def test_a_plane_is_chosen_by_number_or_by_name_and_its_used_bits_are_its_range(format, tmp_path):
    path, white = written(format, tmp_path)
    name = "Red" if format == "lif" else "egfp"
    expected = np.full((64, 160), SECOND_Z_AND_CHANNEL * 255 / white)
    for address, planes in (
        (path, ("z=2", "channel=2")),
        (path, ("channel=" + name, "z=2")),
        (f"{path}#z=2#c=2", ()),
        (f"{path}#z=2", ("channel=2", "z=1")),  # what the address says comes first
    ):
        np.testing.assert_allclose(read_picture(address, planes), expected, rtol=1e-6)


def test_one_picture_needs_no_choice_and_is_read_as_any_other(tmp_path):
    colours = embryo()
    Image.fromarray(colours).save(tmp_path / "plain.png")
    tifffile.imwrite(tmp_path / "a.ome.tif", colours, photometric="rgb", metadata={"axes": "YXS"})
    tifffile.imwrite(tmp_path / "grey.ome.tif", colours[..., 0], metadata={"axes": "YX"}, compression="zlib")
    czi(tmp_path / "a.czi", [colours])
    for name in ("plain.png", "a.ome.tif", "a.czi"):
        np.testing.assert_array_equal(read_picture(tmp_path / name, ("z=1",)), colours)
    np.testing.assert_array_equal(read_picture(tmp_path / "grey.ome.tif"), colours[..., 0])


def test_scenes_are_counted_from_one(tmp_path):
    left, right = embryo(), 255 - embryo()
    path = czi(tmp_path / "a.czi", [left, right])
    with pytest.raises(UnusableImage, match="it contains several pictures: 2 scenes"):
        read_picture(path)
    for number, colours in enumerate((left, right), 1):
        np.testing.assert_array_equal(read_picture(f"{path}#scene={number}"), colours)


def test_of_a_pyramid_the_full_size_is_read(tmp_path):
    colours = np.tile(embryo(), (2, 2, 1))
    with tifffile.TiffWriter(tmp_path / "a.ome.tif") as file:
        about = {"photometric": "rgb", "tile": (128, 128)}
        file.write(colours, subifds=1, metadata={"axes": "YXS"}, **about)
        file.write(colours[::2, ::2], subfiletype=1, **about)
    np.testing.assert_array_equal(read_picture(tmp_path / "a.ome.tif"), colours)


@pytest.mark.parametrize("module", ["liffile", "pylibCZIrw.czi"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(module, tmp_path, monkeypatch):
    path, _ = written("lif" if module == "liffile" else "czi", tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match="which is not installed") as caught:
        read_picture(path)
    assert caught.value.fix == "pip install 'flyannot[microscopy]'"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("part", [0.1, 0.6])
def test_a_file_that_is_cut_short_is_refused(format, part, tmp_path):
    path, _ = written(format, tmp_path)
    path.write_bytes(path.read_bytes()[: int(part * path.stat().st_size)])
    with pytest.raises(UnusableImage):
        read_picture(path, ("z=2", "channel=3"))


def test_a_name_that_looks_like_an_address_is_a_file_if_it_is_there(tmp_path):
    (tmp_path / "a#2").write_bytes(b"x")
    assert split_address(tmp_path / "a#2") == (str(tmp_path / "a#2"), (), None)
    assert split_address("b.czi#scene=2#z=5#3") == ("b.czi", ("scene=2", "z=5"), 3)
    named = ('channel="a#1/b"', "z=2")
    assert split_address('b.czi#channel="a#1/b"#z=2#3') == ("b.czi", named, 3)
    assert photograph_name('b.czi#channel="a#1/b"#3') == 'b.czi#channel="a#1/b"'
    assert split_address("gene #4.png") == ("gene #4.png", (), None)
    assert image_path("a/b.czi#z=5") == Path("a/b.czi")
    turn, planes = split_turn("a", ("turned=both", "z=2", "turned=left-right"))
    assert turn == TURNS["left-right"] and planes == ("z=2",), "the later of two"


# (how many planes an axis has, what they are called) -> what is chosen -> its number, None if it is refused.
CHOICES = {
    (5, ""): {"z=1": 0, "z=5": 4, "z=0": None, "z=6": None, "z=two": None, "x=1": None},
    (1, ""): {"z=1": 0, "x=1": 0, "z=7": None, "z=late": None, "x=2": None},
    (1, "EGFP"): {"z=egfp": 0, "z=9": None, "z=DAPI": None},
    (3, "a A 3"): {"z=2": 1, "z=3": 2, 'z="3"': 2, "z=a": 0, "z=A": 1, 'z="2"': None},
    (2, "\u00e9 #/b"): {"z=e\u0301": 0, "z=\u00c9": 0, 'z="#/b"': 1},
    (2, "a b=c"): {"z=B=c": 1},
}


@pytest.mark.parametrize(("size", "names"), CHOICES)
def test_a_plane_is_named_once_or_counted_from_one(size, names):
    axes = [Axis("time", 1), Axis("z", size, tuple(names.split()))]
    for choice, number in CHOICES[size, names].items():
        if number is not None:
            assert choose_plane("a.czi", axes, [choice]) == {"time": 0, "z": number}
            continue
        with pytest.raises(UnusableImage) as caught:
            choose_plane("a.czi", axes, [choice])
        if choice.startswith("z="):
            assert axes[1].in_words() in caught.value.message and "1 time" not in caught.value.message
            assert ("or a name" in caught.value.fix) == bool(names)


def test_a_plane_that_may_be_two_is_refused_and_each_way_out_works():
    axes = [Axis("channel", 4, ("2", "1", "dapi", "DAPI"))]
    for choice, told in (("channel=1", {0, 1}), ("channel=2", {0, 1}), ("channel=Dapi", {2, 3})):
        with pytest.raises(UnusableImage) as caught:
            choose_plane("a.czi", axes, [choice])
        ways = caught.value.fix.removeprefix("write ").split(" or ")
        assert {choose_plane("a.czi", axes, [way])["channel"] for way in ways} == told
    with pytest.raises(UnusableImage, match="number 1 or number 2") as caught:
        choose_plane("a.czi", [Axis("channel", 2, ("a", "a"))], ["channel=a"])
    assert caught.value.fix == "write its number"


def test_pages_of_several_sizes_are_counted_as_pages_and_as_scenes(tmp_path):
    for size in (128, 160, 192):
        tifffile.imwrite(tmp_path / "a.tif", np.full((size, 320), size, np.uint8), append=True)
    for axis in ("page", "scene"):
        assert [len(read_picture(tmp_path / "a.tif", (f"{axis}={n}",))) for n in (1, 2, 3)] == [128, 160, 192]


def test_labels_of_imagej_choose_a_plane(tmp_path):
    labels = ["Größe\nsecond line", "a#b/c", "1", "p=q"]
    levels = np.full((4, 64, 160), np.arange(1, 5)[:, None, None], np.uint8)
    file = tmp_path / "labels.tif"
    tifffile.imwrite(file, levels, imagej=True, metadata={"axes": "CYX", "Labels": labels})
    found = [read_picture(f"{file}#channel={k}").max() for k in ("2", "4", "3")]
    assert [read_picture(f"{file}#channel={k}").max() for k in ('"a#b/c"', "p=q", '"1"')] == found
    assert len({*found, read_picture(f"{file}#channel=große").max()}) == 4
    with pytest.raises(UnusableImage, match="1 Größe, 2 a#b/c, 3 1, 4 p=q"):
        read_picture(file)
    with pytest.raises(UnusableImage, match="may be number 1 or number 3"):
        read_picture(f"{file}#channel=1")


def test_the_first_eight_names_of_an_axis_are_told():
    words = [Axis("channel", n, ("", *"bcdefghi"[: n - 1])).in_words() for n in (2, 8, 9)]
    eight = "1 , 2 b, 3 c, 4 d, 5 e, 6 f, 7 g, 8 h"
    assert words == ["2 channels (1 , 2 b)", f"8 channels ({eight})", f"9 channels ({eight}, ...)"]


@pytest.fixture
def stacks(tmp_path):
    """Make a data set of two scenes of one CZI and a stack of TIFF."""
    folder = tmp_path / "stacks"
    folder.mkdir()
    grey = embryo()[..., 0].astype(np.uint16) * 257
    planes = np.stack([np.stack([np.full_like(grey, 9), grey // (k + 1)]) for k in range(2)])
    czi(folder / "slide.czi", [planes[:1], planes[1:]], names=("DAPI", "brightfield"))
    ome_tiff(folder / "stack.ome.tif", planes)
    (folder / "images.csv").write_text(
        "image,gene,stage_range\nslide.czi#scene=1,a,4-6\nslide.czi#scene=2,b,4-6\nstack.ome.tif#z=2,b,4-6\n"
    )
    return folder


def test_extract_refuses_what_is_ambiguous_and_takes_the_plane_that_is_named(flyannot, stacks, tmp_path):
    said = flyannot("extract S -o O", S=stacks, O=tmp_path / "d.h5")
    assert said.code == 2 and said.err.count("Error:") == 1 and said.err.count("Fix:") == 1
    assert "slide.czi#scene=1: it contains several pictures: 2 scenes" in said.err
    assert "2 channels (1 DAPI, 2 brightfield)" in said.err
    assert "--plane channel=1, or for this file alone slide.czi#channel=1" in said.err
    said = flyannot("extract S -o O --plane channel=2", S=stacks, O=tmp_path / "d.h5", code=0)
    stored = open_stored_file(tmp_path / "d.h5")
    assert stored.options["extract"]["plane"] == ["channel=2"]
    names = stored.read_array("4-6", "image")
    assert names == ["slide.czi#scene=1", "slide.czi#scene=2", "stack.ome.tif#z=2"]
    second, third = (stored.read_image_rows("4-6", k, k + 1)[0] for k in (1, 2))
    assert len(second)
    np.testing.assert_array_equal(second, third)  # the same pixels in either format


def test_one_ambiguous_file_among_others_is_listed_with_the_remedy(flyannot, stacks, tmp_path):
    Image.fromarray(embryo()).save(stacks / "plain.png")
    table = stacks / "images.csv"
    table.write_text("image,gene,stage_range\nplain.png,a,4-6\nstack.ome.tif,b,4-6\n")
    flyannot("extract S -o O", S=stacks, O=tmp_path / "d.h5", code=3)
    (listed,) = (row for row in rows_of_csv(tmp_path / "d-pictures.csv") if row["fate"] == "not read")
    assert "2 z planes, 2 channels (1 DAPI, 2 EGFP)" in listed["reason"]
    assert "choose one, such as --plane z=1" in listed["advice"]


@pytest.mark.parametrize("wrong", ["depth=2", "z", "z=", "=3", "z=1 --plane z=2"])
def test_a_plane_that_cannot_be_meant_is_refused(wrong, flyannot, stacks, tmp_path):
    said = flyannot(f"extract S -o O --plane {wrong}", S=stacks, O=tmp_path / "d.h5")
    are_two = wrong.endswith("z=2")
    words = "--plane has two values for the axis z" if are_two else "an axis (scene, channel, z, time, page)"
    assert said.code == 2 and words in said.err

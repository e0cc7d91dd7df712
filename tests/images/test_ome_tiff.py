"""Tests of OME-TIFFs: planes are found by the XML in the file itself, and no other file is opened."""

import itertools
import warnings

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.workers import peak_mb
from flyannot.images.embryo import read_picture
from flyannot.images.ome_tiff import parse_ome
from flyannot.images.unreadable import UnusableImage
from tests.images.picture_files import embryo

NAMES = ("A.ome.tif", "B.ome.tif", "C.ome.tif")
OME = '<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" {}>{}</OME>'
# Each kind of set: the axis on which its files differ.
KINDS = {"positions": "scene", "slices": "z", "channels": "channel", "times": "time"}


def uuid(name):
    """Return the UUID of the file that had this name first."""
    return f"urn:uuid:{'ABC'.index(name[0]):08}-0000-0000-0000-000000000000"


def tiff_data(name, attributes='IFD="0"'):
    """Return the element TiffData of planes in a file; name : as the microscope gave it, "" for no UUID."""
    about = f'<UUID FileName="{name}">{uuid(name)}</UUID>' if name else ""
    return f"<TiffData {attributes}>{about}</TiffData>"


def pixels(data, number=0, order="XYZCT", **sizes):
    """Return the element Image of some TiffData."""
    sizes = {"X": 320, "Y": 128, "Z": 1, "C": 1, "T": 1} | sizes
    about = " ".join(f'Size{letter}="{size}"' for letter, size in sizes.items())
    about = f'ID="Pixels:{number}" Type="uint8" DimensionOrder="{order}" {about}'
    return f'<Image ID="Image:{number}"><Pixels {about}>{data}</Pixels></Image>'


def set_xml(kind, names=NAMES):
    """Return the elements Image of a set of files."""
    if kind == "positions":
        return "".join(pixels(tiff_data(name), number) for number, name in enumerate(names))
    letter = KINDS[kind][0].upper()
    runs = (tiff_data(name, f'IFD="0" First{letter}="{number}"') for number, name in enumerate(names))
    return pixels("".join(runs), **{letter: len(names)})


def plane(number):
    """Return the grey levels of the picture in a file of a set."""
    return np.roll(embryo()[..., 0], 20 * number, axis=1)


def write_file(path, number, images, own=None):
    """Write one file of a set; own : the name from which its UUID is made, "" for none."""
    own = NAMES[number] if own is None else own
    about = OME.format(f'UUID="{uuid(own)}"' if own else "", images)
    tifffile.imwrite(path, plane(number), description=about, metadata=None)
    return path


def reason(address):
    """Return why a picture is refused, which is one line that names the file."""
    with pytest.raises(UnusableImage) as caught:
        read_picture(address)
    assert "\n" not in caught.value.message and str(address).partition("#")[0] in caught.value.message
    return caught.value.reason


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_a_set_is_read_by_its_own_page_without_a_warning(kind, tmp_path, capfd):
    for number, name in enumerate(NAMES):
        write_file(tmp_path / name, number, set_xml(kind))
    (tmp_path / "C.ome.tif").rename(tmp_path / "embryo 7.tif")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, name in enumerate((*NAMES[:2], "embryo 7.tif")):
            np.testing.assert_array_equal(read_picture(tmp_path / name), plane(number))
            assert f"and no {KINDS[kind]}=3" in reason(f"{tmp_path / name}#{KINDS[kind]}=3")
    assert capfd.readouterr() == ("", "")


def test_the_pages_of_a_file_of_a_set_are_chosen_and_its_used_bits_are_known(tmp_path):
    images = "".join(pixels(tiff_data(name, ""), number, Z=2) for number, name in enumerate(NAMES[:2]))
    stack = np.stack([plane(2), plane(3)]).astype(np.uint16)
    about = OME.format(f'UUID="{uuid("B")}"', images.replace("<Pixels", '<Pixels SignificantBits="12"'))
    path = tmp_path / "B.ome.tif"
    tifffile.imwrite(path, stack, description=about, metadata=None, photometric="minisblack")
    assert "several pictures: 2 pages" in reason(path)
    expected = plane(3) * np.float32(255 / 4095)
    np.testing.assert_allclose(read_picture(f"{path}#page=2"), expected, rtol=1e-6)


@pytest.mark.parametrize("own", ["", "B.ome.tif"])
def test_a_file_finds_its_own_planes_by_uuid_or_by_its_name(own, tmp_path):
    name = "A.ome.tif" if own else "B.ome.tif"
    path = write_file(tmp_path / name, 1, pixels(tiff_data("B.ome.tif", 'IFD="0"')), own=own)
    np.testing.assert_array_equal(read_picture(f"{path}#z=1"), plane(1))
    (image,) = parse_ome(path, tifffile.TiffFile(path).pages.first.description)
    assert image.is_whole


def test_a_file_whose_metadata_lie_in_another_file_is_read_as_it_is(tmp_path):
    companion = '<BinaryOnly MetadataFile="set.companion.ome" UUID="urn:uuid:1"/>'
    path = write_file(tmp_path / "A.ome.tif", 0, companion)
    np.testing.assert_array_equal(read_picture(path), plane(0))


@given(st.permutations("ZCT"), st.lists(st.integers(1, 3), min_size=3, max_size=3), st.data())
@settings(max_examples=100)
def test_planes_are_counted_in_the_order_of_the_axes(letters, numbers, data):
    """Compare with a list of all planes in the order of the standard: the first letter varies fastest."""
    sizes = dict(zip(letters, numbers))
    planes = [dict(zip(reversed(letters), each)) for each in itertools.product(*map(range, numbers[::-1]))]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(planes) - 1)))) if len(planes) > 1 else []
    runs = []
    for number, (start, end) in enumerate(itertools.pairwise([0, *cuts, len(planes)])):
        first = " ".join(f'First{letter}="{at}"' for letter, at in planes[start].items())
        count = data.draw(st.sampled_from([f'PlaneCount="{end - start}"', f'NumPlanes="{end - start}"', ""]))
        page = 10 * number if count else 0  # with a page and no count, it is one plane
        ifd = f'IFD="{page}"' if count else ""
        runs.append((start, page, tiff_data("", f"{first} {count} {ifd}")))
    shuffled = data.draw(st.permutations(runs))
    images = pixels("".join(run for *_, run in shuffled), order="XY" + "".join(letters), **sizes)
    (image,) = parse_ome("A.ome.tif", OME.format('UUID="a"', images))
    names = {"Z": "z", "C": "channel", "T": "time"}
    for number, at in enumerate(planes):
        page = image.find_page("A.ome.tif", {names[letter]: k for letter, k in at.items()})
        start, first_page, _ = max(run for run in runs if run[0] <= number)
        assert page == first_page + number - start


BAD_COUNTS = ('IFD="-1"', 'IFD="x"', 'IFD="0" FirstZ="-1"', 'IFD="0" PlaneCount="1.5"')


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        (pixels(tiff_data(""), X=2_000_000_000), "too large"),
        (pixels(tiff_data(""), Z=200_000_000), "claims 200,000,000 planes, more than 100,000"),
        (pixels("<a>" + tiff_data("")), "its OME metadata are damaged"),
        *((pixels(tiff_data("", text)), "its OME metadata are damaged") for text in BAD_COUNTS),
        (pixels("<a/>" * 2**23 + tiff_data("")), "characters: at most 33,554,432"),
        (pixels(tiff_data("", 'IFD="2000000000"')), "on page 2,000,000,001 of a file that has 1 page"),
    ],
)
def test_planes_that_are_only_claimed_take_no_memory(images, expected, tmp_path):
    path = write_file(tmp_path / "B.ome.tif", 1, images)
    before = peak_mb()
    assert expected in reason(path)
    assert peak_mb() - before < 100

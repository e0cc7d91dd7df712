"""Tests of sets of OME-TIFFs: each plane is read from its own file of the folder, and from no other file."""

import itertools
import os
import warnings

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.workers import peak_mb
from flyannot.files.digest import file_digest, json_digest
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.images.address import split_address
from flyannot.images.embryo import open_picture, read_picture
from flyannot.images.ome_tiff import parse_ome
from flyannot.images.tiff_file import find_sisters
from flyannot.images.unreadable import UnusableImage
from tests.images.picture_files import embryo, encoded

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
    return (
        f'<Image ID="Image:{number}"><Pixels ID="Pixels:{number}" Type="uint8" DimensionOrder="{order}" '
        f"{about}>{data}</Pixels></Image>"
    )


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


@pytest.fixture(params=KINDS)
def ome_set(request, tmp_path):
    """Make a folder with a set of three files; return the folder and the axis on which they differ."""
    for number, name in enumerate(NAMES):
        write_file(tmp_path / name, number, set_xml(request.param))
    return tmp_path, KINDS[request.param]


def reason(address):
    """Return why a picture is refused, which is one line that names the file."""
    with pytest.raises(UnusableImage) as caught:
        read_picture(address)
    assert "\n" not in caught.value.message and str(address).partition("#")[0] in caught.value.message
    return caught.value.reason


def digest(address):
    """Return the digest of the picture at an address."""
    with open_picture(split_address(address)[0]) as opened:
        return opened.digest(address)


def digest_of_files(folder, name, *others):
    """Return the digest of a file that is read together with other files."""
    own = file_digest(folder / name)
    return json_digest([own, *([other, file_digest(folder / other)] for other in others)]) if others else own


def test_each_plane_is_read_from_its_own_file_without_a_warning(ome_set, capfd, trials):
    trials(9, campaign=9)
    folder, axis = ome_set
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, number in itertools.product(NAMES, range(3)):
            address = f"{folder / name}#{axis}={number + 1}"
            np.testing.assert_array_equal(read_picture(address), plane(number))
            others = [] if name == NAMES[number] else [NAMES[number]]
            assert digest(address) == digest_of_files(folder, name, *others)
        every_file = digest_of_files(folder, *NAMES)
        assert digest(folder / "A.ome.tif") == every_file, "any plane may be chosen by an option"
    assert capfd.readouterr() == ("", "")


def test_without_a_choice_the_plane_in_the_file_itself_is_read(ome_set):
    folder, axis = ome_set
    for number, name in enumerate(NAMES):
        np.testing.assert_array_equal(read_picture(folder / name), plane(number))
    np.testing.assert_array_equal(read_picture(folder / "A.ome.tif", (f"{axis}=3",)), plane(2))


def test_a_file_of_a_set_with_planes_of_its_own_asks_which(tmp_path):
    images = "".join(pixels(tiff_data(name, ""), number, Z=2) for number, name in enumerate(NAMES[:2]))
    for number, name in enumerate(NAMES[:2]):
        stack = np.stack([plane(2 * number), plane(2 * number + 1)])
        about = OME.format(f'UUID="{uuid(name)}"', images)
        tifffile.imwrite(tmp_path / name, stack, description=about, metadata=None, photometric="minisblack")
    path = tmp_path / "B.ome.tif"
    assert "several pictures: 2 scenes, 2 z planes" in reason(path)
    np.testing.assert_array_equal(read_picture(f"{path}#z=2"), plane(3))
    np.testing.assert_array_equal(read_picture(f"{path}#z=2#scene=1"), plane(1))
    assert "several pictures" in reason(f"{path}#scene=1")


def test_a_renamed_file_finds_its_own_planes_by_uuid(ome_set):
    folder, axis = ome_set
    (folder / "B.ome.tif").rename(folder / "embryo 7.tif")
    for number in range(3):
        picture = read_picture(f"{folder / 'embryo 7.tif'}#{axis}={number + 1}")
        np.testing.assert_array_equal(picture, plane(number))
    assert "lies in the file B.ome.tif, which is not in its folder" in reason(
        f"{folder / 'A.ome.tif'}#{axis}=2"
    )
    (folder / "A.ome.tif").rename(folder / "B.ome.tif")
    said = reason(f"{folder / 'C.ome.tif'}#{axis}=2")
    assert "lies in the file B.ome.tif, which cannot be used: it is another file now" in said
    assert "B.ome.tif, which cannot be used: it is another file" in reason(
        f"{folder / 'B.ome.tif'}#{axis}=2"
    ), "not its own plane"


def test_a_file_without_a_uuid_of_its_own_is_known_by_its_name(tmp_path):
    for number, name in enumerate(NAMES):
        write_file(tmp_path / name, number, set_xml("slices"), own="")
    for name, number in itertools.product(NAMES, range(3)):
        picture = read_picture(f"{tmp_path / name}#z={number + 1}")
        np.testing.assert_array_equal(picture, plane(number))


def test_links_to_the_files_of_one_folder_are_a_set(tmp_path):
    (tmp_path / "store").mkdir()
    for number, name in enumerate(NAMES):
        write_file(tmp_path / "store" / name, number, set_xml("positions"))
        (tmp_path / name).symlink_to(tmp_path / "store" / name)
    np.testing.assert_array_equal(read_picture(f"{tmp_path / 'A.ome.tif'}#scene=3"), plane(2))


def test_a_file_whose_metadata_lie_in_another_file_is_read_as_it_is(tmp_path):
    companion = '<BinaryOnly MetadataFile="set.companion.ome" UUID="urn:uuid:1"/>'
    path = write_file(tmp_path / "A.ome.tif", 0, companion)
    np.testing.assert_array_equal(read_picture(path), plane(0))
    assert digest(path) == file_digest(path)


def lead_out(folder):
    """Make what names may lead to, and return for each name a part of the reason."""
    out = folder.parent / "elsewhere"
    out.mkdir()
    write_file(out / "B.ome.tif", 1, set_xml("positions"))
    (folder / "link").symlink_to(out / "B.ome.tif")
    (folder / "linked").symlink_to(out)
    (folder / "inner").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "text").write_text("GET / HTTP")
    (folder / "empty").write_bytes(b"")
    whole = (out / "B.ome.tif").read_bytes()
    for n_bytes in (8, 200, len(whole) - 9):
        (folder / f"cut{n_bytes}").write_bytes(whole[:n_bytes])
    packed = bytearray(encoded(embryo()[..., 0], format="TIFF", compression="tiff_adobe_deflate"))
    packed[100:200] = bytes(100)
    (folder / "damaged").write_bytes(packed)
    outside = "not a name in its folder"
    return {
        **dict.fromkeys(
            ("../elsewhere/B.ome.tif", str(out / "B.ome.tif"), "/dev/zero", "linked/B.ome.tif"), outside
        ),
        **dict.fromkeys(("..", ".", "", "inner/../A.ome.tif", "..\\B.ome.tif", "C:B.ome.tif"), outside),
        "link": "a link to another folder",
        "linked": "a link to another folder",
        "inner": "a folder, not a file",
        "pipe": "not a regular file",
        "text": "not a TIFF",
        "empty": "not a TIFF",
        **{file.name: "which cannot be used: damaged or cut short" for file in folder.glob("cut*")},
        "damaged": "which cannot be used: damaged or cut short",
        "gone": "not in its folder",
        "n" * 100_000: "not in its folder",
    }


def test_no_name_leads_out_of_the_folder_and_a_pipe_does_not_hang(tmp_path, trials):
    folder = tmp_path / "set"
    folder.mkdir()
    reasons = lead_out(folder)
    trials(len(reasons), campaign=len(reasons))
    for name, why in reasons.items():
        images = pixels(tiff_data("A.ome.tif")) + pixels(tiff_data("B.ome.tif").replace("B.ome.tif", name), 1)
        path = write_file(folder / "A.ome.tif", 0, images)
        np.testing.assert_array_equal(read_picture(f"{path}#scene=1"), plane(0))
        said = reason(f"{path}#scene=2")
        assert why in said and len(said) < 1_000, name
        with open(path, "rb") as file:
            for other in find_sisters(path, file, ["scene=2"]):
                assert os.path.dirname(other) == str(folder), "nothing else is read for the digest"
        assert digest(f"{path}#scene=2")


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
        runs.append(
            (start, number, tiff_data("B.ome.tif", f"{first} {count}").replace("B.", f"B{number}.", 1))
        )
    shuffled = data.draw(st.permutations(runs))
    images = pixels("".join(run for *_, run in shuffled), order="XY" + "".join(letters), **sizes)
    _, (image,) = parse_ome("A.ome.tif", OME.format('UUID="a"', images))
    names = {"Z": "z", "C": "channel", "T": "time"}
    for number, at in enumerate(planes):
        run, page = image.find_plane("A.ome.tif", {names[letter]: k for letter, k in at.items()})
        start, file, _ = max(run for run in runs if run[0] <= number)
        assert (run.file, page) == (f"B{file}.ome.tif", number - start)


BAD_COUNTS = ('IFD="-1"', 'IFD="x"', 'IFD="0" FirstZ="-1"', 'IFD="0" PlaneCount="1.5"')


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        (pixels(tiff_data(""), X=2_000_000_000), "too large"),
        (pixels(tiff_data(""), Z=200_000_000), "claims 200,000,000 planes, more than 100,000"),
        (
            "".join(pixels(tiff_data("A.ome.tif").replace("A.ome", f"{k}"), k) for k in range(10_001)),
            "refers to 10,001 files, more than 10,000",
        ),
        (pixels("<a>" + tiff_data("")), "its OME metadata are damaged"),
        *((pixels(tiff_data("", text)), "its OME metadata are damaged") for text in BAD_COUNTS),
        (pixels("<a/>" * 2**23 + tiff_data("")), "characters: at most 33,554,432"),
        (pixels(tiff_data("", 'IFD="2000000000"')), "on page 2,000,000,001 of a file that has 1 page"),
    ],
)
def test_files_and_planes_that_are_only_claimed_take_no_memory(images, expected, tmp_path):
    path = write_file(tmp_path / "B.ome.tif", 1, images)
    before = peak_mb()
    assert expected in reason(path)
    assert peak_mb() - before < 100


def test_an_output_is_made_anew_when_a_file_of_its_set_has_changed(flyannot, tmp_path, trials):
    trials(3, campaign=3)
    folder = tmp_path / "set"
    folder.mkdir()
    for number, name in enumerate(NAMES):
        write_file(folder / name, number, set_xml("positions"))
    (folder / "images.csv").write_text("image,gene,stage_range\nA.ome.tif#scene=2,a,4-6\n")

    def extract(more=""):
        said = flyannot(f"extract S -o O {more}", S=folder, O=tmp_path / "d.h5")
        with open_stored_file(tmp_path / "d.h5") as stored:
            return said, stored.read_image_rows("4-6", 0, 1)[0]

    _, before = extract()
    write_file(folder / "C.ome.tif", 0, set_xml("positions"), own="C.ome.tif")
    said, _ = extract()
    assert said.code == 0 and "up to date" in said.err, "another position of the set"
    write_file(folder / "B.ome.tif", 0, set_xml("positions"), own="B.ome.tif")
    said, _ = extract()
    assert said.code == 2 and "an image" in said.err and "has changed since" in said.err
    said, after = extract("--force")
    assert said.code == 0 and not np.array_equal(before, after)
    (folder / "B.ome.tif").unlink()
    said, _ = extract("--force")
    assert said.code and "lies in the file B.ome.tif, which is not in its folder" in said.err

"""Stored pictures that are damaged or made to deceive: each command refuses them or misses them."""

import struct
from base64 import b64encode
from contextlib import suppress

import h5py
import numpy as np
import pytest

from flyannot.files.hdf5.header import content_digest, image_digest
from flyannot.images.geometry import STANDARD_PX
from flyannot.images.shown import encode_jpeg
from tests.cli.test_cli import check_error
from tests.images.picture_files import encoded

SCRIPT = b"<script>alert(1)</script>"
GREY = np.add.outer(*(np.arange(n, dtype=np.uint8) for n in STANDARD_PX))
GOOD = encode_jpeg(GREY)
PROGRESSIVE = encoded(GREY, "JPEG", progressive=True)
LAST_SCAN = PROGRESSIVE[PROGRESSIVE.rindex(b"\xff\xda") : -2]
NO_JPEG, CUT = "not a JPEG that flyannot writes", "damaged or cut short ("


def with_segment(marker, content):
    return GOOD[:2] + struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content + GOOD[2:]


def with_size(*size):
    place = GOOD.index(b"\xff\xc0") + 5
    return GOOD[:place] + struct.pack(">HH", *size) + GOOD[place + 4 :]


JPEGS = {
    "good": (GOOD, ""),
    "empty": (b"", NO_JPEG),
    "text": (SCRIPT, NO_JPEG),
    "text instead of its start": (SCRIPT[:2] + GOOD[2:], CUT),
    "text behind it": (GOOD + SCRIPT, NO_JPEG),
    "a comment": (with_segment(0xFE, SCRIPT), NO_JPEG),
    "metadata": (with_segment(0xE1, b"Exif\0\0" + SCRIPT), NO_JPEG),
    "a thumbnail": (with_segment(0xE0, b"JFXX\0" + 40 * SCRIPT), NO_JPEG),
    "cut": (GOOD[: len(GOOD) // 2], NO_JPEG),
    "many scans": (PROGRESSIVE[:-2] + LAST_SCAN * 500 + PROGRESSIVE[-2:], NO_JPEG),
    "another format": (encoded(GREY, "PNG"), NO_JPEG),
    "four inks": (
        GOOD.replace(b"\x01\x01\x11\0", b"\x04" + b"\x01\x11\0" * 4, 1),
        "it has 320 x 128 pixels of the kind CMYK",
    ),
    "a huge size": (with_size(65_500, 65_500), CUT),
    "another size": (with_size(128, 312), "it has 312 x 128 pixels of the kind L"),
    "no size": (with_size(0, 0), CUT),
}


def put_jpeg(group, content):
    """Replace the JPEG of the first image, with its digest."""
    first = group["first"][()]
    jpegs = [np.frombuffer(content, np.uint8), group["jpeg"][first[1] :]]
    group["content"][0] = image_digest(jpegs[0])
    first[1:] += len(content) - first[1]
    put(group, "jpeg", np.concatenate(jpegs))
    put(group, "first", first)


def put(group, name, value):
    if name in group:
        del group[name]
    group[name] = value


def put_first(group, name, value):
    group[name][0] = value


IN_A_ROW = {name: (put_jpeg, (content,), why) for name, (content, why) in JPEGS.items()}
IN_A_ROW["no outline"] = put_first, ("outline", 0), "its outline has no pixels"
OTHER = {
    "an outline of nan": (put, ("outline", np.full((40, 1280), np.nan, "f4"))),
    "a soft link": (put, ("jpeg", h5py.SoftLink("/4-6/content"))),
    "a link to another file": (put, ("outline", h5py.ExternalLink("/etc/passwd", "/"))),
    "offsets": (put_first, ("first", 7)),
    "maps of another": (put_first, ("map_first", 10**9)),
    "another name": (put_first, ("image", SCRIPT)),
    "another picture": (put_first, ("picture_digest", SCRIPT)),
    "an attribute that is a list": (lambda group: group.attrs.update({"<script>": [1]}), ()),
}
KINDS = IN_A_ROW | {name: (*change, None) for name, change in OTHER.items()}


@pytest.mark.parametrize(("change", "values", "why"), KINDS.values(), ids=KINDS)
def test_a_stored_picture_is_as_it_was_drawn_or_not_used(run, tmp_path, flyannot, change, values, why):
    """`why` is the fault of one picture; None if the file is refused as a whole, or has no such picture."""
    copy = run.copied_to(tmp_path / "r")
    copy.folder.joinpath("predictions-pictures.h5").unlink()
    path, page = copy.folder / "descriptors-pictures.h5", tmp_path / "page.html"
    with h5py.File(path, "r+") as file:
        name, gene = (
            values.asstr()[0] for values in (file["4-6/image"], h5py.File(copy.features)["4-6/gene"])
        )
        change(file["4-6"], *values)
        with suppress(ValueError):  # it has what is not digested
            file.attrs["digest"] = content_digest(file, "pictures")
    words = {"S": path, "I": name, "G": gene, "R": copy.folder, "O": page, "T": tmp_path / "t.csv"}
    shown, report, similar, explained = (
        flyannot(line, **copy.words, **words)
        for line in ("show S", "report R -o O", "similar F I -o T", "explain M R --gene G")
    )
    assert similar.code == 0, "which reads no picture"
    if shown.code:
        check_error(shown, 65, path.name)
    if why == "":
        assert explained.code == report.code == 0 and b64encode(GOOD).decode() in page.read_text()
    elif why:
        for said in (report, explained):
            check_error(said, 65, f"{path} is damaged", f"4-6: the picture of {name}: {why}", "--force")
            assert " at 0x" not in said.err
    else:
        check_error(explained, 65, name, "missing")
        assert report.code == 0 and " missing, such as " in report.err

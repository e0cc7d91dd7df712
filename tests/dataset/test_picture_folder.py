"""Folders of pictures: every file is taken, or counted by its kind."""

import errno
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from flyannot.base.errors import InputError
from flyannot.base.fates import PictureFate
from flyannot.dataset.images import read_folder
from flyannot.dataset.picture_folder import _TAKE_THEM, list_pictures
from flyannot.pipeline.engine.fates import judge_repeated

FORMATS = {"webp": "WEBP", "png": "PNG", "jpg": "JPEG", "bmp": "BMP", "tif": "TIFF", "gif": "GIF"}
NOT_TAKEN = {
    "a.pdf": b"x",
    "a.txt": b"x",
    "a.nef": b"II*\0" + bytes(30),  # a TIFF, by its first bytes
    "raw": bytes(40),
    "scan": b"%PDF-1.7",
    "e.png~": b"\x89PNG\r\n\x1a\n",
    "~": b"",
    ".hidden.png": b"x",
}


def save(path, kind="PNG", grey=200):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((8, 20), grey, np.uint8)).save(path, format=kind)


def count_named(left_out):
    """Return the sum of the numbers at the beginnings of the parts of a text on what was left out."""
    return sum(int(part.split()[0].replace(",", "")) for part in left_out.split(", ") if part[:1].isdigit())


@pytest.mark.parametrize("spelled", [str.lower, str.upper, str.title, None])
def test_a_picture_is_taken_with_any_suffix_and_with_none(tmp_path, spelled):
    """Without a suffix of a picture, the first bytes decide."""
    names = [f"e{n}.{spelled(suffix)}" if spelled else f"e{n}" for n, suffix in enumerate(FORMATS)]
    for name, kind in zip(names, FORMATS.values()):
        save(tmp_path / name, kind)
    assert list_pictures(tmp_path).names == sorted(names)
    assert list_pictures(tmp_path).left_out == ""


def test_every_file_is_taken_or_counted(tmp_path):
    save(tmp_path / "e.png")
    for name, content in NOT_TAKEN.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "folder.png").mkdir()
    listing = list_pictures(tmp_path)
    assert listing.names == ["e.png"]
    assert count_named(listing.left_out) == len(os.listdir(tmp_path)) - 1
    kinds = "1 NEF, 1 PDF, 1 PDF document, 1 TXT, 1 empty file, 1 hidden file, 4 other files, 1 folder"
    assert listing.left_out == kinds + _TAKE_THEM


@pytest.mark.parametrize("mark", ["_s", "_S", "-s", "_thumb", "-thumbnail", "_small", "_tn"])
@pytest.mark.parametrize("suffix", [".png", ".JPG", ""])
def test_a_thumbnail_is_left_out_only_beside_its_picture(tmp_path, mark, suffix):
    save(tmp_path / "insitu7.bmp")
    save(tmp_path / f"INSITU7{mark}{suffix}")
    save(tmp_path / f"alone{mark}{suffix}")
    save(tmp_path / "thumb_insitu7.png")
    listing = list_pictures(tmp_path)
    assert listing.names == [f"alone{mark}{suffix}", "insitu7.bmp"]
    assert f"1 thumbnail ({mark.lower()}) beside its picture" in listing.left_out
    assert "1 thumbnail (thumb_) beside its picture" in listing.left_out


def test_folders_below_are_entered_only_if_asked_for(tmp_path):
    """Links to folders, hidden folders and the pictures of a report are never entered."""
    for name in ("e.png", "b/e.png", "b/c/f.JPG", ".git/x.png", "p.html-files-0123456789ab/0.jpg"):
        save(tmp_path / name)
    (tmp_path / "b" / "circle").symlink_to(tmp_path)
    assert list_pictures(tmp_path).names == ["e.png"]
    assert "2 folders (to take pictures in folders: --recursive" in list_pictures(tmp_path).left_out
    listing = list_pictures(tmp_path, is_recursive=True)
    assert listing.names == ["b/c/f.JPG", "b/e.png", "e.png"]
    assert listing.left_out == "1 hidden file, 2 folders"
    images = read_folder(tmp_path, "4-6", is_recursive=True)
    assert [(image.name, image.path) for image in images] == [(n, tmp_path / n) for n in listing.names]


def test_a_folder_that_cannot_be_read_is_refused_and_one_below_is_left_out(tmp_path, monkeypatch):
    scan, closed = os.scandir, tmp_path / "b"

    def refuse(folder):
        if os.path.samefile(folder, closed):
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(folder))
        return scan(folder)

    for name in ("e.png", "b/e.png"):
        save(tmp_path / name)
    monkeypatch.setattr(os, "scandir", refuse)
    listing = list_pictures(tmp_path, is_recursive=True)
    assert (listing.names, listing.left_out) == (["e.png"], "1 folder")
    with pytest.raises(InputError, match="cannot read the folder .*b: Permission denied"):
        list_pictures(closed)


def test_the_same_picture_under_two_genes_is_warned():
    """One gene may have a picture twice, and a picture that cannot be opened has the digest of none."""
    names = ["a.png", "b.png", "c.png", "twice.png", "twice2.png", "other.png"]
    genes = ["Dl", "twi", "Dl", "sna", "sna", "sna"]
    digests = ["1", "1", "1", "2", "2", "3"]
    columns = {"image": names, "gene": genes, "fbgn": [""] * 6, "picture_digest": digests}
    fates = judge_repeated([PictureFate(name) for name in names], [columns])
    assert [fate.image for fate in fates if fate.fate == "warned"] == ["a.png", "b.png", "c.png"]
    assert fates[1].reason.endswith(": c.png; b.png; a.png")
    many = {name: [cell] * 5000 for name, cell in [("gene", "Dl"), ("fbgn", ""), ("picture_digest", "1")]}
    many |= {"image": [f"{i}" for i in range(5000)], "gene": ["Dl"] * 4999 + ["twi"]}
    fates = judge_repeated([PictureFate(name) for name in many["image"]], [many])
    assert fates[0].reason.endswith(": 4998; 4999; 0; 1; 2; 3; ...")


@pytest.fixture
def pictures(desk):
    """Make a folder of two pictures of synthetic embryos, with other files."""
    found = sorted(Path("embryos/images").glob("*_4-6_1.png"))[:2]
    Path("mine/below").mkdir(parents=True)
    for path, name in zip(found, ("e0.PNG", "e1")):
        shutil.copy(path, Path("mine") / name)
    shutil.copy(found[0], "mine/below/e2.png")
    Path("mine/notes.txt").touch()
    return Path("mine")


def test_check_counts_the_pictures_of_a_folder_and_names_bad_ones(flyannot, pictures):
    said = flyannot("check mine", code=0)
    assert "2 pictures: 2 used" in said.out
    assert "left out: 1 TXT, 1 folder (to take pictures in folders: --recursive, " in said.err
    (pictures / "bad.png").write_text("text")
    Image.fromarray(np.full((128, 320), 255, np.uint8)).save(pictures / "blank.png")
    said = flyannot("check mine --recursive", code=3)
    assert "5 pictures: 1 used, 2 warned, 1 refused, 1 not read" in said.out
    assert "blank.png: refused: no embryo found: blank" in said.out
    assert "bad.png: not read: not a picture" in said.out
    assert "the same picture has another gene: below/e2.png; e0.PNG" in said.out
    flyannot("check gone", code=2)


def test_check_names_pictures_that_the_table_does_not(flyannot, pictures):
    """With a table, every picture is read too, and what is left out is counted as without one."""
    (pictures / "images.csv").write_text("image,gene,stage_range\ne1,Dl,4-6\nbad.png,Dl,4-6\n")
    (pictures / "bad.png").write_text("text")
    (pictures / "e1_s.png").touch()
    said = flyannot("check mine", code=3)
    assert (
        "4 pictures: 1 used, 1 not read, 2 not named\n" in said.out
        and "below/e2.png: not named: " in said.out
    )
    assert "left out: 1 TXT, 1 thumbnail (_s) beside its picture\n" in said.err
    assert "bad.png: not read: not a picture" in said.out


@pytest.mark.parametrize(
    "name, head, is_named",
    [
        ("Bilder.xlsx", "Bild;Gen\n./E1;Dl", True),
        ("im\u00e1genes.csv", "imagen;gen\nx;Dl", True),
        ("liste.txt", "Nr\tBild\n1\tC:\\fotos\\e0.png", True),
        ("images.xls", "old workbook", True),
        ("Images.ods", "PK", True),
        ("images.csv.gz", "packed", True),
        ("sizes.csv", "image,mm\nother.png,3", False),
        ("pictures.csv", "image,fate\ne0.PNG,used", False),
    ],
)
def test_a_table_that_names_the_pictures_is_never_passed_over_in_silence(
    pictures, caplog, name, head, is_named
):
    (pictures / name).write_text(head + "\n", encoding="utf-8")
    assert len(read_folder(pictures, "4-6")) == 2
    with pytest.raises(InputError) as caught:
        read_folder(pictures, None)
    is_saved = Path(name).suffix in (".xls", ".ods")
    suffix = ".xlsx" if is_saved else ".csv" if name.endswith((".txt", ".gz")) else Path(name).suffix
    way = "open it in a spreadsheet program, and save it as " if is_saved else "mv "
    assert (f"images{suffix}" in caplog.text and caught.value.fix.startswith(way)) == is_named


@pytest.mark.parametrize(
    "line", ["annotate model.h5 mine -o mine.h5 --stage-range 4-6", "explain model.h5 mine --stage-range 4-6"]
)
def test_a_command_names_what_it_leaves_out_and_takes_all_if_asked(flyannot, pictures, line):
    said = flyannot(line, code=0)
    assert "note: mine: left out: 1 TXT, 1 folder (to take pictures in folders: --recursive, " in said.err
    said = flyannot(f"{line} --recursive --force" if "-o" in line else f"{line} --recursive", code=0)
    assert "left out: 1 TXT\n" in said.err
    found = Path("mine.csv").read_text() if "-o" in line else said.out
    assert all(re.search(rf"\b{name}\b", found) for name in ("e0.PNG", "e1", "below/e2.png"))


def test_a_picture_whose_row_has_no_stage_range_is_named_by_the_table(flyannot, pictures):
    (pictures / "images.csv").write_text("image,gene,stage_range\ne1,Dl,4-6\ne0.PNG,twi,\n")
    said = flyannot("check mine", code=3)
    assert "below/e2.png: not named" in said.out and "e0.PNG: refused: no stage range in its row" in said.out

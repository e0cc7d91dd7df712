"""Pictures that are added to a folder are annotated by the same command, and the others are not redone."""

import shutil
from pathlib import Path

import pytest

from flyannot.pipeline.pictures import pictures_task
from flyannot.pipeline.pictures.opened_pictures import read_rows
from tests.cli.test_cli import check_error
from tests.small_embryos import rows_of_csv

LINE = "annotate model.h5 mine --stage-range 4-6 -o mine.h5"


@pytest.fixture
def read_images(monkeypatch):
    """Return a list that gets the names of the images whose pictures `annotate` decodes."""
    names = []

    def read(images, uses):
        names.extend(image.name for image in images)
        return read_rows(images, uses)

    monkeypatch.setattr(pictures_task, "read_rows", read)
    return names


def copy_picture(number, name):
    Path("mine").mkdir(exist_ok=True)
    shutil.copy(f"embryos/images/syn00{number}_4-6_1.png", f"mine/{name}")


def test_only_added_pictures_are_read_and_the_outcome_is_that_of_a_new_command(flyannot, desk, read_images):
    for number, name in enumerate(("a.png", "c.png", "d.png"), 1):
        copy_picture(number, name)
    flyannot(LINE, code=0)
    copy_picture(4, "b.png")
    Path("mine/bad.png").write_text("text")
    for added in (["b.png", "bad.png"], []):
        read_images.clear()
        said = flyannot(LINE, code=3)
        assert read_images == added
    copy_picture(5, "e.png")
    assert "again: it lacks 1 image, e.png" in flyannot(LINE, code=3).err
    assert {row["image"] for row in rows_of_csv("mine.csv")} == {f"{name}.png" for name in "abcde"}
    fates = {row["image"]: row["fate"] for row in rows_of_csv("mine-pictures.csv")}
    assert fates.pop("bad.png") == "not read" and fates.keys() == {f"{name}.png" for name in "abcde"}
    said = flyannot(LINE.replace("mine.h5", "new.h5"), code=3)
    assert Path("mine.h5").read_bytes() == Path("new.h5").read_bytes(), said.err
    for end in (".csv", "-pictures.h5"):
        assert Path(f"mine{end}").read_bytes() == Path(f"new{end}").read_bytes()


def test_a_gene_with_one_more_picture_is_annotated_anew(flyannot, desk, read_images):
    rows = "image,gene,stage_range\na.png,Dl,4-6\nb.png,twi,4-6\n"
    for number, name in enumerate(("a.png", "b.png", "c.png"), 1):
        copy_picture(number, name)
    Path("mine/images.csv").write_text(rows)
    flyannot(LINE, code=0)
    Path("mine/images.csv").write_text(f"{rows}c.png,Dl,4-6\n")
    read_images.clear()
    flyannot(LINE, code=0)
    assert read_images == ["a.png", "c.png"]
    flyannot(LINE.replace("mine.h5", "new.h5"), code=0)
    assert Path("mine.h5").read_bytes() == Path("new.h5").read_bytes()


@pytest.mark.parametrize("change", ["a picture is gone", "a picture has changed", "another option"])
def test_nothing_else_is_replaced_without_force(flyannot, desk, change):
    for number, name in enumerate(("a.png", "b.png"), 1):
        copy_picture(number, name)
    flyannot(LINE, code=0)
    before = Path("mine.h5").read_bytes()
    copy_picture(3, "c.png")
    if change == "a picture is gone":
        Path("mine/a.png").unlink()
    elif change == "a picture has changed":
        copy_picture(4, "a.png")
    more = " --abstain-margin 0.1" if change == "another option" else ""
    check_error(flyannot(LINE + more), 2, "mine.h5 exists and differs", "--force")
    assert Path("mine.h5").read_bytes() == before
    flyannot(f"{LINE}{more} --force", code=0)

"""Tests of tables: equivalent spellings are read alike, and a fault has its line and column."""

import datetime
import gzip
import os
import sys
import time
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyannot.base.errors import InputError, WriteError
from flyannot.dataset import folder
from flyannot.dataset.folder import Image, read_annotations, read_images
from flyannot.files.tables import read_table, write_table
from tests.dataset.test_folder import refusal

IMAGES = "image,gene,stage_range\n"
CELLS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1)


DRESSES = {
    "byte-order mark": "\ufeffimage,gene,stage_range\na.png,Dl,4-6\n",
    "CRLF": "image,gene,stage_range\r\na.png,Dl,4-6\r\n",
    "quotes": 'image,gene,stage_range\n"a.png","Dl","4-6"',
    "order": "stage_range,note,image,,gene\n4-6,mine,a.png,x,Dl\n",
    "spaces and blank lines": "image,gene,stage_range,fbgn,group\n\n a.png , Dl,stage 4\u20136\n,,,,\n",
    "all columns": "image,gene,stage_range,view,fbgn,group,source\na.png,Dl,5,,,,\n",
    "capitals": "IMAGE,Gene,Stage Range\na.png,Dl,4-6\n",
    "semicolons": '\ufeff"Image";gene;stage_range;fbgn\r\na.png;Dl;4-6;\r\n',
    "tabs": "image\tgene\tstage-range\na.png\tDl\t4-6\n",
    "commas first": "image;note,gene,stage_range,image\nx,Dl,4-6,a.png\n",
}


@pytest.mark.parametrize("content", DRESSES.values(), ids=DRESSES)
def test_the_dress_of_a_table_does_not_matter(content, images_csv, tmp_path):
    images = [Image(f"{tmp_path}/a.png", "a.png", "Dl", "4-6", group="Dl")]
    assert read_images(images_csv(content)) == images
    assert read_images(images_csv(gzip.compress(content.encode()))) == images


@pytest.mark.parametrize(
    "content, expected",
    [
        ("", ["empty", "image,gene,stage_range"]),
        ("image,gene,stage_range\n", ["lists no image"]),
        ("filename,gene,stage\na,b,4-6\n", ["filename, gene, stage", 'Did you mean "filename"?']),
        ("image,Symbol,stage_range\na,b,4-6\n", ['no column "gene"', 'Did you mean "Symbol"?']),
        ("picture,gene,stage_range\na,b,4-6\n", ['no column "image"', 'Did you mean "picture"?']),
        ("image:gene:stage_range\na:b:4-6\n", ['no column "image"']),
        ("image,Gene,stage_range,GENE\na,b,4-6,c\n", ['"gene" appears twice']),
        ("image,gene,stage_range,gene\na,b,4-6,c\n", ['"gene" appears twice']),
        (IMAGES + "a,b,4-6\nc,,4-6\n", ["line 3", 'column "gene"', "empty", "fill it in"]),
        (IMAGES + "a,b,4-6\n ,b,4-6\n", ["line 3", 'column "image"', "empty"]),
        (IMAGES + "a,b\n", ["line 2", 'column "stage_range"', "--guess-stages"]),
        (IMAGES + "a,b,4-6,x\n", ["line 2", "4 cells under 3 columns", "double quotes"]),
        (IMAGES + '"two\nlines",b,4-6\n', ["line 2", 'column "image"', "control character"]),
        (IMAGES + "a,b,4-6\na\0,b,4-6\n", ["line 3", 'column "image"', "control character"]),
        (IMAGES + "a,b,4-6\n\nc,d,5-7\n", ["line 4", 'column "stage_range"', '"5-7"']),
        (IMAGES + 'a,b,4-6\nc,"d,4-6\ne,f,4-6\n', ["line 3", "close every double quote"]),
        (IMAGES + '"a"x,b,4-6\n', ["line 2"]),
        ('image,gene,stage_range,note\na,b,4-6,"one\ntwo\nthree"\nc,d,4-7,""\n', ["line 5"]),
        (IMAGES + 'a,b,4-6\nc,d,"4-6', ["line 3"]),
        (IMAGES + "a,b,4-6\nc,d,4-6\n./a,b,7-8\n", ["lines 2 and 4", 'column "image"', "delete one"]),
        (
            f"{IMAGES}a,b,4-6\nc,d\u00e9,4-6\n".encode("latin-1"),
            ["line 3", "not UTF-8", "Latin-1", "d\u00e9", "CSV UTF-8"],
        ),
        ((IMAGES + "a,b,4-6\n").encode("utf-16"), ["UTF-16", "Unicode Text", "CSV UTF-8"]),
        ("\0" * 5000, ["no column"]),
        (b"\xd0\xcf\x11\xe0" + bytes(600), ["an old Excel workbook (.xls)", "Save As"]),
        (b"PK\x03\x04" + bytes(600), ["cannot be read as an Excel workbook"]),
        (IMAGES + "a,b,4-6," + "x" * 200_000 + "\n", ["line 2"]),
    ],
)
def test_what_is_wrong_names_the_line_and_the_column(content, expected, images_csv):
    message = refusal(read_images, images_csv(content))
    assert all(part in message for part in expected), message
    assert len(message) < 500


def workbook(path, *rows):
    """Write an Excel workbook of one sheet."""
    book = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_a_workbook_is_read_as_the_table_that_it_shows(tmp_path):
    header = ["Image", "gene", "stage_range", None, "fbgn"]
    rows = ["a.png", "Dl", "4-6"], [None] * 5, ["b.png", "eve", 5, 1.5, "F1"]
    workbook(tmp_path / "images.xlsx", header, *rows)
    first, second = read_images(tmp_path)
    assert (first.name, first.gene, first.stage_range, first.fbgn) == ("a.png", "Dl", "4-6", "")
    assert (second.stage_range, second.fbgn) == ("4-6", "F1")
    workbook(tmp_path / "annotations.xlsx", ["gene", "stage_range", "term"], ["Dl", "4-6", "gap"])
    assert read_annotations(tmp_path).terms_of("Dl", "4-6") == {"gap"}


@pytest.mark.parametrize("place", ["XFD1048576", "C1048576", "C99999999999999", "XFD3"])
def test_a_workbook_that_claims_more_cells_than_it_has_is_read_or_refused_at_once(place, tmp_path):
    """One cell far below the others makes every line between them a row as wide as the widest."""
    path = workbook(tmp_path / "t.xlsx", ["gene", "term"], ["Dl", "gap"])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet, row = "xl/worksheets/sheet1.xml", place.lstrip("XFDC")
    cell = f'<row r="{row}"><c r="{place}"><v>1</v></c></row></sheetData>'
    parts[sheet] = parts[sheet].replace(b"A1:B2", f"A1:{place}".encode())
    parts[sheet] = parts[sheet].replace(b"</sheetData>", cell.encode())
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    try:
        assert len(list(read_table(path, ("gene", "term")))) == 1
    except InputError as error:
        assert "cells, or claims to" in error.message or "empty" in error.message


def test_a_stage_range_that_excel_keeps_as_a_date_is_the_stage_range(tmp_path, caplog):
    rows = ["image", "gene", "stage_range"], ["a.png", "Dl", datetime.datetime(2023, 4, 6)]
    (image,) = read_images(workbook(tmp_path / "images.xlsx", *rows))
    assert image.stage_range == "4-6"
    assert 'taken as a stage range: "2023-04-06 00:00:00" as 4-6 (line 2)' in caplog.messages[0]


def test_without_its_reader_a_workbook_is_named_with_what_to_do(tmp_path, monkeypatch):
    path = workbook(tmp_path / "images.xlsx", ["image"])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert "is an Excel workbook" in refusal(read_images, path)


def test_a_missing_table_says_which_columns_it_needs(tmp_path):
    with pytest.raises(InputError, match="no such table") as caught:
        read_images(tmp_path)
    assert "image, gene, stage_range" in caught.value.fix


@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1))
def test_what_is_written_is_read_back(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "table.csv"
    columns = ("image", "gene", "term")
    write_table(path, columns, rows)
    assert [tuple(read) for _, read in read_table(path, columns)] == rows


def test_a_cell_that_a_spreadsheet_would_run_is_written_with_an_apostrophe(tmp_path):
    path = tmp_path / "annotations.csv"
    folder.write_annotations_csv(path, [{"gene": "=cmd()", "stage_range": "4-6", "term": "+one"}])
    assert path.read_text() == "gene,stage_range,term\n'=cmd(),4-6,'+one\n"
    assert read_annotations(path).terms_of("=cmd()", "4-6") == {"+one"}
    wide = ["＝1", "＋1", "－1", "＠1"]  # of full width: some spreadsheets take them for the others
    for cell in (*wide, "-0.25", "+1", "-1.5e-07", "3."):  # a signed number is no formula
        write_table(path, ("value",), [[cell]])
        assert path.read_text() == ("value\n'" if cell in wide else "value\n") + f"{cell}\n"
        assert [cells for _, cells in read_table(path, ("value",))] == [[cell]]


def test_tables_are_written_whole_with_the_columns_in_use(tmp_path):
    row = {"image": "a.png", "gene": "x", "stage_range": "4-6", "source": "synthetic"}
    folder.write_images_csv(tmp_path / "images.csv", (r for r in [row, row | {"image": "b.png", "view": ""}]))
    text = (tmp_path / "images.csv").read_bytes()
    assert text == b"image,gene,stage_range,source\na.png,x,4-6,synthetic\nb.png,x,4-6,synthetic\n"
    assert {image.source for image in read_images(tmp_path)} == {"synthetic"}
    assert os.listdir(tmp_path) == ["images.csv"]


def test_a_table_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "images.csv"
    path.write_text("old")

    with pytest.raises(WriteError):
        write_table(path, ["image"], [["\udcff"]])
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["images.csv"]


def test_a_long_table_takes_seconds_and_no_look_at_each_file(images_csv, monkeypatch):
    n_rows = 100_000
    rows = "".join(f"batch{i % 10}/{i}.png,g{i % 5000},4-6\n" for i in range(n_rows))
    path = images_csv(IMAGES + rows)
    looks, original = [], os.stat
    monkeypatch.setattr(os, "stat", lambda *args, **options: looks.append(args) or original(*args, **options))
    start = time.process_time()  # others may be at work
    images = read_images(path)
    assert len(images) == n_rows and len(looks) < 10
    assert time.process_time() - start < 10  # about half a second on an idle core

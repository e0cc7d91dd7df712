"""Tests of tables: equivalent spellings are read alike, and a fault has its line and column."""

import datetime
import gzip
import os
import re
import time
import zipfile
from contextlib import nullcontext

import numpy as np
import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyannot.base.errors import InputError, WriteError
from flyannot.dataset import folder
from flyannot.dataset.folder import Image, read_annotations, read_images
from flyannot.files import workbooks
from flyannot.files.tables import parse_csv_rows, read_rows, read_table, write_table
from tests.dataset.test_folder import refusal

IMAGES = "image,gene,stage_range\n"
CELLS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1)


DRESSES = {
    "byte-order mark": "\ufeffimage,gene,stage_range\na.png,Dl,4-6\n",
    "byte-order mark read as Windows-1252": "ï»¿image,gene,stage_range\na.png,Dl,4-6\n",
    "CRLF": "image,gene,stage_range\r\na.png,Dl,4-6\r\n",
    "quotes": 'image,gene,stage_range\n"a.png","Dl","4-6"',
    "order": "stage_range,note,image,,gene\n4-6,mine,a.png,x,Dl\n",
    "spaces and blank lines": "image,gene,stage_range,fbgn,group\n\n a.png , Dl,stage 4\u20136\n,,,,\n",
    "all columns": "image,gene,stage_range,view,fbgn,group,source\na.png,Dl,5,,,,\n",
    "capitals": "IMAGE,Gene,Stage Range\na.png,Dl,4-6\n",
    "semicolons": '\ufeff"Image";gene;stage_range;fbgn\r\na.png;Dl;4-6;\r\n',
    "tabs": "image\tgene\tstage-range\na.png\tDl\t4-6\n",
    "commas first": "image;note,gene,stage_range,image\nx,Dl,4-6,a.png\n",
    "a tab named as separator": "sep=\t\nimage\tgene\tstage_range\na.png\tDl\t4-6\n",
    "spaces that do not break": "image\u00a0,gene,stage_range\na.png\u00a0,Dl,4-6\n",
    "bars": "image|gene|stage_range\na.png|Dl|4-6\n",
    "the separator named": "sep=;\nimage;gene;stage_range\na.png;Dl;4-6\n",
    "an unusual separator named": "sep=^\nimage^gene^stage_range\na.png^Dl^4-6\n",
    "the separator named in quotes": '"sep=;"\r\nimage;gene;stage_range\r\na.png;Dl;4-6\r\n',
    "blank lines above": "\n,,\nimage,gene,stage_range\na.png,Dl,4-6\n",
    "a title above": "My embryos\n\nimage,gene,stage_range\na.png,Dl,4-6\n",
    "a comment above": "# mine\n#image\tgene\tstage_range\na.png\tDl\t4-6\n",
    "empty cells behind": "image,gene,stage_range\na.png,Dl,4-6,, \n , ,\n",
    "space before quotes": '"image", "gene", "stage_range"\n"a.png", "Dl", "4-6"\n',
    "each row one quoted cell": '"image,gene,stage_range"\n"a.png,""Dl"",4-6"\n',
    "typographic quotes and tags": "image,gene,stage_range\na.png,“<i>Dl</i>”,4-6\n",
    "two files joined": "image,gene,stage_range\n\ufeffimage,gene,stage_range\na.png,Dl,4-6\n",
}


def test_a_table_has_as_many_columns_as_excel_allows_and_no_more(images_csv):
    more = [f"c{n}" for n in range(2**14 - 3)]
    row = "a.png,Dl,4-6" + "," * len(more)
    assert len(read_images(images_csv(f"image,gene,stage_range,{','.join(more)}\n{row}\n"))) == 1
    with pytest.raises(InputError, match="has 16,385 columns; a table has at most 16,384"):
        read_images(images_csv(f"image,gene,stage_range,{','.join(more)},one\n{row},\n"))


@pytest.mark.parametrize("content", DRESSES.values(), ids=DRESSES)
def test_the_dress_of_a_table_does_not_matter(content, images_csv, tmp_path):
    images = [Image(f"{tmp_path}/a.png", "a.png", "Dl", "4-6", group="Dl")]
    assert read_images(images_csv(content)) == images
    for encoding in ("utf-8", "utf-16"):
        assert read_images(images_csv(content.encode(encoding))) == images
        assert read_images(images_csv(gzip.compress(content.encode(encoding)))) == images


@pytest.mark.parametrize(
    "content, expected",
    [
        ("", ["empty", "image,gene,stage_range"]),
        ("image,gene,stage_range\n", ["lists no image"]),
        ("filename,gene,stage\na,b,4-6\n", ["filename, gene, stage", '"filename" may be "image"']),
        ("filename,gene,stage\na,b,4-6\n", ["--columns image=filename,stage_range=stage"]),
        ("gene,stage,image_url\na,4-6,b\n", ['"image_url" may be "image", "stage" may be "stage_range"']),
        ("image,Symbol,stage_range\na,b,4-6\n", ['no column "gene"', '"Symbol" may be "gene"']),
        ("gene,stage,url\na,4-6,b\n", ['no column "image"', 'The column "stage" may be "stage_range"']),
        ("picture,gene,stage_range\na,b,4-6\n", ['no column "image"', " add --columns image=picture"]),
        ("image,gene1,gene2,stage_range\na,b,c,4-6\n", ["columns for gene: gene1, gene2", "a row for each"]),
        ("file,x,stage_range\na,b,4-6\n", ['"file" may be "image"', "in one line of the table"]),
        ("imagen;gen;etapa\na;b;4-6\n", ["--columns image=imagen,gene=gen,stage_range=etapa"]),
        ("image\uff0cgene\uff0cstage_range\n", ['no column "image"', "in one line of the table"]),
        ("image:gene:stage_range\na:b:4-6\n", ['no column "image"']),
        ("image,gene,stage_range,Gene\na,b,4-6,c\n", ['columns "gene" and "Gene"', "rename or delete"]),
        ("image,gene,stage_range,Stage  Range\na,b,4-6,c\n", ['"stage_range" and "Stage  Range"']),
        (IMAGES + "a,b,4-6\nc,,4-6\n", ["line 3", 'column "gene"', "empty", "fill it in"]),
        (IMAGES + "a,b,4-6\n ,b,4-6\n", ["line 3", 'column "image"', "empty"]),
        (IMAGES + "a,b\n", ["line 2", 'column "stage_range"', "--guess-stages"]),
        (IMAGES + "a,b,4-6,x\n", ["line 2", "4 cells under 3 columns", "double quotes"]),
        (IMAGES + '"two\nlines",b,4-6\n', ["line 2", 'column "image"', "control character"]),
        (IMAGES + "a,b,4-6\na\0,b,4-6\n", ["line 3", 'column "image"', "control character"]),
        (IMAGES + "a,b,4-6\n\nc,d,5-7\n", ["line 4", 'column "stage_range"', '"5-7"']),
        (IMAGES + 'a,b,4-6\nc,"d,4-6\ne,f,4-6\n', ["line 3", "close every double quote"]),
        (IMAGES + '"a"x,b,4-6\n', ["line 2"]),
        (IMAGES + 'a,b,4-6\nc,"d,4-6\ne,f,""\nf,"g",4-6\n', ["line 3", "close every double quote"]),
        (IMAGES + 'a,b,4-6\nc,"d,4-6\nf,g",4-6\n', ["line 3", "close every double quote"]),
        ('image,gene,stage_range,note\na,b,4-6,"one\ntwo\nthree"\nc,d,4-7,""\n', ["line 5"]),
        (IMAGES + 'a,b,4-6\nc,d,"4-6', ["line 3"]),
        (IMAGES + "a,b,4-6\nc,d,4-6\n./a,b,7-8\n", ["lines 2 and 4", 'column "image"', "delete one"]),
        (IMAGES + "1,a,b,4-6\n", ["line 2", "row.names = FALSE"]),
        ("\0" * 5000, ["a file of zero bytes, not a table"]),
        ("version https://git-lfs.github.com/spec/v1\n", ["a git-lfs pointer", "git lfs pull"]),
        ("<!DOCTYPE html>", ["a web page, not a table"]),
        ('[\n {"image": "a.png"}]', ["is JSON, not a table", "as CSV"]),
        (b"\xd0\xcf\x11\xe0" + bytes(600), ["an old workbook (.xls), or has a password", "as .xlsx"]),
        (b"PK\x03\x04" + bytes(600), ["cannot be read as a workbook"]),
        (IMAGES + "a," + "x" * 200_000 + ",4-6\n", ["line 2: a cell of more than 131,072 characters"]),
    ],
)
def test_what_is_wrong_names_the_line_and_the_column(content, expected, images_csv):
    message = refusal(read_images, images_csv(content))
    assert all(part in message for part in expected), message
    assert len(message) < 500


def test_a_line_that_is_not_utf8_is_read_as_windows_writes_it_with_one_warning(images_csv, caplog):
    rows = "".join(f"{i}.png,\u00b5-{i}\u2019,4-6\n" for i in range(3))
    images = read_images(images_csv((IMAGES + rows).encode("cp1252")))
    assert [image.gene for image in images] == ["\u00b5-0\u2019", "\u00b5-1\u2019", "\u00b5-2\u2019"]
    (message,) = [m for m in caplog.messages if "Windows-1252" in m]
    assert 'line 2 is not UTF-8, and read as Windows-1252, also below: "0.png,\u00b5-0\u2019,4-6"' in message


QUOTED_CELLS = st.sampled_from(["a", "b c", '"x, y"', '"two\nlines"', '"a ""b"""', ""])
QUOTED = st.lists(QUOTED_CELLS, min_size=4, max_size=4)


@given(rows=st.lists(QUOTED, min_size=3, max_size=8), data=st.data())
def test_a_quote_that_is_not_closed_makes_one_row_faulty_and_loses_no_other(rows, data):
    """The twin parses each row alone."""
    spoilt = data.draw(st.integers(1, len(rows) - 2))
    lines = [",".join(row) + "\n" for row in rows]
    alone = [next(parse_csv_rows(line.splitlines(keepends=True)))[1] for line in lines]
    lines[spoilt] = 'a,"b,c,d\n'
    parsed = list(parse_csv_rows("".join(lines).splitlines(keepends=True)))
    number = 1 + sum(line.count("\n") for line in lines[:spoilt])
    behind = [row for line, row, fault in parsed if line > number and not fault]
    assert [row for line, row, _ in parsed if line < number] == alone[:spoilt]
    assert [fault for line, _, fault in parsed if line == number] == ["a double quote is not closed"]
    rest = zip(alone[spoilt + 1 :], lines[spoilt + 1 :])
    assert all(row in behind for row, line in rest if '"' not in line)


def workbook(path, *rows):
    """Write an Excel workbook of one sheet."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_a_workbook_is_read_as_the_table_that_it_shows(tmp_path, caplog):
    header = ["Image", "gene", "stage_range", None, "fbgn"]
    rows = (
        ["a.png", "Dl_x000D_", "4-6"],
        [None] * 5,
        ["b.png", "eve", 5, 1.5, "FBgn1"],
        ["c.png", "run", 5.0, *[None] * 9, "a note"],
    )
    workbook(tmp_path / "images.xlsx", [None, " "], header, *rows)
    first, second, third = read_images(tmp_path)
    assert 'columns without a name are not read (2 rows), such as "1.5" in line 5' in caplog.text
    assert (first.name, first.gene, first.stage_range, first.fbgn) == ("a.png", "Dl", "4-6", "")
    assert (second.stage_range, second.fbgn, third.stage_range) == ("4-6", "FBgn1", "4-6")
    workbook(tmp_path / "annotations.xlsx", ["gene", "stage_range", "term"], ["Dl", "4-6", "gap"])
    assert read_annotations(tmp_path).terms_of("Dl", "4-6") == {"gap"}


def test_cells_without_a_value_are_named_in_a_workbook(tmp_path, caplog):
    path = tmp_path / "images.xlsx"
    workbook(path, ["image", "gene", "stage_range"], ["a.png", "Dl", "4-6"], ["=A1", "=B1", "=C1"])
    assert 'line 3, column "image": a formula whose result is not stored' in refusal(read_images, path)
    error = "#N/A"
    workbook(path, ["image", "gene", "stage_range"], ["a.png", "Dl", "4-6"], ["b.png", error, "4-6"])
    assert [image.gene for image in read_images(path)] == ["Dl"]
    assert 'left out: line 3, column "gene": "#N/A" is no name' in caplog.messages[-1]


def test_a_damaged_workbook_is_read_whole_or_refused_in_clear_words(tmp_path, rng, trials):
    path = workbook(tmp_path / "annotations.xlsx", ["gene", "stage_range", "term"], ["Dl", "4-6", "gap"])
    good = path.read_bytes()
    whole = list(read_rows(path))
    for _ in range(trials(20)):
        first, last = sorted(rng.integers(4, len(good), size=2))  # the first four bytes say what it is
        middle = rng.permutation(np.frombuffer(good[first : last + 1], np.uint8)).tobytes()
        path.write_bytes(good[:first] + middle + good[last + 1 :])
        try:
            assert list(read_rows(path)) == whole
        except InputError as error:
            assert re.search("damaged or cut short|protected|not a table|is empty", error.message)
    path.write_bytes(good[:1000])
    with pytest.raises(InputError, match="damaged or cut short"):
        list(read_rows(path))


def test_hidden_rows_are_read_and_named_and_the_sheet_of_the_name_is_taken(tmp_path, caplog):
    rows = ["gene", "stage_range", "term"], ["Dl", "4-6", "gap"], ["eve", "4-6", "gap"]
    book = openpyxl.Workbook()
    sheet = book.create_sheet("Annotations")
    for row in rows:
        book.active.append(row[:1])
        sheet.append(row)
    sheet.row_dimensions[3].hidden = True
    book.save(tmp_path / "annotations.xlsx")
    assert [cells for _, cells in read_table(tmp_path / "annotations.xlsx", tuple(rows[0]))] == [*rows[1:]]
    assert caplog.text.count("hidden rows (1) are read, too") == 1


def changed(path, *changes, sheet="xl/worksheets/sheet1.xml"):
    """Replace texts in the first sheet of an .xlsx file, or in all of its parts if `sheet` is ""."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            for old, new in changes if name.startswith(sheet) else ():
                assert old in content or not sheet
                content = content.replace(old, new)
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("claimed", [b"A1", b"A1:B2", b"A1:A9", b"C5:D9", b"A1:XFD1048576"])
def test_all_rows_of_a_sheet_are_read_whatever_size_it_claims(claimed, tmp_path):
    rows = [["gene", "term"], *([f"g{i}", "gap"] for i in range(5))]
    path = changed(workbook(tmp_path / "t.xlsx", *rows), (b"A1:B6", claimed))
    assert [cells for _, cells in read_table(path, ("gene", "term"))] == rows[1:]


def test_the_dialect_of_a_workbook_does_not_matter(tmp_path):
    """Strict Open XML has other namespaces; some programs name each of its tags with a prefix."""
    path = workbook(tmp_path / "t.xlsx", ["gene", "term"], ["Dl", "gap"])
    sheets = b"schemas.openxmlformats.org/spreadsheetml/2006", b"purl.oclc.org/ooxml/s"
    documents = b"schemas.openxmlformats.org/officeDocument/2006", b"purl.oclc.org/o"
    changed(path, sheets, documents, sheet="")
    assert [cells for _, cells in read_table(path, ("gene", "term"))] == [["Dl", "gap"]]


ARCHIVES = {
    "mimetype": "a zip archive, not a table",
    "images.csv": "a zip archive",
    "xl/workbook.bin": ".xlsb",
    "content.xml": ".ods",
}


@pytest.mark.parametrize(("name", "what"), [*ARCHIVES.items(), ("Index/Document.iwa", "a file of Numbers")])
def test_an_archive_that_is_no_workbook_is_named(name, what, tmp_path):
    with zipfile.ZipFile(tmp_path / "images.csv", "w") as archive:
        archive.writestr(name, "gene")
    assert what in refusal(read_images, tmp_path / "images.csv")


def test_only_the_elements_of_one_row_are_counted(tmp_path, monkeypatch):
    path = workbook(tmp_path / "t.xlsx", ["gene", "term"], *[["Dl", "gap"]] * 99)
    monkeypatch.setattr(workbooks, "_MAX_LETTERS", 16 * 50)
    assert len(list(read_table(path, ("gene", "term")))) == 99


@pytest.mark.parametrize("most", [8, 9])
def test_a_sheet_has_no_more_letters_than_are_allowed(tmp_path, monkeypatch, most):
    monkeypatch.setattr(workbooks, "_FREE_LETTERS", most)
    monkeypatch.setattr(workbooks, "_LETTERS_PER_BYTE", 0)
    path = workbook(tmp_path / "t.xlsx", ["gene", "term"])
    with nullcontext() if most == 9 else pytest.raises(InputError, match="more than 8 letters and cells"):
        assert list(workbooks._first_rows(path, [("t", [(1, ["abc", "def"])])])) == [(1, ["abc", "def"])]


def test_a_column_that_may_be_missing_does_not_name_the_header(images_csv):
    (image,) = read_images(images_csv("My embryos\nimage;gene\na.png;Dl\n"), unknown_stage="4-6")
    assert image.gene == "Dl"


@pytest.mark.parametrize("place", ["XFD1048576", "C1048576", "C99999999999999", "XFD3"])
def test_a_workbook_that_claims_more_cells_than_it_has_is_read_or_refused_at_once(place, tmp_path):
    """One cell far below the others makes every line between them a row as wide as the widest."""
    path = workbook(tmp_path / "t.xlsx", ["gene", "term"], ["Dl", "gap"])
    cell = f'<row r="{place.lstrip("XFDC")}"><c r="{place}"><v>1</v></c></row></sheetData>'
    changed(path, (b"A1:B2", f"A1:{place}".encode()), (b"</sheetData>", cell.encode()))
    try:
        assert len(list(read_table(path, ("gene", "term")))) == 1
    except InputError as error:
        assert "cells, or claims to" in error.message or 'column "gene": empty' in error.message


def test_a_stage_range_that_excel_keeps_as_a_date_is_the_stage_range(tmp_path, caplog):
    rows = [[f"{name}.png", "Dl", datetime.datetime(2023, 4, 6)] for name in "ab"] + [["c.png", "Dl", "4-6"]]
    images = read_images(workbook(tmp_path / "images.xlsx", ["image", "gene", "stage_range"], *rows))
    assert [image.stage_range for image in images] == 3 * ["4-6"]
    taken = '2 dates were taken as stage ranges: "2023-04-06 00:00:00" as 4-6 (line 2 and 1 more)'
    assert taken in caplog.text


def test_names_of_columns_hold_for_one_reading(images_csv, tmp_path):
    words = {"image": " Imagen", "gene": "gen"}
    path = images_csv("imagen;GEN;stage_range;image\na.png;Dl;4-6;b.png\n")
    (image,) = read_images(path, columns=words)
    assert (image.name, image.gene) == ("a.png", "Dl")
    assert 'no column "gene"' in refusal(read_images, path)
    write_table(tmp_path / "other.csv", ("image",), ["c"])
    tables = [read_table(path, ("image",), columns=words), read_table(tmp_path / "other.csv", ("image",))]
    assert [cells for _, cells in map(next, tables)] == [["a.png"], ["c"]], "read in turns"


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

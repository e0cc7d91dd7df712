"""A workbook opens in Excel as it is: stage ranges are no dates, text is no formula, numbers are numbers."""

import csv
import zipfile
from xml.etree import ElementTree

import pytest

from flyannot.dataset.folder import read_images
from flyannot.export import xlsx
from flyannot.steps.annotate import annotate
from flyannot.steps.engine.task import Execution
from flyannot.steps.options import AnnotateOptions
from tests.export.test_export import HOSTILE, hostile  # noqa: F401

pytest.importorskip("xlsxwriter")
_NS = {"s": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}


def sheets_of(path):
    """Name of the sheet -> its rows: texts, numbers, and None for an empty cell."""
    with zipfile.ZipFile(path) as book:
        parts = {name: ElementTree.fromstring(book.read(name)) for name in book.namelist() if "xl/" in name}
    texts = ["".join(one.itertext()) for one in parts["xl/sharedStrings.xml"].findall("s:si", _NS)]
    names = [one.get("name") for one in parts["xl/workbook.xml"].iterfind(".//s:sheet", _NS)]
    found = {}
    for number, name in enumerate(names, start=1):
        sheet = parts[f"xl/worksheets/sheet{number}.xml"]
        assert not list(sheet.iter(f"{{{_NS['s']}}}f"))  # no formula
        found[name] = [
            {_column(cell): _value(cell, texts) for cell in row} for row in sheet.iterfind(".//s:row", _NS)
        ]
    return found


def _column(cell):
    return cell.get("r").rstrip("0123456789")


def _value(cell, texts):
    value = cell.find("s:v", _NS)
    if value is None:
        return None
    return texts[int(value.text)] if cell.get("t") == "s" else float(value.text)


def test_the_workbook_says_what_the_table_says(flyannot, chain, tmp_path):
    out = tmp_path / "predictions.h5"
    annotate(chain.model, read_images(chain.embryos), out, AnnotateOptions(), Execution())
    for name in ("one.xlsx", "two.xlsx"):
        said = flyannot("export P --to xlsx -o BOOK", P=out, BOOK=tmp_path / name)
        assert said.code == 0, said.err
    assert (tmp_path / "one.xlsx").read_bytes() == (tmp_path / "two.xlsx").read_bytes()
    with open(out.with_suffix(".csv"), newline="") as table:
        columns, *rows = csv.reader(table)
    found = sheets_of(tmp_path / "one.xlsx")
    stage_range = columns.index("stage_range")
    assert list(found) == [f"stages {s}" for s in dict.fromkeys(row[stage_range] for row in rows)]
    written = []
    for header, *cells in found.values():
        assert list(header.values()) == columns
        written += [[row.get(letter) for letter in header] for row in cells]
    assert len(written) == len(rows)
    for expected, row in zip(rows, written):
        assert row[stage_range] == expected[stage_range]  # text
        for name in ("decision_value", "probability"):
            at = columns.index(name)
            assert isinstance(row[at], float) and row[at] == pytest.approx(float(expected[at]), rel=1e-8)
        texts = [x for x, name in zip(row, columns) if name in ("gene", "group", "term", "answer")]
        assert texts == [
            x for x, name in zip(expected, columns) if name in ("gene", "group", "term", "answer")
        ]


def test_what_looks_like_a_formula_is_text(flyannot, hostile, tmp_path):  # noqa: F811
    assert flyannot("export P --to xlsx -o BOOK", P=hostile, BOOK=tmp_path / "book.xlsx").code == 0
    cells = [v for rows in sheets_of(tmp_path / "book.xlsx").values() for row in rows for v in row.values()]
    assert set(HOSTILE) <= set(cells)


def test_more_rows_than_a_sheet_holds_are_refused(flyannot, chain, tmp_path, monkeypatch):
    monkeypatch.setattr(xlsx, "_MOST_ROWS", 5)
    said = flyannot("export P --to xlsx -o BOOK", P=chain.predictions, BOOK=tmp_path / "book.xlsx")
    assert said.code == 2 and "too many for Excel" in said.err and "--to csv" in said.err
    assert not list(tmp_path.iterdir())

"""The table of the campaign: its tests exist, and the page has its rows."""

import re

from tests.campaign.run import (
    PAGE,
    PROMISING,
    TRIED,
    cells_of,
    counted,
    ids_of,
    least_trials,
    nodes_of,
    read_rows,
    read_table,
    table_of,
)
from tests.conftest import ROOT

ROWS = read_rows()
N_ROWS = 25
KEYS = {"id", "promise", "fault", "user_gets", "code", "tests"}


def test_every_row_says_what_happens_and_names_tests():
    ids = [row["id"] for row in ROWS]
    assert ids[:N_ROWS] == [str(i + 1) for i in range(N_ROWS)]
    for row in ROWS:
        assert set(row) == KEYS and row["tests"], row["id"]
        assert len(row["tests"]) == len(set(row["tests"]))


def test_every_promise_has_rows_and_trials():
    """Check the promises of reliability.md, and the points of SECURITY.md except the output folder."""
    pages = [" ".join(page.read_text(encoding="utf-8").split()) for page in PROMISING]
    letters = [match[3] for match in TRIED.finditer(pages[0])]
    assert sorted(letters) == sorted({*"".join(row["promise"].replace(", ", "") for row in ROWS)})
    points = re.findall(r" - \*\*(.*?)(?= - \*\*| ## | Pillow, )", pages[1])
    untried = [point.partition("*")[0] for point in points if not TRIED.search(point)]
    assert len(points) == 5 and untried == ["The output folder"]
    table = read_table(PAGE.read_text(encoding="utf-8"))
    for match in TRIED.finditer(" ".join(pages)):
        assert int(match[4].replace(",", "")) == least_trials(ids_of(match), table) > 0, "run: make campaign"


def test_every_promise_names_a_test_of_its_rows():
    text = PAGE.read_text(encoding="utf-8")
    pairs = re.findall(r"\(promise (\w): .*?\n  Test: `(\S+)`\.\n", text, re.DOTALL)
    assert [letter for letter, _ in pairs] == [*"abcdefgh"]
    for letter, test in pairs:
        assert any(letter in row["promise"] and test in row["tests"] for row in ROWS), (letter, test)


def test_every_test_of_the_table_is_there():
    for node in nodes_of(ROWS):
        path, _, name = node.partition("::")
        text = (ROOT / path).read_text(encoding="utf-8")
        assert f"\ndef {name}(" in text, node


def test_the_page_has_every_row_as_it_was_measured():
    found = read_table(PAGE.read_text(encoding="utf-8"))
    for row in ROWS:
        *words, trials, failures = found[row["id"]]
        assert words == cells_of(row), "run: make campaign"
        assert int(trials.replace(",", "")) > 0 and failures == "0", row["id"]


def test_trials_and_failures_are_counted_by_case(tmp_path):
    path = tmp_path / "found.xml"
    path.write_text(
        """<testsuites><testsuite>
        <testcase classname="tests.a.test_b" name="test_c[x]"><properties>
            <property name="trials" value="40"/><property name="trials" value="2"/></properties></testcase>
        <testcase classname="tests.a.test_b" name="test_c[y]"><failure message="no"/></testcase>
        <testcase classname="tests.a.test_b" name="test_d"><skipped message="no"/></testcase>
        </testsuite></testsuites>"""
    )
    found = counted(path)
    assert found == {"a/test_b.py::test_c": (43, 1), "a/test_b.py::test_d": (0, 0)}
    row = {"id": "1", "promise": "a", "fault": "f", "user_gets": "u", "code": "3"}
    row["tests"] = ["a/test_b.py::test_c"]
    assert table_of([row], found).splitlines()[2] == "| 1 | a | f | u | 3 | 43 | 1 |"

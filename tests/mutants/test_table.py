"""The table of equivalent mutants names what exists, and the tests of a module are found."""

import sys
import tomllib

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "mutants"))
from choose import Record, choose, lines_of_change, nearest_tests
from make import mutants_of

TABLE = tomllib.loads((ROOT / "tests" / "mutants" / "equivalent.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("module", TABLE)
def test_every_equivalent_mutant_is_one_of_its_line(module):
    path = ROOT / module if module.startswith("benchmarks/") else ROOT / "flyannot" / module
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    possible = {(lines[mutant.line - 1].strip(), mutant.change) for mutant in mutants_of(text)}
    assert {(line, change) for line, changes in TABLE[module].items() for change in changes} <= possible


def test_the_nearest_tests_of_a_module_are_its_own_then_those_of_its_room_then_those_that_import_it():
    near = nearest_tests(ROOT, "flyannot/files/digest.py")
    assert near[0] == "tests/files/test_digest.py" and near[1].startswith("tests/files/")
    assert "flyannot/estimators/dense_sift.py" in nearest_tests(
        ROOT, "flyannot/estimators/dense_sift.py"
    )  # with its examples


def test_the_tests_of_a_mutant_run_its_lines_or_others_of_its_module_or_nothing_is_known_of_them():
    tests = {"slow": Record(9, [3], False), "quick": Record(1, [3], False), "other": Record(1, [1], False)}
    tests["absent"] = Record(0, [], False)
    assert choose(tests, {2, 3}, 10) == ["quick", "slow"] and choose(tests, {3}, 9) == ["quick"]
    assert sorted(choose(tests, {2}, 99)) == ["other", "quick", "slow"]
    assert choose({"absent": tests["absent"]}, {2}, 99) == ["absent"]
    assert lines_of_change("a = 1\nif b:\n    d(\n        e, 2\n    )\n", 4) == {3, 4}
    assert lines_of_change("a = 1\ndef f():\n    return a\n", 1) == {3}

"""Docstrings, names and subjects of commits are plain; each number may only fall."""

import pytest

from tests.language import faults, functions_named_a_of_b, paired_assignments, python_files, unknown_classes

MOST_NAMED_A_OF_B = 10
MOST_PAIRED_ASSIGNMENTS = {"flyannot": 235, "tests": 361, "benchmarks": 240}


def test_few_functions_are_named_a_of_b():
    names = functions_named_a_of_b(python_files(["flyannot"]))
    assert len(names) <= MOST_NAMED_A_OF_B, sorted(names)


@pytest.mark.parametrize("place", ["flyannot", "tests", "benchmarks"])
def test_most_lines_assign_one_thing(place):
    lines = {path: paired_assignments(path) for path in python_files([place])}
    assert sum(map(len, lines.values())) <= MOST_PAIRED_ASSIGNMENTS[place], lines


def test_docstrings_name_classes_that_exist(tmp_path):
    files = python_files()
    assert unknown_classes(files) == []
    module = tmp_path / "stale.py"
    module.write_text('"""The ShownAnswers.\n\nx : Review, or FlyExpress\n"""\n')
    assert unknown_classes([*files, module]) == [(module, "ShownAnswers"), (module, "Review")]


def test_a_riddle_is_found(tmp_path):
    module = tmp_path / "riddle.py"
    module.write_text(
        '"""A module."""\n\n\n'
        'def first():\n    """What those of it are, as `x` has it."""\n\n\n'
        f'def second():\n    """Return {"one " * 31}more."""\n\n\n'
        'def third():\n    """Return 1, as `flyannot.sparse.fit.record` does.  Raises nothing."""\n'
    )
    found = faults(module)
    assert [line for line, _ in found] == [5, 5, 5, 9, 13]
    assert "What" in found[0][1] and "as `x` has it" in found[1][1] and "33 words" in found[3][1]

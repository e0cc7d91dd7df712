"""The table of mutants names modules, tests and lines that exist."""

import tomllib

import pytest

from tests.conftest import ROOT

TABLE = tomllib.loads((ROOT / "tests" / "mutants" / "modules.toml").read_text(encoding="utf-8"))


def find_module(name):
    """Return the path of a module of the table."""
    return ROOT / name if name.startswith("benchmarks/") else ROOT / "flyannot" / name


@pytest.mark.parametrize("module", TABLE["modules"])
def test_every_module_and_its_tests_exist(module):
    assert find_module(module).is_file()
    paths = [word for word in TABLE["modules"][module]["tests"] if word.startswith("tests/")]
    assert paths and all((ROOT / path).exists() for path in paths)


@pytest.mark.parametrize("module", TABLE["equivalent"])
def test_every_line_with_an_equivalent_mutant_is_in_its_module(module):
    lines = {line.strip() for line in find_module(module).read_text(encoding="utf-8").splitlines()}
    assert not set(TABLE["equivalent"][module]) - lines

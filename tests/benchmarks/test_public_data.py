"""The registry of public data sets says of every one what a stranger needs, and what was measured."""

import hashlib
import re
import tomllib
from pathlib import PurePosixPath

import pytest

from benchmarks.setup import data_folder
from flyannot.base.errors import InputError
from flyannot.files.digest import file_digest
from tests.conftest import ROOT

DATA_SETS = tomllib.loads((ROOT / "data" / "registry.toml").read_text(encoding="utf-8"))


def digest(path):
    """SHA-256 of a file; of a folder, what `sha256sum FOLDER/* | sha256sum` prints."""
    if path.is_file():
        return file_digest(path)
    lines = [f"{file_digest(one)}  {path.name}/{one.name}\n" for one in sorted(path.iterdir())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@pytest.mark.parametrize("name", DATA_SETS)
def test_every_data_set_has_all_that_a_stranger_needs(name):
    one = DATA_SETS[name]
    assert all((one["what"], one["licence"], one["cite"], one["get"])) and "https://" in one["source"]
    assert PurePosixPath(name).name == name and one["files"]
    for file, measured in one["files"].items():
        assert re.fullmatch("[0-9a-f]{64}", measured)
        assert not PurePosixPath(file).is_absolute() and ".." not in PurePosixPath(file).parts


def test_the_data_that_lie_here_are_those_that_were_measured(shared_data):
    there = {name: one["files"] for name, one in DATA_SETS.items() if (shared_data / name).is_dir()}
    found = {
        name: {file: digest(shared_data / name / file) for file in files} for name, files in there.items()
    }
    assert there and found == there


def test_a_folder_that_is_not_there_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("FLYANNOT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="FLYANNOT_DATA names no folder"):
        data_folder()
    monkeypatch.delenv("FLYANNOT_DATA")
    assert data_folder() is None


def test_no_configuration_has_a_path_that_only_we_have():
    for path in (ROOT / "configs").glob("*.*"):
        assert "../.." not in path.read_text(), path.name

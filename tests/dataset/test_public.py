"""The registry of public data sets says of every one what a stranger needs, and what lies there."""

import hashlib
import json
import re
from pathlib import PurePosixPath

import pytest

from flyannot.dataset.public import PublicDataSet, data_folder, public_data_sets
from flyannot.errors import InputError
from tests.conftest import ROOT


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def small(tmp_path):
    """A data set of a table and a folder of two images, as its registry says it is."""
    images = tmp_path / "small" / "images"
    images.mkdir(parents=True)
    (images.parent / "images.csv").write_bytes(b"image")
    lines = ""
    for name, content in (("a.png", b"1"), ("b.png", b"2")):
        (images / name).write_bytes(content)
        lines += f"{sha256(content)}  images/{name}\n"
    digests = {"images.csv": sha256(b"image"), "images/": sha256(lines.encode())}
    return PublicDataSet("small", "w", "s", "l", "c", "g", digests)


@pytest.mark.parametrize("one", public_data_sets(), ids=lambda one: one.name)
def test_every_data_set_has_all_that_a_stranger_needs(one):
    assert all((one.what, one.licence, one.cite, one.get)) and "https://" in one.source and one.files
    assert PurePosixPath(one.name).name == one.name
    for name, digest in one.files.items():
        assert re.fullmatch("[0-9a-f]{64}", digest)
        assert not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts


def test_a_data_set_is_as_measured_or_what_differs_is_named(small, tmp_path):
    images = tmp_path / "small" / "images"
    assert small.state(None) == small.state(tmp_path / "elsewhere") == "absent"
    assert small.state(tmp_path) == "as measured"
    (images / "c.png").write_bytes(b"1")
    assert small.state(tmp_path) == "other: images/", "one in excess"
    (images / "a.png").unlink()
    assert small.state(tmp_path) == "other: images/", "one of another name"
    (images / "c.png").rename(images / "a.png")
    assert small.state(tmp_path) == "as measured"
    (images / "a.png").write_bytes(b"3")
    (tmp_path / "small" / "images.csv").unlink()
    assert small.state(tmp_path) == "missing: images.csv; other: images/"


def test_the_data_that_lie_here_are_those_that_were_measured(shared_data):
    there = [one for one in public_data_sets() if (shared_data / one.name).is_dir()]
    assert there and {t.name: t.state(shared_data) for t in there} == {t.name: "as measured" for t in there}


def test_info_shows_the_registry(small, tmp_path, flyannot, monkeypatch):
    monkeypatch.setenv("FLYANNOT_DATA", str(tmp_path))
    monkeypatch.setattr("flyannot.dataset.public.public_data_sets", lambda: [small])
    said = flyannot("info --data-sets")
    assert said.code == 0 and "small: as measured" in said.out and small.files["images.csv"] in said.out
    found = json.loads(flyannot("info --data-sets --json").out)
    assert found["folder"] == str(tmp_path)
    assert found["data_sets"] == [vars(small) | {"state": "as measured"}]


def test_a_folder_that_is_not_there_is_one_line(tmp_path, flyannot, monkeypatch):
    monkeypatch.setenv("FLYANNOT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="FLYANNOT_DATA names no folder"):
        data_folder()
    said = flyannot("info --data-sets")
    assert said.code == 2 and "Fix: " in said.err
    monkeypatch.delenv("FLYANNOT_DATA")
    assert data_folder() is None and "flyexpress: absent" in flyannot("info --data-sets").out


def test_no_configuration_has_a_path_that_only_we_have():
    for path in (ROOT / "configs").glob("*.*"):
        assert "../.." not in path.read_text(), path.name

"""Tests of files from outside: size limits, and messages with a remedy."""

import os
from contextlib import nullcontext
from unittest.mock import Mock

import pytest

from flyannot.base.errors import FlyannotError, InputError
from flyannot.files import text_files
from flyannot.files.atomic_file import write_text
from flyannot.files.tables import read_rows
from flyannot.files.text_files import read_json, read_lines, read_text, read_toml, unpacked_size_limit
from flyannot.images.embryo import read_picture


def test_a_text_that_cannot_be_read_is_named_with_the_reason_and_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "_MAX_BYTES", 7)
    write_text(tmp_path / "good", "\ufeffβ\r\n")
    assert read_text(tmp_path / "good", fix="?") == "β\n"
    (tmp_path / "long").write_bytes(bytes(8))
    (tmp_path / "latin").write_bytes("Krüppl".encode("latin-1"))
    os.mkfifo(tmp_path / "pipe")
    reasons = {"none": "No such file", "latin": "UTF-8", "pipe": "not a regular file", ".": "a folder"}
    before = len(os.listdir("/proc/self/fd"))
    for name, why in {**reasons, "long": "more than 7 bytes"}.items():
        with pytest.raises(InputError, match=why) as caught:
            read_text(tmp_path / name, fix="name another")
        assert str(tmp_path / name) in str(caught.value)
        assert caught.value.fix in ("name another", "save it as UTF-8")
    assert len(os.listdir("/proc/self/fd")) == before, "what is refused is closed"


def test_a_file_may_unpack_to_some_megabytes_and_many_times_its_size(tmp_path):
    for size, least, most in ((1, 10**7, 2 * 10**8), (10**7, 2 * 10**8, 10**9)):
        (tmp_path / "a").touch()
        os.truncate(tmp_path / "a", size)
        assert least < unpacked_size_limit(tmp_path / "a", 10**12) < most
    assert unpacked_size_limit(tmp_path / "a", 1000) == 1000


def test_lines_may_take_some_memory_in_which_wide_letters_count_four_times(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "MAX_LINE_FILE_BYTES", 1000)
    path = tmp_path / "a"
    for text, is_good in (
        (300 * "x", True),
        (999 * "x", False),
        (299 * "x" + "\U0001f600", False),
        (20 * "x\n", False),
    ):
        write_text(path, text)
        with (
            nullcontext() if is_good else pytest.raises(InputError, match="unpacks to more than 1,000 bytes")
        ):
            assert "".join(read_lines(path, fix="?")) == text


LINE = 'write each line as name = "text" or name = number, and each table as [extract]'
REMEDIES = {  # of a line of a TOML file between two good ones
    "a = b": 'put text in quotes: a = "b"',
    'a = "b': 'put text in quotes: a = "b"',
    'a = "': 'put text in quotes: a = ""',
    "a = C:\\x": 'write a path with / instead of \\: a = "C:/x"',
    'a = "C:\\x"': 'write a path with / instead of \\: a = "C:/x"',
    "a = [1 2]": LINE,
    "a =": LINE,
    "a \\": LINE,
    'a = ""\na = ""': "delete one of the lines for a",
    "a = 0,15": "write a decimal point: a = 0.15",
    "a = “b”": 'put text in quotes: a = "b"',
    f"a = {'9' * 5000}": LINE,
    f"a = 0x{'f' * 5000}": LINE,
}


@pytest.mark.parametrize("line", REMEDIES, ids=lambda line: line[:9])
def test_a_faulty_line_of_a_configuration_is_shown_mended(line, tmp_path):
    (tmp_path / "c.toml").write_text(f"first = 1\n{line}\nlast = 2\n", encoding="utf-8")
    with pytest.raises(InputError, match="c.toml is not TOML") as caught:
        read_toml(tmp_path / "c.toml")
    assert caught.value.fix == REMEDIES[line]


def test_what_is_nested_too_deep_is_refused_and_so_is_what_is_no_json(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_text("a = " + "[" * 5000)
    with pytest.raises(InputError, match="nested too deep"):
        read_toml(path)
    monkeypatch.setattr("tomllib.loads", None)  # which would take 12 GB for this name of 100 kB
    for text in (
        f"a{'.a' * 50_000} = 1",
        f"[a{'.a' * 50_000}]",
        "\n".join(f"a{i}{'.a' * 900}=1" for i in range(99)),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match="nested too deep"):
            read_toml(path)
    for text in ("[" * 5000, "{", "9" * 5000):
        path.write_text(text)
        with pytest.raises(InputError, match="does not contain scores"):
            read_json(path, what="scores", fix="?")


def test_a_file_of_another_user_needs_its_permissions(tmp_path, monkeypatch):
    (tmp_path / "a.csv").touch()
    monkeypatch.setattr(os, "open", Mock(side_effect=PermissionError(13, "Permission denied")))
    for read in (read_rows, read_picture, lambda of: next(read_lines(of, fix="?"))):
        with pytest.raises(FlyannotError, match="denied") as caught:
            read(tmp_path / "a.csv")
        assert caught.value.fix == "check its permissions"

"""Tests that each file is read once in a process, as long as it is unchanged."""

import hashlib
import os

import pytest

from flyannot.base.errors import InputError
from flyannot.files import digest
from flyannot.files.digest import (
    add_digest,
    canonical_json,
    file_digest,
    json_digest,
    matches_own_digest,
    table_digest,
)
from flyannot.files.hdf5 import header
from flyannot.files.hdf5.reading import verify_stored_file

SETTLED_S = digest._SETTLED_S


@pytest.fixture
def watched(monkeypatch):
    """Return the names of the files that were read so far; all files count as settled."""
    names, read = [], hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda f, kind: names.append(f.name) or read(f, kind))
    monkeypatch.setattr(digest, "_SETTLED_S", -3600.0)
    return names


@pytest.fixture
def reads(watched):
    """Return these names within a command."""
    with digest.cache_digests():
        yield watched


def test_a_file_is_read_once_and_again_when_it_changed(tmp_path, reads):
    path = tmp_path / "a"
    path.write_bytes(b"one")
    assert file_digest(path) == file_digest(path) == hashlib.sha256(b"one").hexdigest()
    assert len(reads) == 1
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_bytes(b"two")
    os.utime(path, ns=times)  # of the same size, and as old
    assert file_digest(path) == hashlib.sha256(b"two").hexdigest()
    (tmp_path / "b").write_bytes(b"six")
    os.replace(tmp_path / "b", path)
    assert file_digest(path) == hashlib.sha256(b"six").hexdigest() and len(reads) == 3


def test_a_file_that_may_be_written_just_now_is_read_again(tmp_path, reads, monkeypatch):
    monkeypatch.setattr(digest, "_SETTLED_S", SETTLED_S)
    path = tmp_path / "a"
    path.write_bytes(b"one")
    os.utime(path, (0, 0))  # as old as can be, and yet changed just now
    for age_s, n_reads in ((1.9, 2), (2.1, 3)):  # the times of some file systems are even seconds
        monkeypatch.setattr(digest.time, "time", lambda age_s=age_s: path.stat().st_ctime + age_s)
        assert file_digest(path) == file_digest(path)
        assert len(reads) == n_reads


def test_only_the_outermost_command_forgets(tmp_path, watched):
    (tmp_path / "a").write_bytes(b"one")
    for n_reads in (1, 2):
        with digest.cache_digests():
            with digest.cache_digests():
                file_digest(tmp_path / "a")
            assert file_digest(tmp_path / "a") == hashlib.sha256(b"one").hexdigest()
            assert len(watched) == n_reads
    assert file_digest(tmp_path / "a") == file_digest(tmp_path / "a") and len(watched) == 4


def test_a_table_has_one_digest_for_any_order_of_its_rows_and_any_line_ends(tmp_path):
    for number, content in enumerate((b"z,y\na\nb\n", b"z,y\r\nb\r\na", b"a\nz,y\nb\n")):
        (tmp_path / f"{number}.csv").write_bytes(content)
    digests = [table_digest(tmp_path / f"{number}.csv") for number in range(3)]
    assert digests[0] == digests[1] == hashlib.sha256(b"z,y\na\nb").hexdigest() != digests[2]


@pytest.mark.parametrize(("read", "what"), [(file_digest, "file"), (table_digest, "table")])
def test_an_input_that_cannot_be_read_is_named(tmp_path, reads, read, what):
    with pytest.raises(InputError, match=f"^no such {what}: .*absent") as caught:
        read(tmp_path / "absent")
    assert caught.value.fix == f"give a {what} that exists"
    with pytest.raises(InputError, match=f"^cannot read {tmp_path}: "):
        read(tmp_path)


def test_a_dict_proves_its_own_digest_in_any_order_of_its_keys():
    value = {"b": [1, None, True], "a": "é"}
    assert canonical_json(value) == '{"a":"é","b":[1,null,true]}'
    signed = add_digest(value)
    assert signed == {**value, "digest": hashlib.sha256(canonical_json(value).encode()).hexdigest()}
    assert matches_own_digest(dict(reversed(signed.items()))) and json_digest(value) == signed["digest"]
    nested = []
    for _ in range(100_000):
        nested = [nested]
    for changed in (value, signed | {"a": "e"}, signed | {"a": "\ud800"}, signed | {"a": nested}):
        assert not matches_own_digest(changed)


@pytest.mark.parametrize("kind", ["descriptors", "features", "model", "predictions"])
def test_contents_have_one_digest_in_any_blocks(chain, monkeypatch, kind):
    monkeypatch.setattr(header, "_BLOCK_BYTES", 100)
    assert verify_stored_file(chain.kinds[kind]) == kind

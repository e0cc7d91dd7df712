"""Tests of digests of files, tables and JSON values."""

import hashlib

import pytest

from flyannot.base.errors import InputError
from flyannot.files import digest
from flyannot.files.hdf5 import header
from flyannot.files.hdf5.reading import verify_stored_file


def test_a_table_has_one_digest_for_any_order_of_its_rows_and_any_line_ends(tmp_path):
    for number, content in enumerate((b"z,y\na\nb\n", b"z,y\r\nb\r\na", b"a\nz,y\nb\n")):
        (tmp_path / f"{number}.csv").write_bytes(content)
    digests = [digest.table_digest(tmp_path / f"{number}.csv") for number in range(3)]
    assert digests[0] == digests[1] == hashlib.sha256(b"z,y\na\nb").hexdigest() != digests[2]


@pytest.mark.parametrize(("read", "what"), [(digest.file_digest, "file"), (digest.table_digest, "table")])
def test_an_input_that_cannot_be_read_is_named(tmp_path, read, what):
    with pytest.raises(InputError, match=f"^no such {what}: .*absent") as caught:
        read(tmp_path / "absent")
    assert caught.value.fix == f"give a {what} that exists"
    with pytest.raises(InputError, match=f"^cannot read {tmp_path}: "):
        read(tmp_path)


def test_a_dict_proves_its_own_digest_in_any_order_of_its_keys():
    value = {"b": [1, None, True], "a": "é"}
    assert digest.canonical_json(value) == '{"a":"é","b":[1,null,true]}'
    signed = digest.add_digest(value)
    assert signed == {**value, "digest": hashlib.sha256(digest.canonical_json(value).encode()).hexdigest()}
    assert digest.matches_own_digest(dict(reversed(signed.items())))
    assert digest.json_digest(value) == signed["digest"]
    nested = []
    for _ in range(100_000):
        nested = [nested]
    for changed in (value, signed | {"a": "e"}, signed | {"a": "\ud800"}, signed | {"a": nested}):
        assert not digest.matches_own_digest(changed)


@pytest.mark.parametrize("kind", ["descriptors", "features", "model", "predictions"])
def test_contents_have_one_digest_in_any_blocks(chain, monkeypatch, kind):
    monkeypatch.setattr(header, "_BLOCK_BYTES", 100)
    assert verify_stored_file(chain.kinds[kind]) == kind

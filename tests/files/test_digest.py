"""Tests that each file is read once in a process, as long as it is unchanged."""

import hashlib
import os
from collections import Counter

import pytest

from flyannot.dataset.folder import read_images
from flyannot.files import digest
from flyannot.files.digest import file_digest
from flyannot.files.hdf5 import header
from flyannot.files.hdf5.reading import verify_stored_file
from tests.small_embryos import write_configuration


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
    monkeypatch.setattr(digest, "_SETTLED_S", 2.0)
    (tmp_path / "a").write_bytes(b"one")
    assert file_digest(tmp_path / "a") == file_digest(tmp_path / "a")
    assert len(reads) == 2


def test_a_command_of_its_own_remembers_nothing(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"one")
    with digest.cache_digests():
        file_digest(tmp_path / "a")
    assert digest._cached_digests is None


def test_a_run_reads_every_image_once(chain, flyannot, tmp_path, watched):
    config = write_configuration(tmp_path, images="[extract]\nstride-px = 32\n")
    flyannot("run C --data-set E", C=config, E=chain.embryos, code=0)
    images = Counter(str(name) for name in watched if str(name).endswith(".png"))
    assert len(images) == len(read_images(chain.embryos))
    sizes = Counter(map(os.path.getsize, images))
    # Before the steps, files of one size are compared.
    assert all(n == 1 or n == 2 and sizes[os.path.getsize(name)] > 1 for name, n in images.items())


@pytest.mark.parametrize("kind", ["descriptors", "features", "model", "predictions"])
def test_contents_have_one_digest_in_any_blocks(chain, monkeypatch, kind):
    monkeypatch.setattr(header, "_BLOCK_BYTES", 100)
    assert verify_stored_file(chain.kinds[kind]) == kind

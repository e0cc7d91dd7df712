"""A file that exists is whole; two runs do not write one file."""

import errno
import os
import random
import signal
import stat
import subprocess
import time
from functools import partial

import pytest

from flyannot.errors import InputError, LockedError, WriteError
from flyannot.runtime import atomic_file as atomic
from flyannot.runtime.atomic_file import locked_output, replacing_file, write_text
from flyannot.runtime.text_files import read_text
from tests.processes import started

OLD, NEW = "what stood there before\n", "what comes next\n" * 50_000


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text(OLD)
    return path


def names(path):
    return sorted(p.name for p in path.parent.iterdir())


class Trouble(BaseException):
    """Like Ctrl-C: not an Exception."""


WITHOUT_NUMBER = OSError("Can't do it\nwhatever comes next")  # told by its first line


@pytest.mark.parametrize(
    ("error", "raised", "why"),
    [(error(), error, None) for error in (ValueError, Trouble, KeyboardInterrupt)]
    + [(WITHOUT_NUMBER, WriteError, "cannot write .*: Can't do it\n")],
)
@pytest.mark.parametrize("in_check", [False, True])
def test_a_write_that_is_interrupted_or_fails_its_check_leaves_the_old_file(
    target, error, raised, why, in_check
):
    def fail(path):
        assert path.read_text() == "half"
        raise error

    check = fail if in_check else None
    with pytest.raises(raised, match=why), replacing_file(target, check=check) as beside:
        beside.write_text("half")
        if not in_check:
            fail(beside)
    assert target.read_text() == OLD and names(target) == ["file.txt"]


def test_a_write_that_ends_replaces_the_whole_file_and_missing_folders_are_made(target):
    for path in (target, target.parent / "a" / "b" / "c.txt"):
        write_text(path, NEW)
        assert path.read_text() == NEW
    assert names(target) == ["a", "file.txt"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EDQUOT, errno.EROFS])
@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
def test_every_failing_system_call_is_a_write_error_and_keeps_the_old_file(target, monkeypatch, call, code):
    def fail(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(atomic.os, call, fail)
        with pytest.raises(WriteError) as caught:
            write_text(target, NEW)
    assert caught.value.exit_code == 74
    assert str(target) in str(caught.value) and os.strerror(code) in str(caught.value)
    assert ("bytes free" in str(caught.value)) == (code in (errno.ENOSPC, errno.EDQUOT))
    assert ("free some space" in caught.value.fix) == (code in (errno.ENOSPC, errno.EDQUOT))
    assert ("permissions" in caught.value.fix) != ("free some space" in caught.value.fix)
    assert target.read_text() == OLD and names(target) == ["file.txt"]


@pytest.mark.parametrize(
    "writer", [lambda path: write_text(path, NEW), lambda path: locked_output(path).__enter__()]
)
def test_a_folder_that_cannot_be_made_is_a_write_error(target, writer):
    with pytest.raises(WriteError, match="Not a directory|File exists"):
        writer(target / "below" / "a file.txt")
    assert target.read_text() == OLD


def test_a_second_run_is_kept_off_and_the_lock_ends_with_the_first(target):
    with locked_output(target):
        with pytest.raises(LockedError) as caught, locked_output(target):
            pass
        assert caught.value.exit_code == 75
    with locked_output(target):
        pass
    assert names(target) == ["file.txt"]


@pytest.mark.parametrize("name", ["file.txt", "*", "a*", "?bc.h5", "[a]bc.h5", "*.h5", "*[b]?"])
def test_what_killed_runs_left_is_swept_and_other_files_stay(tmp_path, name):
    """A wildcard in a name is a letter as any other."""
    others = [".abc.h5.12.tmp", f"{name}.tmp"]
    for left in (f".{name}.4711.tmp", f".{name}.1.tmp", *others):
        (tmp_path / left).write_text("half")
    with locked_output(tmp_path / name):
        pass
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(others)


def test_sigkill_at_any_moment_leaves_a_whole_file(target, trials):
    """The writer alternates two whole texts; whenever it is killed, one of them stands there."""
    code = f"""
import pathlib
from flyannot.runtime.atomic_file import locked_output, write_text
path = pathlib.Path({str(target)!r})
with locked_output(path):
    print("ready", flush=True)
    while True:
        for letter in "ab":
            write_text(path, letter * 2_000_000)
"""
    wait, n_temporary = random.Random(1), 0
    for _ in range(trials(10)):
        with started("-c", code, stdout=subprocess.PIPE) as run:
            run.stdout.readline()
            time.sleep(wait.uniform(0.005, 0.05))
            run.send_signal(signal.SIGKILL)
        found = target.read_text()
        assert found == OLD or (len(found), len(set(found))) == (2_000_000, 1)
        n_temporary += any(name.endswith(".tmp") for name in names(target))
    with locked_output(target):
        pass
    assert names(target) == ["file.txt"]
    assert n_temporary, "no trial hit a write: the test proves nothing"


def test_a_file_reaches_the_disk_before_its_name_and_its_name_before_the_end(target, monkeypatch):
    happened, fsync, replace = [], os.fsync, os.replace

    def synchronised(descriptor):
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        happened.append((kind, os.fstat(descriptor).st_ino))
        fsync(descriptor)

    def renamed(old, new):
        happened.append(("name", os.stat(old).st_ino))
        replace(old, new)

    monkeypatch.setattr(atomic.os, "fsync", synchronised)
    monkeypatch.setattr(atomic.os, "replace", renamed)
    write_text(target, NEW)
    written, folder = target.stat().st_ino, target.parent.stat().st_ino
    assert happened == [("file", written), ("name", written), ("folder", folder)]


def write_beside(path, text):
    with replacing_file(path) as beside:
        beside.write_text(text)


@pytest.mark.parametrize(
    ("write", "is_kept"),
    [(write_text, False), (write_beside, False), (partial(write_text, keep_same=True), True)],
)
def test_the_same_bytes_leave_the_file_as_it_is_only_where_that_is_wanted(target, write, is_kept):
    with target.open() as before:
        write(target, OLD)
        assert (target.stat().st_ino == os.fstat(before.fileno()).st_ino) == is_kept
    assert target.read_text() == OLD and names(target) == ["file.txt"]
    write(target, OLD[::-1])  # as long, and perhaps as old
    assert target.read_text() == OLD[::-1]


def test_a_text_that_cannot_be_read_is_named_with_the_reason_and_the_remedy(tmp_path):
    write_text(tmp_path / "good", "β\n")
    assert read_text(tmp_path / "good", fix="?") == "β\n"
    (tmp_path / "latin").write_bytes("Krüppel".encode("latin-1"))
    os.mkfifo(tmp_path / "pipe")
    reasons = {"none": "No such file", "latin": "UTF-8", "pipe": "not a regular file", ".": "a folder"}
    for name, why in reasons.items():
        with pytest.raises(InputError, match=why) as caught:
            read_text(tmp_path / name, fix="name another")
        assert str(tmp_path / name) in str(caught.value) and caught.value.fix == "name another"


def test_what_is_no_ordinary_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="no ordinary file"):
        write_text(tmp_path / "pipe", NEW)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)

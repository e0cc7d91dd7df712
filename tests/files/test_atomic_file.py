"""Tests that an existing file is complete, and that two runs do not write one file."""

import errno
import os
import random
import stat
import time
from functools import partial

import pytest

from flyannot.base.errors import InputError, LockedError, WriteError
from flyannot.files import atomic_file as atomic
from flyannot.files.atomic_file import (
    atomic_folder,
    atomic_write,
    check_output,
    file_has_text,
    lock_output,
    protect_inputs,
    write_text,
)
from tests.processes import end, start_python

OLD, NEW = "what stood there before\n", "what comes next\n" * 50_000


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text(OLD)
    return path


def names(path):
    """Return the names in the folder of a file."""
    return sorted(p.name for p in path.parent.iterdir())


class Trouble(BaseException):
    """An error like Ctrl-C, which is no Exception."""


NO_TEXT = UnicodeEncodeError("utf-8", "\udcff", 0, 1, "half a pair")
WITHOUT_NUMBER = OSError("Can't do it (errno = 28, No space left on device)\nwhatever")  # as HDF5's


@pytest.mark.parametrize(
    ("error", "raised", "why"),
    [(error(), error, None) for error in (ValueError, Trouble, KeyboardInterrupt)]
    + [
        (WITHOUT_NUMBER, WriteError, r"cannot write .*: Can't do it \(.*\) \(.*bytes free in .*\)\n"),
        (NO_TEXT, WriteError, "plain Unicode"),
    ],
)
@pytest.mark.parametrize("in_check", [False, True])
def test_a_write_that_is_interrupted_or_fails_its_check_leaves_the_old(target, error, raised, why, in_check):
    def fail(path):
        assert path.read_text() == "half"
        raise error

    check = fail if in_check else None
    with pytest.raises(raised, match=why) as caught, atomic_write(target, check=check) as beside:
        beside.write_text("half")
        if not in_check:
            fail(beside)
    assert getattr(caught.value, "is_full", False) == (error is WITHOUT_NUMBER)
    assert target.read_text() == OLD and names(target) == ["file.txt"]


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
    assert ("delete files" in caught.value.fix) == (code in (errno.ENOSPC, errno.EDQUOT))
    assert ("permissions" in caught.value.fix) != ("delete files" in caught.value.fix)
    assert target.read_text() == OLD and names(target) == ["file.txt"]


@pytest.mark.parametrize("writer", [lambda p: write_text(p, NEW), lambda p: lock_output(p).__enter__()])
def test_a_folder_that_cannot_be_made_is_a_write_error(target, writer):
    with pytest.raises(WriteError, match="Not a directory|File exists"):
        writer(target / "below" / "a file.txt")
    assert target.read_text() == OLD


@pytest.mark.parametrize("name", ["file.txt", "*", "a*", "?bc.h5", "[a]bc.h5", "*.h5", "*[b]?"])
def test_what_killed_runs_left_is_swept_and_other_files_stay(tmp_path, name):
    """Wildcards in a file name are ordinary characters."""
    others = [".abc.h5.12.tmp", f"{name}.tmp"]
    for left in (f".{name}.4711.tmp", f".{name}.1.tmp", f".{name}-beside.1.tmp", *others):
        (tmp_path / left).write_text("half")
    (tmp_path / f".{name}.1.new").mkdir()
    (tmp_path / f".{name}.1.new" / "a").touch()
    held = lock_output(tmp_path / name, beside=[tmp_path / f"{name}-beside"])
    with held, pytest.raises(LockedError), lock_output(tmp_path / name):
        pass
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(others)


@pytest.mark.parametrize("place", ["folder", "link"])
@pytest.mark.parametrize("is_replaced", [False, True])
def test_an_output_whose_folder_goes_away_while_it_is_made_is_an_error(tmp_path, place, is_replaced):
    """The folder, or a link to it, is moved away, and perhaps another one takes its place."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    path = tmp_path / place / "new.txt"
    with pytest.raises(WriteError, match=f"{place} was moved, removed or replaced"), lock_output(path):
        (tmp_path / place).rename(tmp_path / "elsewhere")
        if is_replaced:
            path.parent.mkdir()
            write_text(path, NEW)


def test_an_output_that_is_a_link_is_written_at_its_target_and_keeps_its_mode(target):
    target.chmod(0o640)
    link = target.with_name("link.txt")
    link.symlink_to(target.name)
    with lock_output(link):
        write_text(link, NEW)
    assert link.is_symlink() and target.read_text() == NEW and stat.S_IMODE(target.stat().st_mode) == 0o640
    assert names(target) == ["file.txt", "link.txt"]


def test_a_file_that_is_renamed_counts_as_written_though_its_folder_fails(target, monkeypatch):
    def fail(descriptor, fsync=os.fsync):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(descriptor)

    monkeypatch.setattr(atomic.os, "fsync", fail)
    write_text(target, NEW)
    assert target.read_text() == NEW and names(target) == ["file.txt"]


def test_sigkill_at_any_moment_leaves_a_whole_file(target, trials):
    """A writer alternates between two texts. Whenever it is killed, the file has one of them in full."""
    code = f"""
import pathlib
from flyannot.files.atomic_file import lock_output, write_text
path = pathlib.Path({str(target)!r})
with lock_output(path):
    print("ready", flush=True)
    while True:
        for letter in "ab":
            write_text(path, letter * 2_000_000)
"""
    wait, n_trials, n_temporary = random.Random(1), trials(10), 0
    for number in range(10 * n_trials):
        if number >= n_trials and n_temporary:
            break
        run = start_python("-c", code)
        run.stdout.readline()
        time.sleep(wait.uniform(0.005, 0.05))
        end(run)
        found = target.read_text()
        assert found == OLD or (len(found), len(set(found))) == (2_000_000, 1)
        n_temporary += any(name.endswith(".tmp") for name in names(target))
    with lock_output(target):
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
    assert target.read_text() == NEW
    written, folder = target.stat().st_ino, target.parent.stat().st_ino
    assert happened == [("file", written), ("name", written), ("folder", folder)]


def write_beside(path, text):
    with atomic_write(path) as beside:
        beside.write_text(text)


WAYS = [(write_text, False), (write_beside, False), (partial(write_text, keep_same=True), True)]


@pytest.mark.parametrize(("write", "is_kept"), WAYS)
def test_the_same_bytes_leave_the_file_as_it_is_only_where_that_is_wanted(target, write, is_kept):
    with target.open() as before:
        write(target, OLD)
        assert (target.stat().st_ino == os.fstat(before.fileno()).st_ino) == is_kept
    assert target.read_text() == OLD and names(target) == ["file.txt"]
    with atomic_write(target, keep_same=is_kept) as beside:  # as long, and as old
        beside.write_text(OLD[::-1])
        os.utime(beside, ns=(target.stat().st_atime_ns, target.stat().st_mtime_ns))
    assert target.read_text() == OLD[::-1]


def test_what_is_no_ordinary_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        write_text(tmp_path / "pipe", NEW)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    (tmp_path / "a").touch()
    os.link(tmp_path / "a", tmp_path / "b")
    inputs = [tmp_path / "absent", tmp_path / "pipe"]
    for out in ("a", "other", "."):
        check_output(tmp_path / out, inputs)
    with pytest.raises(InputError, match="a is both input and output"):
        check_output(tmp_path / "a", [*inputs, tmp_path / "b"])
    with protect_inputs([tmp_path / "b"]), pytest.raises(InputError, match="a is both input and output"):
        check_output(tmp_path / "a")


def test_a_text_is_known_by_its_bytes(tmp_path):
    (tmp_path / "a").write_text("β\r\n", newline="")
    for text in ("β\n", "b\r\n", "β", "", "β\r\ud800"):
        assert not file_has_text(tmp_path / "a", text)
    assert file_has_text(tmp_path / "a", "β\r\n") and not file_has_text(tmp_path / "b", "")


FILLED = ("images.csv", "annotations.csv", "images/deep/a.png", "zebra.csv")


def filled(folder, *given, error=None, **how):
    """Fill a new folder like a data set, with a link, or raise an error on the way."""
    with atomic_folder(folder, *given, **how) as staged:
        (staged / "images" / "deep").mkdir(parents=True)
        for name in FILLED:
            (staged / name).write_text("new")
        (staged / "link").symlink_to("/nowhere")
        if error:
            raise error


def contents(folder):
    """Return path -> text of all files in a folder."""
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("before", [None, {}, {"images.csv": "old", "mine.txt": "old"}])
def test_a_folder_takes_its_place_as_a_whole_or_not_at_all(tmp_path, monkeypatch, before):
    """The table of images is moved last, after all other files were written to disk."""
    target, fsync, replace, synchronised, moved = tmp_path / "set", os.fsync, os.replace, set(), []
    if before is not None:
        target.mkdir()
        for name, text in before.items():
            (target / name).write_text(text)
    failing = [({"error": error, "force": True}, error) for error in (Trouble(), WITHOUT_NUMBER)]
    for how, error in [*failing, ({}, InputError("not empty"))] if before else failing:
        raised = WriteError if error is WITHOUT_NUMBER else type(error)
        with pytest.raises(raised, match="not empty" if raised is InputError else None):
            filled(target, **how)
        assert contents(target) == (before or {}) and names(target) == ["set"] * target.exists()

    def renamed(old, new):
        assert os.stat(old, follow_symlinks=False).st_ino in synchronised or os.path.islink(old)
        assert not (target / "images.csv").exists()
        moved.append(os.path.relpath(new, target))
        replace(old, new)

    monkeypatch.setattr(atomic.os, "fsync", lambda at: synchronised.add(os.fstat(at).st_ino) or fsync(at))
    monkeypatch.setattr(atomic.os, "replace", renamed)
    filled(target, force=bool(before))
    assert contents(target) == (before or {}) | dict.fromkeys(FILLED, "new")
    assert (target / "link").is_symlink()
    in_order = "images/deep/a.png link zebra.csv annotations.csv images.csv"
    assert before is None or moved == in_order.split()
    files = [path for path in target.rglob("*") if path.is_file() and path.read_text() == "new"]
    assert {p.stat().st_ino for p in (*files, target, tmp_path)} <= synchronised


def test_a_folder_replaces_no_input_and_no_file_and_a_link_stays_one(tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "set")
    for name, why in {"set": "both input", "link": "both input", "file": "is a file, not a folder"}.items():
        with pytest.raises(InputError, match=why):
            filled(tmp_path / name, [tmp_path / "set"], force=True)
    filled(tmp_path / "link", [tmp_path])
    assert (tmp_path / "link").is_symlink() and contents(tmp_path / "set").keys() == set(FILLED)

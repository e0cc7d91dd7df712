"""Tests that one run at a time has a lock, on file systems with and without locks."""

import errno
import os
import platform
import time
from contextlib import ExitStack

import pytest
from filelock import FileLock

from flyannot.base.errors import LockedError
from flyannot.files.locks import _lock_path, exclusive_lock
from tests.processes import end, start_python

HOLD = """
import errno, fcntl, os, sys, time
if len(sys.argv) > 2:
    def refuse(*arguments):
        raise OSError(int(sys.argv[2]), os.strerror(int(sys.argv[2])))
    fcntl.flock = refuse
from flyannot.files.locks import exclusive_lock
with exclusive_lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""
NO_LOCKS = [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP]


def refuse_locks(monkeypatch, number):
    """Let flock fail with this error number."""

    def refuse(*arguments):
        raise OSError(number, "not here")

    monkeypatch.setattr("fcntl.flock", refuse)


@pytest.fixture(params=[None, *NO_LOCKS], ids=lambda one: errno.errorcode.get(one, "flock"))
def refused(request, monkeypatch):
    """Return the error that the file system gives to flock, or nothing, as an argument of HOLD."""
    if request.param:
        refuse_locks(monkeypatch, request.param)
    return () if request.param is None else (request.param,)


def test_a_second_holder_is_refused_and_nothing_is_left(tmp_path, refused):
    path = tmp_path / "out.h5"
    _lock_path(path).write_text("1234567890\nof a run that was killed\n" if not refused else "")
    for _ in range(2):
        with exclusive_lock(path):
            assert told(path) == f": process {os.getpid()} on {platform.node()}, for 0 min"
        assert not list(tmp_path.iterdir())


def told(path):
    """Return what the error says of the other process."""
    with pytest.raises(LockedError) as caught, exclusive_lock(path):
        pass
    assert caught.value.fix.endswith(f"if it has ended, delete {_lock_path(path)}")
    before, what, after = caught.value.message.partition(f"{path} is being written by another run")
    assert what and not before
    return after


def test_a_lock_of_another_machine_or_user_is_named(tmp_path, monkeypatch):
    path = tmp_path / "out.h5"
    _lock_path(path).write_text("4711\nnode17\n")
    os.utime(_lock_path(path), (time.time() - 7200,) * 2)
    refuse_locks(monkeypatch, errno.ENOLCK)
    assert told(path) == ": process 4711 on node17, for 120 min"
    _lock_path(path).write_text("no number\n")

    def refuse(lock):
        raise PermissionError(errno.EACCES, "not mine")

    monkeypatch.setattr(FileLock, "acquire", refuse)
    assert told(path) == ", for 0 min"
    _lock_path(path).unlink()
    with pytest.raises(PermissionError), exclusive_lock(path):
        pass


def test_a_lock_ends_with_its_process(tmp_path, refused):
    path = tmp_path / "out.h5"
    process = start_python("-c", HOLD, path, *refused)
    assert process.stdout.readline() == "held\n"
    with pytest.raises(LockedError), exclusive_lock(path):
        pass
    end(process)
    with exclusive_lock(path):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("planted", ["link", "link to nothing", "folder"])
def test_what_is_planted_in_place_of_a_lock_is_not_followed(tmp_path, refused, planted):
    victim = tmp_path / "victim"
    if planted == "folder":
        _lock_path(tmp_path / "out.h5").mkdir()
    else:
        _lock_path(tmp_path / "out.h5").symlink_to(victim)
    if planted == "link":
        victim.write_text("mine")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OSError), exclusive_lock(tmp_path / "out.h5"):
        pass
    assert sorted(tmp_path.iterdir()) == before and (planted != "link" or victim.read_text() == "mine")


def test_another_error_is_not_taken_for_a_file_system_without_locks(tmp_path, monkeypatch):
    refuse_locks(monkeypatch, errno.EIO)
    with pytest.raises(OSError, match="not here"), exclusive_lock(tmp_path / "out.h5"):
        pass


def test_a_lock_file_that_was_removed_between_opening_and_locking_is_not_the_lock(tmp_path, monkeypatch):
    """The first process has ended, and another run has created and locked a new file."""
    import fcntl

    path, flock = tmp_path / "out.h5", fcntl.flock

    def late(descriptor, how):
        if _lock_path(path).exists():  # else filelock tries what this folder can
            monkeypatch.setattr(fcntl, "flock", flock)
            _lock_path(path).unlink()
            flock(stack.enter_context(_lock_path(path).open("w")), fcntl.LOCK_EX)
        return flock(descriptor, how)

    with ExitStack() as stack:
        monkeypatch.setattr(fcntl, "flock", late)
        with pytest.raises(LockedError), exclusive_lock(path):
            pass
        assert _lock_path(path).exists()  # the other's

"""Locks that let only one run at a time write an output.

The lock belongs to the operating system and ends with its process, so that it cannot become stale. On a file
system without such locks (NFS, Lustre) a lock file with the process and machine is used instead. It is
removed if that process no longer exists.
"""

import errno
import os
import platform
import time
import warnings
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from filelock import FileLock, SoftFileLock, Timeout

from flyannot.base.errors import LockedError
from flyannot.files.text_files import read_first_bytes

_MOST_OWNER_BYTES = 200  # of a lock file
_NOT_MINE = (errno.EACCES, errno.EPERM)  # the lock file of another user
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)
_PATIENCE_S = 0.1  # enough for the last process to remove its lock file


@contextmanager
def exclusive_lock(path, *, patience_s=_PATIENCE_S):
    """Lock an output file or folder against other processes until the end of a `with` block.

    The lock is a file beside the output, which is removed at the end. The parent folder must exist.

    Parameters
    ----------
    path : Path or str of the output
    patience_s : float, the seconds to wait if another process has the lock

    Raises
    ------
    LockedError
        If another process still has the lock after `patience_s`.
    OSError
        If the lock file cannot be created.
    """
    place = _lock_path(path)
    lock = _acquire(place, path, patience_s)
    try:
        yield
    finally:
        with suppress(OSError):
            place.unlink()  # while it is locked; a process that waits creates another
        lock.release()


def _lock_path(path):
    """Return the path of the lock file of an output: .NAME.lock in the same folder."""
    path = Path(path)
    return path.with_name(f".{path.name}.lock")


def _acquire(place, path, patience_s):
    """Acquire and return the lock of an output, a `FileLock` or `SoftFileLock` of the package filelock.

    Parameters
    ----------
    place : Path of the lock file
    path : Path of the output, for the error message
    patience_s : float, the seconds to wait if another process has the lock

    Raises
    ------
    LockedError, OSError
        As `exclusive_lock`.
    """
    for kind in (partial(FileLock, on_acquired=_write_owner), SoftFileLock):
        lock = kind(place, timeout=patience_s, poll_interval=0.01)
        try:
            with warnings.catch_warnings():  # filelock warns that it takes a lock file instead
                warnings.simplefilter("ignore")
                lock.acquire()
            return lock
        except OSError as error:
            if isinstance(error, Timeout) or (error.errno in _NOT_MINE and place.is_file()):
                raise _locked_error(place, path) from None
            if error.errno not in _NO_LOCKS or kind is SoftFileLock:
                raise
            with suppress(OSError):
                if place.stat().st_size == 0:  # it could not be locked; the lock file of a run is not empty
                    place.unlink()
    raise AssertionError("unreachable")


def _write_owner(descriptor):
    """Write the process and the machine into a locked file, as `SoftFileLock` does.

    descriptor : int, of the open file
    """
    with suppress(OSError):  # a full disk has room for a lock
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n{platform.node()}\n".encode())


def _locked_error(place, path):
    """Make the LockedError for an output that another process has locked; it says what is known of that one.

    place : Path of the lock file; path : Path of the output
    """
    owner = ""
    with suppress(OSError, ValueError, IndexError):
        lines = read_first_bytes(place, _MOST_OWNER_BYTES).decode(errors="replace").split("\n")
        owner = f": process {int(lines[0])} on {lines[1]}"
    with suppress(OSError):
        owner += f", for {max(0.0, time.time() - place.stat().st_mtime) / 60:,.0f} min"
    fix = f"wait for that run, or choose another output; if it has ended, delete {place}"
    return LockedError(f"{path} is being written by another run{owner}", fix=fix)

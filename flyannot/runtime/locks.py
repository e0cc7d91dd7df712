"""One run at a time writes an output.

The lock is the operating system's and cannot go stale: it ends with the process that holds it.  Where a
file system has none (NFS, Lustre), a lock file with the holder's process and machine takes its place, and
is removed when its holder is found dead.  The file says in both cases who holds it, for those who only look.
"""

import errno
import os
import platform
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from filelock import FileLock, SoftFileLock, Timeout

from flyannot.errors import LockedError
from flyannot.runtime.text_files import open_regular

_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)
_PATIENCE_S = 0.1  # a lock file that its last holder is just removing is gone by then
_LATER_S = 2.0  # clocks of a process and of a file system may differ by that


@dataclass(frozen=True)
class Holder:
    """Who holds an output: a process of a machine, since a time (seconds, as that of a file).

    is_here : whether it is of this machine, so that we know that it lives; of another we know only what its
        lock file says
    """

    process: int | None
    machine: str
    since: float
    is_here: bool


@contextmanager
def exclusive_lock(path, *, patience_s=_PATIENCE_S):
    """Hold the output `path` for this process; its folder must be there.

    `patience_s` is how long another holder is waited for.  LockedError if another run holds it.  OSError if
    the lock cannot be made.
    """
    place = _path_of_lock(path)
    lock = _acquired(place, path, patience_s)
    try:
        yield
    finally:
        with suppress(OSError):
            place.unlink()  # while we hold it: who waits for it then makes another
        lock.release()


def _path_of_lock(path):
    path = Path(path)
    return path.with_name(f".{path.name}.lock")


def holder_of(path):
    """The `Holder` of an output, None if nobody holds it.  Nothing is locked or written."""
    place = _path_of_lock(path)
    try:
        since = place.stat().st_mtime
        with open_regular(place) as file:
            words = file.read(300).decode("utf-8", "replace").split("\n")
    except PermissionError:  # on Windows nobody else reads what is locked
        return Holder(None, platform.node(), since, True)
    except OSError:
        return None
    if len(words) < 2 or not words[0].isdecimal():  # left by a process that was killed before it signed
        return None
    process, machine = int(words[0]), words[1]
    is_here = machine == platform.node()
    return None if is_here and not _is_alive(process, since) else Holder(process, machine, since, is_here)


def _is_alive(process, since):
    """Whether that process still runs; one that began after `since` has only its number."""
    try:
        return psutil.Process(process).create_time() < since + _LATER_S
    except psutil.AccessDenied:  # another user's
        return True
    except (psutil.Error, OverflowError):
        return False


def _sign(lock):
    """Say in the lock file who holds it, as `SoftFileLock` does."""
    descriptor = lock._context.lock_file_fd
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, f"{os.getpid()}\n{platform.node()}\n".encode())


def _acquired(place, path, patience_s):
    for kind in (FileLock, SoftFileLock):
        lock = kind(place, timeout=patience_s, poll_interval=0.01)
        try:
            with warnings.catch_warnings():  # that it takes a lock file instead is as it should be
                warnings.simplefilter("ignore")
                lock.acquire()
            if not isinstance(lock, SoftFileLock):  # which signs itself
                _sign(lock)
            return lock
        except Timeout:
            raise LockedError(
                f"{path} is being written by another run", fix="wait for that run, or name another output"
            ) from None
        except OSError as error:
            if error.errno not in _NO_LOCKS or kind is SoftFileLock:
                raise
            with suppress(OSError):
                if place.stat().st_size == 0:  # the file that could not be locked; a holder's is not empty
                    place.unlink()
    raise AssertionError("unreachable")

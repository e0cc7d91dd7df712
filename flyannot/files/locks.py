"""One run at a time writes an output.

The lock is the operating system's and cannot go stale: it ends with the process that holds it.  Where a
file system has none (NFS, Lustre), a lock file with the holder's process and machine takes its place, and
is removed when its holder is found dead.
"""

import errno
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, SoftFileLock, Timeout

from flyannot.base.errors import LockedError

_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)
_PATIENCE_S = 0.1  # a lock file that its last holder is just removing is gone by then


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


def _acquired(place, path, patience_s):
    for kind in (FileLock, SoftFileLock):
        lock = kind(place, timeout=patience_s, poll_interval=0.01)
        try:
            with warnings.catch_warnings():  # that it takes a lock file instead is as it should be
                warnings.simplefilter("ignore")
                lock.acquire()
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

"""Operating-system functions that differ between Linux, macOS and Windows.

No other module checks which system it runs on.
"""

import os
import signal
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

IS_WINDOWS = os.name == "nt"
BLAS_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# These signals ask a run to end: Ctrl-C, `kill`, a closed terminal, Ctrl-Break.
ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
)
_PATIENCE_S = 2.0  # a virus scanner may keep a new file open for a moment
_PAUSE_S = 0.05


def exit_immediately(code):
    """End the process at once with an exit code (int), without the usual shutdown of Python.

    Standard output and error are flushed. Functions registered with `atexit` are not called. The usual
    shutdown would wait for compiled code in other threads. It also crashes if a signal interrupted the import
    of compiled code.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def start_interrupting(call, every_s):
    """Start to call `call()` in the main thread every `every_s` seconds, until `stop_interrupting` is called.

    A signal handler uses this to raise its exception again if compiled code swallowed the first one. On
    Windows, which has no such timer, this does nothing: the next Ctrl-C raises it.
    """
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda number, frame: call())
        signal.setitimer(signal.ITIMER_REAL, every_s, every_s)


def stop_interrupting():
    """Stop the timer of `start_interrupting`."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def defer_interrupts():
    """Defer Ctrl-C (SIGINT) until the end of a `with` block.

    A process that is started within the block also ignores Ctrl-C until it unblocks the signal. On Windows
    the block runs without deferring.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def fsync_path(path):
    """Wait until a file is written to the disk, or until the file names of a folder are.

    An output must be on the disk before it is renamed, so that a power failure cannot leave it empty. For a
    folder this does nothing on Windows.
    """
    if IS_WINDOWS and Path(path).is_dir():  # Windows keeps a journal of names and cannot open a folder
        return
    descriptor = os.open(path, os.O_RDWR if IS_WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(source, target):
    """Rename the file `source` to `target`, replacing `target` if it exists.

    On Windows this fails while another process, such as a virus scanner, has the target open. It is therefore
    retried for 2 s there.

    Raises
    ------
    OSError
        If the file cannot be renamed.
    """
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return os.replace(source, target)
        except PermissionError:
            if not IS_WINDOWS or time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)


def remove_semaphores(prefix):
    """Remove the named semaphores whose names begin with `prefix`. Only Linux lists them."""
    for path in Path("/dev/shm").glob(f"sem.{prefix}*"):
        path.unlink(missing_ok=True)


def read_proc(path):
    """Read the text of a Linux file below /proc or /sys, such as /proc/meminfo; "" if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""

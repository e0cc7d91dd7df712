"""Differences between Linux, macOS and Windows; no other module asks which system this is."""

import atexit
import os
import signal
import sys
import threading
import time
from _thread import interrupt_main
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
_at_end = []  # functions without arguments


def run_at_exit(call):
    """Call `call()` when the process ends, also if it ends by `exit_immediately`."""
    atexit.register(call)
    _at_end.append(call)


def exit_immediately(code):
    """End the process with an exit code, without the usual shutdown of Python.

    The shutdown would wait for compiled code in a thread, and it crashes if a signal interrupted the import
    of compiled code.
    """
    for call in _at_end:
        call()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def start_alarm(is_due, call, every_s):
    """Run `call()` in the main thread every `every_s` seconds while `is_due()` is true.

    On a system with alarms, start it when something is due. On Windows a thread checks `is_due()` from the
    first call on.
    """
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda number, frame: call())
        if is_due():
            signal.setitimer(signal.ITIMER_REAL, every_s, every_s)
    elif not any(thread.name == _watch.__name__ for thread in threading.enumerate()):
        threading.Thread(target=_watch, name=_watch.__name__, args=(is_due, every_s), daemon=True).start()


def stop_alarm():
    """Stop the calls of `start_alarm`; on Windows they stop when nothing is due."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def _watch(is_due, every_s):
    while True:
        time.sleep(every_s)
        if is_due():
            interrupt_main(signal.SIGINT)


@contextmanager
def defer_interrupts():
    """Defer Ctrl-C until the end of the block.

    A process that is started within the block inherits this, except on Windows.
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
    """Flush a file, or the names in a folder, to the disk."""
    if IS_WINDOWS and Path(path).is_dir():  # Windows keeps a journal of names and cannot open a folder
        return
    descriptor = os.open(path, os.O_RDWR if IS_WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(source, target):
    """Rename a file, replacing the target if it exists.

    Windows refuses while another process has the target open, so the renaming is retried for 2 s.

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


def read_proc(path):
    """Return the text of a file below /proc or /sys, or "" if the system has no such file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""

"""What differs between Linux, macOS and Windows: the one module that asks which system this is."""

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
# What asks a run to end: Ctrl-C, `kill`, a terminal that is closed, Ctrl-Break.
ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
)
_PATIENCE_S = 2.0  # a scanner of viruses holds a new file for a moment
_PAUSE_S = 0.05
_at_end = []  # functions


def call_at_end(call):
    """Have `call()` run when the process ends, also by `exit_immediately`."""
    atexit.register(call)
    _at_end.append(call)


def exit_immediately(code):
    """End without taking Python apart: that waits for compiled code in a thread, and crashes where a signal
    came in the middle of an import of compiled code."""
    for call in _at_end:
        call()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def start_alarm(is_due, call, every_s):
    """Have `call()` run in the main thread every `every_s` seconds while `is_due()`.

    To be called once there is something due, and before, where a system has no alarm: a thread looks there.
    """
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda number, frame: call())
        if is_due():
            signal.setitimer(signal.ITIMER_REAL, every_s, every_s)
    elif not any(thread.name == _look.__name__ for thread in threading.enumerate()):
        threading.Thread(target=_look, name=_look.__name__, args=(is_due, every_s), daemon=True).start()


def stop_alarm():
    """No more calls; where a thread makes them, it ends with what is due."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def _look(is_due, every_s):
    while True:
        time.sleep(every_s)
        if is_due():
            interrupt_main(signal.SIGINT)


@contextmanager
def interrupts_deferred():
    """Ctrl-C waits until the end; a process that is started within inherits that, where the system can."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def synchronise_file(path):
    """Have the system write a file, or the names in a folder, to the disk now."""
    if IS_WINDOWS and Path(path).is_dir():  # it keeps a journal of names, and opens no folder
        return
    descriptor = os.open(path, os.O_RDWR if IS_WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(source, target):
    """Rename a file to a name that may be taken.  Windows refuses while anyone has that one open: a while
    is waited.

    Raises OSError.
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
    """The text of a file below /proc or /sys; "" on a system that has none."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""

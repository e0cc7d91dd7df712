"""Processes that a test starts end with it, whatever happens."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

CLI = [sys.executable, "-m", "flyannot"]
_started = []


@contextmanager
def started(*words, **options):
    """A process of Python; on leaving it is killed, and its group if it leads one."""
    with subprocess.Popen([sys.executable, *map(str, words)], text=True, **options) as process:
        try:
            yield process
        finally:
            if options.get("start_new_session"):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()


def start_process(words, **options):
    """A process that leads a session, whose answers are read as text; with its test all of it ends."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    words = [str(word) for word in words]
    _started.append(subprocess.Popen(words, **(pipes | options), start_new_session=True))
    return _started[-1]


def end_processes():
    """Kill what is left of the sessions that `start_process` started: after every test."""
    while _started:
        with _started.pop() as process, suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def members(session):
    """The processes of a session that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, sid = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            except (OSError, ValueError):
                continue
            if int(sid) == session and state != "Z":
                found.append(int(entry.name))
    return found


def is_worker(pid):
    """Not the processes that keep count of what workers share."""
    try:
        return b"popen_loky" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def wait_for(condition, run=None, *, timeout=120):
    """Poll until `condition()` holds, or the run has ended."""
    end = time.monotonic() + timeout
    while not condition() and (run is None or run.poll() is None):
        assert time.monotonic() < end
        time.sleep(0.01)

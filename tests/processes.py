"""Processes that end with the test that started them.

Tests wait for events, for at most `LIMIT_S`, which is longer than any busy machine needs.
"""

import gc
import logging
import os
import secrets
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

CLI = [sys.executable, "-m", "flyannot"]
_BY_PROCESSES = """
from flyannot.__main__ import main
from flyannot.jobs import executor
executor._Pace.n_processes = lambda pace, most: most
main()
"""
BY_PROCESSES = [sys.executable, "-c", _BY_PROCESSES]  # flyannot, whose workers pay from the first task
LIMIT_S = 300
_MARK = "FLYANNOT_TESTS"
_KEEPER = """
import os, sys
sys.stdin.read()
for _ in range(3):  # a process may just be starting another one
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if sys.argv[1].encode() in file.read().split(bytes(1)):
                    os.kill(int(pid), 9)
        except OSError:
            pass
"""
_started = []


def keep_watch():
    """Start a process that kills everything the tests have started, if they are killed themselves.

    An environment variable marks the processes.
    """
    if Path("/proc").is_dir():
        mark = secrets.token_hex(8)
        unmarked = {k: v for k, v in os.environ.items() if k != _MARK}
        words = [sys.executable, "-c", _KEEPER, f"{_MARK}={mark}"]
        _keepers.append(subprocess.Popen(words, stdin=subprocess.PIPE, env=unmarked, start_new_session=True))
        os.environ[_MARK] = mark


_keepers = []  # each ends when its standard input does


def begin(words, **options):
    """Start a process as the leader of a session, with text streams; `end` ends it."""
    process = subprocess.Popen(list(map(str, words)), text=True, start_new_session=True, **options)
    process.began = time.monotonic()
    return process


def end(process):
    """Kill all processes in the session of a process."""
    with process, suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def start_process(words, **options):
    """Start a process whose output is read; it ends with its test."""
    _started.append(begin(words, **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options)))
    return _started[-1]


def start_python(*words, **options):
    """Start Python with these arguments; it ends with its test."""
    return start_process([sys.executable, *words], **options)


def start_fork(line, *, prepare=lambda: None, **options):
    """Start a command line of flyannot, with one job, in a copy of this process; it ends with its test.

    The copy has imported all that the command needs, which takes a new process a second. It calls
    `prepare()` first.
    """
    from flyannot.cli import group
    from flyannot.cli.shared.exit_codes import run_click_group

    words = ["flyannot", *shlex.split(line)]
    before = {*os.listdir("/dev/fd")}

    def run():
        code = 1
        try:
            for number in {*os.listdir("/dev/fd")} - before - {"0", "1", "2"}:
                with suppress(OSError):  # Popen waits at a pipe until another program starts
                    os.close(int(number))
            gc.freeze()
            logging.getLogger("flyannot").handlers.clear()
            sys.argv = words
            for number, name in enumerate(("stdin", "stdout", "stderr")):
                setattr(sys, name, open(number, "w" if number else "r", buffering=1, closefd=False))  # noqa: SIM115
            prepare()
            code = run_click_group(group)
            sys.stdout.flush()
        finally:
            os._exit(code)

    # SIGXFSZ stays ignored, as Python has it.
    return start_process(words, preexec_fn=run, restore_signals=False, **options)


def end_processes():
    """End the processes of `start_process`; called after every test."""
    while _started:
        end(_started.pop())


def said_when_ended_by(process, number, *, group=False):
    """Send a signal to a process or its group, and return what it prints on stderr.

    The process must end soon: within four times the time since its start, as a busy machine slows down both.
    """
    sent = time.monotonic()
    (os.killpg if group else os.kill)(process.pid, number)
    _, said = process.communicate(timeout=LIMIT_S)
    assert time.monotonic() - sent < 4 * (sent - process.began), said
    return said


def members(session):
    """Return the running processes of a session."""
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
    """Return whether a process is a worker, and not one that tracks resources of workers."""
    try:
        return b"popen_loky" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def wait_for(condition, run=None, *, timeout=LIMIT_S):
    """Wait until `condition()` is true or the run has ended."""
    until = time.monotonic() + timeout
    while not condition() and (run is None or run.poll() is None):
        assert time.monotonic() < until
        time.sleep(0.01)

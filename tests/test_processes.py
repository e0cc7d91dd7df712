"""Processes that the tests start end with the tests."""

import os
import signal

import psutil
import pytest

from tests.conftest import ROOT
from tests.processes import keep_watch, start_python, wait_for

# A run of tests, and what it started: a process that leads another session, and one below that.
STARTS = f"""
import subprocess, sys
from {keep_watch.__module__} import keep_watch
keep_watch()
below = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
one = f"import subprocess, sys; print(subprocess.run([sys.executable, '-c', {{below!r}}]))"
subprocess.run([sys.executable, "-c", one], start_new_session=True)
"""


@pytest.mark.not_on_macos
@pytest.mark.not_on_windows
def test_killed_tests_leave_no_process():
    run = start_python("-c", STARTS, cwd=ROOT)
    below = psutil.Process(int(run.stdout.readline()))
    assert os.getsid(below.pid) != os.getsid(run.pid)
    both = [below, below.parent()]
    run.send_signal(signal.SIGKILL)
    wait_for(lambda: not any(process.is_running() for process in both))

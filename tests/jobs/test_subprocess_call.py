"""Tests of a function called in a process of its own: its answer, error, death and time limit."""

import os
import signal
import subprocess
import sys
import time

import pytest

from flyannot.base.errors import DataError
from flyannot.jobs.subprocess_call import SubprocessDied, call_in_subprocess
from tests.processes import LIMIT_S


def die(number):
    os.kill(os.getpid(), number)


def refuse(text):
    raise DataError(text, fix="mend it")


def hold(n_bytes):
    held = bytearray(n_bytes)
    time.sleep(60)
    return held


def test_the_answer_comes_back_from_another_process():
    assert call_in_subprocess(os.getpid, limit_s=20) != os.getpid()


def test_a_fault_arrives_with_its_remedy():
    with pytest.raises(DataError, match="is damaged") as caught:
        call_in_subprocess(refuse, "it is damaged", limit_s=20)
    assert caught.value.fix == "mend it"


@pytest.mark.parametrize(
    ("function", "argument", "limits", "why"),
    [
        *((die, number, {}, number.name) for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL)),
        (os._exit, 3, {}, "exit code 3"),
        (time.sleep, 10 * LIMIT_S, {"limit_s": 0.3}, "more than 0.3 s"),
        (hold, 600_000_000, {"most_bytes": 300_000_000}, "more than 300,000,000 bytes of memory"),
    ],
)
def test_what_ends_without_an_answer_is_told_by_name(function, argument, limits, why, capfd):
    with pytest.raises(SubprocessDied, match=why):
        call_in_subprocess(function, argument, **{"limit_s": 60} | limits)
    assert capfd.readouterr() == ("", "")


def test_an_unguarded_script_is_not_taken_for_a_crash(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import math\nfrom flyannot.jobs.subprocess_call import call_in_subprocess\n"
        "call_in_subprocess(math.sqrt, 4, limit_s=9)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 1 and "RuntimeError: a process of its own could not be started" in done.stderr

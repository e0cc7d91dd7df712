"""A function called in a process of its own: its answer, its fault, its death and its time."""

import os
import signal
import subprocess
import sys
import time

import pytest

from flyannot.errors import DataError
from flyannot.runtime.apart import ProcessDied, call_apart


def die(number):
    os.kill(os.getpid(), number)


def refuse(text):
    raise DataError(text, fix="mend it")


def leave(code):
    os._exit(code)


def test_the_answer_comes_back_from_another_process():
    assert call_apart(os.getpid, limit_s=20) != os.getpid()


def test_a_fault_arrives_with_its_remedy():
    with pytest.raises(DataError, match="is damaged") as caught:
        call_apart(refuse, "it is damaged", limit_s=20)
    assert caught.value.fix == "mend it"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_crash_is_told_by_name(number, capfd):
    with pytest.raises(ProcessDied, match=number.name):
        call_apart(die, number, limit_s=20)
    assert capfd.readouterr() == ("", "")
    with pytest.raises(ProcessDied, match="exit code 3"):
        call_apart(leave, 3, limit_s=20)


def test_what_hangs_is_ended():
    started = time.monotonic()
    with pytest.raises(ProcessDied, match="more than 0.3 s"):
        call_apart(time.sleep, 60, limit_s=0.3)
    assert time.monotonic() - started < 20


def test_an_unguarded_script_is_not_taken_for_a_crash(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import math\nfrom flyannot.runtime.apart import call_apart\ncall_apart(math.sqrt, 4, limit_s=9)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 1 and "RuntimeError: a process of its own could not be started" in done.stderr

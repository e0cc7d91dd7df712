"""A function called in a process of its own: its answer, its fault, its death and its time."""

import os
import signal
import subprocess
import sys
import time

import pytest

from flyannot.errors import DataError
from flyannot.runtime.subprocess_call import SubprocessDied, call_in_subprocess
from tests.processes import LIMIT_S


def die(number):
    os.kill(os.getpid(), number)


def refuse(text):
    raise DataError(text, fix="mend it")


def hold(n_bytes):
    held = bytearray(n_bytes)
    time.sleep(60)
    return held


def leave(code):
    os._exit(code)


def test_the_answer_comes_back_from_another_process():
    assert call_in_subprocess(os.getpid, limit_s=20) != os.getpid()


def test_a_fault_arrives_with_its_remedy():
    with pytest.raises(DataError, match="is damaged") as caught:
        call_in_subprocess(refuse, "it is damaged", limit_s=20)
    assert caught.value.fix == "mend it"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_crash_is_told_by_name(number, capfd):
    with pytest.raises(SubprocessDied, match=number.name):
        call_in_subprocess(die, number, limit_s=20)
    assert capfd.readouterr() == ("", "")
    with pytest.raises(SubprocessDied, match="exit code 3"):
        call_in_subprocess(leave, 3, limit_s=20)


def test_what_hangs_is_ended():
    with pytest.raises(SubprocessDied, match="more than 0.3 s"):
        call_in_subprocess(time.sleep, 10 * LIMIT_S, limit_s=0.3)


def test_what_takes_too_much_memory_is_ended():
    with pytest.raises(SubprocessDied, match="more than 300,000,000 bytes of memory"):
        call_in_subprocess(hold, 600_000_000, limit_s=60, most_bytes=300_000_000)


def test_an_unguarded_script_is_not_taken_for_a_crash(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import math\nfrom flyannot.runtime.subprocess_call import call_in_subprocess\n"
        "call_in_subprocess(math.sqrt, 4, limit_s=9)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 1 and "RuntimeError: a process of its own could not be started" in done.stderr

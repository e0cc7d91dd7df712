"""What differs between systems: the ways that Linux does not take, tried as far as Linux can."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from flyannot.runtime import resources, system


@pytest.fixture
def windows(monkeypatch):
    monkeypatch.setattr(system, "IS_WINDOWS", True)


def test_a_name_that_is_held_for_a_moment_is_waited_for(windows, monkeypatch, tmp_path):
    refused, rename = [], os.replace

    def held(source, target):
        if len(refused) < 3:
            refused.append(target)
            raise PermissionError(13, "in use")
        rename(source, target)

    (tmp_path / "a").write_text("new")
    (tmp_path / "b").write_text("old")
    monkeypatch.setattr(system.os, "replace", held)
    system.replace_file(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_text() == "new" and len(refused) == 3


def test_a_name_that_stays_held_is_an_error(windows, monkeypatch, tmp_path):
    def held(source, target):
        raise PermissionError(13, "in use")

    monkeypatch.setattr(system.os, "replace", held)
    monkeypatch.setattr(system, "_PATIENCE_S", 0.1)
    with pytest.raises(PermissionError):
        system.replace_file(tmp_path / "a", tmp_path / "b")


def test_linux_does_not_wait_for_a_name(monkeypatch, tmp_path):
    tried = []

    def refused(source, target):
        tried.append(target)
        raise PermissionError(13, "not yours")

    monkeypatch.setattr(system.os, "replace", refused)
    with pytest.raises(PermissionError):
        system.replace_file(tmp_path / "a", tmp_path / "b")
    assert len(tried) == 1


def test_windows_opens_no_folder_and_writes_to_what_it_synchronises(windows, monkeypatch, tmp_path):
    opened = []
    open_ = os.open
    monkeypatch.setattr(system.os, "open", lambda path, flags: opened.append(flags) or open_(path, flags))
    (tmp_path / "a").write_text("")
    system.synchronise_file(tmp_path)
    assert opened == []
    system.synchronise_file(tmp_path / "a")
    assert opened == [os.O_RDWR]


LOST = """
import signal, sys, time
if "windows" in sys.argv:
    del signal.setitimer
from flyannot.cli.shared import exit_codes
exit_codes._AGAIN_S = 0.1
exit_codes.listen_to_signals()

class Swallows:
    def __del__(self):
        print("ready", flush=True)
        time.sleep(60)  # the exception is lost here

try:
    thing = Swallows()
    del thing
    for _ in range(600):
        time.sleep(0.1)
except exit_codes.Interrupted as interrupted:
    print("ended by", interrupted.number, flush=True)
"""


@pytest.mark.parametrize("name", ["linux", "windows"])
def test_an_interruption_that_was_lost_comes_again_with_and_without_an_alarm(name):
    process = subprocess.Popen([sys.executable, "-c", LOST, name], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    said, _ = process.communicate(timeout=30)
    assert said == "ended by 2\n", f"after {time.monotonic() - began:.1f} s"


@pytest.mark.not_on_macos
@pytest.mark.not_on_windows
def test_the_peak_is_that_of_this_process():
    code = "from flyannot.runtime.system import peak_bytes; x = b'1' * 300_000_000; print(peak_bytes())"
    peak = int(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    )
    assert 300e6 < peak < 600e6


@pytest.mark.parametrize(
    ("variables", "megabytes"),
    [
        ({"SLURM_MEM_PER_NODE": "4096"}, 4096),
        ({"SLURM_MEM_PER_CPU": "2048", "SLURM_CPUS_ON_NODE": "2"}, 4096),
        ({"SLURM_MEM_PER_NODE": "4G"}, None),
        ({}, None),
    ],
)
def test_what_a_job_of_slurm_asked_for_is_a_limit(monkeypatch, variables, megabytes):
    for name in ("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    free = resources._slurm_bytes()
    if megabytes is None:
        assert free == float("inf")
    else:
        own = psutil.Process().memory_info().rss
        assert megabytes * 2**20 - 40 * own < free < megabytes * 2**20 - own / 2


def test_what_ends_at_once_says_all_and_leaves_nothing(tmp_path):
    """A thread that computes would keep Python from ending, and a handler of `atexit` would not be called."""
    left = tmp_path / "left"
    left.touch()
    code = f"""
import threading, time
from pathlib import Path
from flyannot.runtime.system import call_at_end, end_at_once
threading.Thread(target=time.sleep, args=(60,)).start()
call_at_end(Path({str(left)!r}).unlink)
print("said", end="")
end_at_once(7)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (7, "said", "")
    assert not left.exists()

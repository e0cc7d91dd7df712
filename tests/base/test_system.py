"""Differences between systems; the code for macOS and Windows runs here as far as Linux can run it."""

import os
import signal
import subprocess
import sys
from contextlib import nullcontext

import pytest

from flyannot.base import system
from tests.processes import LIMIT_S, start_python


@pytest.mark.parametrize("is_windows, refused, tries", [(True, 3, 4), (True, 10**9, None), (False, 3, 1)])
def test_a_name_held_for_a_moment_is_waited_for_on_windows(monkeypatch, tmp_path, is_windows, refused, tries):
    tried = []
    rename = os.replace

    def held(source, target):
        tried.append(target)
        if len(tried) <= refused:
            raise PermissionError(13, "in use")
        rename(source, target)

    (tmp_path / "a").write_text("new")
    (tmp_path / "b").write_text("old")
    monkeypatch.setattr(system, "IS_WINDOWS", is_windows)
    monkeypatch.setattr(system, "_PATIENCE_S", 0.2 if tries is None else 60)
    monkeypatch.setattr(system.os, "replace", held)
    is_replaced = is_windows and refused == 3
    with nullcontext() if is_replaced else pytest.raises(PermissionError):
        system.replace_file(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_text() == ("new" if is_replaced else "old")
    assert len(tried) > 1 if tries is None else len(tried) == tries


def test_windows_opens_no_folder_and_writes_to_what_it_synchronises(monkeypatch, tmp_path):
    opened = []
    open_ = os.open
    monkeypatch.setattr(system, "IS_WINDOWS", True)
    monkeypatch.setattr(system.os, "open", lambda path, flags: opened.append(flags) or open_(path, flags))
    (tmp_path / "a").write_text("")
    system.fsync_path(tmp_path)
    assert opened == []
    system.fsync_path(tmp_path / "a")
    assert opened == [os.O_RDWR]


LOST = """
import time
from flyannot.cli.shared import exit_codes
exit_codes._REPEAT_S = 0.1
exit_codes.install_signal_handlers()

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
    print("ended by", interrupted.args[0], flush=True)
"""


@pytest.mark.not_on_windows
def test_an_interruption_that_was_lost_comes_again():
    process = start_python("-c", LOST)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=LIMIT_S)
    assert said == "ended by 2\n"


def test_what_ends_at_once_says_all():
    """A working thread would keep Python from ending."""
    code = """
import threading, time
from flyannot.base.system import exit_immediately
threading.Thread(target=time.sleep, args=(60,)).start()
print("said", end="")
exit_immediately(7)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_S)
    assert (done.returncode, done.stdout, done.stderr) == (7, "said", "")

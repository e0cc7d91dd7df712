"""Exit codes and messages of a small group of commands, which runs in this process."""

import errno
import io
import os
import sys

import click
import pytest

from flyannot.base.errors import DataError, LockedError
from flyannot.cli.shared.exit_codes import SKIPPED, Interrupted, run_click_group


class FullDevice(io.StringIO):
    """A standard output whose text cannot be written to its disk."""

    def flush(self):
        raise OSError(errno.ENOSPC, "No space left on device")

    def fileno(self):
        return os.open(os.devnull, os.O_WRONLY)


ENDS = {  # of each command: its exit code, and words of its message
    "nothing": (0, ""),
    "skipped": (SKIPPED, ""),
    "refused": (65, "Error: it is damaged\nFix: mend it\n"),
    "locked": (75, "Error: it is being written\n"),
    "memory": (1, "Error: out of memory\nFix: use fewer --jobs"),
    "wrong": (1, "Error: unexpected ZeroDivisionError: deep inside\nFix: "),
    "interrupted": (130, "Interrupted: repeat the command"),
    "noting": (2, 'Did you mean "nothing"?'),
    "--unknown": (2, "see flyannot --help"),
    "": (2, "Missing argument"),
}


@click.command()
@click.argument("end", type=click.Choice(list(ENDS)[:-3]))
def command(end):
    print("said")
    errors = {"refused": DataError("it is damaged", fix="mend it"), "memory": MemoryError()}
    errors |= {"wrong": ZeroDivisionError("deep inside\nand more"), "interrupted": Interrupted(2)}
    errors["locked"] = LockedError("it is being written")
    if end in errors:
        raise errors[end]
    return SKIPPED if end == "skipped" else None


@pytest.fixture
def run(flyannot, monkeypatch):
    """Return a function that runs the command with some words, and returns its exit code."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["flyannot", *words])
        return run_click_group(command)

    return call


@pytest.mark.parametrize("end", ENDS)
def test_each_end_has_its_exit_code_and_one_message(run, capsys, end):
    code, words = ENDS[end]
    assert run(*end.split()) == code
    said = capsys.readouterr()
    assert words in said.err and f"\n{said.err}".count("\nError: ") == (code in (1, 2, 65, 75))
    assert ("Did you mean" in said.err) == (end == "noting")
    assert said.out == "said\n" * (code != 2)


def test_an_output_that_cannot_be_written_is_noticed_at_the_end(run, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", FullDevice())
        assert run("nothing") == 74
    assert "cannot write to the standard output: No space left on device" in capsys.readouterr().err

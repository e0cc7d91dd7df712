"""Tests that every command refuses an input that is absent, a folder or a pipe in one line."""

import os
import signal
from pathlib import Path

import click
import pytest

from flyannot.cli import group
from flyannot.cli.shared.options import OutputPath
from tests.command_lines import commands_below, contexts_of

ALL = dict(commands_below(group))
_LIMIT_S = 120  # for one command; one that waits for a pipe would never end


@pytest.fixture
def limited():
    """Raise TimeoutError in the test if it waits, as for a pipe without a writer."""

    def stop(*_):
        raise TimeoutError("the command waits")

    before = signal.signal(signal.SIGALRM, stop)
    yield lambda: signal.alarm(_LIMIT_S)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def inputs_of(line):
    """Return the words of a command line that are paths of inputs."""
    context = contexts_of(line)[-1]
    given = {p.name: context.params.get(p.name) for p in context.command.params}
    kinds = {p.name: p.type for p in context.command.params}
    paths = []
    for name, value in given.items():
        values = value if isinstance(value, tuple) else (value,)
        if isinstance(kinds[name], click.Path) and not isinstance(kinds[name], OutputPath):
            paths += [str(one) for one in values if one is not None and str(one) in line.split()]
    return dict.fromkeys(paths)


KINDS = {"absent": lambda path: None, "folder": os.mkdir, "pipe": os.mkfifo}
# Lines that name no input of this machine, or for which a file of others would have to be there.
PARSED_ONLY = ("flyannot fetch", "flyannot import")


def wordings(name, line):
    """Return a command line with and without --json, if the command has this option."""
    options = [param for param in ALL[name].params if "--json" in param.opts]
    return [line, *(f"{line} --json{'' if option.is_flag else ' -'}" for option in options)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in ALL if not name.startswith(PARSED_ONLY)])
def test_every_wrong_input_is_refused_in_one_line(flyannot, workplace, limited, name, kind):
    """Replace each input of the examples; a folder is right for some of them, and gives another error."""
    faults = []
    for line in ALL[name].example:
        for path in inputs_of(line):
            wrong = workplace / f"{kind}{Path(path).suffix}"
            KINDS[kind](wrong)
            words = [wrong.name if word == path else word for word in line.split()[1:]]
            for wording in wordings(name, " ".join(words)):
                limited()
                said = flyannot(wording)
                errors = [text for text in said.err.splitlines() if text.startswith("Error: ")]
                is_named = kind in "".join(errors) and len(errors) == 1 and "unexpected" not in errors[0]
                if said.code not in (2, 65) or not is_named or "Fix: " not in said.err:
                    faults.append(f"{wording} -> {said.code} {said.err}")
            if kind != "absent":
                wrong.rmdir() if wrong.is_dir() else wrong.unlink()
    assert not faults, "\n".join(faults)

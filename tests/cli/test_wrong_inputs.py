"""Tests of inputs that are absent, a folder or a pipe, and of names that look like something else."""

import os
import signal
from pathlib import Path

import click
import pytest

from flyannot.base.options import PathType
from flyannot.cli import group
from flyannot.cli.shared.options import IN_FILE, OutputPath
from tests.cli.test_help import make_scores, remove_outputs
from tests.command_lines import commands_below, contexts_of, example_of

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
# Lines that name no input of this machine, or a file of others; and `check`, which lists what is wrong.
NOT_TRIED = ("flyannot fetch", "flyannot import", "flyannot check")


def wordings(name, line):
    """Return a command line with and without --json, if the command has this option as a flag."""
    options = [param for param in ALL[name].params if "--json" in param.opts]
    return [line, *(f"{line} --json" for option in options if option.is_flag)]


def replaced_inputs(name, line, wrong):
    """Yield the words of a command line with the wrong path in place of an input, or as one more option."""
    words = line.split()[1:]
    for path in inputs_of(line):
        yield [wrong.name if word == path else word for word in words]
    for option in ALL[name].params:
        kind = getattr(option.type, "kind", None)
        is_input = option.type is IN_FILE or isinstance(kind, PathType)
        if isinstance(option, click.Option) and is_input:
            yield [*words, option.opts[-1], wrong.name]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in ALL if not name.startswith(NOT_TRIED)])
def test_every_wrong_input_is_refused_in_one_line(flyannot, workplace, limited, name, kind):
    """Replace each input of the examples, and add each option that takes a path."""
    faults = []
    for line in example_of(ALL[name]):
        make_scores(flyannot, line)
        suffixes = {Path(path).suffix for path in inputs_of(line)}
        for suffix in sorted(suffixes):
            wrong = workplace / f"{kind}{suffix}"
            KINDS[kind](wrong)
            for words in replaced_inputs(name, line, wrong):
                for wording in wordings(name, " ".join(words)):
                    remove_outputs(line)
                    limited()
                    said = flyannot(wording)
                    errors = [text for text in said.err.splitlines() if text.startswith("Error: ")]
                    is_named = wrong.name in said.out + "".join(errors) and len(errors) <= 1
                    if said.code not in (1, 2, 65) or not is_named or "unexpected" in said.err:
                        faults.append(f"{wording} -> {said.code} {said.out} {said.err}")
            if kind != "absent":
                wrong.rmdir() if wrong.is_dir() else wrong.unlink()
    assert not faults, "\n".join(faults)

"""Help, examples, the page of all options, completion and colours."""

import fcntl
import html
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

import click
import markdown
import pytest

from flyannot import __version__
from flyannot.cli import group, list_commands_by_heading
from tests.command_lines import commands_below, contexts_of, example_of
from tests.conftest import ROOT
from tests.processes import CLI

ALL = dict(commands_below(group))
PARSED_ONLY = {
    "flyannot fetch": "needs the network",
    "flyannot fetch bdgp": "needs the network",
    "flyannot import": "needs a file of others",
    "flyannot import wu2016": "needs a file of others",
    "flyannot import flyexpress": "needs files of others",
    "flyannot import bdgp": "needs files of others",
}


def make_scores(flyannot, line):
    """Make the scores that an example compares or reports on."""
    if "scores.json" not in line.partition(" -o ")[0] and " results" not in line:
        return
    flyannot("evaluate features.h5 embryos/annotations.csv --folds 2 --min-groups 6 --json made.json", code=0)
    for word in (*line.split(), "results/scores.json"):
        if word.endswith("scores.json"):
            Path(word).parent.mkdir(exist_ok=True)
            shutil.copy("made.json", word)


def remove_outputs(line):
    """Remove the outputs of a command line, which another one may have made."""
    words = contexts_of(line)[-1].params
    for out in (words.get(option) for option in ("out", "folder", "output", "json_file")):
        if out is not None and Path(out).exists():
            shutil.rmtree(out) if Path(out).is_dir() else Path(out).unlink()


# --- help ---


@pytest.mark.parametrize("name", ["flyannot", "flyannot import", *ALL])
def test_help_says_what_the_command_is_for_with_an_example_and_the_shared_options(flyannot, name):
    said = flyannot(f"{name.removeprefix('flyannot')} --help")
    assert said.code == 0 and said.err == ""
    first, purpose = said.out.split("\n\n")[:2]
    assert first.startswith(f"Usage: {name} ") and purpose.strip()[0].isupper()
    example, _, options = said.out.partition("\n  Example:\n")[2].partition("\n\nOptions:\n")
    lines = [line.strip() for line in example.splitlines()]
    assert lines and all(line.startswith("flyannot ") for line in lines)
    assert name == "flyannot" or f"{lines[0]} ".startswith(f"{name} ")
    shared = ["-v, --verbose", "-q, --quiet", "--debug", "-h, --help"]
    listed = [line for line in options.partition("\n\n")[0].splitlines() if line.startswith("  -")]
    assert [any(word in line for word in shared) for line in listed[-4:]] == [True] * 4


@pytest.mark.parametrize("name", ["flyannot import", *ALL])
def test_the_example_of_a_command_runs(flyannot, workplace, name):
    command = ALL.get(name) or group.get_command(None, "import")
    for line in example_of(command):
        contexts_of(line)
        if name not in PARSED_ONLY:
            make_scores(flyannot, line)
            remove_outputs(line)
            flyannot(line.removeprefix("flyannot "), code=0)


def test_the_help_of_a_group_lists_its_commands(flyannot):
    listed = " ".join(flyannot("import --help").out.partition("\nCommands:\n")[2].split())
    importers = [one for name, one in ALL.items() if name.startswith("flyannot import ")]
    purposes = [" ".join(one.help.partition("\n\n")[0].split()) for one in importers]
    assert importers and all(purpose in listed for purpose in purposes)
    said = flyannot("--help")
    listed = [item for commands in list_commands_by_heading().values() for item in commands.items()]
    for name, (_, short) in listed:
        assert name in said.out and short.split()[0] in said.out
    assert flyannot("--version").out == f"flyannot, version {__version__}\n"


def test_the_page_of_options_has_every_option_of_every_command():
    """Every option has a help text, and the page names every environment variable."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    page = markdown.markdown(text, extensions=["attr_list", "fenced_code", "mkdocs-click"])
    page = html.unescape(page)
    for name, command in ALL.items():
        section = page.partition(f'id="{name.replace(" ", "-")}"')[2].partition("<h3 ")[0]
        assert all(line in section for line in example_of(command)), name
        for one in (one for one in command.params if isinstance(one, click.Option)):
            assert one.help and one.opts[-1] in section, name
            assert one.envvar is None or f"`{one.envvar}`" in text, one.opts


# --- verbosity ---


def test_verbosity_may_stand_before_the_command(flyannot, workplace):
    assert flyannot("-q extract embryos -o d.h5") == (0, "", "")
    loud, plain = (flyannot(f"{flag} extract embryos -o d.h5 --force").err for flag in ("-v", ""))
    assert "up to date" in plain and len(loud) >= len(plain)
    said = flyannot("-q extract none -o d.h5")
    assert said.code == 2 and said.err.startswith("Error: ")


# --- facts ---


def test_info_names_versions_processor_folders_and_extras(flyannot, monkeypatch):
    monkeypatch.setenv("FLYANNOT_JOBS", "3")
    said = flyannot("info")
    assert said.code == 0 and said.err == ""
    facts = {line[:17].strip(): line[18:] for line in said.out.splitlines()}
    assert facts["flyannot"] == __version__ and re.search(r"numpy=\d", facts["packages"])
    assert re.search(r"pytest=\d", facts["[test]"]) and "[bench]" in facts
    assert re.search(r"usable=[1-9]", facts["processor"]) and facts["kernel cache"]
    assert "FLYANNOT_JOBS=3" in facts["environment"]


# --- completion ---


def completed(words, tmp_path):
    """Return what bash offers for the last of the words."""
    (tmp_path / "flyannot").write_text(f'#!/bin/bash\nexec {sys.executable} -m flyannot "$@"\n')
    (tmp_path / "flyannot").chmod(0o755)
    script = f"""
export PATH={tmp_path}:$PATH
eval "$(_FLYANNOT_COMPLETE=bash_source flyannot)"
COMP_WORDS=({" ".join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}
_flyannot_completion flyannot
printf '%s\\n' "${{COMPREPLY[@]}}"
complete -p flyannot
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_options_and_values(tmp_path):
    *offered, registered = completed(["flyannot", "le"], tmp_path)
    assert offered == ["learn-dict"] and "_flyannot_completion" in registered
    assert completed(["flyannot", "extract", "--str"], tmp_path)[:-1] == ["--stride-px"]
    words = ["flyannot", "extract", "--stage-range", "5", "--str"]
    assert completed(words, tmp_path)[:-1] == ["--stride-px"], "stage 5 is not explained now"
    words = ["flyannot", "extract", "--stage-range", "1"]
    assert completed(words, tmp_path)[:-1] == ["1-3", "11-12", "13-16"]


# --- colours ---


def on_a_terminal(words, **environment):
    """Run a command on a pseudo-terminal, and return its exit code and all that it prints."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    env = plain | {"TERM": "xterm"} | environment
    closed = subprocess.DEVNULL
    done = subprocess.run([*CLI, *words], stdout=follower, stderr=follower, stdin=closed, env=env)
    os.close(follower)
    said = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the end, as Linux tells it
            part = b""
        if not part:
            os.close(leader)
            return done.returncode, said.decode()
        said += part


def test_colours_only_on_a_terminal_and_only_if_wanted(chain):
    words = ["exract", "x"]
    assert on_a_terminal(words)[1].startswith("\x1b[31m\x1b[1mError:\x1b[0m no such command")
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        assert "\x1b" not in on_a_terminal(words, **{name: value})[1]
    done = subprocess.run([*CLI, *words], capture_output=True, text=True)
    assert done.stderr.startswith("Error: ") and "\x1b" not in done.stderr
    code, said = on_a_terminal(["verify", str(chain.model)])
    assert code == 0 and "\x1b[32m" in said

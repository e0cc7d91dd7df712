"""--log-format json: every line on stderr is one object, whatever happens; stdout stays as it is."""

import json
import os
import signal
import warnings

import pytest

from tests.cli.test_help import on_a_terminal
from tests.processes import CLI, LIMIT_S, start_process


def objects(text):
    """The lines of a log as dicts."""
    found = [json.loads(line) for line in text.splitlines()]
    assert all({"time", "level", "message"} <= set(one) for one in found)
    return found


def test_a_step_says_its_messages_its_progress_and_its_end(flyannot, chain, tmp_path):
    line = "extract E -o O --stride-px 16 --jobs 1 --log-format json"
    said = flyannot(line, E=chain.embryos, O=tmp_path / "d.h5")
    found = objects(said.err)
    assert said.code == 0 and all(one["level"] == "info" for one in found)
    assert all(one["command"] == "extract" for one in found)
    (progress,) = (one for one in found if "done" in one)
    assert progress["done"] == progress["total"] > 0 and progress["unit"] == "image"
    assert progress["per_second"] > 0 and progress["seconds_left"] == 0
    assert found[-1]["state"] == "done" and found[-1]["exit_code"] == 0
    assert any(one["message"].startswith("wrote ") for one in found)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("extract nowhere -o O --log-format json", 2),
        ("--log-format json extract nowhere -o O", 2),
        ("show FILE --log-format=json", 65),
        ("exract E -o O --log-format json", 2),
        ("extract E -o O --strid-px 3 --log-format json", 2),
        ("extract --log-format json", 2),
        ("verify FILE --log-format json", 65),
        ("--log-format json", 2),
    ],
)
def test_an_error_is_an_object_with_its_remedy_and_then_the_end(flyannot, chain, tmp_path, line, code):
    (tmp_path / "file").write_text("no HDF5")
    said = flyannot(line, E=chain.embryos, O=tmp_path / "o.h5", FILE=tmp_path / "file")
    *_, error, end = objects(said.err)
    assert said.code == code == end["exit_code"] and end["state"] == "failed"
    assert error["level"] == "error" and error["fix"] and not error["message"].startswith("Error")


def test_warnings_skipped_images_and_those_of_libraries_are_objects(flyannot, own_chain, monkeypatch):
    from flyannot.pipeline import extract

    def summary(path):
        warnings.warn("a library is old", DeprecationWarning, stacklevel=1)
        return ""

    monkeypatch.setattr(extract, "summary_of_extract", summary)
    broken = next((own_chain.embryos / "images").glob("*.png"))
    broken.write_bytes(b"")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        line = "extract E -o X --stride-px 16 --force --jobs 1 --log-format json"
        said = flyannot(line, **own_chain.words)
    found = objects(said.err)
    warned = [one["message"] for one in found if one["level"] == "warning"]
    assert said.code == 3 and found[-1]["state"] == "skipped"
    assert any("1 image was skipped" in one for one in warned) and any("library is old" in o for o in warned)


def test_the_environment_asks_for_it_too_and_the_line_has_the_last_word(flyannot, chain, monkeypatch):
    monkeypatch.setenv("FLYANNOT_LOG_FORMAT", "json")
    said = flyannot("verify F --log-format json", F=chain.features)
    counted = [one for one in objects(said.err) if one.get("unit") == "image"]
    assert counted and counted[-1]["done"] == counted[-1]["total"], "a long look at a file says how far it is"
    said = flyannot("verify M", M=chain.model)
    assert objects(said.err)[-1]["state"] == "done" and "whole" in said.out
    assert objects(flyannot("verify nothing").err)
    assert flyannot("verify M --log-format text", M=chain.model).err == ""
    monkeypatch.setenv("FLYANNOT_LOG_FORMAT", "yaml")
    flyannot("verify M", M=chain.model, code=2)


def test_there_is_no_bar_on_a_terminal(chain, tmp_path):
    words = ["extract", str(chain.embryos), "-o", str(tmp_path / "d.h5"), "--stride-px", "1", "--jobs", "1"]
    code, said = on_a_terminal([*words, "--log-format", "json"])
    assert code == 0 and objects(said)


@pytest.mark.not_on_windows
def test_an_interruption_is_the_last_but_one(own_chain):
    words = ["extract", "embryos", "-o", "out.h5", "--stride-px", "1", "--jobs", "1"]
    json_asked = os.environ | {"FLYANNOT_LOG_FORMAT": "json"}
    run = start_process([*CLI, *words], cwd=own_chain.folder, env=json_asked)
    first = run.stderr.readline()
    run.send_signal(signal.SIGTERM)
    *_, error, end = objects(first + run.communicate(timeout=LIMIT_S)[1])
    assert error["message"].startswith("Interrupted: run the same command again")
    assert end["state"] == "interrupted" and end["exit_code"] == run.returncode == 143

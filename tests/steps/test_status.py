"""flyannot status: what is said of a run, from its folder alone."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flyannot.errors import FlyannotError
from flyannot.runtime.locks import _path_of_lock, exclusive_lock
from flyannot.steps.engine import task as task_module
from flyannot.steps.engine.parts import folder_of_parts
from flyannot.steps.runs.configuration import Configuration, option_tables, write_record
from flyannot.steps.runs.status import status_of_run
from tests.processes import CLI, start_process
from tests.small_embryos import CLASSIFY, EXTRACT, LEARN, POOL, write_configuration

OPTIONS = option_tables()
STEPS = ["extract", "learn-dict", "pool", "train", "evaluate", "annotate", "report"]
N_IMAGES = 108  # of the chain
LINE = "extract embryos -o descriptors.h5 --stride-px 16 --jobs 1"


def record(chain, **options):
    """As if `flyannot run` had made the files of the chain, up to its predictions."""
    made_with = {name: kind() for name, kind in OPTIONS.items() if name not in ("synthesize", "fetch")}
    made_with |= {"extract": EXTRACT, "learn-dict": LEARN, "pool": POOL, "train": CLASSIFY} | options
    write_record(Configuration(chain.embryos, chain.folder, 0, made_with))
    return chain


@pytest.fixture
def of_run(own_chain, monkeypatch):
    """The chain in the folder of a run, which is the working folder."""
    monkeypatch.chdir(own_chain.folder)
    return record(own_chain)


@pytest.fixture
def status(flyannot):
    """status(folder) -> (state of the run, step -> what is said of it); else of the working folder."""

    def ask(folder="."):
        before = state_of(folder)
        said = flyannot("status F --json", F=folder)
        assert said.code == 0 and said.err == "" and state_of(folder) == before, "nothing is written"
        found = json.loads(said.out)
        return found["state"], {one["step"]: one for one in found["steps"]}

    return ask


def state_of(folder):
    return sorted((str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in Path(folder).rglob("*"))


def test_what_is_no_file_of_a_run_is_not_waited_for_and_no_name_directs_the_terminal(flyannot, of_run):
    for name in ("features.h5", "report.html", ".model.h5.lock"):
        Path(name).unlink(missing_ok=True)
        os.mkfifo(name)
    machine = "red \x1b[31m\x1b]0;title\x07\u202e\x9b"
    _path_of_lock(Path("dictionary.h5")).write_text(f"4242\n{machine}\n")
    for option in ("", "--json"):
        said = flyannot(f"status . {option}", code=0).out
        assert "red " in said and not any(c in said for c in machine if not c.isprintable())
    assert json.loads(said)["steps"][1]["holders"][0]["machine"] == machine


def states(steps):
    return [one["state"] for one in steps.values()]


@pytest.fixture
def parts(flyannot, of_run, monkeypatch):
    """The parts of an extraction that was killed before they were joined: the second has 64 images."""

    def killed(*arguments):
        raise FlyannotError("killed")

    of_run.descriptors.unlink()
    with monkeypatch.context() as patched:
        patched.setattr(task_module, "join_parts", killed)
        flyannot(LINE, code=1)
    parts = sorted(folder_of_parts(of_run.descriptors).glob("*.h5"), key=lambda p: p.stat().st_size)
    assert len(parts) == 2
    return parts


def test_what_is_done_and_what_waits(status, of_run):
    state, steps = status()
    assert list(steps) == STEPS and state == "interrupted"
    expected = ["done"] * 4 + ["waiting", "done", "waiting"]
    assert states(steps) == expected
    assert all(steps[s]["n_done"] == steps[s]["n_total"] == N_IMAGES for s in ("extract", "pool", "annotate"))
    assert steps["learn-dict"]["n_done"] == steps["learn-dict"]["n_total"] == 2 * LEARN.n_epochs
    shutil.rmtree(of_run.embryos)  # moved, or on another machine: what it would say is left out
    assert states(status()[1]) == expected


def test_other_options_outdate_a_step_and_what_follows(status, own_chain):
    pooled = record(own_chain, pool=OPTIONS["pool"](grid=(2, 2)))
    _, steps = status(pooled.folder)
    assert states(steps)[:6] == ["done", "done", "outdated", "outdated", "waiting", "outdated"]
    assert "pool.grid was" in steps["pool"]["why"]
    record(own_chain)
    table = own_chain.embryos / "images.csv"
    header, first, *rows = table.read_text().splitlines()
    table.write_text("\n".join([header, first, *rows, first.replace("images/", "images/new-")]) + "\n")
    _, steps = status(own_chain.folder)
    assert steps["extract"]["state"] == "outdated" and "it lacks 1 image" in steps["extract"]["why"]


def test_scores_with_other_options_are_outdated(flyannot, status, of_run):
    record(of_run, evaluate=OPTIONS["evaluate"](folds=3))
    flyannot("run run.toml --step evaluate", code=0)
    _, steps = status()
    assert steps["evaluate"]["state"] == "done"
    assert steps["annotate"]["why"] == "it was made from other scores", "from none"
    record(of_run, evaluate=OPTIONS["evaluate"](folds=4))
    found = status()[1]["evaluate"]
    assert found["state"] == "outdated" and "folds was 3 and is now 4" in found["why"]


def test_a_file_made_from_another_is_outdated_and_one_cut_short_is_damaged(flyannot, status, of_run):
    line = "learn-dict descriptors.h5 -o dictionary.h5 --n-atoms 24 --n-epochs 2 --seed 1 --force"
    flyannot(f"{line} --learner-option variant=released --learner-option n-sweeps=3", code=0)
    of_run.model.write_bytes(of_run.model.read_bytes()[:1000])
    _, steps = status()
    assert steps["learn-dict"]["why"] == "seed was 1 and is now 0"
    assert steps["pool"]["why"] == "it was made from other dictionary"
    assert steps["train"]["state"] == "damaged" and "flyannot verify" in steps["train"]["why"]


def test_parts_that_nobody_works_on_are_interrupted(status, of_run, parts):
    parts[0].unlink()
    state, steps = status()
    assert (state, steps["extract"]["state"]) == ("interrupted", "interrupted")
    assert (steps["extract"]["n_done"], steps["extract"]["n_total"]) == (64, N_IMAGES)
    assert steps["extract"]["per_second"] is None and steps["extract"]["holders"] == []
    record(of_run, extract=OPTIONS["extract"](stride_px=4))  # then these parts are of no use
    assert status()[1]["extract"]["state"] == "waiting"


def test_while_it_runs_rate_and_time_left_come_from_its_parts(flyannot, status, of_run, parts):
    other, part = parts
    with exclusive_lock(of_run.descriptors):
        lock = _path_of_lock(of_run.descriptors)
        since = lock.stat().st_mtime
        os.utime(other, (since - 500, since - 500))  # of an earlier run: done, but no measure of this one
        os.utime(part, (since + 32, since + 32))
        state, steps = status()
        found = steps["extract"]
        assert state == found["state"] == "running" and found["n_done"] == N_IMAGES
        assert found["per_second"] == pytest.approx(64 / 32, rel=1e-3)
        other.unlink()
        found = status()[1]["extract"]
        assert found["n_done"] == 64 and found["seconds_left"] == pytest.approx(22, rel=1e-3)
        (holder,) = found["holders"]
        assert holder["process"] == os.getpid() and holder["machine"] == platform.node()
        said = flyannot("status .").out
        assert re.search(r"^extract +running +64 of 108 images +2 images +22 s$", said, re.MULTILINE), said
        part.unlink()
        found = status()[1]["extract"]
        assert found["state"] == "running" and found["n_done"] == 0 and found["seconds_left"] is None


def test_a_lock_of_a_killed_process_is_no_run_and_one_of_another_machine_may_be(
    flyannot, status, of_run, parts
):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    lock = _path_of_lock(of_run.descriptors)
    for content in (f"{ended.pid}\n{platform.node()}\n", ""):
        lock.write_text(content)
        assert status()[1]["extract"]["state"] == "interrupted"
    lock.write_text(f"{os.getpid()}\n{platform.node()}\n")  # a number that another process has now
    os.utime(lock, (1e9, 1e9))
    assert status()[1]["extract"]["state"] == "interrupted"
    lock.write_text("17\nnode07\n")
    assert status()[1]["extract"]["state"] == "running"
    said = flyannot("status .").out
    assert "extract: process 17 of node07, for " in said and "only that machine knows" in said


def test_parts_that_several_machines_make_of_one_file_are_all_at_work_on_it(status, of_run, parts):
    parts[1].unlink()
    first, second = (of_run.folder / f"descriptors.h5.{i}-of-2" for i in (1, 2))
    with exclusive_lock(first):
        _path_of_lock(second).write_text("17\nnode07\n")
        found = status()[1]["extract"]
        assert found["state"] == "running" and found["n_done"] == N_IMAGES - 64
        assert [one["machine"] for one in found["holders"]] == [platform.node(), "node07"]


def test_skipped_images_are_named(flyannot, status, of_run):
    broken = next((of_run.embryos / "images").glob("*.png"))
    broken.write_bytes(b"")
    flyannot(f"{LINE} --force", code=3)
    _, steps = status()
    (skipped,) = steps["extract"]["skipped"]
    assert skipped["image"].endswith(broken.name) and skipped["reason"]
    assert steps["extract"]["state"] == "done" and steps["extract"]["n_done"] == N_IMAGES
    assert f"extract: skipped images/{broken.name}: " in flyannot("status .").out


def test_it_may_be_asked_for_at_any_moment_of_a_run(status, tmp_path):
    config = write_configuration(tmp_path, n_epochs=2)
    run = start_process([*CLI, "run", config])
    seen, results = [], tmp_path / "results"
    while run.poll() is None:
        if (results / "run.toml").exists():
            found = status_of_run(results)
            seen.append((found.state, [one.state for one in found.steps]))
        time.sleep(0.05)
    assert run.returncode == 0, run.stderr.read()
    state, steps = status(results)
    assert state == "done" and set(states(steps)) == {"done"}
    while seen[-1][0] == "done":  # the process takes a moment to end
        seen.pop()
    assert {state for state, _ in seen} == {"running"}, "also between two steps"
    assert "running" in {s for _, found in seen for s in found}

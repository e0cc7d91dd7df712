"""The command `flyannot status`."""

import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest

from flyannot.base.errors import FlyannotError
from flyannot.pipeline.engine.parts import parts_folder
from flyannot.pipeline.pictures import pictures_task
from flyannot.pipeline.runs.configuration import Configuration, find_options_classes, write_record
from flyannot.pipeline.runs.status import read_run_status
from tests.processes import start_fork
from tests.small_embryos import CLASSIFY, EXTRACT, LEARN, POOL, write_configuration

OPTIONS = find_options_classes()
STEPS = ["extract", "learn-dict", "pool", "train", "evaluate", "annotate", "report"]
N_IMAGES = 108  # of the chain
LINE = "extract embryos -o descriptors.h5 --stride-px 16 --jobs 1"


def record(chain, **options):
    """Write the record of a run, as if `flyannot run` had made the files of the chain."""
    made_with = {name: kind() for name, kind in OPTIONS.items()}
    made_with |= {"extract": EXTRACT, "learn-dict": LEARN, "pool": POOL, "train": CLASSIFY} | options
    write_record(Configuration(chain.embryos, chain.folder, 0, made_with))
    return chain


@pytest.fixture
def of_run(own_chain, monkeypatch):
    """Make the chain the folder of a run, and the working folder."""
    monkeypatch.chdir(own_chain.folder)
    return record(own_chain)


@pytest.fixture
def status(flyannot):
    """Return a function of a folder (by default the working folder) to a dict: step -> its status."""

    def ask(folder="."):
        before = state_of(folder)
        said = flyannot("status F --json", F=folder)
        assert said.code == 0 and "Error" not in said.err and state_of(folder) == before, "nothing is written"
        return {one["step"]: one for one in json.loads(said.out)["steps"]}

    return ask


def state_of(folder):
    return sorted((str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in Path(folder).rglob("*"))


def test_what_is_no_file_of_a_run_is_not_waited_for(flyannot, of_run):
    for name in ("features.h5", "report.html"):
        Path(name).unlink(missing_ok=True)
        os.mkfifo(name)
    said = flyannot("status .", code=0).out
    assert re.search("^pool +damaged", said, re.MULTILINE) and re.search(
        "^report +waiting", said, re.MULTILINE
    )


def states(steps):
    return [one["state"] for one in steps.values()]


@pytest.fixture
def parts(flyannot, of_run, monkeypatch):
    """Return the parts of an extraction that was killed before they were joined; the second has 66 images."""

    def killed(*arguments):
        raise FlyannotError("killed")

    of_run.descriptors.unlink()
    with monkeypatch.context() as patched:
        patched.setattr(pictures_task, "join_parts", killed)
        flyannot(LINE, code=1)
    parts = sorted(parts_folder(of_run.descriptors).glob("*.part.h5"), key=lambda p: p.stat().st_size)
    assert len(parts) == 2
    return parts


def test_what_is_done_and_what_waits(status, of_run):
    steps = status()
    assert list(steps) == STEPS
    expected = ["done"] * 4 + ["waiting", "done", "waiting"]
    assert states(steps) == expected
    shutil.rmtree(of_run.embryos)  # moved, or on another machine: what it would say is left out
    assert states(status()) == expected


def test_other_options_outdate_a_step_and_what_follows(status, own_chain):
    pooled = record(own_chain, pool=OPTIONS["pool"](grid=(2, 2)))
    steps = status(pooled.folder)
    assert states(steps)[:6] == ["done", "done", "outdated", "outdated", "waiting", "outdated"]
    assert "pool.grid was" in steps["pool"]["why"]
    record(own_chain)
    table = own_chain.embryos / "images.csv"
    header, first, *rows = table.read_text().splitlines()
    table.write_text("\n".join([header, first, *rows, first.replace("images/", "images/new-")]) + "\n")
    picture = own_chain.embryos / first.split(",")[0]
    added = shutil.copy2(picture, picture.with_name(f"new-{picture.name}"))
    found = status(own_chain.folder)["extract"]
    assert found["state"] == "outdated" and found["why"] == "it has 108 images; the data set has 109"
    os.utime(added)
    assert status(own_chain.folder)["extract"]["why"].endswith("has 109, 1 picture has changed since")


def test_a_picture_that_is_replaced_by_an_older_one_or_removed_is_seen(status, of_run):
    """If all pictures are newer than the output, as in a copy of the data set, their dates decide."""
    pictures = sorted((of_run.embryos / "images").glob("*.png"))
    made_at_ns = max(path.stat().st_ctime_ns for path in pictures)
    os.utime(of_run.descriptors, ns=(0, made_at_ns))
    assert status()["extract"]["state"] == "done"
    while pictures[0].stat().st_ctime_ns <= made_at_ns:
        shutil.copy2(pictures[1], pictures[0])
        os.utime(pictures[0], (0, 0))
    assert status()["extract"]["why"] == "1 picture has changed since"
    pictures[2].unlink()
    assert status()["extract"]["why"] == "1 picture is missing, 1 picture has changed since"


def test_scores_with_other_options_are_outdated(flyannot, status, of_run):
    record(of_run, evaluate=OPTIONS["evaluate"](folds=3))
    flyannot("run run.toml --step evaluate", code=0)
    steps = status()
    assert steps["annotate"]["why"] == "it does not match the scores", "from none"
    flyannot("run run.toml --step annotate", code=0)
    assert status()["evaluate"]["state"] == "done"
    record(of_run, evaluate=OPTIONS["evaluate"](folds=4))
    found = status()["evaluate"]
    assert found["state"] == "outdated" and "folds was 3 and is now 4" in found["why"]


def test_a_file_made_from_another_is_outdated_and_one_cut_short_is_damaged(flyannot, status, of_run):
    line = "learn-dict descriptors.h5 -o dictionary.h5 --n-atoms 24 --n-epochs 2 --seed 1 --force"
    flyannot(f"{line} --learner-option variant=released --learner-option n-sweeps=3", code=0)
    of_run.model.write_bytes(of_run.model.read_bytes()[:1000])
    steps = status()
    assert steps["learn-dict"]["why"] == "seed was 1 and is now 0"
    assert steps["pool"]["why"] == "it does not match the dictionary"
    assert steps["train"]["state"] == "damaged" and "flyannot verify" in steps["train"]["why"]


def test_parts_so_far_are_counted(status, of_run, parts):
    assert status()["extract"]["why"] == f"{N_IMAGES} of {N_IMAGES} images"
    parts[0].unlink()
    found = status()["extract"]
    assert (found["state"], found["why"]) == ("begun", f"66 of {N_IMAGES} images")
    parts[1].unlink()
    assert status()["extract"]["state"] == "waiting"


def test_skipped_images_are_counted(flyannot, status, of_run):
    next((of_run.embryos / "images").glob("*.png")).write_bytes(b"")
    flyannot(f"{LINE} --force", code=3)
    found = status()["extract"]
    assert (found["state"], found["why"]) == ("done", "1 image skipped: pictures.csv")


def test_it_may_be_asked_for_at_any_moment_of_a_run(status, tmp_path):
    config = write_configuration(tmp_path, n_epochs=2)
    run = start_fork(f"run {config}")
    seen = set()
    results = tmp_path / "results"
    while run.poll() is None:
        if (results / "run.toml").exists():
            seen |= {step.state for step in read_run_status(results)}
        time.sleep(0.05)
    assert run.returncode == 0, run.stderr.read()
    assert set(states(status(results))) == {"done"}
    assert "waiting" in seen and not seen & {"damaged", "outdated"}, seen

"""The command `flyannot workflow`, and the steps and parts that its jobs run."""

import re
import shutil
from pathlib import Path

import pytest

from flyannot.files.atomic_file import lock_output
from flyannot.pipeline.runs.configuration import read_configuration
from tests.cli.test_cli import check_error
from tests.small_embryos import KINDS, write_configuration

SETTINGS = '[extract]\nstride-px = 32\n[pool]\ngrid = "1x2"\n'
FILES = [f"{kind}.h5" for kind in KINDS] + ["predictions.csv", "scores.json", "report.html", "run.toml"]
STEPS = ["extract", "learn-dict", "pool", "train", "evaluate", "annotate"]


@pytest.fixture
def place(chain, tmp_path, monkeypatch):
    """Make a working folder with embryos and a configuration; its name has a blank and a quote."""
    folder = make_place(chain, tmp_path / "my embryos' set")
    monkeypatch.chdir(folder)
    return folder


def make_place(chain, folder):
    folder.mkdir()
    shutil.copytree(chain.embryos, folder / "embryos")
    write_configuration(folder, images=SETTINGS, seed=3)
    return folder


def values_of(snakefile):
    """Return the values in a Snakefile as a dict: name -> value."""
    lines = re.findall(r"^([A-Z]+) = (.*?)(?:  #.*)?$", Path(snakefile).read_text(), re.MULTILINE)
    return {name: eval(value) for name, value in lines}


def test_the_snakefile_has_the_steps_of_the_run_and_what_they_read(flyannot, place):
    (place / "embryos").rename(place / "other")
    flyannot("workflow c.toml --parts 2 -o Snakefile --data-set other --set pool.grid=2x2", code=0)
    found = values_of("Snakefile")
    assert list(found["STEPS"]) == STEPS and found["RUN"].endswith("-P -m flyannot run run.toml")
    assert [step for step in STEPS if found["STEPS"][step]["jobs"] == 2] == ["extract", "pool", "annotate"]
    assert found["STEPS"]["extract"]["table"] == str(place / "other" / "images.csv")
    assert found["STEPS"]["train"]["table"] == str(place / "other" / "annotations.csv")
    results = place / "results"
    assert f"workdir: {str(results)!r}\n" in Path("Snakefile").read_text()
    recorded = read_configuration(results / "run.toml")
    assert recorded.options["extract"].stride_px == 32 and recorded.options["pool"].grid == ((2, 2),)
    assert "[run]" not in (results / "run.toml").read_text(), "nothing of how the steps are carried out"


def test_a_workflow_names_the_steps_that_it_lacks(flyannot, place):
    assert "left out" not in flyannot("workflow c.toml -o w", code=0).err
    (place / "embryos" / "annotations.csv").unlink()
    assert "left out: train, evaluate" in flyannot("workflow c.toml -o w --force", code=0).err


def test_other_options_are_other_parameters_of_their_step_alone(flyannot, place):
    digests = []
    for more in ("", " --set pool.grid=2x2 --force"):
        flyannot(f"workflow c.toml -o Snakefile{more}", code=0)
        steps = values_of("Snakefile")["STEPS"]
        assert {about["jobs"] for about in steps.values()} == {1}, "one job is enough for these"
        digests.append({step: about["options"] for step, about in steps.items()})
    assert [step for step in STEPS if digests[0][step] != digests[1][step]] == ["pool"]


def test_a_workflow_of_a_run_that_is_being_written_is_refused(flyannot, place):
    with lock_output(place / "results" / "run.toml"):
        check_error(flyannot("workflow c.toml -o w"), 75, "is being written by another run")
    assert not Path("w").exists()


def test_a_profile_beside_a_workflow_is_replaced_only_by_force(flyannot, place):
    there = Path("profiles", "slurm", "config.yaml")
    line = "workflow c.toml -o w"
    there.parent.mkdir(parents=True)
    there.write_text("mine")
    check_error(flyannot(line), 2, f"{there} exists", "--force")
    assert there.read_text() == "mine" and not (place / "results").exists()
    flyannot(f"{line} --force", code=0)
    assert "squeue" in there.read_text() and Path("profiles", "laptop", "config.yaml").is_file()


def test_steps_and_parts_in_any_order_make_the_files_of_a_run(flyannot, place):
    """There are two parts of images, so that the last of three shares is empty."""
    results = place / "results"
    whole = place / "whole" / "results"
    flyannot("run c.toml -o whole/results", code=0)
    check_error(flyannot("run c.toml -o whole/results --step train --part 1/2"), 2, "is not made in parts")
    check_error(flyannot("run c.toml --step pool"), 2, "descriptors.h5")
    for step in ("extract", "learn-dict", "pool", "train", "evaluate", "annotate"):
        if step in ("extract", "pool", "annotate"):
            for i in (3, 1, 2):
                said = flyannot(f"run c.toml --step {step} --part {i}/3", code=0)
                assert f"wrote part {i}/3 of {step}" in said.err
        flyannot(f"run c.toml --step {step}", code=0)
    said = flyannot("run c.toml --step pool --part 1/3", code=0)
    assert "up to date: part 1/3 of pool" in said.err
    flyannot("run c.toml", code=0)
    assert not [path.name for path in results.iterdir() if path.name.startswith(".")]
    for name in FILES[:-2]:
        assert (results / name).read_bytes() == (whole / name).read_bytes(), name


def test_a_part_of_a_job_that_was_killed_is_no_hindrance(flyannot, place):
    parts = place / "results" / ".descriptors.h5.parts"
    flyannot("run c.toml --step extract --part 1/2", code=0)
    parts.with_name(".descriptors.h5.1-of-2.lock").touch()
    flyannot("run c.toml --step extract", code=0)  # the other part is made here
    assert (place / "results" / "descriptors.h5").exists() and not list(parts.parent.glob(".*"))


def test_an_output_folder_may_be_a_link(flyannot, place, tmp_path, monkeypatch):
    """Beside the target of the link lies another data set of the same name; the report has the same bytes."""
    scratch = tmp_path / "scratch" / "results"
    scratch.mkdir(parents=True)
    table = shutil.copytree(place / "embryos", scratch.parent / "embryos") / "images.csv"
    table.write_text("".join(table.read_text().splitlines(keepends=True)[:20]))
    flyannot("run c.toml -o whole/results --step extract", code=0)
    (place / "results").symlink_to(scratch)
    flyannot("workflow c.toml -o Snakefile", code=0)
    pages = set()
    for folder, line in ((scratch, "run run.toml"), (place, "run results/run.toml"), (place, "run c.toml")):
        monkeypatch.chdir(folder)
        flyannot(f"{line} --step extract", code=0)
        flyannot(f"{line} --step report", code=0)
        pages.add((scratch / "report.html").read_bytes())
        (scratch / "report.html").unlink()
        assert (scratch / "descriptors.h5").read_bytes() == (place / "whole/results" / FILES[0]).read_bytes()
        if line == "run run.toml":
            (scratch / "descriptors.h5").unlink()
    assert len(pages) == 1
    assert re.search(r"^extract +done", flyannot("status results", code=0).out, re.MULTILINE)

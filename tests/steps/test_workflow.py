"""`flyannot workflow`: what it writes, what its jobs ask for, and the steps and parts that they are."""

import re
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from flyannot.steps.runs.configuration import read_configuration
from flyannot.steps.runs.costs import RunSize, size_of_run
from flyannot.steps.runs.run import steps_of
from flyannot.steps.runs.workflow import jobs_of_run
from tests.cli.test_cli import faulty
from tests.command_lines import contexts_of
from tests.conftest import ROOT
from tests.small_embryos import KINDS, write_configuration

SETTINGS = '[extract]\nstride-px = 16\n[pool]\ngrid = "1x2"\n'
FILES = [f"{kind}.h5" for kind in KINDS] + ["predictions.csv", "scores.json", "report.html", "run.toml"]
_BEFORE = ["extract-part", "extract", "learn-dict", "pool-part", "pool", "train", "evaluate"]
JOBS = [*_BEFORE, "annotate-part", "annotate", "report"]
ENGINES = {"snakemake": "Snakefile", "slurm": "jobs.sh"}


@pytest.fixture
def place(chain, tmp_path, monkeypatch):
    """The working folder, whose name has a blank and a quote, with embryos and a configuration."""
    folder = make_place(chain, tmp_path / "my embryos' set")
    monkeypatch.chdir(folder)
    return folder


def make_place(chain, folder):
    folder.mkdir()
    shutil.copytree(chain.embryos, folder / "embryos")
    write_configuration(folder, images=SETTINGS, seed=3)
    return folder


def commands_in(text):
    """The commands of ours in a workflow, 1 in the place of what its engine fills in."""
    run = re.search(r"^RUN = (['\"])(.*)\1$", text, re.MULTILINE)
    text = text.replace("{RUN}", run[2] if run else "")
    lines = re.findall(r"\S+ -m (flyannot run run\.toml[^\n|]*\S) \|\|", text)
    return [re.sub(r"\{[\w.]+\}|\$\w+", "1", line) for line in lines]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_job_is_the_run_or_a_part_of_it(flyannot, place, engine):
    out = ENGINES[engine]
    said = flyannot(f"workflow c.toml --engine {engine} --parts 2 -o {out}", code=0)
    text, results = Path(out).read_text(), place / "results"
    found = [contexts_of(line)[-1].params for line in commands_in(text)]
    jobs = [(one["step"] or JOBS[-1]) + ("-part" if one["part"] else "") for one in found]
    assert jobs == (JOBS if engine == "slurm" else JOBS[::-1])
    assert all(one["settings"] == ("run.jobs=1",) for one in found)
    assert [line.split()[0] for line in said.err.splitlines() if line.endswith(" min")] == JOBS
    quoted = f"cd {shlex.quote(str(results))}\n" if engine == "slurm" else f"workdir: {str(results)!r}\n"
    assert quoted in text
    assert read_configuration(results / "run.toml").options["extract"].stride_px == 16
    assert "[run]" not in (results / "run.toml").read_text(), "nothing of how the steps are carried out"


def test_a_file_of_a_log_names_the_task_only_in_an_array(flyannot, place):
    flyannot("workflow c.toml --engine slurm --parts 2 -o jobs.sh", code=0)
    script = Path("jobs.sh").read_text()
    for job in re.findall(r"^job=\$\((.*?)^JOB", script, re.MULTILINE | re.DOTALL):
        assert ("%A.%a" in job) == ("--array" in job) == ("SLURM_ARRAY_TASK_ID" in job)
    assert set(re.findall(r"--cpus-per-task=(\d+) ", script)) == {"1"}
    assert subprocess.run(["bash", "-n", "jobs.sh"]).returncode == 0


def test_settings_and_the_data_set_of_the_command_line_are_recorded(flyannot, place):
    (place / "embryos").rename(place / "other")
    line = "workflow c.toml --engine slurm -o jobs.sh --data-set other --set pool.grid=2x2"
    flyannot(line, code=0)
    found = read_configuration(place / "results" / "run.toml")
    assert found.options["pool"].grid == ((2, 2),) and found.data_set == place / "other"
    jobs = Path("jobs.sh").read_text().partition("submit()")[2]
    assert "--part" not in jobs, "one job is enough for these"


def test_the_profile_beside_a_workflow_is_replaced_only_by_force(flyannot, place):
    there, line = Path("profiles", "slurm", "config.yaml"), "workflow c.toml --engine snakemake -o w"
    there.parent.mkdir(parents=True)
    there.write_text("mine")
    faulty(flyannot(line), 2, f"{there} exists", "--force")
    assert there.read_text() == "mine" and not (place / "results").exists()
    flyannot(f"{line} --force", code=0)
    assert "squeue" in there.read_text()


def test_a_data_set_that_the_run_draws_is_counted_as_it_will_be_drawn(flyannot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn = '[synthesize]\nn-genes = 40\nmax-images = 3\nstage-range = ["4-6", "7-8"]\n'
    write_configuration(tmp_path, images=SETTINGS + drawn, seed=3)
    size = size_of_run(read_configuration(Path("c.toml")))
    flyannot(
        "synthesize -o embryos --n-genes 40 --max-images 3 --stage-range 4-6 --stage-range 7-8 --seed 3",
        code=0,
    )
    table = Path("embryos", "images.csv").read_text()
    assert size.n_images == Counter({s: table.count(f",{s},") for s in ("4-6", "7-8")})
    assert size.n_groups.total() == 80
    flyannot("workflow c.toml --engine slurm --parts 2 -o jobs.sh", code=0)
    assert "--job-name=synthesize" in Path("jobs.sh").read_text()


# Processor seconds and peak MB of steps with one job, as flyannot/steps/runs/costs.py says.
MEASURED_STEPS = ("extract", "learn-dict", "pool", "train", "annotate", "evaluate", "report")  # as measured
MEASURED = {
    "demo": ((3.2, 220), (5.8, 238), (3.6, 200), (2.8, 281), (3.9, 223), (5.6, 281), (6.7, 298)),
    "best": ((7.7, 251), (47.6, 448), (34.7, 351), (2.3, 280), (35.5, 470), (2.6, 200), (22.8, 365)),
}
# The embryos of configs/demo.toml, on which these were measured.
DEMO = {
    "n_images": Counter({"4-6": 203, "9-10": 197, "13-16": 209}),
    "n_groups": Counter({"4-6": 100, "9-10": 100, "13-16": 100}),
    "n_terms": Counter({"4-6": 6, "9-10": 6, "13-16": 6}),
}


@pytest.mark.parametrize("name", MEASURED)
def test_an_estimate_covers_what_was_measured_and_asks_for_less_than_ten_times_as_much(name):
    configuration = read_configuration(ROOT / "configs" / f"{name}.toml")
    patches, atoms, cells = {"demo": (297, 256, 8), "best": (2280, 2000, 9 * 5)}[name]
    size = RunSize(**DEMO, n_patches=patches, n_atoms=atoms, n_features=atoms * cells)
    needs = {step.name: step.cost_of(configuration, size) for step in steps_of(configuration)}
    for step, (seconds, memory) in zip(MEASURED_STEPS, MEASURED[name]):
        need = needs[step]
        assert seconds < 5 + need.seconds, step
        assert step in ("train", "evaluate") or need.seconds < 10 * seconds, step  # coupled ridge is quicker
        assert memory < 1.3 * (need.memory_mb + need.worker_mb) < 6 * memory, step


@pytest.mark.parametrize("n_images", [20_000, 150_000])
@pytest.mark.parametrize("name", ["wu2016", "best"])
def test_jobs_for_parts_take_a_quarter_of_an_hour_to_an_hour(name, n_images):
    configuration = read_configuration(ROOT / "configs" / f"{name}.toml")
    patches, atoms, features = {"wu2016": (297, 1000, 8000), "best": (2280, 2000, 90_000)}[name]
    images = Counter(dict.fromkeys(("1-3", "4-6", "7-8", "9-10", "11-12", "13-16"), n_images // 6))
    terms = Counter(dict.fromkeys(images, 50))
    size = RunSize(images, Counter({s: n // 4 for s, n in images.items()}), terms, patches, atoms, features)
    for job in jobs_of_run(configuration, size):
        assert job.memory_mb > 300 + 0.0029 * n_images or "learn" in job.name  # docs/reliability.md
        assert job.minutes >= 3 * job.expected_minutes
        if job.n_jobs:
            assert 15 <= job.expected_minutes <= 60, job
        elif job.name in ("extract", "pool", "annotate"):  # of parts, or a single job that is short
            assert job.expected_minutes < 60, job


def test_steps_and_parts_in_any_order_make_the_files_of_a_run(flyannot, place):
    """There are two parts of images: the last share of them has none."""
    results, whole = place / "results", place / "whole" / "results"
    flyannot("run c.toml -o whole/results", code=0)
    faulty(flyannot("run c.toml -o whole/results --step train --part 1/2"), 2, "is made in one piece")
    faulty(flyannot("run c.toml --step pool"), 2, "descriptors.h5")
    for step in ("extract", "learn-dict", "pool", "train", "evaluate", "annotate"):
        if step in ("extract", "pool", "annotate"):
            for i in (3, 1, 2):
                said = flyannot(f"run c.toml --step {step} --part {i}/3", code=0)
                assert f"part {i}/3 of {step} is made" in said.err
        flyannot(f"run c.toml --step {step}", code=0)
    said = flyannot("run c.toml --step pool --part 1/3", code=0)
    assert "part 1/3 of pool is up to date" in said.err
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
    """Jobs work in the folder that it leads to, beside which lies another data set of the same name."""
    scratch = tmp_path / "scratch" / "results"
    scratch.mkdir(parents=True)
    table = shutil.copytree(place / "embryos", scratch.parent / "embryos") / "images.csv"
    table.write_text("".join(table.read_text().splitlines(keepends=True)[:20]))
    flyannot("run c.toml -o whole/results --step extract", code=0)
    (place / "results").symlink_to(scratch)
    for engine, out in ENGINES.items():
        flyannot(f"workflow c.toml --engine {engine} -o {out}", code=0)
    for folder, line in ((scratch, "run run.toml"), (place, "run results/run.toml"), (place, "run c.toml")):
        monkeypatch.chdir(folder)
        flyannot(f"{line} --step extract", code=0)
        assert (scratch / "descriptors.h5").read_bytes() == (place / "whole/results" / FILES[0]).read_bytes()
        if line == "run run.toml":
            (scratch / "descriptors.h5").unlink()
    assert re.search(r"^extract +done", flyannot("status results", code=0).out, re.MULTILINE)

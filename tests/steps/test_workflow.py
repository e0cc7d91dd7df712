"""`flyannot workflow`: what it writes, what its jobs ask for, and the steps and parts that they are."""

import re
import shlex
import shutil
import subprocess
from collections import Counter

import pytest

from flyannot.steps.runs.configuration import read_configuration
from flyannot.steps.runs.costs import RunSize, size_of_run
from flyannot.steps.runs.run import steps_of
from flyannot.steps.runs.workflow import jobs_of_run
from tests.cli.test_cli import faulty
from tests.command_lines import contexts_of
from tests.conftest import ROOT

CONFIG = """
data-set = "embryos"
output = "results"
seed = 3
[extract]
stride-px = 16
[learn-dict]
n-atoms = 24
n-epochs = 1
[pool]
grid = "1x2"
[train]
min-groups = 4
[evaluate]
folds = 2
[run]
jobs = 1
"""
FILES = ("descriptors.h5", "dictionary.h5", "features.h5", "model.h5", "predictions.h5", "predictions.csv",
         "scores.json", "report.html", "run.toml")  # fmt: skip
ENGINES = {"snakemake": "Snakefile", "slurm": "jobs.sh"}


@pytest.fixture
def place(chain, tmp_path):
    """A folder whose name has a blank and a quote, with embryos and a configuration."""
    return make_place(chain, tmp_path / "my embryos' set")


def make_place(chain, folder):
    folder.mkdir()
    shutil.copytree(chain.embryos, folder / "embryos")
    (folder / "c.toml").write_text(CONFIG)
    return folder


def commands_in(text):
    """The commands of ours in a workflow, 1 in the place of what its engine fills in."""
    run = re.search(r"^RUN = (['\"])(.*)\1$", text, re.MULTILINE)
    text = text.replace("{RUN}", run[2] if run else "")
    lines = re.findall(r"\S+ -m (flyannot run run\.toml[^\n|]*\S) \|\|", text)
    return [re.sub(r"\{[\w.]+\}|\$\w+", "1", line) for line in lines]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_job_is_the_run_or_a_part_of_it(flyannot, place, engine):
    out = place / ENGINES[engine]
    said = flyannot(f"workflow C --engine {engine} --parts 2 -o O", C=place / "c.toml", O=out)
    assert said.code == 0, said.err
    found = [contexts_of(line)[-1].params for line in commands_in(out.read_text())]
    steps = [(one["step"], one["part"] is not None) for one in found]
    expected = [
        ("extract", True), ("extract", False), ("learn-dict", False), ("pool", True), ("pool", False),
        ("train", False), ("annotate", False), (None, False),
    ]  # fmt: skip
    assert steps == (expected if engine == "slurm" else expected[::-1])
    assert all(one["settings"] == ("run.jobs=1",) for one in found)
    names = [line.split()[0] for line in said.err.splitlines() if line.endswith(" min")]
    assert names == ["extract-part", "extract", "learn-dict", "pool-part", "pool", "train", "annotate",
                     "evaluate-and-report"]  # fmt: skip
    assert read_configuration(place / "results" / "run.toml").options["extract"].stride_px == 16


def test_a_file_of_a_log_names_the_task_only_in_an_array(flyannot, place):
    out = place / "jobs.sh"
    assert flyannot("workflow C --engine slurm --parts 2 -o O", C=place / "c.toml", O=out).code == 0
    for job in re.findall(r"^job=\$\((.*?)^JOB", out.read_text(), re.MULTILINE | re.DOTALL):
        assert ("%A.%a" in job) == ("--array" in job) == ("SLURM_ARRAY_TASK_ID" in job)
    assert subprocess.run(["bash", "-n", out]).returncode == 0


def test_settings_and_the_data_set_of_the_command_line_are_recorded(flyannot, place):
    (place / "embryos").rename(place / "other")
    said = flyannot("workflow C --engine slurm -o O --data-set D --set pool.grid=2x2", C=place / "c.toml",
                    D=place / "other", O=place / "jobs.sh")  # fmt: skip
    assert said.code == 0, said.err
    found = read_configuration(place / "results" / "run.toml")
    assert found.options["pool"].grid == ((2, 2),) and found.data_set == place / "other"
    jobs = (place / "jobs.sh").read_text().partition("submit()")[2]
    assert "--part" not in jobs, "one job is enough for these"


def test_the_record_does_not_say_how_the_steps_were_carried_out(flyannot, place):
    assert flyannot("workflow C --engine slurm -o O", C=place / "c.toml", O=place / "jobs.sh").code == 0
    assert "[run]" not in (place / "results" / "run.toml").read_text()
    assert "--cpus-per-task=1 " in (place / "jobs.sh").read_text()
    assert "--cpus-per-task=4 " not in (place / "jobs.sh").read_text()


def test_the_profile_beside_a_workflow_is_replaced_only_by_force(flyannot, place):
    c, out, there = place / "c.toml", place / "w", place / "w.slurm" / "config.yaml"
    there.parent.mkdir()
    there.write_text("mine")
    faulty(flyannot("workflow C --engine snakemake -o O", C=c, O=out), 2, f"{there} exists", "--force")
    assert there.read_text() == "mine" and not (place / "results").exists()
    assert flyannot("workflow C --engine snakemake -o O --force", C=c, O=out).code == 0
    assert "squeue" in there.read_text()


def test_a_data_set_that_the_run_draws_is_counted_as_it_will_be_drawn(flyannot, tmp_path):
    (tmp_path / "c.toml").write_text(
        CONFIG + '[synthesize]\nn-genes = 40\nmax-images = 3\nstage-range = ["4-6", "7-8"]\n'
    )
    configuration = read_configuration(tmp_path / "c.toml")
    size = size_of_run(configuration)
    line = "synthesize -o E --n-genes 40 --max-images 3 --stage-range 4-6 --stage-range 7-8 --seed 3"
    assert flyannot(line, E=tmp_path / "embryos").code == 0
    table = (tmp_path / "embryos" / "images.csv").read_text()
    assert size.n_images == Counter({s: table.count(f",{s},") for s in ("4-6", "7-8")})
    assert size.n_groups.total() == 80
    script = tmp_path / "jobs.sh"
    assert flyannot("workflow C --engine slurm --parts 2 -o O", C=tmp_path / "c.toml", O=script).code == 0
    assert "--job-name=synthesize" in script.read_text()


# Processor seconds and peak MB of steps with one job, as flyannot/steps/runs/costs.py says.
MEASURED = {
    "demo": {"extract": (3.2, 220), "learn-dict": (9.3, 238), "pool": (3.6, 200), "train": (2.8, 281),
             "annotate": (3.9, 223), "evaluate": (5.6, 281), "report": (6.7, 298)},
    "best": {"extract": (7.7, 251), "learn-dict": (97.4, 454), "pool": (34.7, 351), "train": (2.3, 280),
             "annotate": (35.5, 470), "evaluate": (2.6, 200), "report": (22.8, 365)},
}  # fmt: skip
# The embryos of configs/demo.toml, on which these were measured.
DEMO = {
    "n_images": Counter({"4-6": 203, "9-10": 197, "13-16": 209}),
    "n_groups": Counter({"4-6": 100, "9-10": 100, "13-16": 100}),
    "n_terms": Counter({"4-6": 6, "9-10": 6, "13-16": 6}),
}


@pytest.mark.parametrize("name", MEASURED)
def test_an_estimate_covers_what_was_measured_and_asks_for_less_than_ten_times_as_much(name):
    configuration = read_configuration(ROOT / "configs" / f"{name}.toml")
    patches, features = {"demo": (297, 256 * 8), "best": (2280, 2000 * 9 * 5)}[name]
    size = RunSize(**DEMO, n_patches=patches, n_features=features)
    needs = {step.name: step.cost_of(configuration, size) for step in steps_of(configuration)}
    for step, (seconds, memory) in MEASURED[name].items():
        need = needs[step]
        assert seconds < 5 + need.seconds, step
        assert step in ("train", "evaluate") or need.seconds < 10 * seconds, step  # coupled ridge is quicker
        assert memory < 1.3 * (need.memory_mb + need.worker_mb) < 6 * memory, step


@pytest.mark.parametrize("n_images", [20_000, 150_000])
@pytest.mark.parametrize("name", ["wu2016", "best"])
def test_jobs_for_parts_take_a_quarter_of_an_hour_to_an_hour(name, n_images):
    configuration = read_configuration(ROOT / "configs" / f"{name}.toml")
    patches, features = {"wu2016": (297, 8000), "best": (2280, 90_000)}[name]
    images = Counter(dict.fromkeys(("1-3", "4-6", "7-8", "9-10", "11-12", "13-16"), n_images // 6))
    terms = Counter(dict.fromkeys(images, 50))
    size = RunSize(images, Counter({s: n // 4 for s, n in images.items()}), terms, patches, features)
    for job in jobs_of_run(configuration, size):
        assert job.memory_mb > 300 + 0.0029 * n_images or "learn" in job.name  # docs/reliability.md
        assert job.minutes >= 3 * job.expected_minutes
        if job.n_jobs:
            assert 15 <= job.expected_minutes <= 60, job
        elif job.name in ("extract", "pool", "annotate"):  # of parts, or a single job that is short
            assert job.expected_minutes < 60, job


def test_steps_and_parts_in_any_order_make_the_files_of_a_run(flyannot, place):
    """There are two parts of images: the last share of them has none."""
    c, results, whole = place / "c.toml", place / "results", place / "whole" / "results"
    assert flyannot("run C -o O", C=c, O=whole).code == 0
    faulty(flyannot("run C -o O --step train --part 1/2", C=c, O=whole), 2, "is made in one piece")
    faulty(flyannot("run C --step pool", C=c), 2, "descriptors.h5")
    for step in ("extract", "learn-dict", "pool", "train", "annotate"):
        if step in ("extract", "pool", "annotate"):
            for i in (3, 1, 2):
                said = flyannot(f"run C --step {step} --part {i}/3", C=c)
                assert said.code == 0 and f"part {i}/3 of {step} is made" in said.err
        assert flyannot(f"run C --step {step}", C=c).code == 0
    said = flyannot("run C --step pool --part 1/3", C=c)
    assert said.code == 0 and "part 1/3 of pool is up to date" in said.err
    assert flyannot("run C", C=c).code == 0
    assert not [path.name for path in results.iterdir() if path.name.startswith(".")]
    for name in FILES[:-2]:
        assert (results / name).read_bytes() == (whole / name).read_bytes(), name


def test_a_part_takes_up_what_was_made_of_it(flyannot, place):
    line = "run C --step extract --part 1/2"
    assert flyannot(line, C=place / "c.toml").code == 0
    parts = place / "results" / ".descriptors.h5.parts"
    before = {path: path.stat().st_mtime_ns for path in parts.iterdir()}
    assert len(before) == 1
    assert flyannot(line, C=place / "c.toml").code == 0
    assert before == {path: path.stat().st_mtime_ns for path in parts.iterdir()}
    assert flyannot("run C --step extract", C=place / "c.toml").code == 0, "the other part is made here"
    assert (place / "results" / "descriptors.h5").exists()
    assert not parts.exists()


def test_the_words_of_the_shell_are_quoted(flyannot, place):
    for engine, name in ENGINES.items():
        assert flyannot(f"workflow C --engine {engine} -o O", C=place / "c.toml", O=place / name).code == 0
    script = (place / "jobs.sh").read_text()
    assert f"cd {shlex.quote(str(place / 'results'))}\n" in script
    assert f"workdir: {str(place / 'results')!r}\n" in (place / "Snakefile").read_text()

"""Workflows run by Snakemake, and on a SLURM of one node.

The files are the same as from `flyannot run`, also after a job was killed and the workflow repeated.
"""

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.conftest import ROOT
from tests.pipeline.small_slurm import small_slurm, why_not
from tests.pipeline.test_workflow import FILES, make_place
from tests.processes import start_fork, start_process, wait_for

SNAKEMAKE = shutil.which("snakemake") or str(Path(sys.prefix) / "snakemake" / "bin" / "snakemake")
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}
pytestmark = [pytest.mark.not_on_windows, pytest.mark.not_on_macos]


@pytest.fixture(scope="module")
def place(chain, tmp_path_factory):
    """Make embryos and a run on them, in a folder whose name has a blank, a quote and braces."""
    folder = make_place(chain, tmp_path_factory.mktemp("workflows") / "my embryos' {set}")
    (folder / "run").mkdir()
    shutil.copy(folder / "c.toml", folder / "run")
    ours(folder / "run", "run c.toml")
    return folder


def ours(folder, words):
    """Run `flyannot WORDS` in a folder beside the embryos, and return what it says on stderr."""
    text = (folder / "c.toml").read_text().replace('"embryos"', '"../embryos"')
    (folder / "c.toml").write_text(text)
    run = start_fork(words, cwd=folder)
    said = run.communicate()[1]
    assert run.returncode == 0, said
    return said


def workflow(place, name):
    """Write a workflow into a new folder, and return the folder and the words that start the workflow."""
    folder = place / name
    folder.mkdir()
    shutil.copy(place / "c.toml", folder)
    ours(folder, "workflow c.toml --parts 2 -o Snakefile")
    return folder, [SNAKEMAKE, "--snakefile", "Snakefile", "--profile", f"profiles/{name}"]


def kill_a_part(folder):
    """Kill the first job that makes a part of the results."""

    def is_killed(process):
        with suppress(psutil.Error):
            if {"flyannot", "--part"} <= set(process.cmdline()) and Path(process.cwd()) == folder:
                process.kill()
                return True
        return False

    wait_for(lambda: any(map(is_killed, psutil.process_iter())))


def assert_same_files(folder, place):
    expected = place / "run" / "results"
    for name in FILES:
        assert (folder / "results" / name).read_bytes() == (expected / name).read_bytes(), name
    assert "everything is up to date" in ours(folder, "run c.toml")


NO_SNAKEMAKE = "" if Path(SNAKEMAKE).is_file() else "no Snakemake here: `make test` installs it"


@pytest.mark.skipif(bool(NO_SNAKEMAKE), reason=NO_SNAKEMAKE)
def test_snakemake_makes_the_files_of_a_run(place):
    folder, words = workflow(place, "laptop")
    first = start_process([*words, "--cores", "2"], cwd=folder, env=ENVIRONMENT)
    kill_a_part(folder / "results")
    said = first.communicate()[1]
    assert first.returncode == 1 and "Error in rule extract_part" in said, said
    assert not (folder / "results" / "descriptors.h5").exists()
    second = start_process(words, cwd=folder, env=ENVIRONMENT)
    said = second.communicate()[1]
    assert second.returncode == 0 and "rule learn_dict" in said, said
    assert_same_files(folder, place)


@pytest.mark.skipif(bool(NO_SNAKEMAKE or why_not()), reason=NO_SNAKEMAKE or f"no SLURM was run: {why_not()}")
def test_slurm_makes_the_files_of_a_run(place, tmp_path):
    folder, words = workflow(place, "slurm")
    with small_slurm(tmp_path / "slurm") as environment:
        environment["PYTHONPATH"] = str(ROOT)
        quick = [*words, "--slurm-init-seconds-before-status-checks", "2"]  # 40 by default
        first = start_process(quick, cwd=folder, env=environment)
        kill_a_part(folder / "results")
        said = first.communicate()[1]
        assert first.returncode == 1 and "extract_part" in said, said
        second = start_process([*quick, "--until", "learn_dict"], cwd=folder, env=environment)
        said = second.communicate()[1]
        assert second.returncode == 0 and "rule learn_dict" in said, said
    assert (folder / "results" / "dictionary.h5").exists()
    ours(folder, "run c.toml")  # does the rest: each job waits for seconds
    assert_same_files(folder, place)

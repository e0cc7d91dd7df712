"""The wheel, as users have it: built, installed into an empty environment, used without the checkout."""

import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
# Of a small run: one stage range, few genes, a dictionary of a moment.
SMALL = ("synthesize.n-genes=16", "synthesize.max-images=1", "synthesize.stage-range=4-6",
         "learn-dict.n-atoms=32", "learn-dict.n-epochs=1", "classify.min-groups=3",
         "evaluate.folds=2", "run.jobs=1")  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built as an installation builds it: with what pyproject.toml asks for, and nothing else."""
    out = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [*PIP, "wheel", "--no-deps", "--wheel-dir", out, ROOT], capture_output=True, text=True
    )
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip("no package registry can be reached")
    assert done.returncode == 0, done.stderr
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A function that runs a program of an environment with nothing but the wheel, in a folder of its own."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder / "env", with_pip=True)
    programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FLYANNOT_"))}

    def run(program, *words):
        done = subprocess.run(
            [programs / program, *words], cwd=folder, env=own, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("pip", "--disable-pip-version-check", "--quiet", "install", "--no-compile", f"{wheel}[fetch]")
    return run, folder


def test_it_holds_the_package_and_its_configurations_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        for path in (ROOT / "configs").glob("*.toml"):
            assert archive.read(f"flyannot/configs/{path.name}") == path.read_bytes()
    tracked = subprocess.run(["git", "ls-files", "flyannot"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode == 0:
        missing = set(tracked.stdout.split()) - names
        assert missing == set(), "files of the package that an installation would lack"
    assert {name.split("/")[0] for name in names} == {"flyannot"}


def test_it_is_built_twice_alike(wheel, tmp_path):
    subprocess.run([*PIP, "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT], check=True)
    (again,) = tmp_path.glob("*.whl")
    assert again.read_bytes() == wheel.read_bytes()


def test_from_any_folder_it_synthesizes_runs_and_reports(installed):
    run, folder = installed
    run("flyannot", "synthesize", "-o", "embryos", "--n-genes", "4", "--stage-range", "4-6")
    assert (folder / "embryos" / "images.csv").is_file()
    said = run("flyannot", "run", "--demo", *(word for one in SMALL for word in ("--set", one)))
    assert "SYNTHETIC" in said
    page = folder / "demo-output" / "report.html"
    first = page.read_bytes()
    page.unlink()
    run("flyannot", "report", "demo-output")
    assert page.read_bytes() == first
    assert run("flyannot", "status", "demo-output").startswith("demo-output: done")
    assert sorted(p.name for p in folder.iterdir()) == ["demo-output", "embryos", "env"]


def test_it_brings_what_it_needs_and_what_an_extra_asks_for(installed):
    run, folder = installed
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    facts = run("flyannot", "info")
    assert "(absent)" not in facts.partition("packages ")[2].partition("\n")[0]
    assert len(wanted["dependencies"]) > 10 and str(Path(folder) / "env") in facts
    assert "(absent)" not in facts.partition("[fetch] ")[2].partition("\n")[0]
    assert "(absent)" in facts.partition("[anndata] ")[2].partition("\n")[0]

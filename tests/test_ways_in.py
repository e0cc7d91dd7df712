"""Installation: the wheel in an empty environment, the source archive, conda, and containers."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest
from build import ProjectBuilder
from build.env import DefaultIsolatedEnv
from packaging.requirements import Requirement
from pyproject_hooks import quiet_subprocess_runner

import flyannot as package
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Of a small run: one stage range, few patches, a dictionary of a moment.
SMALL = (
    "select.stage-range=4-6 extract.stride-px=32 learn-dict.n-atoms=32 "
    "learn-dict.n-epochs=1 pool.coder=feature-sign train.min-groups=3 evaluate.folds=2 run.jobs=1"
)


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Build the wheel twice and the source, in one environment with what pyproject.toml requires for it."""
    built = {tmp_path_factory.mktemp(kind): kind for kind in ("wheel", "wheel", "sdist")}
    with DefaultIsolatedEnv() as environment:
        builder = ProjectBuilder.from_isolated_env(environment, ROOT, runner=quiet_subprocess_runner)
        try:
            environment.install(builder.build_system_requires)
        except subprocess.CalledProcessError as error:
            if b"No matching distribution" in error.stderr:
                pytest.skip("no package registry can be reached")
            raise
        return [Path(builder.build(kind, folder)) for folder, kind in built.items()]


@pytest.fixture(scope="module")
def wheels(archives):
    return archives[:2]


def list_tracked(*places):
    """Return the names of the files that git tracks or would track; none in a copy without history."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *places]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    return set(listed.stdout.split())


def test_it_holds_the_package_and_its_configurations_and_nothing_else(wheels):
    with zipfile.ZipFile(wheels[0]) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        for path in (ROOT / "configs").glob("*.toml"):
            assert archive.read(f"flyannot/configs/{path.name}") == path.read_bytes()
    assert list_tracked("flyannot") <= names, "files of the package that an installation would lack"
    assert {name.split("/")[0] for name in names} == {"flyannot"}


def test_it_is_built_twice_alike(wheels):
    first, again = wheels
    assert again.read_bytes() == first.read_bytes()


def test_the_source_holds_all_that_a_distributor_needs_and_nothing_else(archives):
    with tarfile.open(archives[-1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()} - {"PKG-INFO"}
    assert names >= {"tests/test_ways_in.py", "docs/tutorial.md", "configs/best.toml", "Makefile"}
    assert list_tracked() in (set(), names)


def link_packages(requirements, extras, site):
    """Link the installed packages that requirements name, and all that these require, into a folder."""
    for requirement in map(Requirement, requirements):
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            continue
        package = distribution(requirement.name)
        assert requirement.specifier.contains(package.version), requirement
        links = {site / file.parts[0] for file in package.files} - {site / "..", site / "__pycache__"}
        new = {link for link in links if not link.is_symlink()}
        for link in new:
            link.symlink_to(package.locate_file(link.name))
        if new or requirement.extras:
            link_packages(package.requires or (), requirement.extras, site)


@pytest.mark.not_on_windows
def test_in_an_empty_environment_it_works_from_any_folder(wheels, tmp_path):
    """Only what the wheel requires is in the environment; the coder has kernels that compile quickly."""
    venv.create(tmp_path / "env")
    programs = tmp_path / "env" / "bin"
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FLYANNOT_"))}

    def run(program, *words):
        done = subprocess.run([program, *words], cwd=tmp_path, env=own, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    pip = f"-m pip --python {programs / 'python'} --quiet install --no-index --no-deps --no-compile".split()
    run(sys.executable, *pip, wheels[0])
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (installed,) = distributions(name="flyannot", path=[str(site)])
    link_packages(installed.requires, ["fetch"], site)
    flyannot = programs / "flyannot"
    listed = {line.split(maxsplit=1)[0]: line for line in run(flyannot, "info").splitlines()}
    assert str(tmp_path.resolve() / "env") in listed["configurations"] and "=none" not in listed["packages"]
    assert "=none" not in listed["[fetch]"] and "=none" in listed["[anndata]"]
    run(flyannot, "synthesize", "-o", "embryos", "--n-genes", "4", "--stage-range", "4-6")
    assert (tmp_path / "embryos" / "images.csv").is_file()
    said = run(flyannot, "run", "--demo", *(word for one in SMALL.split() for word in ("--set", one)))
    assert "SYNTHETIC" in said
    page = tmp_path / "demo-output" / "report.html"
    first = page.read_bytes()
    page.unlink()
    run(flyannot, "report", "demo-output")
    assert page.read_bytes() == first
    assert all(row.endswith("done") for row in run(flyannot, "status", "demo-output").splitlines())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["demo-output", "embryos", "env"]
    recipe = (ROOT / "configs" / "recipe" / "recipe.yaml").read_text()
    commands = re.findall(r"^      - flyannot (.+)$", recipe.partition("  - script:")[2], re.MULTILINE)
    assert all(run(flyannot, *words.split()) for words in commands) and len(commands) == 2


def test_the_environment_of_conda_has_what_the_project_needs():
    text = (ROOT / "configs" / "environment.yml").read_text()
    listed = [line.strip("- ") for line in text.partition("dependencies:\n")[2].splitlines()]
    python, pip, *packages, last = [one for one in listed if one != "pip:"]
    assert sorted(packages) == sorted(PROJECT["dependencies"])
    assert python.startswith(f"python{PROJECT['requires-python']}") and (pip, last) == ("pip", "..")
    recipe = (ROOT / "configs" / "recipe" / "recipe.yaml").read_text()
    run = re.findall(r"^    - (\S+) (>=\S+)$", recipe.partition("  run:\n")[2].partition("tests:")[0], re.M)
    named = ["".join(one).replace("py-opencv", "opencv-python-headless") for one in run]
    assert named == ["python>=${{", *PROJECT["dependencies"]][-len(named) :]


def test_the_page_on_installing_says_what_each_package_is_for():
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w, -]+?)(?: \(.*\))? \|", text.partition("| package | for |")[2], re.MULTILINE)
    listed = {name for row in rows for name in row.split(", ")}
    assert [one for one in PROJECT["dependencies"] if re.match(r"[\w-]+", one)[0] not in listed] == []


def test_every_file_that_names_the_version_or_its_date_names_this_one():
    files = ["CITATION.cff", "codemeta.json", "docs/joss/biotools.json", "configs/recipe/recipe.yaml"]
    named = [
        re.findall(r'^ *"?version"?: ["\[]*(\d[\d.]*)', (ROOT / name).read_text(), re.M) for name in files
    ]
    assert named == [[package.__version__]] * len(files)
    dated = {
        "CHANGELOG.md": r"^## {} \((.+)\)",
        "CITATION.cff": r"^date-released: (.+)",
        "codemeta.json": r'^ "datePublished": "(.+)"',
    }
    dates = [
        re.findall(pattern.replace("{}", re.escape(package.__version__)), (ROOT / name).read_text(), re.M)
        for name, pattern in dated.items()
    ]
    assert dates == [dates[0]] * 3 and len(dates[0]) == 1


def test_the_container_copies_what_the_build_reads():
    text = (ROOT / "configs" / "Containerfile").read_text()
    copied = {word for line in re.findall(r"^COPY (.*)$", text, re.MULTILINE) for word in line.split()[:-1]}
    assert all((ROOT / name).exists() for name in copied)
    assert {"pyproject.toml", "flyannot", "configs", PROJECT["readme"], *PROJECT["license-files"]} <= copied
    (program,) = re.findall(r'^ENTRYPOINT \["(\w+)"\]$', text, re.MULTILINE)
    assert program in PROJECT["scripts"]

"""The container file and the environment file ask for what pyproject.toml asks for."""

import re
import tomllib

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_environment_of_conda_has_what_the_project_needs():
    text = (ROOT / "configs" / "environment.yml").read_text()
    listed = [line.strip("- ") for line in text.partition("dependencies:\n")[2].splitlines()]
    python, pip, *packages, last = [one for one in listed if one != "pip:"]
    assert sorted(packages) == sorted(PROJECT["dependencies"])
    assert python.startswith(f"python{PROJECT['requires-python']}") and (pip, last) == ("pip", "..")


def test_the_container_copies_what_the_build_reads():
    text = (ROOT / "configs" / "Containerfile").read_text()
    copied = {word for line in re.findall(r"^COPY (.*)$", text, re.MULTILINE) for word in line.split()[:-1]}
    assert all((ROOT / name).exists() for name in copied)
    assert {"pyproject.toml", "flyannot", "configs", PROJECT["readme"], *PROJECT["license-files"]} <= copied
    (program,) = re.findall(r'^ENTRYPOINT \["(\w+)"\]$', text, re.MULTILINE)
    assert program in PROJECT["scripts"]

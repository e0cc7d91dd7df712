"""The folder in which the examples of the commands run."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from flyannot.cli import group
from flyannot.pipeline.runs.configuration import build_configuration, write_record
from tests.conftest import ROOT

VERDICT = "gene,stage_range,term,verdict,date\nsyn001,4-6,pole cell,accept,2026-01-31\n"


@pytest.fixture(scope="session")
def examples(chain, tmp_path_factory):
    """Make a folder with all files that examples name, once for all `workplace`s."""
    folder = chain.copied_to(tmp_path_factory.mktemp("examples") / "workplace").folder
    pictures = sorted((folder / "embryos" / "images").glob("*_4-6_1.png"))
    (folder / "my-images").mkdir()
    for picture in pictures[:3]:
        shutil.copy(picture, folder / "my-images")
    shutil.copy(pictures[0], folder / "embryo.png")
    text = (ROOT / "configs" / "demo.toml").read_text().replace("n-atoms = 256", "n-atoms = 32")
    (folder / "configs").mkdir()
    (folder / "configs" / "demo.toml").write_text(text.replace("min-groups = 20", "min-groups = 3"))
    shutil.copytree(chain.folder, folder / "results", ignore=shutil.ignore_patterns("embryos"))
    names = ["a.png", "b.png"]
    np.savez(folder / "network.npz", image=names, gene=names, stage_range=["4-6"] * 2, vector=np.eye(2))
    (folder / "fbbt.obo").write_text("[Term]\nid: FBbt:1\nname: gut\n")
    (folder / "fbdv.obo").write_text("[Term]\nid: FBdv:1\nname: embryonic stage 1\n")
    for name in ("anna.csv", "ben.csv", "corrections.csv"):
        (folder / name).write_text(VERDICT)
    return folder


@pytest.fixture
def workplace(examples, tmp_path, monkeypatch):
    """Make a working folder with all files that examples name; one job, so that no process is started."""
    folder = Path(shutil.copytree(examples, tmp_path / "workplace"))
    write_record(build_configuration({"data-set": "embryos", "output": "results"}, folder / "c.toml"))
    monkeypatch.chdir(folder)
    fewer = {"max_images": 1, "stage_range": ["4-6"]}
    monkeypatch.setitem(group.context_settings, "default_map", {"synthesize": fewer})
    return folder

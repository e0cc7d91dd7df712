"""Tests that files of every released version are read and mean the same; `released/make.sh` adds versions."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from flyannot.files.hdf5.dictionary import read_checkpoint
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.schema import SCHEMAS

NEWER = {"codes"}  # kinds that no released version made
VERSIONS = sorted(path for path in (Path(__file__).parent / "released").iterdir() if path.is_dir())


@pytest.fixture(params=VERSIONS, ids=lambda path: path.name)
def files(request, tmp_path, monkeypatch):
    """Copy the files of one version to the working folder."""
    shutil.copytree(request.param, tmp_path / "old")
    monkeypatch.chdir(tmp_path)
    return request.param


def values(path, name):
    with open_stored_file(path) as stored:
        return stored.read_array("4-6", name)


def test_every_kind_is_there_and_is_shown_and_verified(files, flyannot):
    assert {path.stem for path in files.glob("*.h5")} == set(SCHEMAS) - NEWER
    for kind in sorted(set(SCHEMAS) - NEWER):
        flyannot(f"verify old/{kind}.h5", code=0)
        assert kind in flyannot(f"show old/{kind}.h5", code=0).out


def test_steps_take_them_and_come_to_the_values_of_that_version(files, flyannot):
    flyannot("learn-dict old/descriptors.h5 -o learned.h5 --n-atoms 8", code=0)
    flyannot("pool old/descriptors.h5 old/dictionary.h5 -o features.h5", code=0)
    flyannot("train old/features.h5 old/annotations.csv -o model.h5 --min-groups 3", code=0)
    flyannot("annotate old/model.h5 old/features.h5 -o predictions.h5", code=0)
    new, old = (values(path, "features") for path in ("features.h5", "old/features.h5"))
    np.testing.assert_allclose(new, old, atol=0.01)
    for kind, name in (("model", "model/scorer/weights"), ("predictions", "probability")):
        was = values(f"old/{kind}.h5", name.replace("probability", "model_probability"))
        np.testing.assert_allclose(values(f"{kind}.h5", name), was, rtol=0.01, atol=1e-4)
    with open_stored_file("old/checkpoint.h5", "checkpoint") as stored:
        state, (record,) = read_checkpoint(stored, "4-6")
    assert record["epoch"] == 1 and state["D"].shape == values("old/dictionary.h5", "D").shape


def test_scores_configurations_and_the_folder_of_a_run_are_read(files, flyannot):
    flyannot("evaluate old/features.h5 old/annotations.csv --folds 2 --json scores.json", code=0)
    flyannot("compare old/scores.json scores.json", code=0)
    flyannot("report old", code=0)
    flyannot("export old/predictions.h5 --to csv -o predictions.csv", code=0)
    assert "embryos" in flyannot("run old/run.toml --dry-run", code=2).err  # read; its pictures are not here

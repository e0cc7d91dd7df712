"""A setup without data sets, patches of noise, and measurements in this process."""

import json

import pytest

from benchmarks.measures import timed
from benchmarks.setup import Setup
from benchmarks.speed import code, coders
from benchmarks.workers import name_of
from flyannot.base.registry import import_object
from tests.benchmarks.made_up import noise_patches


@pytest.fixture
def setup(tmp_path, monkeypatch):
    """Quick, no data set, and everything is timed once."""
    monkeypatch.setitem(timed.__kwdefaults__, "at_least_s", 0.0)
    for module in (code, coders):  # ask for more seconds
        monkeypatch.setattr(module, "timed", lambda *calls, at_least_s=0, **more: timed(*calls, **more))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return Setup("quick", scratch, repeats=1)


@pytest.fixture
def patches(tmp_path, rng):
    """400 patches of noise and 50 that are held out."""
    return noise_patches(tmp_path, rng)


@pytest.fixture
def in_this_process(monkeypatch):
    """Call measurements in this process, by name and JSON all the same; return their arguments.

    A process for each would take seconds to start.
    """
    asked = []

    def here(measure, arguments, **_):
        asked.append(arguments)
        return json.loads(json.dumps(import_object(name_of(measure))(**json.loads(json.dumps(arguments)))))

    monkeypatch.setattr("benchmarks.workers.run_in_worker", here)
    return asked

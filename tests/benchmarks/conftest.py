"""A setup without data sets, and patches of noise."""

import pytest

from benchmarks.setup import Setup
from tests.benchmarks.made_up import noise_patches


@pytest.fixture
def setup(tmp_path):
    """Quick, and no data set."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return Setup("quick", scratch, repeats=1)


@pytest.fixture
def patches(tmp_path, rng):
    """400 patches of noise and 50 that are held out."""
    return noise_patches(tmp_path, rng)

"""What every test may ask for: a seeded generator, and the real data where they are."""

import os
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def rng():
    return np.random.default_rng(20140824)


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real data beside the checkout; FLYANNOT_SHARED names another."""
    folder = Path(os.environ.get("FLYANNOT_SHARED", ROOT.parent / "shared")) / "data"
    if not folder.is_dir():
        pytest.skip(f"the real data are absent ({folder}); set FLYANNOT_SHARED")
    return folder


@pytest.fixture(scope="session")
def chain(tmp_path_factory):
    """Synthetic embryos and every file of the chain made from them; only to look at."""
    from small_embryos import make_chain

    return make_chain(tmp_path_factory.mktemp("chain"))


@pytest.fixture
def own_chain(chain, tmp_path):
    """A copy of `chain` that the test may spoil."""
    return chain.copied_to(tmp_path / "own")

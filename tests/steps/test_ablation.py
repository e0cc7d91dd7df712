"""Many configurations in one table, and the raw pixels."""

from collections import Counter

import numpy as np
import pytest
from PIL import Image

from flyannot.descriptors.images.geometry import STANDARD_PX
from flyannot.features.image_features import pixel_features
from tests.small_embryos import write_configuration

ROWS = """
[[row]]
name = "pixels"
pixels = "4x10"
train = { scheme = "mean", min-groups = 4, inner-folds = 2 }
evaluate = { folds = 3 }
[[row]]
name = "plain"
base = "c.toml"
[[row]]
name = "grid"
base = "c.toml"
pool = { grid = "1x1+1x2" }
"""


@pytest.fixture
def ablation(tmp_path):
    write_configuration(tmp_path, images="[extract]\nstride-px = 16\n")
    (tmp_path / "ablation.toml").write_text(ROWS)
    return tmp_path / "ablation.toml"


def test_rows_share_what_they_have_in_common_and_each_has_a_line(flyannot, ablation, chain, tmp_path):
    """Files are named by the options that they follow from: seen from what the rows make."""
    line = "ablate A --data-set E --output O"
    named = {"A": ablation, "E": chain.embryos, "O": tmp_path / "out"}
    said = flyannot(line, **named, code=0)
    assert [text.split("  ")[0] for text in said.out.splitlines()[2:]] == ["pixels", "plain", "grid"]
    again = flyannot(line, **named)
    assert again.out == said.out and "making" not in again.err
    flyannot(f"{line} --nested", **named, code=0)
    made = [path.name.split("-")[0] for path in (tmp_path / "out").iterdir() if path.suffix != ".csv"]
    assert Counter(made) == {"descriptors": 1, "dictionary": 1, "features": 2, "scores": 6}


def test_pixels_are_the_mean_darkness_of_cells(tmp_path):
    grey = np.full(STANDARD_PX, 255, np.uint8)
    grey[:64, :80] = 0
    grey[64:, 240:] = 51
    Image.fromarray(grey).save(tmp_path / "a.png")
    found = pixel_features([tmp_path / "a.png"], ((2, 4),))
    np.testing.assert_allclose(found[0], [1, 0, 0, 0, 0, 0, 0, 0.8], atol=1e-6)

"""Many configurations in one table, and the raw pixels."""

import numpy as np
import pytest
from PIL import Image

from flyannot.descriptors.images.geometry import STANDARD_PX
from flyannot.features.image_features import pixel_features

BASE = """
data-set = "embryos"
output = "out"
[extract]
stride-px = 16
[learn-dict]
n-atoms = 24
n-epochs = 1
[train]
min-groups = 4
inner-folds = 2
[evaluate]
folds = 3
"""
ROWS = """
[[row]]
name = "pixels"
pixels = "4x10"
classify = { scheme = "mean", min-groups = 4, inner-folds = 2 }
evaluate = { folds = 3 }
[[row]]
name = "plain"
base = "base.toml"
[[row]]
name = "grid"
base = "base.toml"
pool = { grid = "1x1+1x2" }
"""


@pytest.fixture
def ablation(tmp_path):
    (tmp_path / "base.toml").write_text(BASE)
    (tmp_path / "ablation.toml").write_text(ROWS)
    return tmp_path / "ablation.toml"


def test_rows_share_what_they_have_in_common_and_nothing_else(flyannot, ablation, chain, tmp_path):
    """Files are named by the options that they follow from: seen from what the rows make."""
    for line in ("ablate A --data-set E --output O", "ablate A --data-set E --output O --nested"):
        assert flyannot(line, A=ablation, E=chain.embryos, O=tmp_path / "out").code == 0
    made = [path.name.split("-")[0] for path in (tmp_path / "out").iterdir() if path.suffix != ".csv"]
    counts = {kind: made.count(kind) for kind in set(made)}
    assert counts == {"descriptors": 1, "dictionary": 1, "features": 2, "scores": 6}


def test_the_table_has_a_line_for_every_row(flyannot, ablation, chain, tmp_path):
    line = "ablate A --data-set E --output O"
    said = flyannot(line, A=ablation, E=chain.embryos, O=tmp_path / "out")
    assert said.code == 0, said.err
    names = [text.split("  ")[0] for text in said.out.splitlines()[2:]]
    assert names == ["pixels", "plain", "grid"]
    again = flyannot(line, A=ablation, E=chain.embryos, O=tmp_path / "out")
    assert again.out == said.out and "making" not in again.err


def test_pixels_are_the_mean_darkness_of_cells(tmp_path):
    grey = np.full(STANDARD_PX, 255, np.uint8)
    grey[:64, :80] = 0
    grey[64:, 240:] = 51
    Image.fromarray(grey).save(tmp_path / "a.png")
    found = pixel_features([tmp_path / "a.png"], ((2, 4),))
    np.testing.assert_allclose(found[0], [1, 0, 0, 0, 0, 0, 0, 0.8], atol=1e-6)

"""Many configurations in one table; the raw pixels; classifiers side by side."""

import numpy as np
import pytest
from PIL import Image

from flyannot.descriptors.standard_image import SIZE_PX
from flyannot.features.pixel_baseline import pixel_features
from flyannot.steps.ablation import read_ablation

BASE = """
data-set = "embryos"
output = "out"
[extract]
stride-px = 16
[learn-dict]
n-atoms = 24
n-epochs = 1
[evaluate]
min-groups = 4
inner-folds = 2
folds = 3
"""
ROWS = """
[[row]]
name = "pixels"
pixels = "4x10"
evaluate = { scheme = "mean", min-groups = 4, inner-folds = 2, folds = 3 }
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


def outputs(row):
    return {one.step: one.options.get("output", row.scores).name for one in row.commands}


def test_rows_share_what_they_have_in_common_and_nothing_else(ablation, tmp_path):
    pixels, plain, grid = read_ablation(ablation, data_set=tmp_path, output=tmp_path)
    assert set(outputs(pixels)) == {"evaluate"}
    for step in ("extract", "learn-dict"):
        assert outputs(plain)[step] == outputs(grid)[step]
    for step in ("pool", "evaluate"):
        assert outputs(plain)[step] != outputs(grid)[step]
    inner = read_ablation(ablation, data_set=tmp_path, output=tmp_path, inner=True)
    assert outputs(inner[1])["pool"] == outputs(plain)["pool"]
    assert outputs(inner[1])["evaluate"] != outputs(plain)["evaluate"]


def test_the_table_has_a_line_for_every_row(flyannot, ablation, chain, tmp_path):
    line = "ablate A --data-set E --output O"
    said = flyannot(line, A=ablation, E=chain.embryos, O=tmp_path / "out")
    assert said.code == 0, said.err
    names = [text.split("  ")[0] for text in said.out.splitlines()[2:]]
    assert names == ["pixels", "plain", "grid"]
    again = flyannot(line, A=ablation, E=chain.embryos, O=tmp_path / "out")
    assert again.out == said.out and "making" not in again.err


@pytest.mark.parametrize(
    "text, why",
    [("[[row]]\nbase = 'x'", "needs a name"), ("[[row]]\nname = 'x'\nbse = 'y'", 'unknown key "bse"')],
)
def test_a_faulty_row_is_named(flyannot, tmp_path, text, why):
    (tmp_path / "bad.toml").write_text(text)
    said = flyannot("ablate A", A=tmp_path / "bad.toml")
    assert said.code == 2 and why in said.err


def test_pixels_are_the_mean_darkness_of_cells(tmp_path):
    grey = np.full(SIZE_PX, 255, np.uint8)
    grey[:64, :80] = 0
    grey[64:, 240:] = 51
    Image.fromarray(grey).save(tmp_path / "a.png")
    found = pixel_features([tmp_path / "a.png"], (2, 4))
    np.testing.assert_allclose(found[0], [1, 0, 0, 0, 0, 0, 0, 0.8], atol=1e-6)


def test_classifiers_stand_side_by_side(flyannot, tmp_path, rng):
    hidden = rng.normal(size=(80, 3))
    X = np.abs(hidden @ rng.normal(size=(3, 20)) + 0.3 * rng.normal(size=(80, 20)))
    np.savez(tmp_path / "bow.npz", features=X, terms=hidden > 0, stage_range=np.repeat(["4-6", "7-8"], 40))
    said = flyannot("bow B --folds 3 --method ridge --method knn", B=tmp_path / "bow.npz")
    assert said.code == 0, said.err
    assert said.out.count("knn") == 3 and "minus ridge" in said.out
    (tmp_path / "no.npz").write_bytes(b"nothing")
    assert flyannot("bow B", B=tmp_path / "no.npz").code == 65

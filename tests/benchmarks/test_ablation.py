"""Many configurations in one table, the raw pixels, and how well similar images are found."""

from collections import Counter

import numpy as np
from click.testing import CliRunner
from PIL import Image

from benchmarks.ablation import command, pixel_features
from benchmarks.retrieval import same_gene_score, score_features
from flyannot.dataset.folder import read_annotations
from flyannot.dataset.synthetic import SynthesizeOptions
from flyannot.dataset.synthetic.generate import synthesize
from flyannot.images.geometry import STANDARD_PX
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


def test_rows_share_what_they_have_in_common_and_each_has_a_line(tmp_path):
    """Files are named by the options that they follow from: seen from what the rows make."""
    synthesize(tmp_path / "set", SynthesizeOptions(n_genes=16, max_images=1, stage_range=("4-6",)))
    write_configuration(tmp_path, images="[extract]\nstride-px = 32\n")
    (tmp_path / "ablation.toml").write_text(ROWS)

    def ablate(*more):
        words = [tmp_path / "ablation.toml", "--data-set", tmp_path / "set", "-o", tmp_path / "out", *more]
        return CliRunner().invoke(command, list(map(str, words)), catch_exceptions=False).output

    said = ablate()
    assert [line.split("  ")[0] for line in said.splitlines()[2:]] == ["pixels", "plain", "grid"]
    assert ablate() == said
    assert "nested" in ablate("--nested")
    made = [path.stem.split("-") for path in (tmp_path / "out").iterdir() if path.suffix != ".csv"]
    kinds = Counter("pictures" if words[-1] == "pictures" else words[0] for words in made)
    assert kinds == {"descriptors": 1, "pictures": 1, "dictionary": 1, "features": 2, "scores": 6}


def test_pixels_are_the_mean_darkness_of_cells(tmp_path):
    grey = np.full(STANDARD_PX, 255, np.uint8)
    grey[:64, :80] = 0
    grey[64:, 240:] = 51
    Image.fromarray(grey).save(tmp_path / "a.png")
    found = pixel_features([tmp_path / "a.png"], ((2, 4),))
    np.testing.assert_allclose(found[0], [1, 0, 0, 0, 0, 0, 0, 0.8], atol=1e-6)


def test_features_are_scored_by_stage_range(chain):
    scores = score_features(chain.features, read_annotations(chain.embryos / "annotations.csv"))
    assert "4-6" in scores
    for of_range in scores.values():
        assert 0.5 < of_range["same_gene"]["value"] <= 1, "synthetic genes have a pattern each"


def test_an_image_is_scored_by_the_images_of_its_gene():
    similarity = np.array([[1, 0.9, 0.2, 0.8], [0.9, 1, 0.95, 0.1], [0.2, 0.95, 1, 0], [0.8, 0.1, 0, 1]])
    score = same_gene_score(similarity, ["a", "a", "b", "c"])
    assert score["value"] == 0.75 and score["n_images"] == 2  # 1 and .5; b and c have no other image
    assert same_gene_score([], []) is None

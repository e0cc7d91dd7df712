"""Laws of the imported blastoderm patterns: pictures show them, and bad files are named."""

import numpy as np
import pytest
from PIL import Image

from flyannot.base.errors import DataError
from flyannot.base.options import Options
from flyannot.dataset.folder import read_images
from flyannot.dataset.importers import wu2016
from flyannot.images.pattern import BLOCK_PX, BODY_GREY, ellipse_mask, render_patterns, smooth_body_mask

ROWS, COLUMNS = np.mgrid[:16, :32]
MASK = ((ROWS - 7.5) / 8) ** 2 + ((COLUMNS - 15.5) / 16) ** 2 < 1
DEEP = ((ROWS - 7.5) / 6) ** 2 + ((COLUMNS - 15.5) / 13) ** 2 < 1  # two blocks from the outline


def import_npz(source, folder, **more):
    return wu2016.import_wu2016([source], folder, Options(), **more)


def block_means(picture):
    return picture.reshape(16, BLOCK_PX[0], 32, BLOCK_PX[1]).mean(axis=(1, 3))


def recover_pattern(picture, mask):
    """Compute the pattern that a picture shows, block by block: float array (n_pixels,)."""
    body = block_means(smooth_body_mask(mask))
    light = (block_means(picture) - 255 * (1 - body)).T[mask.T] / (BODY_GREY * body.T[mask.T])
    return 1 - light


def by_column(grid):
    return grid.T[MASK.T]


def made_up():
    """Build smooth patterns: head to tail, dorsal to ventral, a stripe, and all stained."""
    grids = [COLUMNS / 31, ROWS / 15, np.exp(-(((COLUMNS - 12) / 4.0) ** 2)), np.ones((16, 32))]
    return {
        "patterns": np.array([by_column(grid) for grid in grids], "f4"),
        "mask": MASK,
        "image_id": np.array([f"wu{i:04d}" for i in range(4)]),
        "gene": np.array(["Dl", "Dl", "dl", "CG1"]),
        "fbgn": np.array(["FBgn01", "FBgn01", "FBgn02", ""]),
    }


@pytest.fixture
def saved(tmp_path):
    """Save arrays as an npz file; returns its path."""

    def save(**changes):
        arrays = {name: value for name, value in (made_up() | changes).items() if value is not None}
        path = tmp_path / "in" / "patterns.npz"
        path.parent.mkdir(exist_ok=True)
        np.savez_compressed(path, **arrays)
        return path

    return save


def pixels(path):
    with Image.open(path) as picture:
        assert picture.mode == "L"
        return np.asarray(picture)


def test_a_picture_gives_its_pattern_back():
    arrays = made_up()
    for pattern, picture in zip(arrays["patterns"], render_patterns(arrays["patterns"], MASK)):
        back = recover_pattern(picture, MASK)
        assert np.abs(back - pattern)[by_column(DEEP)].max() < 0.01
        assert np.abs(back - pattern).max() < 0.05  # blocks that the smooth outline cuts


def test_a_pattern_fills_the_mask_column_by_column():
    head, dorsal = COLUMNS < 8, ROWS < 5  # anterior is to the left, dorsal is up
    assert (np.diff(np.flatnonzero(by_column(head))) == 1).all()
    head, dorsal = render_patterns(np.array([by_column(head), by_column(dorsal)], float), MASK)
    assert head[56:72, 8:60].max() < 30 and head[:, 120:].min() > 0.9 * BODY_GREY
    assert dorsal[12:24, 140:180].max() < 30 and dorsal[80:].min() > 0.9 * BODY_GREY


def test_the_folder_holds_what_the_file_says(saved, tmp_path):
    table = b"gene,stage_range,term,fbgn\nDl,4-6,gap,FBgn01\ndl,4-6,subset,FBgn02\n"
    path = saved()
    (path.parent / "annotations.csv").write_bytes(table)
    summary = import_npz(path, tmp_path / "set")
    images, given = read_images(tmp_path / "set"), made_up()
    assert [image.path.stem for image in images] == given["image_id"].tolist()
    assert [image.gene for image in images] == given["gene"].tolist()
    assert [image.fbgn for image in images] == given["fbgn"].tolist()
    assert {(image.stage_range, image.view) for image in images} == {("4-6", "lateral")}
    assert all(pixels(image.path).shape == (128, 320) for image in images)
    assert (tmp_path / "set" / "annotations.csv").read_bytes() == table
    assert summary["n_genes"] == 3 and summary["terms"] == {"gap": 1, "subset": 1}
    assert summary["stage_ranges"]["4-6"]["n_annotated_groups"] == 2
    assert summary["log"] == {"images": {"total": 4, "taken": 4, "rejected": {}}}


def test_without_a_table_beside_it_there_are_images_only(saved, tmp_path):
    summary = import_npz(saved(), tmp_path / "set")
    assert summary["terms"] == {} and "annotations" not in summary["sources"]
    assert not (tmp_path / "set" / "annotations.csv").exists()


def patterns_with(value):
    patterns = made_up()["patterns"]
    patterns[2, 5] = value
    return patterns


PATTERNS = made_up()["patterns"]
WRONG = {
    "patterns": [None, PATTERNS[:, 1:], PATTERNS[0], (PATTERNS * 255).astype("u1")],
    "mask": [None, MASK.astype(int), MASK.T, np.zeros_like(MASK)],
    "gene": [None, np.array(["Dl", "Dl", "dl"]), np.array(["Dl", "", "dl", "CG1"])],
    "fbgn": [np.arange(4)],
    "image_id": [np.array([*"abc", last]) for last in ("../d", "a")],
}
WRONG["patterns"] += map(patterns_with, (np.nan, 1.001, -0.5))
WRONG["image_id"].append(np.array([*"abcd"], dtype=object))


@pytest.mark.parametrize(("array", "value"), [(array, v) for array, values in WRONG.items() for v in values])
def test_an_array_that_is_missing_or_wrong_is_named(saved, tmp_path, array, value):
    words = array if value is None or value.dtype != object else "cannot be read"
    with pytest.raises(DataError, match=words) as caught:
        import_npz(saved(**{array: value}), tmp_path / "set")
    assert caught.value.fix and not (tmp_path / "set").exists()


def test_the_mask_is_that_of_the_published_npz(shared_data):
    assert (wu2016.read_patterns(shared_data / "wu2016" / "patterns.npz")["mask"] == ellipse_mask()).all()

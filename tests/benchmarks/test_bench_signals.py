"""The benchmark on whole pictures and on signals of other kinds."""

import gzip

import numpy as np
import pytest

from flyannot.benchmarks.speed import real_signals, whole_pictures
from flyannot.benchmarks.speed.children import masking
from flyannot.errors import DataError


@pytest.fixture
def pictures(tmp_path, rng):
    """Files of pictures that are mixtures of three."""
    X = rng.random((60, 3)) @ rng.random((3, 200))
    files = {"train": str(tmp_path / "train.npy"), "test": str(tmp_path / "test.npy")}
    np.save(files["train"], X[:45].astype(np.float32))
    np.save(files["test"], X[45:].astype(np.float32))
    return files


def test_masked_learning_on_pictures_has_a_trace_and_ends_lower(pictures):
    row = masking.learn_pictures(**pictures, n_atoms=5, lam=0.1, reduction=4, n_epochs=6)
    assert [epoch for epoch, _ in row["trace"]] == [1, 2, 4, 6]
    assert row["trace"][-1][1] == row["objective"] < row["trace"][0][1]
    assert row["n"] == 45 and row["us_per_patch"] > 0


def test_missing_pixels_of_mixtures_are_found(pictures):
    row = masking.complete_pictures(
        **pictures, n_atoms=5, lam=0.02, reduction=2, n_epochs=4, missing=0.3
    )  # fmt: skip
    assert row["error"] < row["error_of_mean"] / 2


def test_no_gene_is_both_learned_from_and_judged(tmp_path, monkeypatch, rng):
    data_set = tmp_path / "set"
    data_set.mkdir()
    Image = pytest.importorskip("PIL.Image")
    for i in range(10):
        Image.fromarray(rng.integers(i, i + 20, (128, 320), dtype=np.uint8)).save(data_set / f"{i}.png")
    lines = [f"{i}.png,gene{i // 2},4-6" for i in range(10)]
    (data_set / "images.csv").write_text("\n".join(["image,gene,stage_range", *lines]) + "\n")
    assert "8 pictures learned from, 2 of other genes" in whole_pictures.write_pictures(tmp_path, data_set)
    assert np.load(tmp_path / "train.npy").shape == (8, 128 * 320)
    assert whole_pictures.write_pictures(tmp_path, tmp_path / "nothing") == ""


def test_a_scan_is_read_as_it_was_written(tmp_path, rng):
    values = rng.integers(-9, 9, (4, 3, 2, 5)).astype("<i2")
    header = np.zeros(352, np.uint8)
    header[:4] = np.frombuffer(np.array(348, "<i4").tobytes(), np.uint8)
    header[40:56] = np.frombuffer(np.array([4, 4, 3, 2, 5, 1, 1, 1], "<i2").tobytes(), np.uint8)
    header[70:72] = np.frombuffer(np.array(4, "<i2").tobytes(), np.uint8)
    header[108:112] = np.frombuffer(np.array(352, "<f4").tobytes(), np.uint8)
    path = tmp_path / "scan.nii.gz"
    path.write_bytes(gzip.compress(header.tobytes() + values.tobytes(order="F")))
    np.testing.assert_array_equal(real_signals.read_nifti(path), values)
    header[0] = 0
    path.write_bytes(gzip.compress(header.tobytes() + values.tobytes(order="F")))
    with pytest.raises(DataError, match="NIfTI"):
        real_signals.read_nifti(path)


def test_signals_have_norm_1_and_mean_0(rng):
    X = real_signals.photograph_patches(50, rng)
    assert X.shape == (50, 196)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(X.mean(axis=1), 0, atol=1e-6)

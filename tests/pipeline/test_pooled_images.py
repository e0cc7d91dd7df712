"""Tests that annotate reuses the features of a run, with the same predictions."""

import pytest

from flyannot.dataset.folder import read_images
from flyannot.encode.encoder import Encoder
from flyannot.pipeline import loaded_model
from flyannot.pipeline.annotate import features_digest_if_reusable
from flyannot.pipeline.encoding import build_encoder
from tests.small_embryos import rows_of_csv, write_configuration


@pytest.fixture
def made(flyannot, tmp_path, monkeypatch):
    """Run all steps; annotate would fail if it coded a patch, or prepared to code one."""

    def coded(*_, **__):
        raise AssertionError("a patch was coded twice")

    class CodesNothing(Encoder):
        encode = gram = property(coded)

    def encoder_of_a_model(*given, **named):
        return CodesNothing(**vars(build_encoder(*given, **named)))

    with monkeypatch.context() as changed:
        changed.setattr(loaded_model, "build_encoder", encoder_of_a_model)
        flyannot("run C", C=write_configuration(tmp_path), code=0)
        loaded_model.load_model.cache_clear()
    return tmp_path


def test_the_model_says_the_same_in_a_run_and_by_hand(made, flyannot):
    results, out = made / "results", made / "p.h5"
    flyannot("annotate M E -o O", M=results / "model.h5", E=made / "embryos", O=out, code=0)
    columns = ("gene", "stage_range", "term", "decision_value", "model_probability")
    by_hand, in_run = (
        sorted(tuple(row[column] for column in columns) for row in rows_of_csv(path.with_suffix(".csv")))
        for path in (out, results / "predictions.h5")
    )
    assert by_hand == in_run


def test_features_of_other_images_are_not_taken(made):
    results, embryos = made / "results", made / "embryos"
    model, *files = (results / f"{name}.h5" for name in ("model", "features", "descriptors"))
    images = read_images(embryos)
    assert features_digest_if_reusable(model, images, *files)
    assert features_digest_if_reusable(model, images[1:], *files) is None
    images[0].path.write_bytes(images[1].path.read_bytes())
    assert features_digest_if_reusable(model, images, *files) is None

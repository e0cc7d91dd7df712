"""Tests that annotate reuses the features of a run, with the same predictions."""

import pytest

from flyannot.encode.encoder import Encoder
from flyannot.pipeline.models import loaded_model
from flyannot.pipeline.models.encoding import build_encoder
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

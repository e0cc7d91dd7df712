"""What looks alike, by pixels: against counting."""

import numpy as np
import pytest

from benchmarks.speed.similar import correlations, overlaps


def test_overlap_is_the_area_of_both_over_that_of_either(rng):
    stain = np.zeros((2, 20, 50), np.float32)
    stain[0, :, :20], stain[1, :, 10:40] = 0.9, 0.8
    assert overlaps(stain)[0, 1] == pytest.approx(10 / 40) and overlaps(stain)[1, 1] == 1


def test_correlation_does_not_see_how_much_stain_there_is(rng):
    stain = rng.random((3, 32, 80)).astype(np.float32)
    found = correlations(np.concatenate([stain, 0.5 * stain + 0.2]))
    np.testing.assert_allclose(found.diagonal(3), 1, atol=1e-5)
    assert np.abs(found[0, 1]) < 0.3

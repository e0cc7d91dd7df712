"""`flyannot pool IMAGES DICTIONARY`: the features of `extract` and `pool`, with no descriptors between."""

import numpy as np
import pytest

from tests.steps.test_parts import arrays

POOL = "pool E D -o O --grid 1x2"


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_features_are_those_of_the_two_steps(chain, flyannot, tmp_path, jobs):
    out = tmp_path / "f.h5"
    said = flyannot(f"{POOL} --jobs {jobs}", E=chain.embryos, D=chain.dictionary, O=out)
    assert said.code == 0 and "images, 48 features each" in said.err
    found, expected = arrays(out), arrays(chain.features)
    assert found.keys() == expected.keys()
    for key in expected:
        assert np.array_equal(found[key], expected[key]), key
    assert flyannot(POOL, E=chain.embryos / "images.csv", D=chain.dictionary, O=out).err.startswith(
        "up to date"
    )


def test_an_unreadable_image_is_listed_and_the_others_are_pooled(own_chain, flyannot, tmp_path):
    broken = sorted((own_chain.embryos / "images").iterdir())[0]
    broken.write_bytes(b"no picture")
    out = tmp_path / "f.h5"
    said = flyannot(f"{POOL} --jobs 1", E=own_chain.embryos, D=own_chain.dictionary, O=out)
    assert said.code == 3 and "1 image was skipped" in said.err
    assert broken.name in (tmp_path / "failures.csv").read_text()

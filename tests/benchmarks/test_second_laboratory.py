"""Tests of the drawings of BDTNP's nuclei for docs/models.md."""

import runpy
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "second_laboratory.py"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


def place_of_stain(picture):
    """Return (how far down, how far right) the stain of a drawing lies: from -1 to 1."""
    darkness = np.where(picture < 180, 180.0 - picture, 0)
    return [
        float(np.average(np.linspace(-1, 1, n), weights=darkness.sum(axis=1 - k)))
        for k, n in enumerate(picture.shape)
    ]


def test_a_gene_is_drawn_where_its_nuclei_are_with_dorsal_up_and_anterior_left(script):
    x, z = (one.ravel() for one in np.meshgrid(np.linspace(-200, 180, 60), np.linspace(-70, 70, 30)))
    places = np.stack([x, 0 * x + np.arange(x.size) % 7, z], axis=1)
    levels = np.stack([(x < -50) & (z > 10), (x > 60) & (z < -10), np.ones(x.size)], axis=1).astype(float)
    before, behind, everywhere = map(place_of_stain, script["draw_nuclei"](places, levels))
    assert max(before) < -0.3 and min(behind) > 0.3 and max(map(abs, everywhere)) < 0.05


def test_genes_of_known_places_are_drawn_there(script, shared_data):
    genes, places, levels = script["read_nuclei"](shared_data / "bdtnp")
    assert places.shape == (3039, 3) and levels.shape == (3039, len(genes)) == (3039, 84)
    drawn = dict(zip(genes, map(place_of_stain, script["draw_nuclei"](places, levels))))
    assert drawn["sna"][0] > 0.3 > -0.2 > drawn["zen"][0], "ventral and dorsal"
    assert drawn["oc"][1] < -0.3 < 0 < drawn["fkh"][1], "anterior and posterior"

"""Tests of the drawings of BDTNP's nuclei for docs/models.md."""

import runpy
from pathlib import Path

import numpy as np

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "second_laboratory.py"


def place_of_stain(picture):
    """Return (how far down, how far right) the stain of a drawing lies: from -1 to 1."""
    darkness = np.where(picture < 180, 180.0 - picture, 0)
    return [
        float(np.average(np.linspace(-1, 1, n), weights=darkness.sum(axis=1 - k)))
        for k, n in enumerate(picture.shape)
    ]


def test_genes_of_known_places_are_drawn_there(shared_data):
    script = runpy.run_path(str(SCRIPT))
    genes, places, levels = script["read_nuclei"](shared_data / "bdtnp")
    assert places.shape == (3039, 3) and levels.shape == (3039, len(genes)) == (3039, 84)
    drawn = dict(zip(genes, map(place_of_stain, script["draw_nuclei"](places, levels))))
    assert drawn["sna"][0] > 0.3 > -0.2 > drawn["zen"][0], "ventral and dorsal"
    assert drawn["oc"][1] < -0.3 < 0 < drawn["fkh"][1], "anterior and posterior"

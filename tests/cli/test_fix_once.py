"""The remedy of an error: in Python part of its text, on the command line one line, in tables none."""

import csv

import pytest

from flyannot import DictionaryLearning
from flyannot.dataset.folder import read_images
from flyannot.errors import InputError


def test_python_shows_the_fix_with_the_error(tmp_path):
    with pytest.raises(InputError) as caught:
        read_images(tmp_path / "nowhere")
    assert str(caught.value) == f"{caught.value.message}\nFix: {caught.value.fix}"
    with pytest.raises(ValueError, match="(?s)not above 0.*Fix: choose alpha > 0"):
        DictionaryLearning(4, alpha=-1.0).fit([[1.0, 2.0]] * 9)


def test_the_table_of_failures_has_the_reason_alone(flyannot, own_chain, tmp_path):
    picture = next((own_chain.embryos / "images").glob("*_4-6_1.png"))
    picture.write_bytes(b"no picture")
    assert (
        flyannot(
            "extract EMBRYOS -o F --stage-range 4-6", EMBRYOS=own_chain.embryos, F=tmp_path / "f.h5"
        ).code
        == 3
    )
    with open(tmp_path / "failures.csv", newline="") as table:
        (row,) = csv.DictReader(table)
    assert "Fix:" not in row["reason"] and "\n" not in row["reason"]

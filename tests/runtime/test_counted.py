"""Counts in words."""

from flyannot.runtime.counted import counted


def test_one_is_one_and_the_others_are_many():
    assert [counted(n, "image") for n in (0, 1, 2, 1200)] == [
        "0 images",
        "1 image",
        "2 images",
        "1,200 images",
    ]
    assert (
        counted(1, "gene is", "genes are") == "1 gene is"
        and counted(3, "gene is", "genes are") == "3 genes are"
    )

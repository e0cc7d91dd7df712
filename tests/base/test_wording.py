"""Text for people: counts in words, and escapes."""

from flyannot.base.text import escape_unprintable, is_valid_cell, pluralise


def test_one_is_one_and_several_are_many():
    counts = [pluralise(n, "image") for n in (0, 1, 2, 1200)]
    assert counts == ["0 images", "1 image", "2 images", "1,200 images"]
    assert [pluralise(n, "gene is", "genes are") for n in (1, 3)] == ["1 gene is", "3 genes are"]


def test_what_would_direct_a_terminal_or_part_a_cell_is_told_and_escaped():
    good, bad = 'β-Tub ＝1, \u201ea"', "a\x1b[2J\x9bb\u202ec\ud800"
    assert is_valid_cell(good) and escape_unprintable(good) == good
    assert not any(is_valid_cell(text) for text in ("a\nb", "a\x1bb", "a\x9bb", "a\ud800b"))
    assert escape_unprintable(f"{bad}\n") == "a\\u001b[2J\\u009bb\\u202ec\\ud800\n"
    assert escape_unprintable(f"é{bad[:2]}\n", keep="") == "éa\\u001b\\n"

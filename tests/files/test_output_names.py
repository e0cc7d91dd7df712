"""File names of outputs are different on every disk."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from flyannot.files.output_names import FileNames

NAMES = st.lists(
    st.text(st.sampled_from("aA_/-2é\u0301.\u212b"), max_size=6) | st.text("xü", min_size=240), max_size=12
)


@given(NAMES)
def test_no_two_names_are_alike_and_all_are_short_enough(names):
    chooser = FileNames()
    chosen = [chooser.choose(name, ".png") for name in names]
    for form in ("NFC", "NFD", "NFKC"):
        assert len({unicodedata.normalize(form, name).casefold() for name in chosen}) == len(names)
    assert all("/" not in name and len(name.encode()) <= 255 and name.endswith(".png") for name in chosen)


def test_a_name_that_no_other_has_is_kept_and_the_next_of_that_name_are_counted():
    chooser = FileNames()
    chosen = [chooser.choose(name, ".png") for name in ("a/1.png", "A_1.png", "a_1.png")]
    assert chosen == ["a_1.png.png", "A_1.png-2.png", "a_1.png-3.png"]

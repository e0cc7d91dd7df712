"""Options: values are parsed from any spelling, and invalid values are refused in words."""

import json
import math
from dataclasses import dataclass

import pytest

from flyannot.base.errors import InputError
from flyannot.base.options import (
    ChoiceType,
    FlagType,
    FloatType,
    IntegerType,
    Options,
    TextType,
    TupleType,
    WordOrType,
    option,
)


@dataclass(frozen=True, kw_only=True)
class Some(Options):
    """Options of every kind."""

    side_px: tuple = option((16,), TupleType(IntegerType(least=4, of=4)), "Side.")
    most: int | None = option(None, IntegerType(), "At most.", stands_for="all")
    weight: float = option(0.5, FloatType(least=0, most=1), "Weight.")
    above: float = option(1.0, FloatType(above=0), "Above.")
    kind: str = option("a", ChoiceType(("a", "bcd")), "Kind.")
    is_quick: bool = option(False, FlagType(), "Quick.")
    note: str = option("", TextType(), "Note.")
    rows: int | str | None = option(None, WordOrType(IntegerType(), "all", "auto"), "Rows.")


def test_a_value_has_one_form_whatever_its_spelling():
    typed = Some.from_table({"side-px": ["8", 16], "most": "3", "weight": 1, "is-quick": "true"}, "[some]")
    assert typed == Some(side_px=[8, 16], most=3, weight=1.0, is_quick=True)
    assert typed.side_px == (8, 16) and isinstance(typed.weight, float)
    assert Some(side_px=8).side_px == (8,)
    assert [Some(rows=given).rows for given in ("all", "auto", "7")] == ["all", "auto", 7]


def test_a_header_gives_back_the_options_that_it_took():
    some = Some(side_px=[8, 12], weight=0.25, kind="bcd", note="x")
    header = json.loads(json.dumps(some.to_header() | {"other": {}}))
    assert Some.from_header(header) == some
    with pytest.raises(KeyError):
        Some.from_header({"weight": 1})
    with pytest.raises(InputError):
        Some.from_header(header | {"weight": 2})


@pytest.mark.parametrize(
    "name, wrong, words",
    [
        ("side_px", 6, "a whole number, 4 or more, a multiple of 4"),
        ("side_px", [8, 9.5], "a whole number"),
        ("most", 0, "1 or more"),
        *(("most", wrong, "a whole number") for wrong in (True, "many", 2.5, math.inf)),
        ("weight", 1.5, "of at least 0 and of at most 1"),
        *(("weight", wrong, "a number of at least 0") for wrong in (math.nan, "nan")),
        ("above", 0, "above 0"),
        *(("above", wrong, "a number above 0") for wrong in (math.inf, "inf", None)),
        ("kind", "bcde", 'Did you mean "bcd"'),
        ("is_quick", 1.0, "true or false"),
        ("note", 3, "text"),
        *(("rows", wrong, "all, auto, or a whole number") for wrong in ("some", 0)),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(name, wrong, words):
    in_file = {name.replace("_", "-"): wrong}
    for make in (lambda: Some(**{name: wrong}), lambda: Some.from_table(in_file, "[some]")):
        with pytest.raises(InputError, match=words):
            make()


def test_an_unknown_option_is_refused_with_the_nearest_known():
    with pytest.raises(InputError, match=r'\[some\] has no option "wieght". Did you mean "weight"'):
        Some.from_table({"wieght": 1}, "[some]")

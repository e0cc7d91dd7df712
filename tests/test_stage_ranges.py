"""Stage ranges are named by BDGP's name or by a stage, never by FlyExpress's number."""

import pytest

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import (
    STAGE_RANGES,
    describe_stage_spellings,
    match_stage_range_name,
    parse_stage_range,
)
from flyannot.dataset.importers.resolve import parse_published_stage
from flyannot.pipeline.options import Selection

STAGES = dict(zip(STAGE_RANGES, (range(1, 4), range(4, 7), (7, 8), (9, 10), (11, 12), range(13, 18))))


SPELLINGS = ("{}", "stage {}", " Stage{} ", "estadio {}", "Stadium_{}", "st. {}", "S{}", "{}.0")
SPELLINGS += ("embryonic stage {}", "Stage-{}", "{0} to {0}", "BDGP {0}~{0}")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_stage_lies_in_one_stage_range(spelling):
    for stage_range, stages in STAGES.items():
        assert {parse_stage_range(spelling.format(stage)) for stage in stages} == {stage_range}
    assert parse_stage_range(5) == "4-6"  # TOML's number


@pytest.mark.parametrize(
    "text, found", [("5-6", "4-6"), ("14\u201317", "13-16"), ("13-17", "13-16"), ("4_6", "4-6")]
)
def test_stages_within_a_stage_range_are_that_stage_range(text, found):
    assert parse_stage_range(text) == found


@pytest.mark.parametrize(
    "text, named", [("8-9", "7-8, 9-10"), ("3-4", "1-3, 4-6"), ("6-9", "4-6, 7-8, 9-10")]
)
def test_stages_of_several_stage_ranges_are_refused(text, named):
    with pytest.raises(InputError, match=f'"{text}" lie in several stage ranges: {named}\n') as caught:
        parse_stage_range(text)
    assert "a row of its own" in caught.value.fix


@pytest.mark.parametrize("text", ["0", "18", "6-5", "4-66", "", "early", "5.5", "\u0665"])
def test_what_is_no_stage_is_unknown(text):
    with pytest.raises(InputError, match="unknown stage range") as caught:
        parse_stage_range(text)
    assert "4-6" in caught.value.fix


def test_a_stage_within_other_words_is_suggested_and_not_taken():
    known = ("fase 5", "5"), ("5 (blastoderm)", "5"), ("vaihe 4-6", "4-6"), ("Dec 6", None), ("5a", "5")
    for text, meant in (*known, ("stages 4, 5, 6", "4-6"), ("stage 13+", "13")):
        with pytest.raises(InputError, match=f'Did you mean "{meant}"' if meant else "is a date"):
            parse_stage_range(text)
    for text in ("3 h", "3 hpf", "2, 5 and 9"):  # hours, or several stage ranges
        with pytest.raises(InputError) as caught:
            parse_stage_range(text)
        assert "Did you mean" not in caught.value.message


DATES = {
    "1-3": "01-Mar, 3-Jan",
    "4-6": "06-Apr, 6-Apr, Apr-06, 04. Jun, 4-VI, 4/6/2023, 2023-04-06, 2023-04-06 00:00:00, 45022",
    "7-8": "08-Jul",
    "9-10": "10-Sep",
    "11-12": "11. Dez, 12-Nov-23",
}


@pytest.mark.parametrize("text, meant", [(d, meant) for meant, ds in DATES.items() for d in ds.split(", ")])
def test_a_date_is_refused_with_the_stage_range_that_it_was(text, meant):
    with pytest.raises(
        InputError, match=f'"{text}" is a date, which a spreadsheet made from {meant}\n'
    ) as caught:
        parse_stage_range(text)
    assert caught.value.fix.startswith(f"write {meant};") and "as Text" in caught.value.fix


def test_one_line_says_what_stages_were_taken_for(caplog):
    assert describe_stage_spellings(["4-6", "13-17", "Stage 7\u20138"]) == ""
    assert describe_stage_spellings(["6", "5", "stage 5", "9", "4-6"]) == (
        "stages 5, 6 lie in stage range 4-6; stage 9 lies in stage range 9-10"
    )
    for numbers, is_doubtful in (("123456", True), ("12345", False), ("1234567", False)):
        assert ("number the stage ranges" in describe_stage_spellings(numbers)) == is_doubtful
    with caplog.at_level("INFO"):
        assert Selection(stage_range=["5", "7-8"]).stage_range == ("4-6", "7-8")
    assert caplog.messages == ["note: stage 5 lies in stage range 4-6"]


def test_only_importers_read_flyexpress_numbers():
    assert [parse_published_stage(str(number)) for number in range(8)] == [None, *STAGE_RANGES, None]
    assert [parse_published_stage(text) for text in ("4-6", "13-17", "5-6", "stage 5", "")] == [
        "4-6",
        "13-16",
        *[None] * 3,
    ]
    assert match_stage_range_name("5") is None

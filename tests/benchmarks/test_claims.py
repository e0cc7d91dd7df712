"""What papers claim can fail: every statement holds of one result, and another refutes it."""

from dataclasses import replace

import pytest

from benchmarks.claims import (
    FAILS,
    HOLDS,
    NOT_MEASURED,
    OURS,
    PAPER,
    UNDECIDED,
    Number,
    Statement,
    exactly,
    largest,
    least,
    of_repeats,
)
from benchmarks.findings import Finding, Size, Source, not_runnable
from benchmarks.items import ITEMS
from benchmarks.items import OURS as NO_PAPER
from benchmarks.siso.annotators import HASH, SISO
from tests.benchmarks.examples_of_claims import EXAMPLES, examples_of, put

STATEMENTS = {statement.key: statement for item in ITEMS.values() for statement in item.statements}


@pytest.mark.parametrize("key", STATEMENTS)
def test_every_statement_holds_of_one_result_and_is_refuted_by_another(key):
    """A new statement fails here until `EXAMPLES` has its two."""
    holding, refuting = examples_of(key)
    assert {claim.verdict for claim in STATEMENTS[key].of(holding)} == {HOLDS}
    assert {claim.verdict for claim in STATEMENTS[key].of(refuting)} == {FAILS}


def test_no_example_outlives_its_statement_and_no_two_statements_share_a_key():
    assert set(EXAMPLES) == set(STATEMENTS)
    every = [statement for item in ITEMS.values() for statement in item.statements]
    assert all(STATEMENTS[statement.key] is statement for statement in every)


def test_every_item_of_a_paper_is_evaluated_by_what_the_paper_states():
    for item in ITEMS.values():
        assert item.paper == NO_PAPER or any(statement.by == PAPER for statement in item.statements)
        assert all((one.above, one.below) != (None, None) for one in item.statements)


@pytest.mark.parametrize(("lost", "verdict"), [(0.002, HOLDS), (0.0105, UNDECIDED), (0.1, FAILS)])
def test_a_hash_that_finds_next_to_nothing_is_no_speed_up(lost, verdict):
    for key, worse in (("siso-hash-over-siso", {"map": 1 - lost}), ("siso-7-siso", {"flat_cost": 1 + lost})):
        ((column, value),) = worse.items()
        rows = put(examples_of(key)[0], column, value, method=HASH)
        for row in rows:
            if row["method"] == SISO:
                row["draws"] = [0.999, 1.001]
            elif row["method"] == HASH:
                row["draws"] = row["draws"][:2]
        assert [claim.verdict for claim in STATEMENTS[key].of(rows)] == [verdict]


def claimed(number, **bounds):
    """The claim that a number lies within bounds."""
    return Statement("", PAPER, "it is so", lambda rows: number, **bounds).of([])[0]


def test_a_statement_holds_only_if_its_whole_interval_does_and_is_refuted_on_either_side():
    ends = {(1.5, 3): HOLDS, (0.5, 3): UNDECIDED, (0.2, 1): FAILS}
    assert {low_high: claimed(Number(2, *low_high), above=1).verdict for low_high in ends} == ends
    assert claimed(exactly(2), above=1).refuted_by == "1 or less"
    assert [claimed(exactly(x), above=-1, below=1).verdict for x in (-2, 0, 2)] == [FAILS, HOLDS, FAILS]
    assert claimed(exactly(0), above=-1, below=1).refuted_by == "-1 or less or 1 or more"
    unknown = claimed(None, above=1)
    assert unknown.verdict == NOT_MEASURED and unknown.here == ""


def test_one_split_decides_nothing():
    alone, five = of_repeats([2.0]), of_repeats([2.0, 2.1, 1.9, 2.0, 2.0])
    assert (alone.low, alone.high) == (float("-inf"), float("inf"))
    assert 1.9 < five.low < 2.0 < five.high < 2.1


def test_of_several_numbers_the_worst_decides():
    numbers = [Number(2, 1, 3), Number(5, 0.5, 9)]
    assert (least(numbers).value, least(numbers).low) == (2, 0.5)
    assert (largest(numbers).value, largest(numbers).high) == (5, 9)
    assert least([None, exactly(1)]) is None


@pytest.fixture
def found():
    """A finding whose only claim holds, on the paper's own data at full size."""
    yes = Statement("", PAPER, "yes", lambda rows: exactly(2), above=1)
    size = Size("images", 10, 10, is_papers_data=True)
    return Finding(Source("images"), "", size=size).evaluated_by((yes,))


def test_reproduced_is_only_what_holds_on_the_papers_own_data_at_full_size(found):
    assert found.status == "reproduced"
    others = replace(found.size, is_papers_data=False)
    assert replace(found, size=others).status == "agrees on real data"
    assert replace(found, size=replace(found.size, ours=9)).status == "agrees on real data"
    assert replace(found, size=None).status == "agrees on real data"
    assert replace(found, source=Source("", "synthetic")).status == "agrees on synthetic data"
    assert not_runnable("no data").status == "not runnable"


def test_without_claims_of_the_paper_nothing_is_reproduced(found):
    ours = Statement("", OURS, "ours", lambda rows: exactly(0), above=1)
    assert found.evaluated_by(()).status == "measured" == found.evaluated_by((ours,)).status


def test_a_claim_that_fails_makes_it_differ_and_one_that_is_open_undecided(found):
    no = Statement("", PAPER, "never", lambda rows: exactly(0), above=1)
    open_ = Statement("", PAPER, "perhaps", lambda rows: Number(2, 0, 3), above=1)
    ours = Statement("", OURS, "ours", lambda rows: exactly(0), above=1)
    assert found.evaluated_by((no, open_, ours)).status == "differs on real data"
    assert found.evaluated_by((open_, ours)).status == "undecided on real data"
    assert found.evaluated_by((no, open_)).outcome == (
        "0 of 2 claims of the paper hold; not: never; undecided: perhaps."
    )


def test_a_size_is_said_in_words():
    assert Size("patches", 5, 1000).in_words == (
        "other data than the paper's, 0.5 % of the paper's size: 5 of 1,000 patches"
    )
    assert "the paper's size" in Size("patches", 1000, 1000, True).in_words
    assert "not known" in Size("patches", 5).in_words

"""What papers claim can fail: a number beyond the bounds of a statement refutes it."""

from dataclasses import replace

from benchmarks import claims
from benchmarks.claims import LIKE, OURS, OUTSIDE, PAPER, Number, Regime, Statement, exactly
from benchmarks.items import ITEMS
from benchmarks.items import OURS as NO_PAPER
from benchmarks.records import record_of
from tests.conftest import ROOT

STATEMENTS = {statement.key: statement for item in ITEMS.values() for statement in item.statements}


def test_recorded_results_have_a_number_for_every_statement():
    """So the pages made of them, which tests/benchmarks/test_records.py compares, show every statement."""
    measured = set()
    for item in (item for item in ITEMS.values() if item.statements):
        record = record_of(ROOT / "data" / "results" / f"{item.name}.json")
        found = record.finding.evaluated_by(item.statements, item.regime).claims
        measured |= {claim.key for claim in found if any(case.value is not None for case in claim.cases)}
    assert STATEMENTS.keys() - measured <= {"modl-t1-time"}, "of more ratings than were measured"


def test_every_item_of_a_paper_has_a_regime_and_is_evaluated_by_what_the_paper_states():
    for item in ITEMS.values():
        assert item.paper == NO_PAPER or any(statement.by == PAPER for statement in item.statements)
        assert item.paper == NO_PAPER or item.regime.text and item.regime.least
        assert all((one.above, one.below) != (None, None) for one in item.statements)


def test_a_bound_of_ours_can_be_halved_and_doubled():
    """So it is not 0: half and double of that would say the same."""
    for statement in STATEMENTS.values():
        assert statement.bound == PAPER or any((statement.above, statement.below))
    at_most_2 = claimed(exactly(1.5), below=1, bound=OURS)
    assert at_most_2.finding == claims.OPEN and "our bound" in at_most_2.why_reopened(at_most_2.cases[0])
    assert claimed(exactly(2.5), below=1, bound=OURS).finding == claims.CONTRADICTED


def claimed(number, **bounds):
    """Return the claim that a number lies within bounds."""
    return Statement("", PAPER, "it is so", lambda rows: number, **bounds).of([])


def test_a_statement_holds_only_if_its_whole_interval_does_and_is_refuted_on_either_side():
    ends = {(1.5, 3): claims.HOLDS, (0.5, 3): claims.OPEN, (0.2, 1): claims.CONTRADICTED}
    assert {low_high: claimed(Number(2, *low_high), above=1).finding for low_high in ends} == ends
    found = [claimed(exactly(x), above=-1, below=1).finding for x in (-2, 0, 2)]
    assert found == [claims.CONTRADICTED, claims.HOLDS, claims.CONTRADICTED]
    unknown = claimed(None, above=1)
    assert unknown.finding == claims.OPEN and unknown.cases[0].here == "not measured"


LARGE_ENOUGH = Regime("of ten features or more", {"p": 10})
BELOW_3 = Statement("small", PAPER, "it is below 3", lambda rows: exactly(rows[0]["x"]), below=3, each="p")


def test_the_finding_of_a_statement_is_that_of_its_cases_in_the_regime():
    rows = [{"p": 5, "x": 9}, {"p": 10, "x": 1}, {"p": 20, "x": 2}]
    claim = BELOW_3.of(rows, LARGE_ENOUGH)
    assert [case.regime for case in claim.cases] == [OUTSIDE, LIKE, LIKE]
    assert claim.finding == claims.HOLDS and claim.finding_of(claim.cases[0]) == claims.CONTRADICTED
    assert BELOW_3.of([*rows, {"p": 30, "x": 4}], LARGE_ENOUGH).finding == claims.CONTRADICTED
    assert BELOW_3.of(rows[:1], LARGE_ENOUGH).finding == OUTSIDE
    assert BELOW_3.of([{"p": None, "x": 1}], LARGE_ENOUGH).cases[0].regime == LIKE  # it does not matter here
    everything = replace(BELOW_3, each="")
    assert everything.of(rows, LARGE_ENOUGH).finding == OUTSIDE  # one of its rows is
    assert everything.of([{"x": 1}], LARGE_ENOUGH, {"p": 9}).finding == OUTSIDE
    assert everything.of([{"x": 1}], LARGE_ENOUGH, {"p": 11}).finding == claims.HOLDS
    some = replace(everything, where={"variant": "a"})  # rows of others do not count
    assert some.of([{"variant": "b", "x": 9}, {"variant": "a", "x": 1}]).finding == claims.HOLDS


def test_one_split_decides_nothing():
    alone, five = claims.of_repeats([2.0]), claims.of_repeats([2.0, 2.1, 1.9, 2.0, 2.0])
    assert (alone.low, alone.high) == (float("-inf"), float("inf"))
    assert 1.9 < five.low < 2.0 < five.high < 2.1

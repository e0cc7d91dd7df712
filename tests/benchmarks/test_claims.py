"""What papers claim can fail: every statement holds of one result, and another refutes it."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import claims
from benchmarks.findings import Finding, Size, Source, not_runnable
from benchmarks.items import ITEMS
from benchmarks.items import OURS as NO_PAPER
from benchmarks.lee import claims as lee
from benchmarks.modl import claims as modl
from benchmarks.records import record_of
from benchmarks.scc import claims as scc
from benchmarks.siso import annotators as siso
from benchmarks.siso.annotators import HASH, SISO
from tests.conftest import ROOT

STATEMENTS = {statement.key: statement for item in ITEMS.values() for statement in item.statements}


@pytest.mark.parametrize("key", STATEMENTS)
def test_every_statement_holds_of_one_result_and_is_refuted_by_another(key):
    """A new statement fails here until `EXAMPLES` has its two."""
    holding, refuting = examples_of(key)
    assert {claim.verdict for claim in STATEMENTS[key].of(holding)} == {claims.HOLDS}
    assert {claim.verdict for claim in STATEMENTS[key].of(refuting)} == {claims.FAILS}


def test_no_example_outlives_its_statement_and_no_two_statements_share_a_key():
    assert set(EXAMPLES) == set(STATEMENTS)
    every = [statement for item in ITEMS.values() for statement in item.statements]
    assert all(STATEMENTS[statement.key] is statement for statement in every)


def test_every_item_of_a_paper_is_evaluated_by_what_the_paper_states():
    for item in ITEMS.values():
        assert item.paper == NO_PAPER or any(statement.by == claims.PAPER for statement in item.statements)
        assert all((one.above, one.below) != (None, None) for one in item.statements)


@pytest.mark.parametrize(
    ("lost", "verdict"), [(0.002, claims.HOLDS), (0.0105, claims.UNDECIDED), (0.1, claims.FAILS)]
)
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
    return claims.Statement("", claims.PAPER, "it is so", lambda rows: number, **bounds).of([])[0]


def test_a_statement_holds_only_if_its_whole_interval_does_and_is_refuted_on_either_side():
    ends = {(1.5, 3): claims.HOLDS, (0.5, 3): claims.UNDECIDED, (0.2, 1): claims.FAILS}
    assert {low_high: claimed(claims.Number(2, *low_high), above=1).verdict for low_high in ends} == ends
    assert claimed(claims.exactly(2), above=1).refuted_by == "1 or less"
    assert [claimed(claims.exactly(x), above=-1, below=1).verdict for x in (-2, 0, 2)] == [
        claims.FAILS,
        claims.HOLDS,
        claims.FAILS,
    ]
    assert claimed(claims.exactly(0), above=-1, below=1).refuted_by == "-1 or less or 1 or more"
    unknown = claimed(None, above=1)
    assert unknown.verdict == claims.NOT_MEASURED and unknown.here == ""


def test_one_split_decides_nothing():
    alone, five = claims.of_repeats([2.0]), claims.of_repeats([2.0, 2.1, 1.9, 2.0, 2.0])
    assert (alone.low, alone.high) == (float("-inf"), float("inf"))
    assert 1.9 < five.low < 2.0 < five.high < 2.1


def test_of_several_numbers_the_worst_decides():
    numbers = [claims.Number(2, 1, 3), claims.Number(5, 0.5, 9)]
    assert (claims.least(numbers).value, claims.least(numbers).low) == (2, 0.5)
    assert (claims.largest(numbers).value, claims.largest(numbers).high) == (5, 9)
    assert claims.least([None, claims.exactly(1)]) is None


@pytest.fixture
def found():
    """A finding whose only claim holds, on the paper's own data at full size."""
    yes = claims.Statement("", claims.PAPER, "yes", lambda rows: claims.exactly(2), above=1)
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
    ours = claims.Statement("", claims.OURS, "ours", lambda rows: claims.exactly(0), above=1)
    assert found.evaluated_by(()).status == "measured" == found.evaluated_by((ours,)).status


def test_a_claim_that_fails_makes_it_differ_and_one_that_is_open_undecided(found):
    no = claims.Statement("", claims.PAPER, "never", lambda rows: claims.exactly(0), above=1)
    open_ = claims.Statement("", claims.PAPER, "perhaps", lambda rows: claims.Number(2, 0, 3), above=1)
    ours = claims.Statement("", claims.OURS, "ours", lambda rows: claims.exactly(0), above=1)
    assert found.evaluated_by((no, open_, ours)).status == "differs on real data"
    assert found.evaluated_by((open_, ours)).status == "undecided on real data"
    assert found.evaluated_by((no, open_)).outcome == (
        "0 of 2 claims of the paper hold; not: never; undecided: perhaps."
    )


KEPT = {"tau", "lam", "beta"}  # what was asked, not measured
BESIDE = {"value": ("draws",), "map": ("map_of_first", "draws"), "flat_cost": ("draws",)}
OF_CURVES = 19080  # the last iteration of DSSC's
LAST, LARGE, FMRI = {"n_blocks": 128}, {"n_atoms": 2000}, {"signal": "fMRI"}
ALL_RATINGS = {"n_ratings": 3_000_000}
OTHERS = ("svm", "knn", "ridge", "label spreading")


def examples_of(key):
    """Rows of which a statement holds, and rows that refute it."""
    example = EXAMPLES[key]
    return example(level_rows(key)) if callable(example) else example


def level_rows(key):
    """The recorded rows of the first item that states it, with 1 for everything that was measured."""
    item = next(one for one in ITEMS.values() if key in {statement.key for statement in one.statements})
    rows = record_of(ROOT / "data" / "results" / f"{item.name}.json").finding.rows
    return [{name: v if name in KEPT else level(v) for name, v in row.items()} for row in rows]


def level(value):
    if isinstance(value, list):
        return [level(one) for one in value]
    return 1.0 if isinstance(value, float) else value


def put(rows, column, value, **where):
    """Rows with a value, or a function of the row, in a column of those that have one of what is wanted."""
    wanted = {name: one if isinstance(one, tuple) else (one,) for name, one in where.items()}

    def changed(row):
        if not all(row.get(name) in values for name, values in wanted.items()):
            return row
        number = value(row) if callable(value) else value
        columns = {column, *BESIDE.get(column, ())} & row.keys()
        return row | {name: np.broadcast_to(number, np.shape(row[name])).tolist() for name in columns}

    return [changed(row) for row in rows]


def moved(column, holding, refuting, *, one=(), **where):
    """Of level rows: what they are with `holding` in a column, `where` they have that, and with `refuting`,
    there or at `one` value of another column."""

    def of(rows):
        held = put(rows, column, holding, **where)
        return held, put(held, column, refuting, **where | dict(one))

    return of


def power_of(name, exponent):
    return lambda row: row[name] ** exponent


def along(exponent):
    """A power of the number of each coding."""
    return lambda row: np.arange(1.0, 1 + len(row["seconds_of_each_coding"])) ** exponent


def from_epoch(epoch):
    """2 before it, and 1 from then on."""
    return lambda row: 2.0 if row["epoch"] < epoch else 1.0


def up_to(tau):
    """2 at smaller shares of labelled data, and 0.5 at others."""
    return lambda row: 2.0 if row["tau"] < tau else 0.5


def counted(n_yes, column, value, effect=None):
    """60 rows of one basis each, of which so many have the value of the column, and the others none of it."""
    return [{"effect": effect, column: value if k < n_yes else 0.0} for k in range(60)]


def falling(n_seconds, *, end=0.5, sparsity=1.0, converged_at=40):
    """Points of a trace of 100 records that falls from 1 to its end by a record, and stands."""
    half = end if converged_at <= 40 else (1 + end) / 2
    points = [(0, 1.0), (40, half), (80, half if converged_at > 80 else end), (100, end)]
    return [(n, n_seconds * n / 100, value, sparsity) for n, value in points]


def like_r1(**others):
    """Rows of MODL's Figures 1 and 3: every r is r times as fast and as good as r=1, but for those named."""
    usual = {f"r{r}": falling(12 / r) for r in (1, 4, 8)} | {"r12": falling(1.0, sparsity=0.9)}
    columns = ("reduction", "records", "seconds", "objective", "l1_over_l2")
    points = ((int(r[1:]), *point) for r, trace in (usual | others).items() for point in trace)
    return [{"case": "made up", "sparse_case": "made up"} | dict(zip(columns, point)) for point in points]


def with_two_lams(*converged_at):
    """The same at 1e-3 and 1e-4, each of which converges at a record."""
    same = {"data": "fMRI", "history": "products"}
    return [
        row | same | {"lam": lam}
        for lam, at in zip((1e-3, 1e-4), converged_at)
        for row in like_r1(r1=falling(12, converged_at=at), r12=falling(1, converged_at=at))
    ]


def pair(make, holding, refuting, **same):
    """The rows that are made of either."""
    return tuple(make(*(one if isinstance(one, tuple) else (one,)), **same) for one in (holding, refuting))


EXAMPLES = {
    "scc-1-codes": moved("us_of_z", 9, 0.5, who=scc.OL_AT_1, one=LARGE),
    "scc-1-dictionary": moved("us_of_D", 9, 0.5, who=scc.OL_AT_1, one=LARGE),
    "scc-1-scales": moved("us_of_total", 9, 0.5, who=scc.OL_AT_1, n_atoms=2000),
    "scc-1-dictionary-scales": moved("us_of_D", 9, 0.5, who=scc.OL_AT_1, n_atoms=2000),
    "scc-1-shares": moved("us_of_D", 0.1, 0.9, who=scc.SCC_PAPER, one=LARGE),
    "scc-2-speed": moved("us_per_sample", 40, 20, method=scc.OL_AT_1, one=LARGE),
    "scc-2-grows": moved("us_per_sample", power_of("n_atoms", 1), 400, method=scc.OL_AT_1, one=LARGE),
    "scc-2-above": moved("objective", 1.01, 0.98, method=scc.SCC_BESIDE, one=LARGE),
    "scc-2-comparable": moved("objective", 1.005, 1.1, method=scc.SCC_BESIDE, one=LARGE),
    "scc-2-falls": moved("objective", power_of("n_atoms", -1), 1, one={"method": scc.OL_BESIDE, **LARGE}),
    "scc-3-lower": moved("objective", 2, 0.5, n_sweeps=1),
    "scc-3-longer": moved("seconds", 2, 0.5, n_sweeps=9),
    "scc-3-three": moved("objective", 2, 1.9, n_sweeps=1, one={"n_sweeps": 3}),
    "scc-4-better": moved("objective", 0.5, 2, rate="adaptive"),
    "scc-4-faster": moved("objective_after_1_epoch", 0.5, 2, rate="adaptive"),
    "scc-5-small": moved("value", 1.01, 0.99, learner="OL", n_atoms=500),
    "scc-5-large": moved("value", 1.005, 1.05, learner="SCC", n_atoms=2000),
    "scc-5-more": moved("value", 1.01, 0.99, n_atoms=2000, one={"learner": "SCC"}),
    "scc-5s-small": moved("value", 1.01, 0.99, learner="OL", n_atoms=500),
    "scc-5s-large": moved("value", 1.005, 1.05, learner="SCC", n_atoms=2000),
    "scc-5s-more": moved("value", 1.01, 0.99, n_atoms=2000, one={"learner": "SCC"}),
    "scc-5-overlapping": moved("value", 1.01, 0.99, protocol=scc.OVERLAPPING),
    "scc-5-larger": moved("value", 1.01, 0.99, protocol=scc.LARGER),
    "scc-5-cells": moved("value", 1.01, 0.99, protocol=scc.CELLS),
    "scc-5-grouped": moved("value", 1.01, 0.99, protocol=scc.GROUPED),
    "scc-5-balanced": moved("value", 1.01, 0.99, protocol=scc.BALANCED),
    "scc-5-threshold": moved("value", 1.01, 0.99, protocol=scc.THRESHOLD),
    "scc-5-all": moved("value", 1.01, 0.99, protocol=scc.ALL_OF_OURS),
    "lee-1-lars": moved("us_per_sample", 2, 0.5, who=lee.LARS, one=FMRI),
    "lee-1-grafting": moved("us_per_sample", 2, 0.5, who=lee.GRAFTING, one=FMRI),
    "lee-1-grafted": moved("relative_error", 2, 0.5, who=lee.GRAFTING),
    "lee-1-qp": moved("us_per_sample", 20, 5, who=lee.QP, one=FMRI),
    "lee-1-exact": moved("relative_error", 1e-12, 1e-4, who=(lee.SIGN, lee.LARS), one={"who": lee.LARS}),
    "lee-1-accurate": moved("relative_error", 2, 0.5, who=lee.QP),
    "lee-1-cd": moved("us_per_sample", 0.5, 2, who=lee.CD, one=FMRI),
    "lee-2-dual": moved("seconds_of_bases", 3, 1.5, bases_by=lee.GRADIENT, one=FMRI),
    "lee-2-sign": moved("seconds", 2, 0.5, codes_by=lee.LARS, one=FMRI),
    "lee-2-fastest": moved("seconds", 0.5, 2, codes_by=lee.SIGN, bases_by=lee.DUAL, one=FMRI),
    "lee-2-each": moved("seconds_of_each_coding", 0.5, 2, codes_by=lee.SIGN, one=FMRI),
    "lee-2-iterations": moved(
        "seconds_of_each_coding", along(1), along(-1), codes_by=lee.LARS, bases_by=lee.DUAL
    ),
    "lee-2-accelerated": moved("seconds_of_bases", 2, 0.5, bases_by=lee.ACCELERATED, one=FMRI),
    "lee-2-ends": moved("objective", 1, 0.8, bases_by=lee.GRADIENT, one=FMRI),
    "lee-53-gabor": pair(counted, 50, 5, column="explained_by_gabor", value=0.9),
    "lee-54-stopped": pair(counted, 20, 0, column="falls_by", value=0.9, effect="length"),
    "lee-54-suppressed": pair(counted, 42, 10, column="suppressed_by", value=0.05, effect="surround"),
    "lee-54-tenth": pair(counted, 20, 0, column="suppressed_by", value=0.2, effect="surround"),
    "lee-6-less": moved("errors", 0.5, 2, features=lee.CODES),
    "lee-6-much": moved("errors", 0.88, 0.9, features=lee.CODES),
    "lee-6-both": moved("errors", 0.5, 2, features=lee.BOTH),
    "dssc-falls": moved("objective", 0.5, 1.1, iteration=OF_CURVES, one=LAST),
    "dssc-stable": moved("objective", 0.5, 1.1, iteration=OF_CURVES, one=LAST),
    "dssc-held": moved("objective_of_held", 0.5, 1.1, iteration=OF_CURVES, one=LAST),
    "dssc-iterations": moved("objective", 0.5, 2, n_blocks=128),
    "dssc-features": moved("objective", 0.5, 2, n_blocks=128),
    "dssc-clock": moved("objective", 2, 0.5, n_blocks=128),
    "modl-1-converges": (like_r1(), like_r1(r12=falling(1, converged_at=100))),
    "modl-1-objective": (like_r1(), like_r1(r8=falling(1, end=0.6))),
    "modl-1-sparsity": (like_r1(), like_r1(r8=falling(1, sparsity=0.8))),
    "modl-1-sparser": (like_r1(), like_r1(r12=falling(1, sparsity=1.2))),
    "modl-1-cheaper": (like_r1(), like_r1(r4=falling(6.0))),
    "modl-1-speed-up": (like_r1(), like_r1(r12=falling(6.0))),
    "modl-1-low-lam": pair(with_two_lams, (40, 99), (99, 40)),
    "modl-2-closer": moved("overlap", 2, 0.5, run=modl.HALF),
    "modl-2-noise": moved("n_pieces", 0.5, 2, run=modl.HALF),
    "modl-2-time": moved("seconds", 1.2, 3, run=modl.HALF),
    "modl-3-records": (like_r1(), like_r1(r12=falling(1, end=0.7))),
    "modl-3-equal": moved("objective", 0.98, 1.1, times_the_records=12),
    "modl-5-best": moved("objective", 0.5, 0.1, beta=(0.85, 0.9, 0.95), one={"beta": 1.0}),
    "modl-t1-error": moved(
        "test_rmse", lambda row: 4 + (row["solver"] == modl.CD), 6, one={"solver": modl.MODL}
    ),
    "modl-t1-time": moved("seconds", 0.5, 2, solver=modl.MODL),
    "modl-4-good": moved("test_rmse", 1, 1.2, solver=(modl.MODL, modl.FULL), one=ALL_RATINGS),
    "modl-4-partial": moved("test_rmse", 1.2, 0.8, solver=modl.FULL, one=ALL_RATINGS),
    "modl-4-grows": moved("seconds", 0.1, 10, solver=modl.MODL, n_ratings=3_000_000),
    "modl-4-epochs": moved("test_rmse", from_epoch(5), from_epoch(8), n_ratings=100_000, one=ALL_RATINGS),
    "siso-2-fastest": moved("seconds", 2, 0.5, method=OTHERS, one={"method": "svm"}),
    "siso-2-construction": moved("seconds_of_fit", 0.01, 0.5, method=siso.HASH),
    "siso-2-constructed": moved("seconds_of_fit", 9, 0.5, method=OTHERS, one={"method": "knn"}),
    "siso-2-predicted": moved("seconds_of_fit", 0.1, 9, method="ridge"),
    "siso-4-speed-up": moved("seconds", 9, 2, method=OTHERS, one={"method": "svm"}),
    "siso-3-siso": moved("ms_per_query", 9, 5, method=siso.LASSO),
    "siso-3-hash": moved("ms_per_query", 900, 50, method=siso.LASSO),
    "siso-5-hash": moved("ms_per_query", 999, 50, method=siso.LASSO),
    "siso-hash-over-siso": moved("ms_per_query", 9, 0.5, method=siso.SISO),
    "siso-p-stable-over-siso": moved("ms_per_query", 9, 0.5, method=siso.SISO),
    "siso-no-loss": moved("map", 1.0005, 0.98, method=siso.LASSO),
    "siso-little-loss": moved("map", 0.995, 1.05, method=siso.HASH),
    "siso-p-stable-loss": moved("map", 0.995, 1.05, method=siso.P_STABLE),
    "siso-recall": moved("recalls", 5, 0.5, method=siso.HASH),
    "siso-exact": moved("map", 1.0005, 1.01, method=siso.HASH_EXACT),
    "siso-rises": moved("map", power_of("tau", 1), 0.1, one={"tau": 1.0}),
    "siso-most": moved("map", up_to(0.6), up_to(0.4), method=siso.HASH),
    "siso-2-little": moved("map", up_to(0.6), 0.5, method=siso.HASH, one={"tau": 0.1}),
    "siso-4-svm": moved("map", up_to(0.8), 2, method=siso.HASH, one={"tau": 1.0}),
    "siso-4-siso": moved("map", lambda row: 0.5 + row["tau"], 0.5, method=siso.SISO, one={"tau": 1.0}),
    "siso-6-cost": moved("flat_cost", 0.9, 1.1, method=siso.HASH, n=1_200_000),
    "siso-6-time": moved("seconds_per_query", power_of("n", 0.4), power_of("n", 1.6), method=siso.HASH),
    "siso-7-p-stable": moved("seconds_per_query", 90, 10, method=siso.PUBLISHED),
    "siso-7-lasso": moved("seconds_per_query", 9000, 1000, method=siso.LASSO),
    "siso-7-siso": moved("seconds_per_query", 90, 10, method=siso.PUBLISHED),
}

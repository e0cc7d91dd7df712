"""What papers claim can fail: every statement holds of one result, and another refutes it."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from benchmarks import claims
from benchmarks.claims import LIKE, OURS, OUTSIDE, PAPER, Number, Regime, Statement, exactly
from benchmarks.items import ITEMS
from benchmarks.items import OURS as NO_PAPER
from benchmarks.lee import claims as lee
from benchmarks.modl import claims as modl
from benchmarks.records import record_of
from benchmarks.rows import Rows
from benchmarks.scc import claims as scc
from benchmarks.siso import annotators as siso
from benchmarks.siso.annotators import SISO
from tests.conftest import ROOT

STATEMENTS = {statement.key: statement for item in ITEMS.values() for statement in item.statements}


@pytest.mark.parametrize("key", STATEMENTS)
def test_every_statement_holds_of_one_result_and_is_refuted_by_another(key):
    """A new statement fails here until `EXAMPLES` has its two."""
    holding, refuting = examples_of(key)
    statement = replace(STATEMENTS[key], reopened="")
    assert statement.of(holding).finding == claims.HOLDS
    assert statement.of(refuting).finding == claims.CONTRADICTED
    assert STATEMENTS[key].of(refuting).finding == claims.OPEN or not STATEMENTS[key].reopened


def test_no_example_outlives_its_statement_and_no_two_statements_share_a_key():
    assert set(EXAMPLES) == {as_published(key) for key in STATEMENTS}
    every = [statement for item in ITEMS.values() for statement in item.statements]
    assert all(STATEMENTS[statement.key] is statement for statement in every)


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
    assert at_most_2.at_other_bounds(at_most_2.cases[0]) == "ours; at half contradicted, at double holds"
    assert claimed(exactly(1.5), below=1).at_other_bounds(at_most_2.cases[0]) == PAPER


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


OPTIONS = {key: one.number.keywords for key, one in STATEMENTS.items()}
PROTOCOLS = {key: found["protocol"] for key, found in OPTIONS.items() if "protocol" in found}
KEPT = {"tau", "lam", "beta"}  # what was asked, not measured
BESIDE = {"value": ("draws",), "map": ("map_of_first", "draws"), "flat_cost": ("draws",)}
OF_CURVES = 1908  # the last iteration of DSSC's
LAST, LARGE, FMRI = {"n_blocks": 128}, {"n_atoms": 2000}, {"signal": "fMRI"}
ALL_RATINGS = {"n_ratings": 10**7}
OTHERS, HASHES = ("svm", "knn", "ridge", "label spreading"), (siso.HASH, siso.P_STABLE)


def as_published(key):
    """Return the key of the published statement that a statement on our variant repeats."""
    return key.removesuffix("-shipped").removesuffix("-whole")


def examples_of(key):
    """Rows of which a statement holds, and rows that refute it."""
    example = EXAMPLES[as_published(key)]
    return example(level_rows(key)) if callable(example) else example


def level_rows(key):
    """Rows as the first item that states it has them, with 1 for everything that was measured."""
    item = next(one for one in ITEMS.values() if key in {statement.key for statement in one.statements})
    rows = MADE.get(item.name) or record_of(ROOT / "data" / "results" / f"{item.name}.json").finding.rows
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
    """Return a function of level rows that changes a column in two ways.

    It returns the rows with `holding` in the column, where they match `where`, and the rows with `refuting`
    there, or at `one` value of another column.
    """

    def of(rows):
        held = put(rows, column, holding, **where)
        return held, put(held, column, refuting, **where | dict(one))

    return of


def power_of(name, exponent):
    return lambda row: row[name] ** exponent


def along(exponent):
    return lambda row: np.arange(1.0, 1 + len(row["seconds_of_each_coding"])) ** exponent


def from_epoch(epoch):
    return lambda row: 2.0 if row["epoch"] < epoch else 1.0


def up_to(tau):
    return lambda row: 2.0 if row["tau"] < tau else 0.5


def some_bases(n_yes, column, value, effect=None):
    """80 rows of one basis each, of which so many have the value of the column, and the others none of it."""
    return [{"effect": effect, "gap_px": 2, column: value if k < n_yes else 0.0} for k in range(80)]


def every(columns, **values):
    """Return a row for every choice of values, with 1 in the columns."""
    return [dict.fromkeys(columns.split(), 1.0) | dict(zip(values, one)) for one in product(*values.values())]


OF_OL = (scc.OL_AT_1, *scc.VARIANTS.values(), scc.OL_AT_512)
RUNS, SOLVERS = (modl.FEW, modl.HALF, modl.AGAIN), (modl.CD, modl.MODL, modl.FULL)
SIZES = {"n_atoms": (500, 1000, 2000), "stage_range": ["4-6"]}
QUERIES = {"collection": ["c"], "method": (*OTHERS, *siso.LASSOS, SISO, *HASHES), "tau": (0.1, 0.5, 0.8, 1.0)}
OF_RATES = every("objective a b", case=["c"], rate=("adaptive", "natural"))
OF_SISO = every("seconds seconds_of_fit seconds_of_queries ms_per_query map", **QUERIES)
MADE = {
    "scc-table-2": every("us_per_sample objective", method=OF_OL, **SIZES),
    "scc-fig-4": [row | {"trace": [1.0] * 10} for row in OF_RATES],
    "modl-fig-2": every("overlap n_pieces seconds", run=RUNS, data=["c"], repeat=range(3)),
    "modl-fig-4": every("seconds test_rmse", solver=SOLVERS, n_ratings=(10**6, 10**7), epoch=range(1, 11)),
}
MADE |= dict.fromkeys(
    [name for name in ITEMS if name.startswith("siso-") and name not in ("siso-table-6", "siso-table-7")],
    [row | {"n_queries": 20, "draws": [1.0, 1.0]} for row in OF_SISO],
)


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
    named = dict.fromkeys(("problem", "sparse", "timed"), "made up")
    return [named | dict(zip(columns, point)) for point in points]


def test_a_regime_may_ask_for_the_mini_batches_that_a_run_without_masks_needs():
    number = {"batches": "benchmarks.modl.claims:batches_to_converge"}
    rows = [row | {"p": 1, "x": 1} for row in like_r1()]  # r=1 ends after 40 records, one mini-batch
    regimes = [Regime("", {"batches": least}, number) for least in (0.9, 1.1)]
    assert [BELOW_3.of(Rows(rows), one).finding for one in regimes] == [claims.HOLDS, OUTSIDE]


def with_two_lams(*converged_at):
    """Return rows with high and with low regularisation, each of which converges at a record."""
    return [
        row | {"volumes": "made up", "regularisation": name}
        for name, at in zip(("high", "low"), converged_at)
        for row in like_r1(r1=falling(12, converged_at=at), r12=falling(1, converged_at=at))
    ]


def at_betas(*errors):
    """Rows of MODL's Figure 5, three splits of two epochs: the errors at 0.8, 0.9 and 1."""
    return [
        {"n_ratings": 10, "beta": beta, "split": i, "epoch": epoch, "test_rmse": error + 0.001 * i}
        for beta, error in zip((0.8, 0.9, 1.0), errors)
        for i in range(3)
        for epoch in (1, 2)
    ]


def pair(make, holding, refuting, **same):
    """Return the rows that are made of either value."""
    return tuple(make(*(one if isinstance(one, tuple) else (one,)), **same) for one in (holding, refuting))


EXAMPLES = {
    "scc-1-codes": moved("us_of_z", 9, 0.5, who=scc.OL_AT_1, one=LARGE),
    "scc-1-dictionary": moved("us_of_D", 9, 0.5, who=scc.OL_AT_1, one=LARGE),
    "scc-1-scales": moved("us_of_total", 9, 0.5, who=scc.OL_AT_1, n_atoms=2000),
    "scc-1-dictionary-scales": moved("us_of_z", 9, 0.5, who=scc.SCC_PAPER, n_atoms=2000),
    "scc-1-shares": moved("us_of_D", 0.1, 0.9, who=scc.SCC_PAPER, one=LARGE),
    "scc-2-speed": moved("us_per_sample", 40, 20, method=scc.OL_AT_1, one=LARGE),
    "scc-2-batches": moved("us_per_sample", 9, 0.5, method=scc.OL_AT_512, one=LARGE),
    "scc-2-grows": moved("us_per_sample", power_of("n_atoms", 1), 400, method=scc.OL_AT_1, one=LARGE),
    "scc-2-above": pair(lambda x: [{"beside": "OL", "above": x}], 0.005, -0.004),
    "scc-2-comparable": pair(lambda x: [{"beside": "OL", "above": x}], 0.005, 0.1),
    "scc-2-falls": moved("objective", power_of("n_atoms", -1), 1, one={"method": scc.OL_AT_512, **LARGE}),
    "scc-3-lower": moved("objective", 2, 0.5, n_sweeps=1),
    "scc-3-longer": moved("seconds", 2, 0.5, n_sweeps=9),
    "scc-3-three": moved("objective", 2, 1.9, n_sweeps=1, one={"n_sweeps": 3}),
    "scc-4-better": moved("trace", 0.5, 2, rate="adaptive"),
    "scc-4-faster": moved("trace", 0.5, 2, rate="adaptive"),
    "scc-5-small": moved("value", 1.01, 0.99, learner="OL", n_atoms=500),
    "scc-5-large": moved("value", 1.005, 1.05, learner="SCC", n_atoms=2000),
    **{key: moved("value", 1.01, 0.99, protocol=name) for key, name in PROTOCOLS.items()},
    "scc-5-more": moved("value", 1.01, 0.99, n_atoms=2000, one={"learner": "SCC"}),
    "lee-1-lars": moved("us_per_sample", 2, 0.5, who=lee.LARS, one=FMRI),
    "lee-1-grafting": moved("us_per_sample", 2, 0.5, who=lee.GRAFTING, one=FMRI),
    "lee-1-grafted": moved("relative_error", 2, 0.5, who=lee.GRAFTING),
    "lee-1-qp": moved("us_per_sample", 20, 5, who=lee.QP, one=FMRI),
    "lee-1-exact": moved("relative_error", 1e-12, 1e-4, who=(lee.SIGN, lee.LARS), one={"who": lee.LARS}),
    "lee-1-accurate": moved("relative_error", 2, 0.5, who=lee.QP),
    "lee-1-cd": moved("us_per_sample", 0.5, 2, who=lee.CD, one=FMRI),
    "lee-2-dual": moved("seconds_of_bases", 3, 0.5, bases_by=lee.GRADIENT, one=FMRI),
    "lee-2-sign": moved("seconds", 2, 0.5, codes_by=lee.LARS, one=FMRI),
    "lee-2-fastest": moved("seconds", 0.5, 2, codes_by=lee.SIGN, bases_by=lee.DUAL, one=FMRI),
    "lee-2-each": moved("seconds_of_each_coding", 0.5, 2, codes_by=lee.SIGN, one=FMRI),
    "lee-2-iterations": moved(
        "seconds_of_each_coding", along(1), along(-1), codes_by=lee.LARS, bases_by=lee.DUAL
    ),
    "lee-2-accelerated": moved("seconds_of_bases", 2, 0.5, bases_by=lee.ACCELERATED, one=FMRI),
    "lee-2-ends": moved("objective", 1, 0.8, bases_by=lee.GRADIENT, one=FMRI),
    "lee-53-gabor": pair(some_bases, 60, 5, column="explained_by_gabor", value=0.9),
    "lee-54-stopped": pair(some_bases, 20, 0, column="falls_by", value=0.9, effect="length"),
    "lee-54-suppressed": pair(some_bases, 60, 10, column="suppressed_by", value=0.05, effect="surround"),
    "lee-54-tenth": pair(some_bases, 20, 0, column="suppressed_by", value=0.2, effect="surround"),
    "lee-6-less": moved("errors", 0.5, 2, features=lee.CODES),
    "lee-6-much": moved("errors", 0.88, 0.9, features=lee.CODES),
    "lee-6-both": moved("errors", 0.5, 2, features=lee.BOTH),
    **dict.fromkeys(
        ("dssc-falls", "dssc-stable"), moved("objective", 0.5, 1.1, iteration=OF_CURVES, one=LAST)
    ),
    "dssc-held": moved("objective_of_held", 0.5, 1.1, iteration=OF_CURVES, one=LAST),
    **dict.fromkeys(("dssc-iterations", "dssc-features"), moved("objective", 0.5, 2, n_blocks=128)),
    "dssc-clock": moved("objective", 2, 0.5, n_blocks=128),
    "modl-1-converges": (like_r1(), like_r1(r12=falling(1, converged_at=100))),
    "modl-1-objective": (like_r1(), like_r1(r8=falling(1, end=0.6))),
    "modl-1-sparsity": (like_r1(), like_r1(r8=falling(1, sparsity=0.8))),
    "modl-1-sparser": (like_r1(), like_r1(r12=falling(1, sparsity=1.2))),
    "modl-1-cheaper": (like_r1(), like_r1(r4=falling(20.0))),
    "modl-1-speed-up": (like_r1(), like_r1(r12=falling(6.0))),
    "modl-1-soon": (like_r1(), like_r1(r8=falling(20.0))),
    "modl-1-late": (like_r1(), like_r1(r4=falling(20.0))),
    "modl-1-low-lam": pair(with_two_lams, (40, 99), (99, 40)),
    "modl-2-closer": moved("overlap", 2, 0.5, run=modl.HALF),
    "modl-2-noise": moved("n_pieces", 0.5, 2, run=modl.HALF),
    "modl-2-time": moved("seconds", 1.2, 9, run=modl.HALF),
    "modl-3-records": (like_r1(), like_r1(r12=falling(1, end=0.7))),
    "modl-5-best": pair(at_betas, (1.2, 1.0, 1.1), (1.0, 1.2, 1.1)),
    "modl-5-range": pair(at_betas, (1.001, 1.0, 1.002), (1.1, 1.0, 1.0)),
    "modl-t1-error": moved(
        "test_rmse", lambda row: 4 + (row["solver"] == modl.CD), 6, one={"solver": modl.MODL}
    ),
    "modl-t1-time": moved("seconds", 0.1, 10, solver=modl.MODL),
    "modl-4-good": moved("test_rmse", 0.9, 1.2, solver=(modl.MODL, modl.FULL), one=ALL_RATINGS),
    "modl-4-partial": moved("test_rmse", 1.2, 0.8, solver=modl.FULL, one=ALL_RATINGS),
    "modl-4-grows": moved("seconds", 0.1, 10, solver=modl.MODL, n_ratings=10**7),
    "modl-4-epochs": moved("test_rmse", from_epoch(5), from_epoch(9), n_ratings=10**6, one=ALL_RATINGS),
    "siso-2-fastest": moved("seconds", 2, 0.5, method=OTHERS, one={"method": "svm"}),
    "siso-2-construction": moved("seconds_of_fit", 0.01, 0.5, method=HASHES),
    "siso-2-constructed": moved("seconds_of_fit", 9, 0.5, method=OTHERS, one={"method": "knn"}),
    "siso-2-predicted": moved("seconds_of_fit", 0.1, 9, method="ridge"),
    "siso-4-speed-up": moved("seconds", 9, 2, method=OTHERS, one={"method": "svm"}),
    "siso-3-siso": moved("ms_per_query", 9, 5, method=siso.LASSOS, one={"method": "celer"}),
    "siso-3-hash": moved("ms_per_query", 900, 50, method=siso.LASSOS),
    "siso-5-hash": moved("ms_per_query", 999, 50, method=siso.LASSOS),
    "siso-hash-over-siso": moved("ms_per_query", 9, 0.5, method=siso.SISO),
    "siso-no-loss": moved("map", 1.0005, 1.02, method=siso.LASSO),
    "siso-little-loss": moved("map", 0.995, 0.95, method=HASHES),
    "siso-rises": moved("map", power_of("tau", 1), 0.1, one={"tau": 1.0}),
    "siso-most": moved("map", up_to(0.9), up_to(0.4), method=HASHES),
    "siso-2-little": moved("map", up_to(0.6), 0.5, method=HASHES, one={"tau": 0.1}),
    "siso-4-svm": moved("map", up_to(0.8), 2, method=HASHES, one={"tau": 1.0}),
    "siso-4-siso": moved("map", lambda row: 0.5 + row["tau"], 0.5, method=siso.SISO, one={"tau": 1.0}),
    "siso-6-cost": moved("flat_cost", 0.9, 1.1, method=HASHES, n=1_200_000),
    "siso-6-time": moved("seconds_per_query", power_of("n", 0.4), power_of("n", 2.6), method=HASHES),
    "siso-7-lasso": moved("seconds_per_query", 9000, 1000, method=siso.LASSO),
    "siso-7-siso": moved("seconds_per_query", 90, 10, method=siso.PUBLISHED),
}

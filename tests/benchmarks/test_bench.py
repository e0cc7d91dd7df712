"""The benchmark: rows that can be trusted, and peers that are named when they are absent."""

import json
from dataclasses import replace

import numpy as np
import pytest

from flyannot.benchmarks.speed import (
    bounds,
    classifiers,
    code,
    goals,
    learn,
    learners,
    race,
    real_patches,
    sections,
    sift,
    target,
)
from flyannot.benchmarks.speed import siso as bench_siso
from flyannot.benchmarks.speed.children import describing
from flyannot.benchmarks.speed.children.judging import judge_classifier
from flyannot.benchmarks.speed.children.learning import learn_ours
from flyannot.benchmarks.speed.clocks import Clocked
from flyannot.benchmarks.speed.full_cd import full_cd
from flyannot.benchmarks.speed.plain_scc import PlainSCC
from flyannot.benchmarks.speed.report import align, as_json, format_rows
from flyannot.benchmarks.speed.runs import RunFailed, run
from flyannot.benchmarks.speed.scaling import exponent
from flyannot.benchmarks.speed.worker import peak_mb
from flyannot.cli import bench as cli_bench
from flyannot.sparse.coders.siso import encode as siso
from flyannot.sparse.fit import learn as epochs_of
from flyannot.sparse.learners import LEARNERS
from flyannot.sparse.learners.scc.learner import SCC

KEYS = {"what", "who", "variant", "m", "n", "threads", "us_per_patch", "objective", "gap", "peak_mb"}
TINY = bounds.Bounds(
    repeats=1, n_learn=400, n_peers=400, n_target=400, n_code=64, n_images=1, n_scaling=(400,),
    m_scaling=(20, 40), m_all=(500,),
)  # fmt: skip


@pytest.fixture
def inputs(tmp_path, rng):
    """Descriptors and a picture made of noise, where real ones would be."""
    drawn = real_patches.Inputs(tmp_path, 400, "noise")
    np.save(drawn.path("patches"), rng.integers(0, 256, (1000, 128), dtype=np.uint8))
    np.save(drawn.path("held"), rng.integers(0, 256, (50, 128), dtype=np.uint8))
    np.save(drawn.path("greys"), rng.integers(0, 256, (1, 64, 64), dtype=np.uint8))
    return drawn


def contender(who="flyannot", peer=""):
    return race.Contender(who, "", "nowhere:nothing", {}, peer)


@pytest.fixture
def timed(monkeypatch):
    """Runs take the times that the test lays out, in the order in which they are asked for."""

    def lay_out(*us_per_patch):
        left = iter(us_per_patch)
        monkeypatch.setattr(race, "run", lambda *a, **k: {"us_per_patch": next(left), "n": 7})

    return lay_out


def test_ratios_compare_neighbours_in_time(timed):
    timed(1.0, 10.0, 100.0, 2000.0, 3.0, 36.0)  # ours, theirs, ours, theirs, ...: ratios 10, 20, 12
    ours, theirs = race.race(race.Task("code", "code", repeats=3), [contender(), contender("slow")])
    assert theirs["ratio_to_flyannot"] == 12.0
    assert (ours["us_per_patch"], ours["ratio_to_flyannot"], ours["n"], ours["repeats"]) == (3.0, 1.0, 7, 3)


def test_an_absent_peer_is_named_and_has_no_numbers(timed, monkeypatch):
    monkeypatch.setattr("flyannot.benchmarks.speed.peers.find_spec", lambda name: None)
    timed(1.0)
    _, row = race.race(race.Task("learn", "learn", m=5), [contender(), contender("spams-ol-1", "spams")])
    assert "spams is not installed" in row["note"] and "flyannot[bench]" in row["note"]
    assert row["us_per_patch"] is None and row["ratio_to_flyannot"] is None and set(row) >= KEYS
    assert "absent" in format_rows([row])


def test_a_peer_that_fails_is_named_and_we_may_not_fail(monkeypatch):
    def fail(*arguments, **options):
        raise RunFailed("no result")

    monkeypatch.setattr(race, "why_absent", lambda peer: "")
    monkeypatch.setattr(race, "run", fail)
    with pytest.raises(RunFailed):
        race.race(race.Task("code", "code"), [contender()])
    monkeypatch.setattr(race, "_run_one", lambda task, c: {"us_per_patch": 1.0} if not c.peer else fail())
    row = race.race(race.Task("code", "code"), [contender(), contender("spams-lasso", "spams")])[1]
    assert row["note"] == "absent: no result"


def test_without_spams_the_race_to_an_objective_still_has_our_rows(inputs, monkeypatch):
    monkeypatch.setattr(race, "why_absent", lambda peer: f"absent: {peer}")
    monkeypatch.setattr(
        race, "run", lambda *a, **k: {"us_per_patch": 1.0, "objective": 0.2, "trace": [[1, 0.2]]}
    )
    monkeypatch.setattr(target, "_M", 20)
    rows = list(target.rows(inputs, TINY))
    assert all(row["note"].startswith("no target") for row in rows if row["who"] == "flyannot")
    assert all(row["note"].startswith("absent") for row in rows if row["who"] != "flyannot")


def test_the_target_is_reached_at_the_first_epoch_at_or_below_it():
    trace = [(1.0, 0.3), (2.0, 0.2), (3.0, 0.1)]
    assert target.first_at_most(trace, 0.2) == 2
    assert target.first_at_most(trace, 0.05) is None


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_law_is_its_power(power):
    sizes = np.array([250, 500, 1000, 4000])
    assert exponent(sizes, 3.0 * sizes**power) == pytest.approx(power, abs=1e-9)


def test_one_size_has_no_exponent():
    assert exponent([10, 10], [1.0, 2.0]) is None


@pytest.mark.parametrize("variant", ["released", "paper"])
@pytest.mark.parametrize(("n", "within"), [(12, 1e-4), (300, 1e-2)])
def test_the_plain_loop_is_scc(variant, n, within, rng):
    """To rounding over few visits; over many, differences in the last bit grow, and objectives agree."""
    X = rng.normal(size=(n, 24)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    D = rng.normal(size=(40, 24)).astype(np.float32)
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    D[3] = 0.0  # a dead atom stays dead
    plain, scc = (make(D, n, lam=0.2, variant=variant) for make in (PlainSCC, SCC))
    runs = [epochs_of(X, learner, n_epochs=3, rng=np.random.default_rng(0)) for learner in (plain, scc)]
    for a, b in zip(*runs):
        assert a.objective == pytest.approx(b.objective, rel=within)
        assert a.objective_stored == pytest.approx(b.objective_stored, rel=within)
        assert a.mean_nonzeros == pytest.approx(b.mean_nonzeros, rel=10 * within)
    if n == 12:
        assert np.allclose(plain.D, scc.D, atol=within)


def test_a_row_of_learning_has_every_key(inputs):
    ours = next(c for c in learn.contenders(inputs, TINY, 500) if c.who == "flyannot")
    arguments = ours.arguments | {"initial": inputs.initial_atoms(20), "n_epochs": 2}
    (row,) = race.race(
        race.Task("learn", "learn", m=20), [race.Contender(ours.who, ours.variant, ours.measure, arguments)]
    )
    assert set(row) >= KEYS and row["ratio_to_flyannot"] == 1.0
    assert row["n"] == 400 and row["m"] == 20 and row["threads"] == 1 and row["epochs"] == 2
    assert row["us_per_patch"] == pytest.approx(1e6 * row["seconds"] / (400 * 2))
    assert 0 < row["objective"] < 0.5 and -1e-9 < row["gap"] < 1e-5
    assert row["trace"][-1] == pytest.approx([row["seconds"], row["objective"]])


def test_coding_has_every_key_and_ratios_to_the_product(inputs, monkeypatch):
    monkeypatch.setattr(code, "learned", lambda inputs, m: (inputs.initial_atoms(20),) * 2)
    ours = [c for c in code.contenders(inputs, TINY, 20) if not c.peer]
    rows = race.race(race.Task("code", "code", m=20), ours)
    assert all(set(row) >= KEYS for row in rows)
    assert [row["who"] for row in rows] == ["flyannot", "flyannot", "gemm"]
    assert rows[0]["worst_relative_gap"] <= 1.01e-4
    assert rows[0]["ratio_to_gemm"] == pytest.approx(rows[0]["us_per_patch"] / rows[0]["gemm_us_per_patch"])
    assert rows[2]["objective"] is None and rows[2]["us_per_patch"] > 0


def test_opencv_sees_the_same_centres_in_both_windows(monkeypatch, inputs):
    pytest.importorskip("cv2")
    seen = []
    monkeypatch.setattr(describing, "opencv_compute", lambda grey, keypoints: seen.append(keypoints))
    monkeypatch.setattr(describing, "median_seconds", lambda f: (f() and 1.0,))
    for window_px in (16, 96):
        describing.describe_opencv(inputs.path("greys"), 8, window_px)
    small, large = seen[1], seen[3]
    assert [k.pt for k in small] == [k.pt for k in large]
    assert small[0].size == pytest.approx(16 / 6) and large[0].size == pytest.approx(16)


def test_sift_rows_have_every_key(inputs):
    rows = list(sift.rows(inputs, TINY))
    assert all(set(row) >= KEYS for row in rows)
    assert [row["who"] for row in rows] == ["flyannot", "opencv-sift-same-window", "opencv-sift-size-16"]


def test_the_peak_of_a_run_is_its_own(inputs):
    """Not that of the process that started it, which Linux hands on in getrusage."""
    ballast = np.ones(100_000_000)
    arguments = {"greys": inputs.path("greys"), "stride_px": 16}
    assert run("describing:describe_ours", arguments)["peak_mb"] < 700 < ballast.nbytes / 1e6 <= peak_mb()


def test_a_failed_run_says_why():
    with pytest.raises(RunFailed, match="FileNotFoundError"):
        run("describing:describe_ours", {"greys": "/nowhere.npy", "stride_px": 4})


def test_learning_and_judging_use_different_patches(inputs, tmp_path):
    """Only the held sample decides the objective: another one gives another."""
    problem = inputs.problem(20)
    other = tmp_path / "other.npy"
    np.save(other, np.load(inputs.path("patches"))[-50:])
    a, b = (learn_ours(**problem | {"held": held}, n=100, n_epochs=1)["objective"]
            for held in (problem["held"], str(other)))  # fmt: skip
    assert a != b


def test_no_window_is_both_learned_from_and_judged(tmp_path, monkeypatch, rng):
    monkeypatch.setattr(real_patches, "N_HELD", 50)
    greys = [rng.integers(0, 256, (64, 64), dtype=np.uint8) for _ in range(2)]
    monkeypatch.setattr(real_patches, "bench_images", lambda folder: (greys, "noise"))
    drawn = real_patches.prepare(tmp_path, TINY)
    held, patches = (set(map(bytes, np.load(drawn.path(name)))) for name in ("held", "patches"))
    assert len(held) == 50 and len(patches) == 400 and not held & patches


def test_photographs_stand_in_where_there_is_no_data_set(monkeypatch, tmp_path):
    monkeypatch.setenv("FLYANNOT_SHARED", str(tmp_path))
    assert real_patches.default_data_set() is None
    monkeypatch.setattr(real_patches, "_PHOTOGRAPHS", ("camera",))
    (grey,), what = real_patches.bench_images()
    assert grey.shape == (512, 512) and "scikit-image" in what


def test_a_goal_without_rows_is_not_measured_and_one_with_rows_is_judged():
    assert {verdict for *_, verdict in goals.verdicts([])} == {"not measured"}
    row = {"bench": "learn", "who": "spams-ol-1", "m": 1000, "objective": 0.2, "ratio_to_flyannot": 1999.0}
    (text, value, bound, verdict), = (v for v in goals.verdicts([row]) if v[1] is not None)  # fmt: skip
    assert "batch 1" in text and (value, bound, verdict) == (1999.0, ">= 2000", "not met")
    assert "met" in [v[-1] for v in goals.verdicts([row | {"ratio_to_flyannot": 2000.0}])]


def test_columns_stand_under_one_another():
    assert align([["who", "n"], ["us", "10"], ["them", "5"]], [True, False]) == "who    n\nus    10\nthem   5"


def test_json_is_a_list_of_rows_that_know_the_machine():
    assert json.loads(as_json([{"who": "a"}], {"machine": "m"})) == [{"who": "a", "machine": "m"}]


def test_the_command_names_every_section():
    assert tuple(sections.SECTIONS) == cli_bench.WHAT


def test_fewer_patches_cut_every_measurement():
    cut = bounds.chosen(full=True, n_patches=8000)
    assert cut.n_patches == 8000 and cut.repeats == bounds.FULL.repeats


def test_a_clocked_object_behaves_as_its_inner_and_counts_only_what_is_named():
    ticks = iter(range(100))
    inner = [3, 1, 2]
    clocked = Clocked(inner, "sort", clock=lambda: next(ticks))
    assert len(clocked) == 3 and clocked.index(1) == 1 and clocked.seconds == 0
    clocked.sort()
    assert inner == [1, 2, 3] and clocked.seconds == 1
    assert clocked[0] == 1 and clocked.seconds == 2  # rows are always counted


def test_every_learner_has_a_row_of_its_own_beside_spams(inputs, monkeypatch):
    monkeypatch.setattr(race, "why_absent", lambda peer: f"absent: {peer}")
    monkeypatch.setattr(race, "run", lambda *a, **k: {"us_per_patch": 1.0, "objective": 0.2})
    monkeypatch.setattr(learners, "_M", 20)
    rows = list(learners.rows(inputs, TINY))
    assert set(LEARNERS) == {row["who"] for row in rows if row["who"] != "spams"}
    ours, theirs = ({r["variant"] for r in rows if r["who"] == who} for who in ("ol", "spams"))
    assert theirs < ours  # at the same batch sizes


def test_coordinate_descent_over_all_atoms_finds_the_codes_of_siso(rng):
    X, D = rng.normal(size=(2, 20)), rng.normal(size=(400, 20)).astype(np.float32)
    for n_support in (0, 100):
        codes = [full_cd(x, D, 0.5, tol=1e-8, n_support=n_support) for x in X]
        assert np.allclose(codes, siso.encode(X, D, 0.5, tol=1e-8).toarray(), atol=1e-3)


def test_searches_over_many_atoms_are_compared_query_by_query(inputs):
    sizes = replace(TINY, n_atoms=(300, 600), n_queries=2)
    rows = list(bench_siso.rows(inputs, sizes))
    assert all(set(row) >= KEYS for row in rows)
    exact = [row for row in rows if row["variant"] in ("siso", "hash-siso, solve")]
    assert exact and all(row["worst_relative_gap"] <= 1.01e-6 for row in exact)
    assert {row["m"] for row in rows} == {300, 600} and all(row["exponent"] is not None for row in exact)
    assert "SISO / it" in format_rows(rows)


def test_classifiers_are_judged_within_stage_ranges(tmp_path, rng):
    X, ranges = rng.random((120, 8)).astype(np.float32), np.repeat(["4-6", "7-8"], 60)
    Y = np.array([X[:, 0] > 0.5, X[:, 1] > 0.7]).T.astype(np.uint8)
    np.savez(tmp_path / "bags.npz", features=X, terms=Y, stage_range=ranges)
    for method in ("ridge", classifiers.HASH_ALONE):
        judged = judge_classifier(str(tmp_path / "bags.npz"), method, 3, 5)
        assert judged["n_terms"] == 4 and 0.6 < judged["auc"] <= 1 and 0.3 < judged["map"] <= 1


def test_without_the_bags_of_words_a_row_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("FLYANNOT_SHARED", str(tmp_path))
    (row,) = classifiers.rows(None, TINY)
    assert row["note"].startswith("absent") and set(row) >= KEYS

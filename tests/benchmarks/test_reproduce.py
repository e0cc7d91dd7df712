"""Papers beside ours: nothing is measured twice, nothing is lost, nothing is left off the page."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flyannot.benchmarks.papers import completion, page, papers, runner, table
from flyannot.benchmarks.papers.annotators import lasso_codes
from flyannot.benchmarks.papers.arff import read_sparse_arff
from flyannot.benchmarks.papers.embryos import embryo_images, problem
from flyannot.benchmarks.papers.findings import Claim, Compared, Finding, Panel, Series, not_runnable
from flyannot.benchmarks.papers.many_vectors import flat_cost
from flyannot.benchmarks.papers.ratings import Ratings, read_ratings
from flyannot.benchmarks.papers.records import as_csv, paths_of, read_record
from flyannot.benchmarks.papers.runner import reproduce
from flyannot.benchmarks.papers.setup import Setup
from flyannot.benchmarks.speed.completion_cd import CoordinateDescent
from flyannot.benchmarks.speed.plain_scc import PlainSCC
from flyannot.benchmarks.speed.scc_parts import CodesOnly
from flyannot.classifiers.propagation import FRACTION
from flyannot.errors import DataError, InputError, LockedError
from flyannot.sparse.fit import random_patches
from flyannot.sparse.learners.scc.learner import SCC
from flyannot.sparse.objective import duality_gap

FOUND = Finding(
    data="ten numbers that we made up", kind="synthetic", variant="none", why="They are <made> up.",
    claims=[Claim("two is two", True, "2")],
    compared=[Compared("hours|m=1", "h", 4.0, 2.0, "projected")],
    rows=[{"m": 1, "who": "we"}, {"m": np.int64(2), "seconds": np.float32(0.5)}],
    panels=[Panel("a", "x", "y", [Series("s", [1, 2], [3.0, None])])],
)  # fmt: skip


class Fake:
    """An item that counts how often it is measured, and fails if told to."""

    def __init__(self, name, finding=FOUND):
        self.name, self.paper, self.where, self.title = name, "scc", "table-1", f"title of {name}"
        self.finding, self.times = finding, 0

    def measure(self, setup):
        self.times += 1
        if isinstance(self.finding, Exception):
            raise self.finding
        return self.finding


@pytest.fixture
def items(monkeypatch):
    """Three items in the place of the real ones."""
    fakes = [Fake("one"), Fake("two"), Fake("three", not_runnable("nobody has the data"))]
    for module in (runner, page):
        monkeypatch.setattr(module, "ITEMS", {fake.name: fake for fake in fakes})
    return fakes


@pytest.fixture
def setup(tmp_path):
    return Setup("quick", tmp_path / "scratch")


def test_a_finished_item_is_not_measured_again(items, setup, tmp_path):
    reproduce(items[:2], setup, tmp_path / "out")
    before = {p: p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    again = reproduce(items[:2], setup, tmp_path / "out")
    assert [item.times for item in items] == [1, 1, 0] and again.kept == ["one", "two"]
    assert before == {p: p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()}


@pytest.mark.parametrize("change", [{"scale": "full"}, {"seed": 1}, {"shared": Path(__file__).parent}])
def test_other_settings_measure_it_again(items, setup, tmp_path, change):
    reproduce(items[:1], setup, tmp_path)
    reproduce(items[:1], replace(setup, **change), tmp_path)
    assert items[0].times == 2


def test_another_version_a_damaged_record_and_force_measure_it_again(items, setup, tmp_path, monkeypatch):
    reproduce(items[:1], setup, tmp_path)
    paths_of(tmp_path, "one")["json"].write_text("{")
    reproduce(items[:1], setup, tmp_path)
    reproduce(items[:1], setup, tmp_path, force=True)
    monkeypatch.setattr("flyannot.benchmarks.papers.records.__version__", "99")
    reproduce(items[:1], setup, tmp_path)
    assert items[0].times == 4


def test_a_failing_item_loses_no_other_and_is_tried_again(items, setup, tmp_path):
    items[1].finding = ZeroDivisionError("no number")
    outcome = reproduce(items, setup, tmp_path)
    assert outcome.measured == ["one", "three"] and "no number" in outcome.failed["two"]
    markdown = (tmp_path / "index.md").read_text()
    assert "| two |" in markdown and "no number" in markdown and "**failed**" in markdown
    items[1].finding = FOUND
    assert reproduce(items, setup, tmp_path).measured == ["two"]
    assert "failed" not in (tmp_path / "index.md").read_text().split("## ")[0].split("| item")[1]


def test_the_page_lists_every_item_and_says_what_became_of_it(items, setup, tmp_path):
    reproduce([items[0], items[2]], setup, tmp_path)
    for name in ("index.html", "index.md"):
        text = (tmp_path / name).read_text()
        assert all(item.name in text for item in items)
        assert {"reproduced", "not runnable", "not measured"} <= set(
            re.findall("reproduced|not runnable|not measured|differs(?= )", text)
        )
        assert "nobody has the data" in text and "flyannot reproduce one --quick -o OUT" in text
        assert "items/one.json" in text and "projected" in text
    html = (tmp_path / "index.html").read_text()
    assert "They are &lt;made&gt; up." in html and "http" not in re.sub('data:image[^"]*', "", html)


def test_one_broken_claim_makes_it_differ():
    assert FOUND.status == "reproduced"
    assert replace(FOUND, claims=[*FOUND.claims, Claim("", False, "")]).status == "differs"
    assert not_runnable("").status == "not runnable"


def test_a_finding_comes_back_from_json_as_it_went(items, setup, tmp_path):
    reproduce(items[:1], setup, tmp_path)
    stored = read_record(tmp_path, "one").finding
    assert stored.as_json() == FOUND.as_json() and stored.compared[0].ratio == 0.5
    assert as_csv(stored.rows) == "m,who,seconds\n1,we,\n2,,0.5\n"
    assert json.loads(paths_of(tmp_path, "one")["json"].read_text())["settings"]["scale"] == "quick"


def test_figures_are_svg_and_png_and_say_how_real_the_data_are(items, setup, tmp_path):
    pytest.importorskip("matplotlib", reason="figures need flyannot[reproduce]")
    reproduce(items[:1], setup, tmp_path)
    paths = paths_of(tmp_path, "one")
    assert paths["png"].read_bytes()[:4] == b"\x89PNG" and b"<svg" in paths["svg"].read_bytes()
    from flyannot.benchmarks.papers.figures import footnote

    assert footnote(FOUND).startswith("SYNTHETIC")
    assert "data:image/svg+xml;base64," in (tmp_path / "index.html").read_text()


def test_without_matplotlib_the_page_says_that_figures_are_missing(items, setup, tmp_path, monkeypatch):
    for module in ("figures", "page"):
        monkeypatch.setattr(f"flyannot.benchmarks.papers.{module}.can_draw", lambda: False)
    reproduce(items[:1], setup, tmp_path)
    assert not paths_of(tmp_path, "one")["svg"].exists()
    assert "matplotlib is not installed" in (tmp_path / "index.md").read_text()


def test_two_runs_do_not_write_one_folder(items, setup, tmp_path):
    class Nosy(Fake):
        def measure(self, setup):
            with pytest.raises(LockedError):
                reproduce(items[:1], setup, tmp_path)
            return FOUND

    assert reproduce([Nosy("one")], setup, tmp_path).measured == ["one"]


def test_every_item_of_the_table_has_its_numbers_and_its_function():
    for item in table.ITEMS.values():
        assert papers.stated(item.paper, item.where)["cited"] and callable(item.measure)
        assert {"title", "authors", "venue", "pages"} <= set(papers.papers()[item.paper])
    with pytest.raises(InputError, match="scc-table-1"):
        table.chosen(["scc-table-11"])


def test_the_papers_speed_ups_follow_from_its_hours():
    """They were divided before rounding: 0.4 is allowed, or what half a hundredth of an hour makes of it."""
    stated = papers.stated("scc", "table-2")
    ol, scc = np.array(stated["hours_ol"]), np.array(stated["hours_scc"])
    assert (np.abs(ol / scc - stated["speed_up"]) <= np.maximum(0.4, ol / scc * 0.005 / scc)).all()
    total = papers.stated("scc", "table-1")
    for who in ("ol", "scc"):
        parts = np.add(total[who]["z"], total[who]["D"])
        assert np.allclose(parts, total[who]["total"], atol=0.0101)


def test_without_images_there_are_synthetic_embryos_that_say_so(setup, monkeypatch):
    monkeypatch.setattr("flyannot.benchmarks.papers.embryos._N_GENES", 3)
    images, source = embryo_images(setup)
    assert source.kind == "synthetic" and "SYNTHETIC" in source.text and len(images) > 20
    given = problem(setup, "4-6", 500)
    patches, held = np.load(given.inputs.path("patches")), np.load(given.inputs.path("held"))
    assert patches.shape == (500, 128) and held.dtype == np.uint8 and given.source.kind == "synthetic"


def test_the_command_lists_measures_and_answers(flyannot, items, tmp_path, monkeypatch):
    listed = flyannot("reproduce --list")
    assert listed.code == 0 and listed.out.split()[0] == next(iter(table.ITEMS))
    assert flyannot("reproduce").code == 2
    monkeypatch.setattr(table, "ITEMS", {item.name: item for item in items})
    assert flyannot("reproduce one three -o OUT", OUT=tmp_path / "out").code == 0
    items[1].finding = ValueError("broken")
    said = flyannot("reproduce -o OUT", OUT=tmp_path / "out")
    assert said.code == 3 and "two failed" in said.err and "broken" in said.err


@pytest.mark.parametrize(
    "name, text",
    [
        ("u.data", "10\t5\t3\t881250949\n2\t5\t4\t1\n2\t7\t1\t1\n"),
        ("ratings.dat", "10::5::3::881250949\n2::5::4::1\n2::7::1::1\n"),
        ("ratings.csv", "userId,movieId,rating,timestamp\n10,5,3.0,881250949\n2,5,4.0,1\n2,7,1.0,1\n"),
    ],
)
def test_every_layout_of_movielens_gives_the_same_ratings(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    found = read_ratings(tmp_path / name)
    assert found.shape == (2, 2)
    assert list(zip(found.rows, found.columns, found.values)) == [(1, 0, 3.0), (0, 0, 4.0), (0, 1, 1.0)]


def test_some_rows_of_ratings_keep_all_their_entries():
    ratings = Ratings(np.array([0, 2, 2, 3]), np.array([1, 0, 1, 1]), np.arange(4.0), (4, 2))
    found = ratings.of_rows(np.array([3, 2]))
    assert found.shape == (2, 2)
    assert sorted(zip(found.rows, found.columns, found.values)) == [(0, 1, 3.0), (1, 0, 1.0), (1, 1, 2.0)]


@pytest.mark.parametrize(
    "text, said", [("1,2\n", "line 1"), ("1,2,3\n1,x,3\n", "line 2"), ("1,2,3\n1,2,4\n", "twice")]
)
def test_faulty_ratings_are_refused(tmp_path, text, said):
    (tmp_path / "ratings.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        read_ratings(tmp_path / "ratings.csv")


def test_sparse_arff_is_read_plain_and_gzipped(tmp_path):
    import gzip

    text = (
        "@relation r\n% no row\n@attribute a {0,1}\n@attribute 'b c' numeric\n@data\n{1 2.5}\n{}\n{0 1,1 3}\n"
    )
    (tmp_path / "a.arff").write_text(text)
    (tmp_path / "a.arff.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("a.arff", "a.arff.gz"):
        names, values = read_sparse_arff(tmp_path / name)
        assert names == ["a", "b c"] and values.tolist() == [[0, 2.5], [0, 0], [1, 3]]


@pytest.mark.parametrize("row, said", [("0 1", "braces"), ("{7 1}", "attribute 7"), ("{0 x}", "index value")])
def test_faulty_arff_is_refused_with_its_line(tmp_path, row, said):
    (tmp_path / "a.arff").write_text(f"@attribute a numeric\n@data\n{row}\n")
    with pytest.raises(DataError, match=f"line 3.*{said}"):
        read_sparse_arff(tmp_path / "a.arff")


def test_coordinate_descent_completes_a_matrix_of_low_rank(rng):
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 30))
    rows, columns = (index.ravel().astype(np.int32) for index in np.indices(X.shape))
    known = rng.random(X.size) < 0.7
    options = {"n_components": 3, "lam": 1e-6, "rng": rng}
    model = CoordinateDescent(rows[known], columns[known], X.ravel()[known], X.shape, **options)
    for _ in range(60):
        model.sweep()
    assert np.abs(model.predict(rows, columns) - X.ravel())[~known].max() < 0.05


def test_modl_and_coordinate_descent_beat_the_biases(rng):
    X = rng.normal(size=(120, 2)) @ rng.normal(size=(2, 40)) + rng.normal(size=(120, 1)) + 3
    rows, columns = (index.ravel().astype(np.int32) for index in np.indices(X.shape))
    parts = completion.split(Ratings(rows, columns, X.ravel(), X.shape), rng)
    biases_alone = completion.rmse(parts.bias, parts.test)
    assert completion.by_coordinate_descent(parts, 1e-3, rng).rmse < 0.5 * biases_alone
    assert completion.by_modl(parts, 0.1, rng).rmse < 0.5 * biases_alone


def test_the_lasso_that_siso_is_measured_against_solves_the_same_problem(rng):
    A, X = rng.normal(size=(30, 12)), rng.normal(size=(3, 12))
    for x, z in zip(X, lasso_codes(X, A)):
        lam = FRACTION * np.abs(A @ x).max()
        assert duality_gap(x[None], A, z[None], lam)[0] <= 2e-5 * (x @ x)


def test_the_flat_cost_is_the_share_of_labels_not_among_the_best_answers():
    values = np.array([[5.0, 4, 3, 2, 1, 0], [0, 1, 2, 3, 4, 5]])
    assert flat_cost(values, [5, 5]) == 0.5 and flat_cost(values, [0, 1]) == 0.0


def test_an_scc_at_rest_keeps_its_dictionary_and_finds_sccs_codes(rng):
    X = rng.normal(size=(80, 16)).astype(np.float32)
    D = random_patches(X, 12, rng)
    at_rest, moving = (kind(D, len(X), lam=0.3, variant="paper") for kind in (CodesOnly, SCC))
    for learner in (at_rest, moving):
        learner.begin_epoch(np.random.default_rng(0))
        learner.step(X, np.arange(len(X)))
    assert (at_rest.D == D).all() and (moving.D != D).any()
    first = [learner.codes()[0].toarray() for learner in (at_rest, moving)]
    assert (first[0] == first[1]).all()  # nothing had moved yet


def test_the_natural_rate_is_followed(rng):
    x = np.array([[3.0, 4.0]], np.float32) / 5
    learner = PlainSCC(np.array([[1.0, 0.0]]), 1, lam=0.1, variant="paper", natural_rate=(2.0, 7.0))
    learner.begin_epoch(rng)
    learner.step(x, np.array([0]))
    z = 0.6 - 0.1
    stepped = np.array([1.0, 0.0]) + 2.0 / (1 + 7.0) * z * (x[0] - z * np.array([1.0, 0.0]))
    assert np.allclose(learner.D[0], stepped / max(1, np.linalg.norm(stepped)), atol=1e-6)


def test_a_real_item_goes_through_from_end_to_end(setup, tmp_path, monkeypatch):
    """DSSC's figure on few patches: measured, written, drawn and listed."""
    from flyannot.benchmarks.papers import dssc_fig_2

    monkeypatch.setattr(dssc_fig_2, "_N_PATCHES", (1600, 0))
    monkeypatch.setattr(dssc_fig_2, "_N_HELD", 20)
    assert reproduce([table.ITEMS["dssc-fig-2"]], setup, tmp_path).measured == ["dssc-fig-2"]
    stored = read_record(tmp_path, "dssc-fig-2")
    assert stored.finding.kind == "real" and len(stored.finding.panels) == 3 and stored.finding.claims
    markdown = (tmp_path / "index.md").read_text()
    assert all(f"| {name} |" in markdown for name in table.ITEMS)


def test_without_the_data_an_item_says_so_and_is_not_runnable(setup, tmp_path):
    names = ("modl-table-1", "modl-completion", "siso-table-2", "siso-fig-4")
    reproduce([table.ITEMS[name] for name in names], setup, tmp_path)
    for name in names:
        assert read_record(tmp_path, name).finding.status == "not runnable"

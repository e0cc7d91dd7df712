"""The items: each row has what it should, and is decided by what it should be decided by."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.compare_methods import compare_methods
from benchmarks.findings import Source
from benchmarks.inputs.ratings import Ratings
from benchmarks.items import ITEMS
from benchmarks.modl import completion
from benchmarks.modl.cases import HISTORIES, learn
from benchmarks.records import read_record
from benchmarks.rows import Rows
from benchmarks.scc import annotation, claims, fig_5, learning
from benchmarks.scc.annotation import DIFFERENCES, OURS, PAPERS_OWN, Pictures
from benchmarks.siso.growth import overlapping
from benchmarks.speed import coders, shapes
from flyannot.encode.groups import Groups
from flyannot.terms.metrics import TermOutcomes
from tests.benchmarks.made_up import measured

pytestmark = pytest.mark.usefixtures("in_this_process")
KEYS = {"who", "variant", "n", "threads", "us_per_sample", "times_as_long", "objective", "gap", "peak_mb"}


def test_a_row_of_learning_has_every_key_and_is_evaluated_after_every_epoch_only_if_asked(setup, patches):
    plain = learning.scc(patches.problem(20), patches.n, 2, "released")
    (row,) = compare_methods(setup, [learning.traced(plain)], n_atoms=20)
    assert set(row) >= KEYS and row["times_as_long"] == 1.0
    assert (row["n"], row["n_atoms"], row["threads"], row["epochs"]) == (400, 20, 1, 2)
    assert row["us_per_sample"] == pytest.approx(1e6 * row["seconds"] / (400 * 2))
    assert 0 < row["objective"] < 0.5 and -1e-9 < row["gap"] < 1e-5
    assert row["trace"][-1] == pytest.approx([row["seconds"], row["objective"]]) and len(row["trace"]) == 2
    untraced = learning.learn(**plain.arguments)
    assert len(untraced["trace"]) == 1 and untraced["objective"] == row["objective"]


def test_a_real_item_goes_through_from_end_to_end(setup, tmp_path):
    """DSSC's figure on few patches: measured, written, drawn and listed."""
    few = replace(setup, sizes={"n_patches": 400, "n_epochs": 2, "n_held": 20})
    (outcome,) = measured([ITEMS["dssc-fig-2"]], few, tmp_path)
    stored = read_record(tmp_path, "dssc-fig-2")
    assert stored.finding.source.kind == "real" and len(stored.finding.panels) == 6
    markdown = (tmp_path / "index.md").read_text()
    assert all(f"| {name} |" in markdown for name, item in ITEMS.items() if item.paper != "ours")


def test_masked_learning_is_evaluated_at_the_start_and_ends_lower(tmp_path, rng):
    X = (rng.random((60, 3)) @ rng.random((3, 200))).astype(np.float32)
    files = {"train": str(tmp_path / "train.npy"), "test": str(tmp_path / "test.npy")}
    np.save(files["train"], X[:45])
    np.save(files["test"], X[45:])
    settings = {"lam": 0.1, "n_atoms": 5, "n_batches": 12, "seed": 0, "ball": "l2", "code_penalty": "l2"}
    for penalty in ("l1", "l2"):
        rows = learn(**files, **settings | {"code_penalty": penalty}, reduction=4)["rows"]
        assert [row["records"] for row in rows[:3]] == [0, 200, 240] and rows[-1]["records"] == 12 * 40
        assert rows[-1]["objective"] < rows[0]["objective"]
    last = [learn(**files, **settings, reduction=4, history=kind)["rows"][-1] for kind in HISTORIES.values()]
    assert last[0]["objective"] != last[1]["objective"]


def test_modl_and_coordinate_descent_beat_the_biases(rng):
    parts = completion.debiased(*completion.drawn_apart(entries_of_low_rank(rng), rng, 0.25))
    biases_alone = parts.rmse(0)
    assert completion.completed_by_coordinate_descent(parts, 1e-3, rng)[-1][1] < 0.5 * biases_alone
    assert completion.completed_by_modl(parts, 0.1, rng)[-1][1] < 0.5 * biases_alone


def entries_of_low_rank(rng):
    X = rng.normal(size=(120, 2)) @ rng.normal(size=(2, 40)) + rng.normal(size=(120, 1)) + 3
    rows, columns = (index.ravel().astype(np.int32) for index in np.indices(X.shape))
    return Ratings(rows, columns, X.ravel(), X.shape)


def test_lam_is_chosen_without_a_look_at_the_test_entries(tmp_path, rng, monkeypatch):
    """Whatever the test entries are, the same lam is chosen."""
    ratings, lams, hidden = entries_of_low_rank(rng), [1e-3, 10.0], completion.drawn_apart
    spoilt = {"by": 0.0}

    def drawn_apart(found, rng, test_share):
        train, test = hidden(found, rng, test_share)
        is_test = test_share == completion.TEST_SHARE
        return train, replace(test, values=test.values + spoilt["by"]) if is_test else test

    monkeypatch.setattr(completion, "drawn_apart", drawn_apart)
    np.savez(tmp_path / "r.npz", **vars(ratings))
    asked = {"solver": "coordinate descent", "lams": lams, "n_inner": 2, "seed": [0, 1]}
    first = completion.complete_ratings(str(tmp_path / "r.npz"), **asked)
    spoilt["by"] = 1e6
    second = completion.complete_ratings(str(tmp_path / "r.npz"), **asked)
    assert first["lam"] == second["lam"] < 1
    assert first["trace"][-1][1] < 1 < 1e5 < second["trace"][-1][1]


def test_no_labelled_patch_shares_a_pixel_with_a_query():
    labels, centres = np.array([0, 0, 0, 1]), np.array([[8, 8], [8, 23], [8, 24], [8, 8]])
    assert overlapping(labels, centres, [0]).tolist() == [True, True, False, False]


@pytest.fixture
def two_eyed_pictures():
    """`Pictures` of twelve genes with two images each; every other gene has an eye, there are no greys."""
    genes = [f"g{i}" for i in range(12)]
    groups = Groups(genes, genes, [""] * 12, [np.array([2 * i, 2 * i + 1]) for i in range(12)])
    return Pictures("4-6", [], groups, ["eye"], np.arange(12)[:, None] % 2 == 0, Source("made up"), "")


@pytest.mark.parametrize("protocol", [PAPERS_OWN, OURS])
def test_images_are_annotated_alone_and_their_gene_stays_in_one_fold(protocol, setup, rng, two_eyed_pictures):
    of_image = np.repeat(np.arange(12), 2)
    X = two_eyed_pictures.truth[of_image] + 0.1 * rng.normal(size=(24, 5))
    outcome = annotation.evaluated(setup, two_eyed_pictures, protocol, X, of_image)
    assert (outcome.folds[::2] == outcome.folds[1::2]).all() and len(outcome.values) == 24
    merged = annotation.merge_images(outcome, of_image)
    np.testing.assert_array_equal(merged.values[:, 0], outcome.values.reshape(12, 2).max(axis=1))


def test_every_difference_of_ours_has_a_row_beside_the_papers_own_way(setup, two_eyed_pictures, monkeypatch):
    def guessed(setup, pictures, protocol, who, n_atoms, *, seed):
        values = np.random.default_rng([n_atoms, seed]).normal(size=pictures.truth.shape)
        folds = np.arange(12) % 3
        return TermOutcomes(("eye",), pictures.truth, values, values > 0, values, folds, ("",))

    monkeypatch.setattr(fig_5, "annotated_pictures", lambda *_: two_eyed_pictures)
    monkeypatch.setattr(fig_5, "annotate", guessed)
    finding = fig_5.measure_annotation(replace(setup, sizes={"n_learn": 9, "n_dictionaries": 1}))
    assert {row["protocol"] for row in finding.rows} == {claims.AS_THE_PAPER, *DIFFERENCES}
    assert {row["metric"] for row in finding.rows} == {"accuracy", "auc", "sensitivity", "specificity"}
    cases = [one for statement in ITEMS["scc-fig-5"].statements for one in statement.of(finding.rows).cases]
    assert len(cases) == 12 + 7 and all(case.value is not None for case in cases)


def test_every_shape_is_learned_and_coded_in_both_types_and_beside_others(setup, monkeypatch):
    monkeypatch.setattr(shapes, "SHAPES", [(4, 20, shapes.PICTURES), (4, 20, shapes.MADE)])
    finding = ITEMS["shapes"].finding(replace(setup, sizes={"n_learn": 300, "n_coded": 40, "n_slow": 20}))
    assert finding.source.kind == "synthetic"
    assert {row["shape"] for row in finding.rows} == {"16/20 pictures", "16/20 made"}
    for row in Rows(finding.rows).where(task="coding"):
        assert row["note"].startswith("absent") or row["worst_relative_gap"] < 3e-4
    for row in Rows(finding.rows).where(task="learning"):
        assert row["note"].startswith("absent") or 0 < row["objective"] < 0.5
    assert all(target.value is not None for target in finding.targets[:2])


def test_users_problems_are_coded_by_every_program_with_the_same_result(setup, patches, monkeypatch):
    monkeypatch.setattr(
        coders, "problems_of", lambda _: {"noise": (patches.problem(20), patches.n, patches.source)}
    )
    monkeypatch.setattr(coders, "_N_WIDE_CODED", 20)
    sizes = {"n_coded": 30, "n_slow": 30, "n_curves": 30, "n_wide": 90, "n_wide_atoms": 40, "n_atoms": 20}
    finding = coders.measure_coders(replace(setup, sizes=sizes))
    rows = Rows(finding.rows)
    for task in (coders.SIGNED, coders.NONNEGATIVE, coders.K_SPARSE):
        objectives = rows.column("objective", data="noise", task=task)
        assert len(objectives) >= 2 and objectives == pytest.approx(
            objectives[:1] * len(objectives), rel=0.02
        )
    assert rows.value("times_as_long", data=coders.CURVES, who="SciPy nnls, lam 0") > 0
    assert [target.value <= 1e-6 for target in finding.targets if target.text.startswith(coders.CURVES)] == [
        1,
        1,
    ]


def test_ratings_are_completed_at_every_size_with_both_projections(setup, in_this_process, monkeypatch):
    monkeypatch.setattr(completion, "_N_EPOCHS", 3)
    sizes = {"n_ratings": (8_000, 16_000), "n_lams": 2, "n_inner": 1}
    finding = ITEMS["modl-fig-4"].finding(replace(setup, sizes=sizes))
    assert finding.source.kind == "synthetic" and len(finding.panels) == 2
    assert {row["solver"] for row in finding.rows} == set(completion.SOLVERS)
    assert len({(row["n_ratings"], row["solver"]) for row in finding.rows}) == 2 * len(completion.SOLVERS)
    assert all(0.5 < row["test_rmse"] < 2 for row in finding.rows)
    assert {task["solver"] for task in in_this_process if len(task["lams"]) == 2} == set(completion.SOLVERS)

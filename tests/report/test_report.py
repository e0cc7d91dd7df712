"""Tests of the report: its numbers, its files, and texts from tables."""

import base64
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from flyannot.base.errors import WriteError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.dataset.folder import Annotations, read_annotations, read_images
from flyannot.files.digest import file_digest, json_digest
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.images.registration import find_outline
from flyannot.jobs.executor import Executor, _Pace
from flyannot.pipeline.engine.curated_terms import CuratedTerms
from flyannot.pipeline.engine.task import Execution, run_task
from flyannot.pipeline.options import AnnotateOptions
from flyannot.pipeline.steps.annotate import annotate_task
from flyannot.report import page as page_module
from flyannot.report.drawing import pack_map, trace_outline
from flyannot.report.groups import ABSENT, AGREED, MISSED, NEW, PREDICTED, UNLEARNED
from flyannot.report.page import to_script_json, write_page
from flyannot.report.run_folder import open_run
from flyannot.report.scores_section import _draw_curated_answers
from flyannot.terms.answers import UNDETERMINED, read_group_predictions
from tests.report.pages_read import groups_of, index_json, index_of, make_report, tree_of, without_scripts
from tests.report.small_pages import NASTY, entries, nasty_entries, nasty_page, write_groups
from tests.report.small_pages import shown as shown_picture
from tests.small_embryos import rows_of_csv

# --- what is drawn ---


def test_a_packed_map_unpacks_to_it(rng):
    cells = rng.integers(-127, 128, (16, 40), dtype=np.int8)
    levels = np.frombuffer(base64.b64decode(pack_map(cells)), np.int8).reshape(cells.shape)
    np.testing.assert_array_equal(levels, cells)


# --- the page of a run ---


def test_the_diagram_of_a_run_is_of_its_held_out_answers(run, page):
    scores = json.loads((run.folder / "scores.json").read_text())
    overall = scores["summary"]["all"]
    n = sum(text.count(bit) for of in scores["evaluated"].values() for text in of["truth"] for bit in "01")
    errors = f"Expected calibration error {overall['ece']:.3f}, Brier score {overall['brier']:.3f}."
    text = page.read_text()
    assert text.count("<figcaption>Reliability, ") == 1 and errors in text
    assert f"Reliability, {n:,} answers about held-out genes<" in text


def test_a_diagram_counts_drawn_terms_by_the_inverse_of_their_chance_and_no_gene_of_the_model(rng):
    """The genes are judged whole, in two drawn terms and a chosen one, and known to the model."""
    known = {("drawn", "4-6"): frozenset({"t0", "t1", "t2"}), ("old", "4-6"): frozenset({"t0"})}
    chances = {("drawn", "4-6"): {"t0": 0.25, "t1": 0.5}, ("old", "4-6"): {"t0": 0.1}}
    genes = ["whole", "drawn", "old"]
    ids = {gene: {gene} for gene in genes}
    annotations = Annotations(dict.fromkeys(known), ids, known_only=known, chances=chances)
    predicted = SimpleNamespace(
        terms=["t0", "t1", "t2", "t3"],
        probability=np.array([[0.15, 0.35, 0.55, 0.55], [0.15, 0.35, 0.95, 0.95], [0.75] * 4]),
        curated=np.array([[1, 0, -1, -1], [0, 1, 1, -1], [1, -1, -1, -1]]),
        held_out=np.zeros((3, 4), bool),
        in_training=np.array([False, False, True]),
    )
    groups = SimpleNamespace(gene=genes, fbgn=[""] * 3)
    shown = SimpleNamespace(stage_range="4-6", groups=groups, predicted=predicted)
    for held_out, last in ((False, []), (True, [[0.75, 1.0]])):
        predicted.held_out[2] = held_out
        (diagram,) = _draw_curated_answers(SimpleNamespace(annotations=annotations, shown_groups=[shown]))
        assert diagram["points"] == pytest.approx(np.array([[0.15, 1 / 5], [0.35, 2 / 3], *last]))
        assert diagram["what"] == f"{4 + held_out} answers about held-out genes"


def test_the_page_is_whole_and_needs_nothing_else(page):
    text = page.read_text()
    without_scripts(text)
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text) and "@import" not in text
    assert "SYNTHETIC embryos" in text
    assert [p.name for p in page.parent.iterdir()] == [page.name]


def test_the_page_shows_every_group_with_its_curated_terms(page, chain):
    text, annotations, images = page.read_text(), read_annotations(chain.embryos), read_images(chain.embryos)
    index, details = index_of(text), groups_of(text)
    assert len(index["groups"]) == len({(i.stage_range, i.group) for i in images})
    for group, shown in zip(index["groups"], details, strict=True):
        stage_range, gene = STAGE_RANGES[group["stage"]], group["gene"]
        assert shown["name"] == f"Terms of {gene}, stage range {stage_range}"
        curated = {index["terms"][one["term"]] for one in group["terms"] if "curated" in one}
        assert curated == annotations.terms_of(gene, stage_range)
        mine = [i for i in images if (i.gene, i.stage_range) == (gene, stage_range)]
        assert [name for name, _ in shown["images"]] == sorted(f"{i.name}, {i.view}" for i in mine)
        assert all(source.startswith("data:image/jpeg") for _, source in shown["images"])
        assert group["pictures"] == json_digest(sorted(file_digest(Path(i.file)) for i in mine))[:16]


def test_table_page_and_scores_give_one_answer(page, run):
    """The answers are of models that were not trained on the gene, otherwise of the final model."""
    scores = json.loads((run.folder / "scores.json").read_text())
    areas = {(row["stage_range"], row["term"]): row for row in scores["terms"]}
    rows = rows_of_csv(run.folder / "predictions.csv")
    table = {(row["stage_range"], row["group"], row["term"]): row for row in rows}
    text, n_held_out = page.read_text(), 0
    for group, shown in zip(index_of(text)["groups"], groups_of(text)):
        stage_range = STAGE_RANGES[group["stage"]]
        one = scores["evaluated"][stage_range]
        i = one["group"].index(group["name"])
        for term in shown["terms"]:
            row = table.get((stage_range, group["name"], term["term"]))
            if row is None:
                assert term["status"] == UNLEARNED
                continue
            assert float(term["probability"]) == pytest.approx(float(row["probability"]), abs=0.0051)
            assert term["held_out"] == (row["held_out"] == "yes")
            curated = {AGREED: "yes", MISSED: "yes", NEW: "no"}.get(term["status"], row["curated"])
            assert row["curated"] == curated and ANSWER_OF[term["status"]] == row["answer"]
            auc = re.search(r"AUC (\S+)", term["support"])
            assert re.search(rf"\b{row['n_genes']} gene", term["support"])
            assert (auc is None) == (row["auc"] == "") == ("untested" in term["support"])
            assert auc is None or float(auc[1]) == pytest.approx(float(row["auc"]), abs=0.0051)
            if term["term"] not in one["term"]:
                assert row["held_out"] == "no" and row["probability"] == row["model_probability"]
                continue
            j, area = one["term"].index(term["term"]), areas[stage_range, term["term"]]
            assert float(row["probability"]) == one["probability"][j][i] and row["held_out"] == "yes"
            answer = {"0": "no", "1": "yes", "?": "undetermined"}[one["yes"][j][i]]
            assert row["answer"] == answer
            if answer != "undetermined":
                assert float(row["threshold"]) == one["group_threshold"][i]
            assert row["auc"] == f"{area['auc']:.4f}"
            precision = area["precision"]
            assert row["precision"] == ("" if precision is None else f"{precision:.4f}")
            assert precision is None or f"{100 * precision:.0f}% right" in term["support"]
            n_held_out += 1
    assert n_held_out == sum(len(one["term"]) * len(one["group"]) for one in scores["evaluated"].values())


def test_an_outline_encloses_the_embryo_and_nothing_else():
    y, x = np.indices((128, 320))
    is_inside = ((x - 160) / 120) ** 2 + ((y - 60) / 45) ** 2 < 1
    polygon = trace_outline(find_outline(np.where(is_inside, 120.0, 235.0)))
    corners = np.array([[float(n) for n in re.findall(r"[\d.]+", one)] for one in polygon.split(",")])
    distance = ((corners[:, 0] * 3.2 - 160) / 120) ** 2 + ((corners[:, 1] * 1.28 - 60) / 45) ** 2
    assert len(corners) > 8 and np.abs(np.sqrt(distance) - 1).max() < 0.06
    assert trace_outline(find_outline(np.full((128, 320), 235.0))) == ""


def test_maps_hold_the_decision_values_of_the_predictions(page, chain):
    text, n_maps = page.read_text(), 0
    stored = open_stored_file(chain.predictions)
    kept = {s: read_group_predictions(stored, s) for s in stored.stage_ranges}
    for group, shown in zip(index_of(text)["groups"], groups_of(text)):
        groups, predicted = kept[STAGE_RANGES[group["stage"]]]
        for term in shown["terms"]:
            assert (term["map"] is not None) == (term["status"] in (AGREED, MISSED, NEW, PREDICTED))
            if term["map"]:
                drawn = term["map"]
                g, j = groups.name.index(group["name"]), predicted.terms.index(term["term"])
                assert drawn["value"] == pytest.approx(predicted.decision_value[g, j], abs=1e-6)
                total = drawn["plus"] - drawn["minus"] + drawn["rest"]
                assert total == pytest.approx(drawn["value"], abs=3e-6)
                assert len(drawn["cells"]) == len(shown["images"])
                n_maps += 1
    assert n_maps > 20


def test_a_report_is_made_again_only_when_the_run_has_changed(run, page, tmp_path, flyannot):
    out = tmp_path / "report.html"
    said = flyannot("report R -o O", R=run.folder, O=out)
    assert said.code == 0 and out.read_bytes() == page.read_bytes(), "one thread or two, the same bytes"
    assert not make_report(run.folder, out).made
    other = shutil.copytree(run.folder, tmp_path / "other" / run.folder.name)
    shutil.rmtree(other / "embryos")
    assert make_report(other, other / "report.html").made
    assert (other / "report.html").read_bytes() == page.read_bytes(), "the data set is not needed"
    (other / "tables" / "annotations.csv").open("a").write("syn001,4-6,an added term\n")
    assert make_report(other, out).made and "an added term" in out.read_text()


@pytest.mark.parametrize(
    "kept", ["scores.json", "dictionary.h5", "predictions.h5", "model.h5 predictions.h5", "features.h5"]
)
def test_what_is_there_of_a_run_is_shown(run, tmp_path, kept):
    folder = tmp_path / "part"
    folder.mkdir()
    for name in kept.split():
        shutil.copy(run.folder / name, folder)
    text = make_report(folder, tmp_path / "r.html").path.read_text()
    without_scripts(text)
    assert "There is no" in text
    assert ('id="scores-table"' in text) == ("scores" in kept)
    assert ('id="groups-list"' in text) == ("predictions" in kept or "features" in kept)


def test_without_scores_the_answers_are_those_of_the_table(run, tmp_path):
    """An undetermined answer is neither yes nor no."""
    images = [image for image in read_images(run.embryos) if image.stage_range == "4-6"]
    options = AnnotateOptions(abstain_margin=0.3)
    run_task(annotate_task(run.model, images, tmp_path / "predictions.h5", options), Execution())
    text = make_report(tmp_path, tmp_path / "r.html", curated=CuratedTerms(run.embryos)).path.read_text()
    answers = {}
    for group, shown in zip(index_of(text)["groups"], groups_of(text)):
        for one in shown["terms"]:
            if one["status"] != UNLEARNED:
                assert not one["held_out"] and (one["status"] != UNDETERMINED or one["map"] is None)
                answers[group["name"], one["term"]] = ANSWER_OF[one["status"]]
    rows = rows_of_csv(tmp_path / "predictions.csv")
    table = {(row["group"], row["term"]): row["answer"] for row in rows}
    assert answers == table and set(table.values()) == {"yes", "no", "undetermined"}


def test_the_columns_of_a_named_data_set_are_called_as_its_user_says(run, tmp_path):
    """The record of the run says how the columns of its own tables are called."""
    folder = run.copied_to(tmp_path / "run").folder
    shutil.rmtree(folder / "tables")
    (folder / "scores.json").unlink()
    table = tmp_path / "annotations.csv"
    table.write_text((run.embryos / table.name).read_text().replace("term", "Begriff", 1))
    named = open_run(folder, CuratedTerms(table, columns={"term": "Begriff"}))
    assert named.annotations == open_run(run.folder).annotations != Annotations({}, {})


def test_files_and_tables_of_two_data_sets_are_refused_by_their_digests(run, flyannot, tmp_path):
    """The data sets have the same names of genes."""
    other = run.copied_to(tmp_path / "other")
    with open(other.annotations, "a") as table:
        table.write("nobody,4-6,gap\n")
    what = "different annotations: "
    assert what in flyannot("report F --data-set D", code=65, F=run.folder, D=other.embryos).err
    line = "similar F syn001 --has gap --data-set D -o O"
    assert what in flyannot(line, code=65, F=run.features, D=other.embryos, O=tmp_path / "o.csv").err
    scores = "evaluate F D --folds 3 --min-groups 4 -o O"
    for chain in (run, other):
        flyannot(scores, code=0, F=run.features, D=chain.embryos, O=chain.folder.parent / "s.json")
    pair = {name: chain.folder.parent / "s.json" for name, chain in (("A", run), ("B", other))}
    assert what in flyannot("compare A B", code=65, **pair).err


def test_a_page_is_made_again_for_another_command(run, tmp_path):
    """Its title and its commands do not depend on the folder of a job."""
    copy = run.copied_to(tmp_path / "run")
    before = open_run(copy.folder).digest()
    assert open_run(copy.folder / "tables" / "..").digest() == before
    (copy.folder / "run.toml").unlink()
    assert open_run(copy.folder).digest() != before


ANSWER_OF = dict.fromkeys((AGREED, NEW, PREDICTED), "yes") | dict.fromkeys((MISSED, ABSENT), "no")
ANSWER_OF[UNDETERMINED] = "undetermined"


def test_a_page_is_the_same_with_any_number_of_processes(run, page, tmp_path, monkeypatch):
    monkeypatch.setattr(_Pace, "n_processes", lambda pace, most: most)
    monkeypatch.setattr(page_module, "_GROUPS_PER_TASK", page_module.PER_CHUNK)
    with Executor(2) as workers:
        made = make_report(run.folder, tmp_path / page.name, workers=workers).path
        assert workers._engine is not None
    assert made.read_bytes() == page.read_bytes()


# --- any size, any text ---


def test_a_page_of_2000_groups_stays_below_its_limit(large_page):
    out, folder = large_page
    assert out.stat().st_size < 900_000 and folder.name.startswith("big.html-files-")
    text = out.read_text()
    index = index_of(text)
    assert index["folder"] == folder.name and len(index["groups"]) == 2000 and "<template id" not in text
    scripts = [folder / f"chunk-{i}.js" for i in range(2000 // index["perChunk"])]
    html = [json.loads(p.read_text().partition(", ")[2].removesuffix(");\n")) for p in scripts]
    shown = [group for one in html for group in groups_of(one)]
    assert len(shown) == 2000
    for g in (0, 1234, 1999):
        name, source = shown[g]["images"][0]
        assert name == f"i{g}_0.png, lateral"
        assert (folder / source).read_bytes() == shown_picture(f"i{g}_0").jpeg
    assert len(list(folder.iterdir())) == len(scripts) + 2000


def test_a_page_that_cannot_be_finished_leaves_the_older_one(tmp_path, monkeypatch):
    out = tmp_path / "p.html"
    write_groups(out, entries(30), page_bytes=1, made_from="0a")
    before = {p.name for p in tmp_path.iterdir()}, out.read_bytes()

    def breaking(mask):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(page_module, "trace_outline", breaking)
    with pytest.raises(WriteError):
        write_groups(out, entries(30, maps=True), page_bytes=1, made_from="0b")
    assert before == ({p.name for p in tmp_path.iterdir()}, out.read_bytes())
    assert write_groups(out, entries(20), made_from="0b") is None
    assert [p.name for p in tmp_path.iterdir()] == ["p.html"], "the older page's folder is gone"
    assert len(groups_of(out.read_text())) == 20


def test_text_from_tables_stays_text(rng, tmp_path):
    out = tmp_path / "nasty.html"
    write_page(out, nasty_page(rng, tmp_path), list(nasty_entries()))
    text = out.read_text()
    assert "<script>alert" not in text and "\u2028" not in re.sub(r"<[^s].*", "", index_json(text))
    assert index_of(text)["groups"][0]["gene"] == NASTY and index_of(text)["terms"] == [NASTY]
    assert len(list(tree_of(text).iter("script"))) == 3  # the index, the odds, and the page's own
    first, second = (one["term"] for group in groups_of(text) for one in group["terms"])
    assert first == second and first.startswith(" ".join(NASTY.split()))  # and its id


@pytest.mark.parametrize("text", [NASTY, "<!--", "]]>", "</SCRIPT>", "\u2029", 'a"b\\'])
def test_json_within_a_script_cannot_end_it(text):
    written = to_script_json({text: [text]})
    assert json.loads(written) == {text: [text]}
    assert not set("<>&\u2028\u2029") & set(written)


def test_lines_of_the_scripts_have_at_most_110_letters():
    scripts = Path(page_module.__file__).with_name("templates").glob("*.js")
    lines = [line for script in scripts for line in script.read_text(encoding="utf-8").splitlines()]
    assert lines and max(map(len, lines)) <= 110

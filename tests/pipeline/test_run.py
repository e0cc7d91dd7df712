"""The command `flyannot run` and its configurations."""

import json
import re
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest

from flyannot.base.errors import InputError
from flyannot.dataset.synthetic import SynthesizeOptions
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.tables import write_table
from flyannot.files.text_files import read_toml
from flyannot.pipeline.commands.synthesize import SynthesizeTask
from flyannot.pipeline.runs.configuration import read_configuration, read_record, write_record
from tests.cli.test_cli import check_error
from tests.conftest import ROOT
from tests.report.pages_read import index_of
from tests.small_embryos import KINDS, make, rows_of_csv, write_configuration

BOTH = 'data-set = "x"\noutput = "y"\n'


@pytest.fixture
def config(tmp_path):
    return write_configuration(tmp_path, seed=2)


def stamps(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def remade(before, after):
    return {name.split(".")[0] for name in after if name.endswith(".h5") and before[name] != after[name]}


def test_the_whole_chain_runs_is_skipped_and_redoes_only_what_depends_on_a_change(flyannot, config, tmp_path):
    results = tmp_path / "results"
    said = flyannot("run C --dry-run", C=config)
    assert said.code == 0 and "would write" in said.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.toml", "embryos"], "a dry run makes nothing"

    said = flyannot("run C", C=config)
    assert said.code == 0 and said.out.startswith("Scores on SYNTHETIC embryos")
    assert {f"{name}.h5" for name in KINDS} | {"scores.json", "predictions.csv"} <= set(stamps(results))
    assert "SYNTHETIC" in (results / "report.html").read_text()
    assert not [p for p in results.iterdir() if p.name.startswith(".")]
    assert said.err.splitlines()[-1].startswith(f"done: open {results / 'report.html'} in a browser")
    assert said.err.count(f"table: {results / 'pictures.csv'}") == 1, (
        "annotate adds nothing to what extract told"
    )
    first = stamps(results)

    said = flyannot("run C", C=config)
    assert (said.code, said.out) == (0, ""), "the table is not printed again"
    assert said.err.count("up to date: ") == 7 + 1
    assert said.err.splitlines()[-1] == f"everything is up to date: the report is {results / 'report.html'}"
    second = stamps(results)
    assert not remade(first, second) and first["scores.json"] == second["scores.json"]
    said = flyannot("run C --dry-run", C=config)
    assert said.code == 0 and "would write" not in said.err

    said = flyannot("run C --set pool.grid=1x2 --dry-run", C=config)
    why = f"would write {results / 'features.h5'} again: pool.grid was "
    assert why in said.err and "and is now [[1,2]]; then all later outputs\n" in said.err
    assert "and is now [[1,2]]\n" in flyannot("run C --set pool.grid=1x2 --dry-run --step pool", C=config).err
    assert stamps(results) == second
    said = flyannot("run C --set pool.grid=1x2", C=config, code=0)
    third = stamps(results)
    assert remade(second, third) == {"features", "model", "predictions"}
    assert third["scores.json"] != second["scores.json"] and third["report.html"] != second["report.html"]
    said = flyannot("run C --dry-run", C=results / "run.toml")
    assert "would write" not in said.err, "the record is what was run, with what was overridden"

    annotations = tmp_path / "embryos" / "annotations.csv"
    annotations.write_text(annotations.read_text() + "syn001,4-6,an added term\n")
    said = flyannot("run C --set pool.grid=1x2", C=config)
    assert said.code == 0 and "it was made from other annotations" in said.err
    assert remade(third, stamps(results)) == {"model", "predictions"}

    (results / "predictions.h5").unlink()
    scores = results / "scores.json"
    text = scores.read_text()
    for change, why, code in (
        (scores.unlink, "does not exist, and annotated genes", 2),
        (lambda: scores.write_text(text[:-9]), "is damaged", 65),
    ):
        change()
        assert why in flyannot("run C --step annotate", C=results / "run.toml", code=code).err
        assert not list(results.glob(".predictions.h5.parts")), "it is refused before predictions are made"
    trace = results / "dictionary.trace.csv"
    trace.write_text("mine\n")
    for line in ("run C --dry-run", "run C"):
        assert f"the table {trace} would be replaced" in flyannot(line, C=config, code=2).err


@pytest.mark.parametrize("few", [False, True])
def test_the_configuration_of_the_docs_succeeds_at_first_on_few_images(flyannot, shared_data, tmp_path, few):
    """30 images of all stage ranges; and 12 images of three genes, from which no term can be learned."""
    data = shared_data / "flyexpress"
    rows = rows_of_csv(data / "images.csv")
    few_genes = [r for r in rows if r["stage_range"] == "4-6" and r["gene"] in ("Dl", "DNaseII", "Dip-C")]
    rows = few_genes[-12:] if few else rows[::4][:30]
    kept = {(row["gene"], row["stage_range"]) for row in rows}
    terms = [
        row for row in rows_of_csv(data / "annotations.csv") if (row["gene"], row["stage_range"]) in kept
    ]
    pictures = [str(data / "images" / row["image"]) for row in rows]
    images = ([picture, row["gene"], row["stage_range"]] for picture, row in zip(pictures, rows))
    (tmp_path / "my-embryos").mkdir()
    write_table(tmp_path / "my-embryos/images.csv", ("image", "gene", "stage_range"), images)
    write_table(tmp_path / "my-embryos/annotations.csv", tuple(terms[0]), (row.values() for row in terms))
    given = re.search(r"```toml\n(.*?)```", (ROOT / "docs/tutorial.md").read_text(), re.DOTALL)[1]
    (tmp_path / "c.toml").write_text(given)
    said = flyannot("run C", C=tmp_path / "c.toml", code=0).err
    assert (tmp_path / "results/report.html").is_file()
    assert ("no term can be learned" if few else "nothing could be evaluated") in said
    stored = open_stored_file(tmp_path / "results/dictionary.h5")
    n_atoms = stored.options["learn-dict"]["n_atoms"]
    chosen = stored.options["extract"]["stride_px"]
    learned = {s: len(stored.read_array(s, "D")) for s in stored.stage_ranges}
    assert chosen == 8 and n_atoms == (learned["4-6"] if few else learned) and max(learned.values()) <= 1000
    said = flyannot("run C", C=tmp_path / "c.toml", code=0).err
    assert "everything is up to date" in said, "the same data give the same numbers"
    status = flyannot("status RESULTS", RESULTS=tmp_path / "results", code=0).out
    assert all(line.endswith("  done") for line in status.splitlines()), status


def test_the_command_line_overrides_the_file(flyannot, config, tmp_path):
    embryos = tmp_path / "embryos"
    results = tmp_path / "results"
    flyannot("extract E -o D --jobs 1", E=embryos, D=results / "descriptors.h5", code=0)
    config.write_text(config.read_text() + "[extract]\nmin-std = 7.0\n")
    of_set = " --set extract.min-std=8.0"
    for more, expected in (("", 7), (of_set, 8)):
        said = flyannot(f"run C --dry-run{more}", C=config).err
        assert f"extract.min_std was 6.0 and is now {expected}.0" in said
    check_error(flyannot("run C --set extract.min-std=many", C=config), 2, "[extract] min-std is 'many'")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no data-set"),
        ('data-set = "x"', "has no output"),
        ('data-set = 5\noutput = "y"', "data-set is 5"),
        ('dataset = "x"\noutput = "y"', 'unknown key "dataset". Did you mean "data-set"'),
        (BOTH + "[extrct]\nstride-px = 4", 'unknown table "extrct". Did you mean "extract"'),
        (BOTH + "[extract]\nstride = 4", 'no option "stride". Did you mean "stride-px"'),
        (BOTH + '[pool]\ngrid = "2x"', "grid is '2x', and must be rows x columns"),
        (BOTH + "[extract]\nmin-std = nan", "min-std is nan, and must be a number"),
        (BOTH + "[learn-dict]\nlearner-option = {variant = 'quik'}", 'Did you mean "quick"'),
        (BOTH + "seed = -1", "seed is -1"),
        (BOTH + "[learn-dict]\nn_atoms = 4", 'no option "n_atoms". Did you mean "n-atoms"'),
        (BOTH + "extract = 4", "extract"),
    ],
)
def test_a_faulty_configuration_is_explained_before_anything_runs(flyannot, tmp_path, text, words):
    (tmp_path / "c.toml").write_text(text)
    said = flyannot("run C", C=tmp_path / "c.toml")
    assert said.code == 2 and words in said.err and "c.toml" in said.err
    assert [p.name for p in tmp_path.iterdir()] == ["c.toml"]


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda path: path.stem)
def test_the_configurations_we_ship_can_be_read_and_recorded(path, tmp_path):
    if "row" in read_toml(path):
        return  # of `python -m benchmarks.ablation`
    found = read_configuration(path, data_set=tmp_path / "embryos", output=tmp_path)
    write_record(found)
    again = read_configuration(tmp_path / "run.toml")
    assert again.options == found.options and again.seed == found.seed
    assert (again.data_set, again.output) == (found.data_set, found.output)


def test_paths_are_relative_to_the_configuration(tmp_path, monkeypatch):
    """An option with one path, and options with several; the record leads to the same files."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    text = BOTH + '[train]\nadapt = "m.h5"\n[report]\nontology = ["a.obo", "~/b.obo"]\n'
    (tmp_path / "c.toml").write_text(text)
    found = read_configuration(tmp_path / "c.toml", settings=["evaluate.roll-up=b.obo"])
    assert found.options["train"].adapt == tmp_path / "m.h5"
    assert found.options["report"].ontology == (tmp_path / "a.obo", tmp_path / "home" / "b.obo")
    assert found.options["evaluate"].roll_up == (Path("b.obo"),), "of the command line: as typed"
    write_record(found)
    again = read_configuration(found.output / "run.toml").options
    assert again["train"] == found.options["train"] and again["report"] == found.options["report"]


def test_a_record_that_somebody_edited_is_read_and_checked_as_any_configuration(tmp_path):
    (tmp_path / "c.toml").write_text(BOTH)
    made = read_configuration(tmp_path / "c.toml", output=tmp_path)
    write_record(made)
    path = tmp_path / "run.toml"
    assert read_record(tmp_path) == made
    text = path.read_text().replace("min-std = 6.0", "min-std = 7.0")
    path.write_text(text)
    assert read_record(tmp_path).options["extract"].min_std == 7
    write_record(read_configuration(path))
    assert path.read_text() == text
    path.write_text(text.replace("min-std = 7.0", "min-std = -1"))
    with pytest.raises(InputError, match=r"run.toml: \[extract\] min-std is -1, and must be"):
        read_record(tmp_path)


def test_a_record_in_folders_whose_names_have_line_ends_is_read_and_messages_stay_one_line(
    flyannot, own_chain, tmp_path
):
    data_set = tmp_path / "a\nb" / "em\nb"
    own_chain.embryos.rename(data_set.parent.mkdir() or data_set)
    line = "run --data-set D -o O --step extract"
    flyannot(line, code=0, D=data_set, O=tmp_path / "res\nults")
    flyannot("run C --step extract", code=0, C=tmp_path / "res\nults" / "run.toml")
    said = flyannot(line, code=2, D=tmp_path / "no\nwhere", O=tmp_path / "o")
    assert "no\\nwhere" in said.err and len(said.err.splitlines()) == 2


def test_a_configuration_that_is_no_record_is_not_replaced(flyannot, config):
    path = config.rename(config.with_name("run.toml"))
    text = path.read_text()
    check_error(flyannot(f"run C -o {path.parent}", C=path), 2, "both input and output")
    assert path.read_text() == text


def test_embryos_are_drawn_again_if_others_are_asked_for_and_stay_as_they_are_else(tmp_path):
    table = tmp_path / "embryos" / "annotations.csv"

    def drawn(n_genes=12):
        options = SynthesizeOptions(n_genes=n_genes, max_images=2, stage_range=["4-6"])
        return SynthesizeTask(tmp_path / "embryos", options, 2)

    assert drawn().stale_reason() == "it is not there yet"
    make(drawn())
    table.write_text(table.read_text() + "syn001,4-6,of my own\n")
    assert drawn().stale_reason() == "", "what somebody adds to the tables is kept"
    other = drawn(n_genes=13)
    assert other.stale_reason() == "these embryos were drawn with other options"
    make(other, force=True)
    assert (
        other.stale_reason() == "" and "syn013" in table.read_text() and "of my own" not in table.read_text()
    )


@pytest.mark.parametrize(("has_table", "stages"), [(True, "11-12"), (True, "4-6"), (False, "4-6")])
def test_pictures_alone_become_a_page_and_what_is_said_there_a_model(
    flyannot, chain, tmp_path, has_table, stages
):
    """With or without a table of images, and with or without suggestions of a supplied model."""
    pictures = tmp_path / "embryos"
    copytree(chain.embryos, pictures, ignore=ignore_patterns("*.csv" if not has_table else "annotations.csv"))
    for path in [] if has_table else (pictures / "images").glob("*_4-6_1.png"):
        path.rename(pictures / path.name)
    select = f'[extract]\nstride-px = 32\n[select]\nstage-range = "{stages}"\n'
    config = write_configuration(tmp_path, images=select)
    out = tmp_path / "results"
    suggests = ["annotate"] if stages == "4-6" else []  # of which a supplied model knows terms
    lacks = ", ".join(step for step in ("train", "evaluate", "annotate") if step not in suggests)
    left_out = f"{pictures} has no annotations.csv; left out: {lacks}."
    assert left_out in flyannot("run C --dry-run", C=config, code=0).err and not out.exists()
    note = flyannot("run C", C=config, code=0).err.splitlines()[-1]
    assert left_out in note and note.endswith(f"run {out / 'run.toml'} --corrections corrections.csv")
    assert "everything is up to date" in flyannot("run C --dry-run", C=config, code=0).err

    def states():
        steps = json.loads(flyannot("status O --json", O=out, code=0).out)["steps"]
        return {step["state"] for step in steps}, [step["step"] for step in steps]

    before, after = ["extract", "learn-dict", "pool"], ["train", "evaluate", "annotate", "report"]
    assert states() == ({"done"}, [*before, *suggests, "report"])
    assert (out / "predictions.h5").exists() == bool(suggests)
    if suggests:
        stored = open_stored_file(out / "predictions.h5")
        assert len(stored.read_array("4-6", "term")) == 31, "suggestions of the supplied model"
    tested = "held-out answers of the model"
    measured = f"{tested} on drawn patterns of 553 genes<"
    assert (measured in (out / "report.html").read_text()) == bool(suggests)
    flyannot("workflow C -o W", C=config, W=tmp_path / "Snakefile", code=0)
    steps = re.findall(r"'(\S+)': \{", (tmp_path / "Snakefile").read_text())
    assert steps == [*before, *suggests]

    def genes_of_page():
        return [group["gene"] for group in index_of((out / "report.html").read_text())["groups"]]

    genes = genes_of_page()
    assert len(genes) == len(set(genes)) == 24
    verdicts = ["accept"] * 5 + ["reject"] * 4
    rows = [[gene, stages, "pole cell", v, "2026-01-02"] for gene, v in zip(genes, verdicts)]
    table = tmp_path / "corrections.csv"
    names = ["gene", "stage_range", "term", "verdict", "date"]
    for wrong, why in ((rows[:5], "is known to be absent"), (rows[1:], "at most 4 groups")):
        write_table(table, names, wrong)
        line = "run C --set train.min-groups=5 --corrections T"
        assert why in flyannot(line, C=config, T=table, code=2).err
    write_table(table, names, rows)
    flyannot("run R --corrections T", R=out / "run.toml", T=table, code=0)
    stored = open_stored_file(out / "predictions.h5")
    n_terms = 31 if suggests else 1  # the supplied model is adapted, otherwise a model is trained
    terms = list(stored.read_array(stages, "term"))
    assert len(terms) == n_terms and "pole cell" in terms and genes_of_page() == genes
    assert (f"{tested}<" in (out / "report.html").read_text()) == bool(suggests), "also of an adapted model"
    before = [step for step in before if not (suggests and step == "learn-dict")]
    assert states() == ({"done"}, before + after), "the record has the corrections"
    if not has_table:  # predictions of another model are taken, and a picture that these lack is on the page
        words = {"M": chain.model, "P": pictures, "O": out / "predictions.h5"}
        flyannot("annotate M P --stage-range 4-6 -o O --force", **words, code=0)
        copy(pictures / "syn001_4-6_1.png", pictures / "another.png")
        flyannot("run C", C=config, code=0)
        assert len(index_of((out / "report.html").read_text())["terms"]) > 1
        assert sorted(genes_of_page()) == sorted([*genes, "another"])


def test_verdicts_are_the_last_word_where_too_few_are_there_to_learn_from(flyannot, chain, tmp_path):
    copytree(chain.embryos, tmp_path / "embryos", ignore=ignore_patterns("annotations.csv"))
    rows = [("syn001", "4-6", "pole cell", "accept"), ("syn002", "4-6", "pole cell", "reject")]
    write_table(
        tmp_path / "c.csv",
        ["gene", "stage_range", "term", "verdict", "date"],
        [(*r, "2026-11-30") for r in rows],
    )
    line = "run --data-set E -o O --set select.stage-range=4-6 --set extract.stride-px=32 --corrections C"
    words = {"E": tmp_path / "embryos", "O": tmp_path / "out", "C": tmp_path / "c.csv"}
    assert "no term can be learned" in flyannot(line, **words, code=0).err
    predicted = rows_of_csv(tmp_path / "out" / "predictions.csv")
    found = [
        (row["gene"], row["stage_range"], row["term"], row["curated"]) for row in predicted if row["curated"]
    ]
    assert found == [(*rows[0][:3], "yes"), (*rows[1][:3], "no")]
    assert "everything is up to date" in flyannot(line, **words, code=0).err


def test_the_demo_lies_in_the_working_folder_or_where_it_is_asked_for(flyannot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "would write demo-output" in flyannot("run --demo --dry-run").err
    assert f"would write {Path('mine', 'embryos')}" in flyannot("run --demo --dry-run -o mine").err

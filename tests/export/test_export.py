"""Every format is read back by the tool it is for, and says what the file says."""

import csv
import html.parser
import importlib
import json
import sys

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from flyannot.dataset.importers.atoms import as_rows, atoms_by_stage_range, check_norms, read_arrays
from flyannot.errors import DataError, InputError
from flyannot.export.files import export
from flyannot.export.formats import EXPORTS, FORMATS
from flyannot.features.groups import Groups
from flyannot.store.dictionary import read_dictionary
from flyannot.store.features import read_features
from flyannot.store.header import Header
from flyannot.store.image_columns import IMAGE_COLUMNS
from flyannot.store.predictions import Predicted, read_predictions, write_predictions
from flyannot.store.reading import open_stored
from flyannot.store.writing import create

HOSTILE = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "<script>alert(1)</script>", 'a,"b"; c', "-5"]


@pytest.fixture(scope="module")
def exported(chain, tmp_path_factory):
    """Export one of the chain's files once; the path."""
    folder = tmp_path_factory.mktemp("exported")

    def run(kind, to, stage_range=None):
        out = folder / f"{kind}-{stage_range}.{to}"
        if not out.exists():
            chosen = [stage_range] if stage_range else []
            export(chain.kinds[kind], to, out, stage_ranges=chosen)
        return out

    return run


@pytest.fixture(scope="module")
def said(chain):
    """Everything the predictions say: (stage range, gene, fbgn, group, term) -> (probability, value, yes)."""
    found = {}
    with open_stored(chain.predictions) as stored:
        for s in stored.stage_ranges:
            groups, p = read_predictions(stored, s)
            for g, who in enumerate(zip(groups.gene, groups.fbgn, groups.name)):
                for j, term in enumerate(p.terms):
                    key = (s, *who, term)
                    found[key] = p.probability[g, j], p.decision_value[g, j], bool(p.yes[g, j])
    assert len({key[0] for key in found}) > 1
    return found


@pytest.mark.parametrize(("to", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_a_table_has_a_row_for_every_group_and_term(exported, said, to, delimiter):
    with open(exported("predictions", to), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter=delimiter))
    assert len(rows) == len(said)
    for row in rows:
        key = tuple(row[name] for name in ("stage_range", "gene", "fbgn", "group", "term"))
        probability, value, yes = said[key]
        assert np.isclose(float(row["probability"]), probability, rtol=1e-8)
        assert np.isclose(float(row["decision_value"]), value, rtol=1e-8)
        assert row["answer"] == ("yes" if yes else "no")


def test_json_says_all_of_it(exported, said, chain):
    document = json.loads(exported("predictions", "json").read_text(encoding="utf-8"))
    found = {
        (s, group["gene"], group["fbgn"], group["group"], one["term"]): (
            one["probability"],
            one["decision_value"],
            one["yes"],
        )
        for s, part in document["stage_ranges"].items()
        for group in part["groups"]
        for one in group["predictions"]
    }
    assert found == said
    n_images = sum(len(g["images"]) for part in document["stage_ranges"].values() for g in part["groups"])
    with open_stored(chain.predictions) as stored:
        assert document["digest"] == stored.digest
        assert n_images == sum(len(stored.array(s, "image")) for s in stored.stage_ranges)


def test_omero_gets_types_names_and_a_row_for_every_image_and_term(exported, said, chain):
    """The rules are those of the README of omero-metadata, whose library needs an OMERO server."""
    with open(exported("predictions", "omero-csv"), newline="", encoding="utf-8") as file:
        first = file.readline()
        assert first.startswith("# header ")
        types = first.removeprefix("# header ").strip().split(",")
        rows = list(csv.DictReader(file))
    assert len(types) == len(rows[0]) and set(types) <= set("slbd")
    assert all(" " not in name for name in rows[0] if name != "Image Name")
    read = {"s": str, "d": float, "b": {"True": True, "False": False}.__getitem__}
    with open_stored(chain.predictions) as stored:
        n_expected = sum(
            len(stored.array(s, "image")) * len(stored.array(s, "term")) for s in stored.stage_ranges
        )
        names = {name.rpartition("/")[2] for s in stored.stage_ranges for name in stored.array(s, "image")}
    assert len(rows) == n_expected and {row["Image Name"] for row in rows} == names
    for row in rows:
        values = {name: read[t](text) for (name, text), t in zip(row.items(), types)}
        (probability,) = {p for key, (p, _, yes) in said.items()
                          if (key[0], key[1], key[4]) == (row["Stage_Range"], row["Gene"], row["Term"])
                          and yes == values["Yes"]}  # fmt: skip
        assert np.isclose(values["Probability"], probability)


class Page(html.parser.HTMLParser):
    """Texts and tags of a page; every tag that is opened must be closed."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.texts.append(text)


def test_the_page_is_well_formed_and_loads_nothing(exported, said):
    page = Page()
    page.feed(exported("predictions", "html").read_text(encoding="utf-8"))
    assert not page.open
    assert not any({"src", "href"} & set(attrs) or tag == "script" for tag, attrs in page.tags)
    for (*_, term), (_, _, yes) in said.items():
        assert not yes or term in page.texts


@pytest.fixture
def hostile(tmp_path):
    """Predictions whose names and terms are formulas and mark-up."""
    columns = {name: [""] for name in IMAGE_COLUMNS}
    columns |= {"image": [HOSTILE[0]], "gene": [HOSTILE[1]], "group": [HOSTILE[4]]}
    one = np.full((1, len(HOSTILE)), -0.25)
    predicted = Predicted(HOSTILE, one, 1 + one, one < 0, np.zeros(1, bool))
    groups = Groups([HOSTILE[4]], [HOSTILE[1]], [""], [np.arange(1)])
    with create(tmp_path / "hostile.h5", Header("predictions", {}, {})) as file:
        write_predictions(file, "4-6", columns, groups, predicted)
    return tmp_path / "hostile.h5"


@pytest.mark.parametrize("to", ["csv", "tsv", "omero-csv"])
def test_no_cell_is_a_formula_and_numbers_stay_numbers(hostile, tmp_path, to):
    export(hostile, to, tmp_path / "out")
    with open(tmp_path / "out", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t" if to == "tsv" else ","))[1 + (to == "omero-csv") :]
    cells = {cell for row in rows for cell in row}
    assert (
        len(rows) == len(HOSTILE) and "-0.25" in cells and "-5" in cells
    )  # -5 is a number, whatever it names
    for cell in cells - {"-0.25", "-5"}:
        assert cell[:1] not in tuple("=+-@\t\r")
    assert {"'" + text for text in HOSTILE[:4]} <= cells


def test_mark_up_in_names_is_text_on_the_page(hostile, tmp_path):
    export(hostile, "html", tmp_path / "out.html")
    page = Page()
    page.feed((tmp_path / "out.html").read_text())
    assert "script" not in dict(page.tags) and HOSTILE[4] in page.texts


def test_parquet_opens_in_pyarrow(exported, said, chain):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install 'flyannot[parquet]'")
    rows = parquet.read_table(exported("predictions", "parquet")).to_pylist()
    found = {
        tuple(row[n] for n in ("stage_range", "gene", "fbgn", "group", "term")): (
            row["probability"],
            row["decision_value"],
            row["answer"] == "yes",
        )
        for row in rows
    }
    assert found == said
    table = parquet.read_table(exported("features", "parquet"))
    with open_stored(chain.features) as stored:
        _, features, _ = read_features([stored], stored.stage_ranges[0])
        assert table.schema.metadata[b"flyannot_digest"].decode() == stored.digest
    assert np.array_equal(np.array(table["features"].to_pylist()[: len(features)], "f4"), features)


def test_anndata_has_terms_probabilities_and_genes_in_their_places(exported, said, chain):
    anndata = pytest.importorskip("anndata", reason="pip install 'flyannot[anndata]'")
    found = anndata.read_h5ad(exported("predictions", "anndata"))
    assert found.obs_names.is_unique and found.var_names.is_unique
    assert set(found.var_names) == {key[4] for key in said}
    n_said = 0
    for i, row in enumerate(found.obs.itertuples()):
        for j, term in enumerate(found.var_names):
            probability, value, yes = said.get(
                (row.stage_range, row.gene, row.fbgn, row.group, term), (np.nan, np.nan, np.nan)
            )
            n_said += yes == yes
            layers = [found.X[i, j], found.layers["decision_value"][i, j], found.layers["yes"][i, j]]
            assert np.array_equal(layers, [probability, value, yes], equal_nan=True)
    assert n_said == len(said)
    features = anndata.read_h5ad(exported("features", "anndata"))
    with open_stored(chain.features) as stored:
        columns, expected, _ = read_features([stored], stored.stage_ranges[-1])
    assert np.array_equal(features.X[-len(expected) :], expected)
    assert features.obs["gene"].tolist()[-len(expected) :] == columns["gene"]


def test_a_missing_package_is_one_line_with_the_command(chain, tmp_path, monkeypatch, flyannot):
    for name in ("pyarrow", "pyarrow.parquet", "anndata"):
        monkeypatch.setitem(sys.modules, name, None)
    for to in ("parquet", "anndata"):
        said = flyannot("export P --to TO -o OUT", P=chain.predictions, TO=to, OUT=tmp_path / "out")
        assert said.code == 2 and f"pip install 'flyannot[{to}]'" in said.err and said.err.count("\n") == 2
        assert not list(tmp_path.iterdir())


def test_features_come_back_from_csv_and_npz(exported, chain):
    with open(exported("features", "csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    arrays = np.load(exported("features", "npz"), allow_pickle=False)
    with arrays, open_stored(chain.features) as stored:
        for s in stored.stage_ranges:
            columns, features, _ = read_features([stored], s)
            assert np.array_equal(arrays[f"{s}/features"], features)
            assert arrays[f"{s}/gene"].tolist() == columns["gene"]
            here = [row for row in rows if row["stage_range"] == s]
            assert [row["image"] for row in here] == columns["image"]
            read = [[float(row[f"f{i}"]) for i in range(features.shape[1])] for row in here]
            assert np.array_equal(np.array(read, "f4"), features)


def test_atoms_come_back_from_every_format(exported, chain):
    with open_stored(chain.dictionary) as stored:
        D = {s: read_dictionary(stored, s) for s in stored.stage_ranges}
    assert np.array_equal(np.load(exported("dictionary", "npy", "4-6"), allow_pickle=False), D["4-6"])
    with np.load(exported("dictionary", "npz"), allow_pickle=False) as arrays:
        assert all(np.array_equal(arrays[s], D[s]) for s in D)
    matlab = loadmat(exported("dictionary", "mat"))
    assert all(np.array_equal(matlab["D_" + s.replace("-", "_")].T.astype("f4"), D[s]) for s in D)
    with open(exported("dictionary", "csv"), newline="") as file:
        _, *rows = csv.reader(file)
    for s in D:
        assert np.array_equal(np.array([row[2:] for row in rows if row[0] == s], "f4"), D[s])


def test_what_cannot_be_exported_is_refused_with_the_choice(chain, tmp_path, flyannot):
    refusals = (
        ("model", "csv", "nothing exports"),
        ("predictions", "npy", "choose --to from csv, tsv"),
        ("dictionary", "npy", "choose one with --stage-range"),
    )
    for kind, to, why in refusals:
        said = flyannot("export P --to TO -o OUT", P=chain.kinds[kind], TO=to, OUT=tmp_path / "out")
        assert said.code == 2 and why in said.err and not (tmp_path / "out").exists()
    (tmp_path / "out").write_text("mine")
    line, named = "export P --to csv -o OUT", {"P": chain.predictions, "OUT": tmp_path / "out"}
    assert flyannot(line, **named).code == 2 and (tmp_path / "out").read_text() == "mine"
    assert flyannot(line + " --force", **named).code == 0
    assert flyannot(line + " --stage-range 1-3", P=chain.predictions, OUT=tmp_path / "b").code == 65
    before = chain.predictions.read_bytes()
    assert flyannot(line + " --force", P=chain.predictions, OUT=chain.predictions).code == 2
    assert chain.predictions.read_bytes() == before


def test_the_same_file_gives_the_same_bytes(exported, chain, tmp_path):
    for kind, formats in EXPORTS.items():
        for to in set(formats) - {"anndata", "mat", "parquet"}:  # theirs is not ours to promise
            stage_range = "4-6" if to == "npy" else None
            export(
                chain.kinds[kind], to, tmp_path / f"{kind}{to}", stage_ranges=["4-6"] if stage_range else []
            )
            assert (tmp_path / f"{kind}{to}").read_bytes() == exported(kind, to, stage_range).read_bytes()


def test_every_format_of_the_table_is_there():
    for formats in EXPORTS.values():
        for module, function in formats.values():
            assert callable(getattr(importlib.import_module(f"flyannot.export.{module}"), function))
    assert len(FORMATS) == len(set(FORMATS))


@pytest.mark.parametrize("to", ["npz", "mat"])
def test_exported_atoms_come_in_again_and_give_the_same_features(exported, chain, tmp_path, flyannot, to):
    named = {"A": exported("dictionary", to), "X": chain.descriptors, "D": tmp_path / "d.h5"}
    with open_stored(chain.dictionary) as stored:
        lam, expected = stored.options["lam"], read_dictionary(stored, "4-6")
    made = flyannot(f"import dictionary A --descriptors X -o D --lam {lam!r}", **named)
    assert made.code == 0 and f"which were the {'columns' if to == 'mat' else 'rows'}" in made.err
    with open_stored(tmp_path / "d.h5", "dictionary") as stored:
        assert np.array_equal(read_dictionary(stored, "4-6"), expected)
    assert flyannot("pool X D -o F --grid 1x2 --jobs 1", F=tmp_path / "f.h5", **named).code == 0
    with open_stored(tmp_path / "f.h5") as ours, open_stored(chain.features) as theirs:
        for s in theirs.stage_ranges:
            assert np.array_equal(ours.array(s, "features"), theirs.array(s, "features"))
    assert flyannot("verify D", **named).code == 0 and flyannot("show D", **named).code == 0


def test_the_shape_says_where_the_atoms_are_unless_both_fit(rng):
    D = rng.normal(size=(5, 8)).astype("f4")
    for matrix, layout in ((D, "rows"), (D.T, "columns")):
        atoms, found = as_rows(matrix, 8)
        assert np.array_equal(atoms, D) and found == layout
    square = rng.normal(size=(8, 8)).astype("f4")
    with pytest.raises(InputError, match="rows or columns"):
        as_rows(square, 8)
    assert np.array_equal(as_rows(square, 8, atoms_in="columns")[0], square.T)
    for matrix, layout in ((D[:, 1:], None), (D, "columns"), (np.where(D > 1, np.nan, D), None)):
        with pytest.raises(DataError):
            as_rows(matrix, 8, atoms_in=layout)
    with pytest.raises(DataError, match="norm above 1") as caught:
        check_norms(D * 100)
    assert "--scale" in caught.value.fix


def test_which_array_is_meant_is_never_guessed(tmp_path, rng):
    one, two = rng.normal(size=(2, 4, 8))
    np.savez(tmp_path / "a.npz", first=one, second=two, text=np.array(["x"]))
    arrays = read_arrays(tmp_path / "a.npz")
    with pytest.raises(InputError, match="first, second"):
        atoms_by_stage_range(arrays, ["4-6"])
    assert atoms_by_stage_range(arrays, ["4-6"], variable="second")["4-6"][1] is arrays["second"]
    savemat(tmp_path / "b.mat", {"D": one, "other": two})
    assert np.array_equal(atoms_by_stage_range(read_arrays(tmp_path / "b.mat"), ["1-3"])["1-3"][1], one)
    with pytest.raises(InputError, match="no array for stage range 1-3"):
        atoms_by_stage_range({"4-6": one}, ["1-3", "4-6"])


def test_files_that_are_no_matrix_are_refused(tmp_path, monkeypatch):
    np.savez(tmp_path / "text.npz", a=np.array(["x"]))
    np.save(tmp_path / "pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "pickled.npy").read_bytes()[:20])
    (tmp_path / "junk.mat").write_bytes(b"MATLAB 7.3 MAT-file" + bytes(200))
    (tmp_path / "junk.npz").write_bytes(b"PK\x03\x04")
    for name in ("text.npz", "pickled.npy", "cut.npy", "junk.mat", "junk.npz"):
        with pytest.raises(DataError):
            read_arrays(tmp_path / name)
    (tmp_path / "a.txt").touch()
    for name in ("absent.npy", "a.txt"):
        with pytest.raises(InputError):
            read_arrays(tmp_path / name)
    np.savez_compressed(tmp_path / "big.npz", D=np.zeros((100, 100)))
    monkeypatch.setattr("flyannot.dataset.importers.atoms._MOST_BYTES", 1000)
    with pytest.raises(DataError, match="would take"):
        read_arrays(tmp_path / "big.npz")

"""Vectors of another program do all that ours do."""

import json

import numpy as np
import pytest

from flyannot.store.features import read_features
from flyannot.store.reading import open_stored

_OPTIONS = "--min-groups 6 --method ridge"


@pytest.fixture(scope="module")
def vectors(chain):
    """What a network would give: here the features of the chain, shuffled as any table may be."""
    columns, rows, ranges = {}, [], []
    with open_stored(chain.features) as stored:
        for s in stored.stage_ranges:
            found, X = read_features([stored], s)
            for name, values in found.items():
                columns.setdefault(name, []).extend(values)
            rows.append(X)
            ranges += [s] * len(X)
    order = np.random.default_rng(0).permutation(len(ranges))
    table = {name: np.array(columns[name])[order] for name in ("image", "gene", "fbgn", "view")}
    return table | {"stage_range": np.array(ranges)[order], "vector": np.concatenate(rows)[order]}


@pytest.fixture
def imported(flyannot, vectors, tmp_path):
    np.savez(tmp_path / "network.npz", **vectors)
    said = flyannot("import features T -o F", T=tmp_path / "network.npz", F=tmp_path / "features.h5")
    assert said.code == 0, said.err
    return tmp_path / "features.h5"


def test_the_vectors_are_those_of_the_table_in_the_order_of_images(imported, chain):
    with open_stored(imported) as mine, open_stored(chain.features) as ours:
        for s in ours.stage_ranges:
            (columns, X), (expected, Y) = read_features([mine], s), read_features([ours], s)
            assert columns["image"] == expected["image"] and columns["gene"] == expected["gene"]
            assert np.array_equal(X, Y)


def test_every_format_makes_the_same_file(flyannot, vectors, imported, tmp_path):
    anndata, pandas = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    frame = pandas.DataFrame({n: list(v) for n, v in vectors.items() if n != "vector"})
    frame.assign(vector=list(vectors["vector"])).to_parquet(tmp_path / "network.parquet")
    obs = frame.drop(columns="image").set_index(pandas.Index(frame["image"].astype(object)))
    anndata.AnnData(vectors["vector"], obs=obs).write_h5ad(tmp_path / "network.h5ad")
    for kind in ("parquet", "h5ad"):
        said = flyannot(f"import features {tmp_path}/network.{kind} -o {tmp_path}/{kind}.h5")
        assert said.code == 0, said.err
        with open_stored(imported) as mine, open_stored(tmp_path / f"{kind}.h5") as other:
            for s in mine.stage_ranges:
                np.testing.assert_equal(read_features([mine], s), read_features([other], s))


def test_they_are_evaluated_and_compared_as_ours_and_score_the_same(flyannot, imported, chain, tmp_path):
    for name, file in (("mine", imported), ("ours", chain.features)):
        said = flyannot(f"evaluate {file} A --folds 2 {_OPTIONS} --retrieval --json {tmp_path}/{name}.json",
                        A=chain.annotations)  # fmt: skip
        assert said.code == 0, said.err
    mine, ours = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("mine", "ours"))
    assert mine["terms"] == ours["terms"] and mine["retrieval"] == ours["retrieval"]
    said = flyannot(f"compare {tmp_path}/mine.json {tmp_path}/ours.json")
    assert said.code == 0, said.err


def test_they_train_annotate_and_are_reported_without_maps(flyannot, imported, chain, tmp_path):
    for line in (
        f"train features.h5 A -o model.h5 {_OPTIONS}",
        "annotate model.h5 features.h5 -o predictions.h5",
        f"evaluate features.h5 A --folds 2 {_OPTIONS} --json scores.json",
    ):
        words = " ".join(f"{tmp_path}/{w}" if w.endswith((".h5", ".json")) else w for w in line.split())
        said = flyannot(words, A=chain.annotations)
        assert said.code == 0, said.err
    for words in (f"show {tmp_path}/model.h5", f"verify {tmp_path}/features.h5 {tmp_path}/model.h5"):
        assert flyannot(words).code == 0
    said = flyannot(f"report {tmp_path} --data-set D", D=chain.embryos)
    assert said.code == 0, said.err
    page = (tmp_path / "report.html").read_text()
    assert "made by another program, and have no patches" in page and 'class="map"' not in page


def test_ours_are_annotated_from_features_as_from_pictures(flyannot, chain, tmp_path):
    said = flyannot("annotate M F -o O", M=chain.model, F=chain.features, O=tmp_path / "p.h5")
    assert said.code == 0, said.err
    assert (tmp_path / "p.csv").read_text() == chain.predictions.with_suffix(".csv").read_text()


def test_they_are_searched_by_image_and_gene_and_a_picture_is_refused_plainly(
    flyannot, imported, chain, tmp_path
):
    with open_stored(imported) as stored:
        image = stored.array("4-6", "image")[0]
    tables = []
    for number, file in enumerate((imported, chain.features)):
        said = flyannot("similar F I -o T", F=file, I=image, T=tmp_path / f"{number}.csv")
        assert said.code == 0, said.err
        tables.append((tmp_path / f"{number}.csv").read_text())
    assert tables[0] == tables[1]
    picture = next((chain.embryos / "images").glob("*_4-6_1.png"))
    copy = tmp_path / "new.png"
    copy.write_bytes(picture.read_bytes())
    for words in (f"similar F {copy} -o T --stage-range 4-6", f"similar F {image} -o T --force --pictures P"):
        said = flyannot(words, F=imported, T=tmp_path / "t.csv", P=tmp_path / "why")
        assert said.code == 2 and "imported" in said.err


def test_a_model_of_them_refuses_pictures(flyannot, imported, chain, tmp_path):
    assert (
        flyannot(f"train F A -o M {_OPTIONS}", F=imported, A=chain.annotations, M=tmp_path / "m.h5").code == 0
    )
    for command in ("annotate M D -o P", "explain M D"):
        said = flyannot(command, M=tmp_path / "m.h5", D=chain.embryos, P=tmp_path / "p.h5")
        assert said.code == 2 and "imported features" in said.err, said.err
    said = flyannot("annotate M F -o P", M=tmp_path / "m.h5", F=chain.features, P=tmp_path / "p.h5")
    assert said.code == 65 and "made in another way" in said.err


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda t: t.pop("gene"), 2, "has no gene"),
        (lambda t: t.pop("vector"), 2, "has no vector"),
        (lambda t: t.update(stage_range=np.array(["99"] * len(t["image"]))), 2, "99"),
        (lambda t: t.update(image=np.array(["a.png"] * len(t["image"]))), 2, "twice"),
        (lambda t: t.update(vector=t["vector"] * np.nan), 65, "finite numbers"),
        (lambda t: t.update(gene=t["gene"][1:]), 65, "of gene"),
        (lambda t: t.update(gene=np.array([{}] * len(t["image"]))), 65, "cannot be read"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused(flyannot, vectors, tmp_path, change, code, words):
    table = dict(vectors)
    change(table)
    np.savez(tmp_path / "t.npz", **table)
    said = flyannot("import features T -o F", T=tmp_path / "t.npz", F=tmp_path / "f.h5")
    assert said.code == code and words in said.err, said.err
    assert not (tmp_path / "f.h5").exists()

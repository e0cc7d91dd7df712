"""Files of other programs that claim much, point elsewhere or lie: refused in a line, or read as they are."""

import h5py
import numpy as np
import pytest
from scipy import sparse

from flyannot.dataset.importers.vectors import read_vectors
from flyannot.errors import DataError

N = 20
TABLE = {
    "image": [f"{i}.png" for i in range(N)],
    "gene": ["Dl", "ßeta"] * (N // 2),
    "stage_range": ["4-6"] * N,
}
VECTORS = sparse.random_array((N, 8), density=0.5, rng=np.random.default_rng(0)).astype("f4").tocsr()
FORMS = ["dense", "csr", "csc", "categories", "gzip"]


@pytest.fixture
def h5ad(tmp_path):
    """Write the table as anndata does in some form; the path."""

    def write(form):
        anndata, pandas = pytest.importorskip("anndata"), pytest.importorskip("pandas")
        obs = pandas.DataFrame(TABLE, index=TABLE["image"]).drop(columns="image")
        obs["group"] = pandas.Categorical(["é", None] * (N // 2))  # a missing one
        obs["view"] = pandas.array([7, None] * (N // 2), "Int64")
        if form == "categories":
            obs = obs.astype("category")
        X = {"csr": VECTORS, "csc": VECTORS.tocsc()}.get(form, VECTORS.toarray())
        path = tmp_path / f"{form}.h5ad"
        anndata.AnnData(X, obs=obs).write_h5ad(path, compression="gzip" if form == "gzip" else None)
        return path

    return write


@pytest.mark.parametrize("form", FORMS)
def test_an_h5ad_file_is_read_as_anndata_wrote_it(h5ad, form):
    read = read_vectors(h5ad(form))
    order = [read.columns["image"].index(name) for name in TABLE["image"]]
    assert np.array_equal(read.vectors[order], VECTORS.toarray())
    assert [read.columns["gene"][i] for i in order] == TABLE["gene"]
    rows = set(zip(*(read.columns[name] for name in ("gene", "group", "view"))))
    assert rows == {("Dl", "é", "7"), ("ßeta", "ßeta", "")}


def external(file):
    del file["X"]
    file.create_dataset("X", (N, 8), "u1", external=[("/etc/passwd", 0, N * 8)])


def linked(link):
    def change(file):
        file.move("X", "elsewhere")
        file["X"] = link

    return change


def claimed(file):
    del file["X"]
    file.create_dataset("X", (N, 10**10), "f4", chunks=(1, 10**6))


def changed(name, at, value):
    def change(file):
        file[name][at] = value

    return change


def of_shape(file):
    file["X"].attrs["shape"] = [N, 10**9]


def of_old(file):
    file["obs/gene"].attrs["categories"] = 1


@pytest.mark.parametrize(
    ("form", "change", "why"),
    [
        ("dense", external, "does not lie in the file"),
        ("dense", linked(h5py.ExternalLink("other.h5", "/X")), "a link out of the file"),
        ("dense", linked(h5py.SoftLink("/elsewhere")), "a link out of the file"),
        ("dense", claimed, "claims 800,000,000,000 bytes"),
        ("csr", changed("X/indices", 3, 10**8), "cannot be read"),
        ("csr", changed("X/indices", 3, -5), "cannot be read"),
        ("csr", changed("X/indptr", 5, 10**9), "cannot be read"),
        ("csr", changed("X/indptr", -1, 10**6), "cannot be read"),
        ("csr", of_shape, "would take"),
        ("dense", of_old, "before 0.8"),
        ("categories", changed("obs/gene/codes", 0, 100), "cannot be read"),
    ],
)
def test_an_h5ad_file_that_points_elsewhere_is_refused(h5ad, form, change, why):
    path = h5ad(form)
    with h5py.File(path, "a") as file:
        change(file)
    with pytest.raises(DataError, match=why) as caught:
        read_vectors(path)
    assert caught.value.fix and "\n" not in caught.value.message


def npz_bomb(path):
    """Zeros that unpack to a thousand times the size of the file."""
    np.savez_compressed(path, **TABLE, vector=np.zeros((N, 10**6), np.float32))


def parquet_bomb(path):
    """Twenty million rows of one value each, in some kilobytes."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    codes = arrow.array(np.zeros(20_000_000, np.int32))
    names = {name: arrow.DictionaryArray.from_arrays(codes, arrow.array(["4-6"])) for name in TABLE}
    parquet.write_table(arrow.table(names | {"vector": codes}), path, compression="zstd")


@pytest.mark.parametrize("write", [npz_bomb, parquet_bomb])
def test_a_file_that_unpacks_to_much_more_than_it_is_is_refused(write, tmp_path, flyannot):
    path = tmp_path / f"t.{write.__name__.split('_')[0]}"
    write(path)
    assert path.stat().st_size < 2**20
    said = flyannot("import features T -o O", code=65, T=path, O=tmp_path / "o.h5")
    assert "cannot be read: it would take" in said.err and not (tmp_path / "o.h5").exists()


X = VECTORS.toarray()
UNFIT = {  # column, exit code, words of the answer
    ("vector", None, ""): [X * 1j, np.full((N, 8), "1.5"), np.zeros((N, 8), "M8[s]"), np.zeros(N)],
    ("vector", 65, "finite numbers"): [X * np.nan],
    ("vector", 2, "has no vector"): [None],
    ("gene", None, ""): [np.array("x"), *(np.full(N, f"a{c}b") for c in "\n\x1b\x9b\ud800\udcff")],
    ("gene", 65, "of gene"): [np.full((N, 2), "x"), np.full(N - 1, "x")],
    ("gene", 65, "cannot be read"): [np.array([{}] * N)],
    ("gene", 2, "has no gene"): [None],
    ("stage_range", 2, "99"): [np.full(N, "99")],
    ("image", 2, "twice"): [np.full(N, "a.png"), ["a.png", "a.png", *TABLE["image"][2:]]],
    ("image", 2, "without a name"): [["", *TABLE["image"][1:]]],
}


@pytest.mark.parametrize(("unfit", "values"), [(unfit, v) for unfit, found in UNFIT.items() for v in found])
def test_what_is_no_vector_and_no_name_is_refused(unfit, values, tmp_path, flyannot):
    name, code, words = unfit
    columns = {**TABLE, "vector": X, name: values}
    np.savez(tmp_path / "t.npz", **{key: column for key, column in columns.items() if column is not None})
    said = flyannot("import features T -o O", code=code, T=tmp_path / "t.npz", O=tmp_path / "o.h5")
    assert said.code in (2, 65) and words in said.err and "unexpected" not in said.err
    assert not (tmp_path / "o.h5").exists()
    assert not set("\x1b\x9b") & set(said.err)


def test_rows_are_in_order_and_what_is_missing_is_empty(tmp_path):
    """An image may be in several stage ranges; numbers and bytes are names too."""
    gene, group = np.array([b"Dl", b"eve", b"Dl"]), np.array([np.nan, 2, np.nan])
    columns = {"image": ["b", "a", "b"], "gene": gene, "stage_range": ["4-6", "4-6", "1-3"], "group": group}
    np.savez(tmp_path / "t.npz", vector=[[3, 3], [2, 2], [1, 1]], **columns)
    read = read_vectors(tmp_path / "t.npz")
    assert read.stage_ranges == ["1-3", "4-6", "4-6"] and read.vectors[:, 0].tolist() == [1, 2, 3]
    columns, vectors = read.of_stage_range("4-6")
    rows = list(zip(*(columns[name] for name in ("image", "gene", "group", "view")), vectors[:, 1]))
    assert rows == [("a", "eve", "2.0", "", 2), ("b", "Dl", "Dl", "", 3)]

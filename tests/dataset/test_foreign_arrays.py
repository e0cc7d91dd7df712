"""Files of other programs that claim much or lie: refused in a line, or read as they are."""

import numpy as np
import pytest

from flyannot.dataset.importers.vectors import read_vectors

N = 20
TABLE = {"image": [f"{i}.png" for i in range(N)], "gene": ["Dl", "ßeta"] * (N // 2)}
TABLE |= {"stage_range": ["4-6"] * N}
X = np.random.default_rng(0).random((N, 8), np.float32)


def test_a_file_that_unpacks_to_much_more_than_it_is_is_refused(tmp_path, flyannot):
    path = tmp_path / "t.npz"
    np.savez_compressed(path, **TABLE, vector=np.zeros((N, 2 * 10**6), np.float32))
    said = flyannot("import features T -o O", code=65, T=path, O=tmp_path / "o.h5")
    assert "cannot be read: it would take" in said.err and not (tmp_path / "o.h5").exists()


UNFIT = {  # column, exit code, words of the answer
    ("vector", None, ""): [X * 1j, np.full((N, 8), "1.5"), np.zeros((N, 8), "M8[s]"), np.zeros(N)],
    ("vector", 65, "finite numbers"): [X * np.nan],
    ("vector", 2, "has no vector"): [None],
    ("gene", None, ""): [np.array("x"), *(np.full(N, f"a{c}b") for c in "\n\x1b\x9b\ud800\udcff")],
    ("gene", 65, "of gene"): [np.full((N, 2), "x"), np.full(N - 1, "x")],
    ("gene", 65, "cannot be read"): [np.array([{}] * N)],
    ("gene", 2, "has no gene"): [None],
    ("gene", 2, 'row 2: "#N/A" is not the name of a gene'): [["a", "#N/A", *TABLE["gene"][2:]]],
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
    assert list(read) == ["1-3", "4-6"] and read["1-3"][1].tolist() == [[1, 1]]
    columns, vectors = read["4-6"]
    rows = list(zip(*(columns[name] for name in ("image", "gene", "group", "view")), vectors[:, 1]))
    assert rows == [("a", "eve", "2.0", "", 2), ("b", "Dl", "Dl", "", 3)]

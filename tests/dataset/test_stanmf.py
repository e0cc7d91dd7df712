"""The archive of staNMF: R's names lead back to genes, and pixels to their places."""

import gzip
import io
import tarfile

import numpy as np
import pytest

from flyannot.dataset.folder import read_annotations, read_images
from flyannot.dataset.importers.genes import Genes, UnclearGene
from flyannot.dataset.importers.patterns import read_patterns
from flyannot.dataset.importers.stanmf import (
    NAME_IN_ARCHIVE,
    UNKNOWN_GENE,
    RNames,
    ellipse_mask,
    make_name,
    read_stanmf,
)
from flyannot.dataset.importers.wu2016 import Wu2016Options, import_wu2016
from flyannot.errors import DataError, InputError

GENES = """fbgn,gene,cg,stage_range,term
FBgn0000015,Abd-B,CG11648,4-6,gap
FBgn0000015,Abd-B,CG11648,4-6,gap
FBgn0000015,Abd-B,CG11648,7-8,later
FBgn0004618,18w,CG8896,4-6,subset
FBgn0000463,Dl,CG3619,4-6,subset
FBgn0000462,dl,CG6667,4-6,pair rule
FBgn0028999,nerfin-1,CG13906,4-6,gap
FBgn0000721,for,CG10033,4-6,gap
FBgn0000011,x-1,CG11,4-6,gap
FBgn0000012,x,CG12,4-6,gap
FBgn0000013,y-z,CG13,4-6,gap
FBgn0000014,y(z,CG14,4-6,gap
"""
FOUND = {"Abd.B": "15", "Abd.B.1": "15", "X18w": "4618", "Dl": "463", "dl": "462", "nerfin.1": "28999",
         "nerfin.1.1": "28999", "for.": "721", "CG13906": "28999", "x": "12", "x.2": "12"}  # fmt: skip
LOST = ["x.1", "y.z", "unheard", "abd.b", "DL"]


@pytest.mark.parametrize(
    ("symbol", "name"),
    [("Abd-B", "Abd.B"), ("18w", "X18w"), ("E(spl)m7-HLH", "E.spl.m7.HLH"), ("for", "for."),
     ("NK7.1", "NK7.1"), ("", "X"),
     (".5x", "X.5x"), (".x", ".x"), ("_x", "X_x"), ("26-29-p", "X26.29.p"), ("NA", "NA.")],
)  # fmt: skip
def test_a_symbol_becomes_what_r_makes_of_it(symbol, name):
    assert make_name(symbol) == name


def csv_of(columns, n_pixels=405, rng=None):
    """A table as the archive's, and its patterns."""
    rng = rng or np.random.default_rng(1)
    patterns = rng.random((len(columns), n_pixels)).round(4)
    lines = [",".join(f'"{name}"' for name in ["", *columns])]
    lines += [f'"{i}",' + ",".join(map(str, row)) for i, row in enumerate(patterns.T, start=1)]
    return "\n".join(lines).encode(), patterns


@pytest.fixture
def genes_table(tmp_path):
    (tmp_path / "genes.csv.gz").write_bytes(gzip.compress(GENES.encode()))
    return tmp_path / "genes.csv.gz"


@pytest.mark.parametrize("packed", ["csv", "gz", "tar"])
def test_every_column_is_taken_for_its_gene_or_rejected(tmp_path, genes_table, packed):
    raw, patterns = csv_of([*FOUND, *LOST])
    path = tmp_path / "source"
    path.write_bytes(gzip.compress(raw) if packed == "gz" else raw)
    if packed == "tar":
        with tarfile.open(path, "w:gz") as archive:
            member = tarfile.TarInfo(f"staNMF-1.1/staNMF/data/{NAME_IN_ARCHIVE}")
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))
    arrays, log = read_stanmf(path, genes_table)
    assert [int(fbgn.removeprefix("FBgn")) for fbgn in arrays["fbgn"]] == [int(n) for n in FOUND.values()]
    assert np.allclose(arrays["patterns"], patterns[: len(FOUND)])
    assert arrays["image_id"].tolist()[:2] == ["wu0001", "wu0002"]
    assert [one.item for one in log.rejected] == LOST
    assert log.reasons["images"][UNKNOWN_GENE] == 3
    assert "FBgn0000011 or FBgn0000012" in log.rejected[0].detail


def test_a_repetition_is_one_only_beside_what_it_repeats():
    genes = Genes()
    genes.add("FBgn0000001", "a-1")
    genes.add("FBgn0000002", "b")
    assert RNames(genes, ["a.1"]).gene_of("a.1").fbgn == "FBgn0000001"
    assert RNames(genes, ["b.1"]).gene_of("b.1") is None  # b itself is no column: not R's numbering
    genes.add("FBgn0000003", "a")
    assert RNames(genes, ["a.1"]).gene_of("a.1").fbgn == "FBgn0000001"
    with pytest.raises(UnclearGene):
        RNames(genes, ["a", "a.1"]).gene_of("a.1")


def test_the_folder_shows_the_patterns_with_their_terms(tmp_path, genes_table, flyannot):
    raw, _ = csv_of(["unheard", "Abd.B", "dl"])
    (tmp_path / "wu.csv").write_bytes(raw)
    named = {"IN": tmp_path / "wu.csv", "G": genes_table, "OUT": tmp_path / "set"}
    said = flyannot("import wu2016 IN --genes G -o OUT", **named)
    assert said.code == 0 and "1  rejected: no gene of this name" in said.out
    images, terms = read_images(tmp_path / "set"), read_annotations(tmp_path / "set")
    assert [(image.path.stem, image.gene) for image in images] == [("wu0002", "Abd-B"), ("wu0003", "dl")]
    assert terms.terms_of("Abd-B", "4-6", "FBgn0000015") == {"gap"}
    assert terms.counts("7-8") == {} and terms.counts("4-6").total() == 2
    assert "unheard" in (tmp_path / "set" / "rejected.csv").read_text()


def test_the_mask_is_filled_column_by_column():
    assert ellipse_mask().sum() == 405 and ellipse_mask()[0].nonzero()[0].tolist() == list(range(10, 22))
    assert [int(column.sum()) for column in ellipse_mask().T[:3]] == [4, 7, 9]  # the head is narrow


def test_what_is_no_such_table_is_refused(tmp_path, genes_table):
    raw, _ = csv_of(["Dl"])
    lines = raw.split(b"\n")
    path = tmp_path / "wu.csv"
    for bad in (
        b"", b"\xff\xfe", b"\n".join(lines[:-1]), raw.replace(b"0.", b"7.", 1), raw.replace(b"0.", b"x.", 1),
        raw.replace(lines[5], lines[5] + b",0.5"), gzip.compress(raw)[:-20],
    ):  # fmt: skip
        path.write_bytes(bad)
        with pytest.raises((DataError, InputError)) as caught:
            import_wu2016([path], tmp_path / "set", Wu2016Options(genes=genes_table))
        assert caught.value.fix and not (tmp_path / "set").exists()
    path.write_bytes(raw)
    with pytest.raises(InputError, match="which genes"):
        import_wu2016([path], tmp_path / "set", Wu2016Options())
    path.write_bytes(raw.replace(b"Dl", b"qq"))
    with pytest.raises(InputError, match="knows none"):
        import_wu2016([path], tmp_path / "set", Wu2016Options(genes=genes_table))


def test_the_mask_is_that_of_the_published_npz(shared_data):
    assert (read_patterns(shared_data / "wu2016" / "patterns.npz")["mask"] == ellipse_mask()).all()

"""Tests of `flyannot similar`."""

import shutil

import pytest
from PIL import Image as Picture

from flyannot.dataset.folder import read_annotations, read_images
from flyannot.encode.groups import group_images
from flyannot.encode.similarity import build_image_index
from flyannot.files.hdf5.features import read_features
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.results.similar import COLUMNS
from tests.small_embryos import rows_of_csv


@pytest.fixture
def asked(flyannot, chain, tmp_path):
    """Return a function of queries and further words of the command that returns the rows of the table."""

    def ask(*queries, file=chain.features, more=""):
        out = tmp_path / "similar.csv"
        named = {f"Q{i}": query for i, query in enumerate(queries)}
        flyannot(f"similar F {' '.join(named)} -o T --force {more}", F=file, T=out, **named, code=0)
        return rows_of_csv(out)

    return ask


@pytest.fixture
def image(chain):
    """Return an image in stage range 4-6 of a gene with several images."""
    images = [one for one in read_images(chain.embryos) if one.stage_range == "4-6"]
    return next(one for one in images if sum(other.gene == one.gene for other in images) > 1)


def test_an_image_finds_others_of_its_stage_range_and_never_itself(asked, chain, image):
    rows = asked(image.name, more=f"--top 5 --data-set {chain.embryos}")
    assert list(rows[0]) == list(COLUMNS)
    assert {row["stage_range"] for row in rows} == {"4-6"}
    assert [row["rank"] for row in rows] == ["1", "2", "3", "4", "5"] * 2
    of_genes, of_images = rows[:5], rows[5:]
    curated = read_annotations(chain.embryos)
    given = [curated.terms_of(row["gene"], "4-6", row["fbgn"]) or () for row in rows]
    assert any(given) and [row["terms"] for row in rows] == ["; ".join(sorted(terms)) for terms in given]
    assert image.gene not in {row["gene"] for row in of_genes}
    assert image.name not in {row["image"] for row in of_images}
    for found in (of_genes, of_images):
        values = [float(row["similarity"]) for row in found]
        assert values == sorted(values, reverse=True)


def test_the_similarity_in_the_table_is_that_of_the_features(asked, chain, image):
    rows = asked(image.name)
    stored = open_stored_file(chain.features)
    columns, features = read_features([stored], "4-6")
    found = build_image_index(lambda: [features], group_images(columns))
    values = found.images @ found.images[columns["image"].index(image.name)]
    for row in rows:
        if row["of"] == "image":
            assert float(row["similarity"]) == pytest.approx(
                values[columns["image"].index(row["image"])], abs=1e-3
            )


def test_a_gene_is_asked_for_in_every_stage_range_or_in_one(asked, image):
    assert {row["stage_range"] for row in asked(image.gene)} == {"4-6", "11-12"}
    assert {row["stage_range"] for row in asked(image.gene, more="--stage-range 11-12")} == {"11-12"}
    assert image.gene not in {row["gene"] for row in asked(image.gene)}


def test_a_picture_is_recognised_wherever_it_lies(asked, image, tmp_path):
    for compress_level in (3, 9):  # other bytes: a new picture
        Picture.open(image.file).save(tmp_path / "new.png", compress_level=compress_level)
        best = next(
            row for row in asked(tmp_path / "new.png", more="--stage-range 4-6") if row["of"] == "image"
        )
        assert best["image"] == image.name and float(best["similarity"]) > 0.999
    copy = shutil.copy(image.file, tmp_path / "copy.png")  # the same bytes: this image of the file
    assert asked(copy) == [row | {"query": str(copy)} for row in asked(image.name)]


def test_genes_are_listed_that_certainly_lack_or_have_a_term(asked, chain, image):
    curated = read_annotations(chain.embryos)
    everyone = [row for row in asked(image.gene, more="--stage-range 4-6 --top 1000") if row["of"] == "gene"]
    terms_of = {row["gene"]: curated.terms_of(row["gene"], "4-6", row["fbgn"]) for row in everyone}
    term = min(curated.counts("4-6"))
    for option, is_given in (("has", True), ("lacks", False)):
        more = f'--stage-range 4-6 --top 1000 --data-set {chain.embryos} --{option} "{term}"'
        rows = asked(image.gene, more=more)
        listed = [row["gene"] for row in rows if row["of"] == "gene"]
        wanted = [gene for gene, own in terms_of.items() if own is not None and (term in own) == is_given]
        assert listed == wanted != []
        assert {row["gene"] for row in rows if row["of"] == "image"} <= {*wanted, image.gene}
    own = curated.terms_of(image.gene, "4-6")
    rows = asked(image.gene, more=f"--stage-range 4-6 --top 1000 --data-set {chain.embryos} --lacks any")
    wanted = [gene for gene, terms in terms_of.items() if terms is not None and own - terms]
    assert [row["gene"] for row in rows if row["of"] == "gene"] == wanted != []

"""The data set folder: which images and terms a table names, and how they belong together."""

import os
import unicodedata
from itertools import product
from pathlib import Path

import pytest

from flyannot.base.errors import InputError
from flyannot.dataset.folder import (
    Image,
    count_per_stage_range,
    coverage_notes,
    read_annotations,
    read_images,
)
from flyannot.dataset.images import images_from_files, read_folder, select_images
from flyannot.dataset.paths import is_data_set_table, relative_path, resolve_path
from flyannot.pipeline.options import Selection

IMAGES = "image,gene,stage_range\n"
TERMS = "gene,stage_range,term\n"


@pytest.fixture
def annotations_csv(tmp_path):
    def write(content):
        path = tmp_path / "annotations.csv"
        path.write_bytes(content.encode())
        return path

    return write


def refusal(read, path):
    """Return the message and the remedy of a refused table, or of the first picture whose row is at fault."""
    fates = []
    try:
        read(path, **({"fates": fates} if read is read_images else {}))
    except InputError as error:
        assert "\n" not in error.message and str(path) in error.message and error.fix
        assert error.exit_code == 2
        return f"{error.message}. {error.fix}"
    return next(f"{fate.reason}. {fate.advice}" for fate in fates if fate.fate == "refused")


def test_a_table_is_read_as_it_stands(images_csv, tmp_path):
    images = read_images(images_csv(IMAGES + "a.png,Dl,4-6\nsub/b.png,dl,13-17\n"))
    first = Image(f"{tmp_path}/a.png", "a.png", "Dl", "4-6", group="Dl")
    second = Image(f"{tmp_path}/sub/b.png", "sub/b.png", "dl", "13-16", group="dl")
    assert images == read_images(tmp_path) == [first, second]


def test_an_image_is_found_beside_the_table_or_in_the_folder_images(images_csv, tmp_path):
    (tmp_path / "images").mkdir()
    for name in ("both.png", "images/both.png", "images/within.png"):
        (tmp_path / name).touch()
    path = images_csv(IMAGES + "both.png,a,4-6\nwithin.png,a,4-6\nabsent.png,a,4-6\nimages/both.png,a,4-6\n")
    found = [os.path.relpath(image.path, tmp_path) for image in read_images(path)]
    assert found == ["both.png", "images/within.png", "absent.png", "images/both.png"]
    path = images_csv(IMAGES + "within.png,b,4-6\nimages/within.png,b,4-6\n")
    assert "lines 2 and 3" in refusal(read_images, path), "one file under two names"


def test_how_a_picture_is_turned_belongs_to_its_name(images_csv, tmp_path):
    (tmp_path / "b.tif").touch()
    rows = "a.png,b,4-6,\nb.tif#3,b,4-6,both\n"
    plain, turned = read_images(images_csv(IMAGES.replace("range", "range,turned") + rows))
    assert (plain.name, turned.name) == ("a.png", "b.tif#turned=both#3")
    assert turned.address == f"{tmp_path}/b.tif#turned=both#3"
    path = images_csv(IMAGES.replace("range", "range,turned") + "a.png,b,4-6,left-rigth\n")
    assert 'line 2, column "turned"' in refusal(read_images, path)


def test_absolute_paths_and_paths_upwards_are_followed(images_csv, tmp_path):
    rows = f"{tmp_path}/a.png,b,4-6\n../elsewhere.png,b,4-6\nx/..,b,4-6\n"
    first, second, third = read_images(images_csv(IMAGES + rows))
    assert (first.path, second.path) == (tmp_path / "a.png", tmp_path.parent / "elsewhere.png")
    assert third.path == tmp_path
    assert second.name == "../elsewhere.png"


def test_awkward_names_are_kept(images_csv):
    names = [".hidden.png", "caf\u00e9.png", "a, comma.png", "x" * 251 + ".png", "a b.png", "\u80da.png"]
    names.append("-rf")
    images = read_images(images_csv(IMAGES + "".join(f'"{name}",g,4-6\n' for name in names)))
    assert [image.name for image in images] == names


def test_a_name_is_found_in_either_unicode_form(images_csv, tmp_path):
    stored = unicodedata.normalize("NFD", "\u00e9.png")
    (tmp_path / stored).touch()
    (image,) = read_images(images_csv(IMAGES + "\u00e9.png,b,4-6\n"))
    assert image.path.exists()


def test_a_folder_is_found_in_either_unicode_form(images_csv, tmp_path):
    for form in ("NFC", "NFD"):
        folder = tmp_path / f"{form} {unicodedata.normalize(form, chr(0xE9))}" / "below"
        folder.mkdir(parents=True)
        (folder / "a.png").touch()
    rows = "NFC e\u0301/below/a.png,x,4-6\nNFD \u00e9/below/a.png,x,4-6\nNFD \u00ea/below/a.png,x,4-6\n"
    assert [image.path.exists() for image in read_images(images_csv(IMAGES + rows))] == [True, True, False]


@pytest.mark.parametrize("text", ["CG1", "FBgn1 FBgn2", "FBgn1; FBgn2", "FBgn1|FBgn2", "FBtr0070000", "7"])
def test_the_column_of_flybase_numbers_holds_one_or_nothing(images_csv, text):
    header = "image,gene,stage_range,fbgn\na,x,4-6,\n"
    message = refusal(read_images, images_csv(f"{header}b,y,4-6,{text}\n"))
    assert f'line 3, column "fbgn": "{text}" is not one FlyBase number' in message


def test_names_in_several_spellings_are_one_and_are_named_once(images_csv, caplog):
    caplog.set_level("INFO")
    names = [
        "βTub60D",
        "&bgr;Tub60D",
        "&beta;Tub60D",
        "&bgr;Tub60D",
        "<i>βTub60D</i>",
        "caf\u00e9",
        "cafe\u0301",
    ]
    images = read_images(images_csv(IMAGES + "".join(f"{i},{name},4-6\n" for i, name in enumerate(names))))
    assert {image.gene for image in images} == {"βTub60D", "caf\u00e9"}
    (said,) = (text for text in caplog.messages if "another spelling" in text)
    assert said == (
        'note: images.csv: 4 names are read in another spelling: "&bgr;Tub60D" as βTub60D, '
        '"&beta;Tub60D" as βTub60D, "<i>βTub60D</i>" as βTub60D and 1 more'
    )


def test_symbols_keep_their_case_and_fbgn_decides_what_a_gene_is(images_csv, caplog):
    header = "image,gene,stage_range,fbgn\n"
    rows = "a,Dl,4-6,FBgn1\nb,dl,4-6,FBgn2\nc,Dl,7-8,\nd,Dl-2,4-6,FBgn1\ne,x,4-6,\n"
    images = read_images(images_csv(header + rows))
    assert [image.gene_id for image in images] == [
        "FBgn1",
        "FBgn2",
        "FBgn1",
        "FBgn1",
        "x",
    ]  # c: as its symbol elsewhere
    assert [image.group for image in images] == ["FBgn1", "FBgn2", "FBgn1", "FBgn1", "x"]
    images = read_images(images_csv(header + "a,x,4-6,FBgn1\nb,x,4-6,FBgn2\n"))
    assert [image.gene_id for image in images] == ["FBgn1", "FBgn2"]
    assert "warning: images.csv: 1 symbol has several FlyBase numbers: x (FBgn1, FBgn2)" in caplog.text
    message = refusal(read_images, images_csv(header + "a,x,4-6,FBgn1\nb,x,4-6,FBgn2\nc,x,4-6,\n"))
    assert "line 4" in message and "FBgn1 and FBgn2" in message, "never guessed"


def test_a_group_is_named_by_its_column_and_holds_one_gene(images_csv):
    header = "image,gene,stage_range,group\n"
    images = read_images(images_csv(header + "a,x,4-6,first\nb,x,4-6,second\nc,x,4-6,\n"))
    assert [image.group for image in images] == ["first", "second", "x"]
    message = refusal(read_images, images_csv(header + "a,x,4-6,one\nb,y,7-8,one\n"))
    assert "lines 2 and 3" in message and "x and y" in message


def test_a_view_is_the_same_in_any_capitals_and_a_misspelt_one_is_named(images_csv, caplog):
    """Every spelling of a view is one view, in tables and in the option."""
    spellings = ["lateral", "Lateral", "LATERAL ", "lateral\u200b", "Lateral view"]
    others = ["dorsolateral", "lat.", "latral", "D", ""]
    rows = [f"{i}.png,g{i},4-6,{view}\n" for i, view in enumerate([*spellings, *others])]
    images = read_images(images_csv("image,gene,stage_range,view\n" + "".join(rows)))
    assert [image.view for image in images] == ["lateral"] * 5 + ["dorsolateral", ""]
    chosen = Selection(view=("LATERAL",))
    assert len(select_images(images, views=chosen.view)) == 5
    said = next(text for text in caplog.messages if "at fault" in text)
    for line, view, meant in ((8, "lat.", "lateral"), (9, "latral", "lateral"), (10, "d", "dorsal")):
        assert f'line {line}, column "view": "{view}" is no view. Did you mean "{meant}"?' in said


def test_a_plain_folder_gives_its_pictures_by_name_each_a_group(tmp_path):
    for name in ("b.PNG", "a.tif", ".hidden.png", "notes.txt"):
        (tmp_path / name).touch()
    images = read_folder(tmp_path, "13-17")
    assert [(image.path, image.name, image.group, image.gene_id) for image in images] == [
        (tmp_path / name, name, name, name) for name in ("a.tif", "b.PNG")
    ]
    assert {image.stage_range for image in images} == {"13-16"}
    (tmp_path / "empty").mkdir()
    for name, stages, why in (("gone", "4-6", ""), ("empty", "4-6", ""), (".", "18", "unknown stage range")):
        with pytest.raises(InputError, match=why or None):
            read_folder(tmp_path / name, stages)


def test_single_files_come_once_in_the_order_given():
    images = images_from_files(["x/b.png", Path("a.bmp"), "x/b.png"], "4-6")
    assert [image.name for image in images] == ["x/b.png", "a.bmp"]
    assert [image.path for image in images] == [Path.cwd() / "x/b.png", Path.cwd() / "a.bmp"]


def test_terms_belong_to_a_gene_in_a_stage_range(annotations_csv):
    rows = "Dl,4-6,gap\nDl,4-6, gap \nDl,4-6,dorsal   ectoderm\nDl,7-8,Gap\ndl,4-6,gap\nDl,9-10,POLE Cell\n"
    annotations = read_annotations(annotations_csv(TERMS + rows))
    assert annotations.terms_of("Dl", "4-6") == {"gap", "dorsal ectoderm"}
    assert annotations.terms_of("Dl", "7-8") == {"gap"}, "as it is written most often"
    assert annotations.terms_of("Dl", "9-10") == {"pole cell"}, "as BDGP writes it"
    assert annotations.terms_of("dl", "7-8") is None  # not annotated there, which is not "no terms"
    assert annotations.terms_of("DL", "4-6") is None and annotations.terms_of("", "4-6") is None
    assert annotations.counts("4-6") == {"gap": 2, "dorsal ectoderm": 1}
    assert annotations.terms_by_gene.keys() == {("Dl", "4-6"), ("Dl", "7-8"), ("Dl", "9-10"), ("dl", "4-6")}
    assert annotations.terms_of("dl", "4-6") == {"gap"}


def test_annotations_join_by_fbgn_first_and_by_an_unambiguous_symbol_else(annotations_csv):
    header = "gene,fbgn,stage_range,term\n"
    annotations = read_annotations(
        annotations_csv(header + "x,FBgn1,4-6,one\nx,FBgn2,4-6,two\ny,FBgn3,4-6,three\nz,,4-6,four\n")
    )
    for gene, fbgn, terms in (
        ("x", "FBgn1", {"one"}),
        ("x", "FBgn2", {"two"}),
        ("an old symbol", "FBgn3", {"three"}),
        ("y", "", {"three"}),  # images without numbers
        ("z", "FBgn4", {"four"}),  # annotations without numbers
        ("x", "", None),  # FBgn1 or FBgn2?  Never both
        ("y", "FBgn9", None),  # another gene of that symbol
    ):
        assert annotations.terms_of(gene, "4-6", fbgn=fbgn) == terms
    annotations = read_annotations(annotations_csv(header + "x,fbgn7,4-6,one\nx,FBGN7,4-6,two\n"))
    assert annotations.terms_of("FBgn7", "4-6") == {"one", "two"}, "a number in the place of the symbol"
    annotations = read_annotations(annotations_csv(header + "x,FBgn1,4-6,one\nx,,4-6,two\n"))
    assert (
        annotations.terms_of("x", "4-6", fbgn="FBgn1") == annotations.terms_of("x", "4-6") == {"one", "two"}
    )
    message = refusal(read_annotations, annotations_csv(header + "x,FBgn1,4-6,a\nx,FBgn2,4-6,a\nx,,4-6,a\n"))
    assert "line 4" in message


def test_coverage_counts_what_lacks_images_or_annotations(images_csv, annotations_csv):
    header = "image,gene,stage_range,group\n"
    images = read_images(images_csv(header + "a,x,4-6,\nb,x,4-6,more\nc,y,4-6,\nd,y,4-6,\ne,x,7-8,\n"))
    annotations = read_annotations(annotations_csv(TERMS + "x,4-6,a\nz,4-6,a\nz,9-10,a\n"))
    counts = count_per_stage_range(images, annotations)
    assert list(counts) == ["4-6", "7-8", "9-10"]
    names = ("n_images", "n_genes", "n_groups", "n_annotated_groups", "n_genes_without_images")
    assert counts["4-6"] == dict(zip(names, (4, 2, 3, 2, 1)))
    assert coverage_notes(images, annotations) == [
        "annotated genes without an image: 1 in 4-6, 1 in 9-10 (z)",
        "groups without annotation: 1 of 3 in 4-6, 1 of 1 in 7-8 (y, x)",
    ]
    assert count_per_stage_range(images)["4-6"]["n_annotated_groups"] == 0


def test_a_gene_that_differs_in_capitals_or_signs_is_named_first(images_csv, annotations_csv):
    images = read_images(images_csv(IMAGES + "a,Dl,4-6\nb,Abd-B,4-6\nc,eve,4-6\nd,λTop3ζ,4-6\n"))
    annotated = annotations_csv(
        TERMS
        + "".join(f"{gene},4-6,gap\n" for gene in ("dl", "AbdB", "lambda-Top3zeta", "eve", "Dmel\\eve-RA"))
    )
    annotations = read_annotations(annotated)
    assert coverage_notes(images, annotations) == [
        'annotated genes without an image: 4 in 4-6 (AbdB: did you mean "Abd-B"?, '
        'Dmel\\eve-RA: did you mean "eve"?, dl: did you mean "Dl"? and 1 more)',
        "groups without annotation: 3 of 4 in 4-6 (Dl, Abd-B, λTop3ζ)",
    ]
    # Genes of two FlyBase numbers are not taken for each other.
    images = read_images(images_csv("image,gene,stage_range,fbgn\na,Dl,4-6,FBgn1\n"))
    numbered = annotations_csv("gene,stage_range,term,fbgn\nDl,4-6,gap,FBgn1\ndl,4-6,gap,FBgn2\n")
    annotations = read_annotations(numbered)
    assert coverage_notes(images, annotations) == ["annotated genes without an image: 1 in 4-6 (dl)"]


def test_a_path_written_in_a_folder_leads_back_whatever_is_a_link(tmp_path, monkeypatch):
    """Also for the system, which follows a link before it goes up; a link that is named itself stays."""
    for folder in ("near", "far/away/runs", "far/away/data"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "near" / "runs").symlink_to(tmp_path / "far" / "away" / "runs")
    (tmp_path / "near" / "data").symlink_to(tmp_path / "far" / "away" / "data")
    (tmp_path / "far" / "data").mkdir()
    monkeypatch.chdir(tmp_path / "near")
    folders = ["runs", "../far/away/runs", "runs/../runs", ".", "data/..", tmp_path / "near" / "runs"]
    for folder, path in product(map(Path, folders), [*folders, "data", "data/new", "runs/../../data"]):
        written = relative_path(path, folder)
        assert os.path.realpath(resolve_path(folder, written)) == os.path.realpath(path), (folder, path)
        assert os.path.realpath(folder / written) == os.path.realpath(path), (folder, path)
    assert relative_path("data", ".") == "data"


@pytest.mark.parametrize(
    ("name", "is_table"),
    {"images.csv": True, "annotations.xlsx": True, "images.h5": False, "scores.csv": False}.items(),
)
def test_a_table_of_a_data_set_is_known_by_its_name(name, is_table):
    assert is_data_set_table(Path("embryos", name)) is is_table

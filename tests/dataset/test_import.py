"""Laws of importing published tables: every row is taken or dropped with a reason; no gene is guessed."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from flyannot.base.errors import InputError
from flyannot.dataset.folder import read_annotations, read_images
from flyannot.dataset.importers import IMPORTERS, resolve, source_tables, tables
from flyannot.dataset.importers.bdgp import PART_OF_EMBRYO, UNKNOWN_ORIENTATION
from flyannot.dataset.importers.import_log import format_import_summary
from flyannot.dataset.importers.resolve import AmbiguousGene, GeneTable
from flyannot.dataset.importers.tables import TableOptions
from tests.small_embryos import rows_of_csv

IMAGES = "gene,stage,direction,image_url\n"
TERMS = "gene,stage,annotation\n"
GENES = """fbgn,gene,cg
FBgn0000463,Dl,CG3619
FBgn0000462,dl,CG6667
FBgn0000001,twin,CG1
FBgn0000002,twin,CG2
"""


def row_of(images, *, gene="Dl", stage=2):
    return f'{gene},{stage},lateral,"{images}"'


def import_tables(kind, sources, folder, *, force=False, **options):
    return IMPORTERS[kind].run(sources, folder, TableOptions(**options), force=force)


@pytest.fixture
def flyexpress(tmp_path):
    """Import tables given as text, with a folder of the named files; returns the summary."""
    folder = tmp_path / "bmp"
    folder.mkdir()

    def run(images, terms=None, files=("1_s.bmp", "insitu2_s.bmp", "3_s.bmp"), **options):
        for name in files:
            (folder / name).touch()
        tables = {"images.csv": (IMAGES, images), "annotations.csv": (TERMS, terms), "genes.csv": ("", GENES)}
        for name, (header, rows) in tables.items():
            if rows is not None:
                (tmp_path / name).write_bytes((header + rows).encode(errors="surrogateescape"))
        tables = [tmp_path / name for name in ("annotations.csv", "images.csv")]
        sources = [folder, *(table for table in tables if table.exists())]
        options |= {"genes": tmp_path / "genes.csv", "force": True}
        return import_tables("flyexpress", sources, tmp_path / "set", **options)

    run.folder = tmp_path / "set"
    return run


def test_names_with_and_without_insitu_are_one_file_and_symbols_keep_their_case(flyexpress):
    summary = flyexpress(
        row_of("('1_s.bmp', '2_s.bmp')")
        + "\n"
        + row_of("http://x/1_s.bmp")
        + """\ndl,6,Dorsal,"('insitu3_s.bmp',)"\n""",
        """Dl,2,"('gap', 'mesoderm  anlage')"\n""",
    )
    images = read_images(flyexpress.folder)
    assert [(i.name, i.gene, i.fbgn, i.stage_range, i.view) for i in images] == [
        ("images/1_s.bmp", "Dl", "FBgn0000463", "4-6", "lateral"),
        ("images/insitu2_s.bmp", "Dl", "FBgn0000463", "4-6", "lateral"),
        ("images/3_s.bmp", "dl", "FBgn0000462", "13-16", "dorsal"),
    ]
    assert all(image.path.is_file() for image in images)
    assert read_annotations(flyexpress.folder).terms_of("Dl", "4-6") == {"gap", "mesoderm anlage"}
    assert summary["stage_ranges"]["4-6"]["n_images"] == 2
    assert summary == json.loads((flyexpress.folder / "import.json").read_text())


def test_names_unknown_to_the_table_are_one_gene_if_they_share_an_image(flyexpress):
    summary = flyexpress(
        """old,2,lateral,"('1_s.bmp',)"\nnew,2,lateral,"('1_s.bmp',)"\nnew,3,lateral,"('2_s.bmp',)"\n"""
        """new,4,lateral,"('99_s.bmp',)"\nDl,4,lateral,"('99_s.bmp',)"\n"""
    )  # the last is on no disk, and joins them with Dl all the same
    assert {image.gene_id for image in read_images(flyexpress.folder)} == {"FBgn0000463"}
    assert len(summary["one_gene"]) == 2 and "share an image" in format_import_summary(summary)


FIRST, GOOD, THIRD = (row_of(f"('{i}_s.bmp',)") + "\n" * (i != 2) for i in (1, 2, 3))
DIRT = {
    resolve.UNKNOWN_STAGE: [row_of("('2_s.bmp',)", stage=stage) for stage in ("0", "4-7")],
    resolve.NO_GENE: [row_of("('2_s.bmp',)", gene=gene) for gene in ("", "#N/A", "?", "unknown", "NA")],
    "a double quote is not closed": ["Dl,2,lateral,\"('2_s.bmp',)"],
    resolve.AMBIGUOUS_GENE: [row_of("('2_s.bmp',)", gene="twin")],
    resolve.NO_IMAGE: [row_of("()")],
    source_tables.NO_TUPLE: [
        *map(
            row_of,
            ("2_s.bmp, 3_s.bmp", "(2, 3)", "__import__('os').abort()", "(" * 5000, "('2_s\\x00.bmp',)"),
        ),
        row_of("('" + "x" * 100_000 + "',)"),
    ],
    source_tables.BAD_ROW: ["Dl,2,lateral", GOOD + ",more"],
    "a cell of more than 131,072 characters": [row_of("('x" + "y" * 140_000 + "',)")],
    source_tables.CONTROL: [GOOD.replace("late", "late\x07")],
    tables.NOT_THERE: [row_of(f"('{name}',)") for name in ("9_s.bmp", "../bmp/../secret.bmp")],
    resolve.REPEATED: [row_of("('1_s.bmp',)")],
    resolve.OTHER_GENE: [row_of("('1_s.bmp',)", gene="dl")],
    resolve.OTHER_STAGE: [row_of("('1_s.bmp',)", stage=3)],
}


@pytest.mark.parametrize(("reason", "row"), [(r, row) for r, rows in DIRT.items() for row in rows])
def test_a_dirty_row_is_rejected_with_its_reason_and_the_rest_is_taken(flyexpress, reason, row):
    summary = flyexpress(f"{FIRST}{row}\n\n{THIRD}")
    rows, pictures = (summary["log"][sort] for sort in ("image rows", "images"))
    assert rows["total"] == 3 and pictures["taken"] == 2
    assert rows["rejected"] | pictures["rejected"] == {reason: 1}
    assert [image.name for image in read_images(flyexpress.folder)] == ["images/1_s.bmp", "images/3_s.bmp"]
    listed = rows_of_csv(flyexpress.folder / "rejected.csv")
    assert {rejected["line"] for rejected in listed} == {"3"}
    assert {rejected["reason"] for rejected in listed} == {reason}
    has_picture = re.search(r"\d_s.bmp", row) and reason not in (resolve.NO_IMAGE, source_tables.NO_TUPLE)
    pictures = set(re.findall(r"(?<=')[^']*\d_s\.bmp(?=')", row))
    assert not has_picture or {rejected["image"] for rejected in listed} <= pictures
    assert reason in format_import_summary(summary)


FLYBASE = {
    "fbgn_annotation_ID": "## FlyBase\n"
    "##gene_symbol\torganism_abbreviation\tprimary_FBgn#\tsecondary_FBgn#(s)\t"
    "annotation_ID\tsecondary_annotation_ID(s)\nDl\tDmel\tFBgn0000463\t\tCG3619\tCG3618,Delta\n",
    "fb_synonym": "## FlyBase\n## Generated\n##primary_FBid\torganism_abbreviation\tcurrent_symbol\t"
    "current_fullname\tfullname_synonym(s)\tsymbol_synonym(s)\nFBgn0000463\tDmel\tDl\tDelta\t\tCG3619|Delta\n",
}


@pytest.mark.parametrize("text", FLYBASE.values(), ids=FLYBASE)
def test_tables_of_flybase_name_genes(tmp_path, text):
    (tmp_path / "genes.tsv").write_text(text)
    genes = resolve.read_genes(tmp_path / "genes.tsv")
    assert {genes.find(name).fbgn for name in ("Dl", "CG3619", "Delta")} == {"FBgn0000463"}


def test_rows_of_bdgp_that_are_cut_short_are_rejected(tmp_path):
    for number in range(1, 6):
        (tmp_path / f"insitu{number}.jpe").touch()
    rows = ["Dl,CG1,RE,FBgn0000001,Fly,insitu1.jpe,2,lateral,AP_inverted,low"]
    rows += ["Dl,CG1,RE,FBgn0000001,Fly,insitu2.jpe,2,lateral", "Dl,CG1,RE,FBgn0000001,Fly,insitu2.jpe"]
    rows += ["Dl,CG1,RE,FBgn0000001,Fly,insitu3.jpe,2,lateral,upside_down,low"]
    rows += ["Delta,CG1,RE,FBgn0000001,Fly,insitu4.jpe,2", "Dl,CG2,RE,FBgn0000002,Fly,insitu5.jpe,2"]
    (tmp_path / "insitu_images.csv").write_text("\n".join(rows))
    summary = import_tables("bdgp", [tmp_path], tmp_path.parent / "set")
    reasons = {source_tables.BAD_ROW: 2, UNKNOWN_ORIENTATION: 1}
    assert summary["log"]["image rows"] == {"total": 6, "taken": 3, "rejected": reasons}
    listed = rows_of_csv(tmp_path.parent / "set" / "rejected.csv")
    places = [("insitu_images.csv", str(line), f"insitu{n}.jpe") for line, n in ((2, 2), (3, 2), (4, 3))]
    assert [(row["table"], row["line"], row["image"]) for row in listed] == places


def test_an_image_with_two_views_has_none(flyexpress):
    flyexpress(FIRST.replace("lateral", "ventral") + row_of("('1_s.bmp', '2_s.bmp')"))
    assert [image.view for image in read_images(flyexpress.folder)] == ["", "lateral"]


@pytest.mark.parametrize("source", ["bdgp", "flyexpress"])
def test_a_view_that_is_unknown_or_misspelt_is_none_in_every_table(tmp_path, source):
    views = {"Lateral view": "lateral", "lateal": "", "unknown": "", "dorsolateral": "dorsolateral"}
    rows = [IMAGES.strip(), *(f"Dl,2,{view},{n}_s.bmp" for n, view in enumerate(views))]
    if source == "bdgp":
        rows = [
            f"Dl,CG1,RE,FBgn0000001,Fly,insitu{n}.jpe,2,{view},normal,low" for n, view in enumerate(views)
        ]
    (tmp_path / "in").mkdir()
    for n in range(len(views)):
        (tmp_path / "in" / f"{n}_s.bmp").touch()
    (tmp_path / "insitu_images.csv").write_text("\n".join(rows))
    import_tables(source, [tmp_path / "in", tmp_path / "insitu_images.csv"], tmp_path / "set")
    assert [image.view for image in read_images(tmp_path / "set")] == list(views.values())


def test_dirty_annotations_are_accounted_for(flyexpress):
    rows = [f"{where},\"('gap',)\"" for where in ("Dl,2", "Dl,2", "Dl,9", "twin,2")]
    rows += ["Dl,2,()", "Dl,3,maternal; gap", "Dl,3,\"('', 'gap')\""]
    log = flyexpress(FIRST, "\n".join(rows))["log"]
    reasons = (resolve.UNKNOWN_STAGE, resolve.AMBIGUOUS_GENE, resolve.NO_TERM, source_tables.NO_TUPLE)
    assert log["annotation rows"] == {"total": 7, "taken": 3, "rejected": dict.fromkeys(reasons, 1)}
    rejected = {resolve.REPEATED: 1, resolve.NO_TERM: 1}
    assert log["terms"] == {"total": 4, "taken": 2, "rejected": rejected}


def test_what_cannot_be_read_at_all_is_named(flyexpress, tmp_path):
    with pytest.raises(InputError, match="no image was found.*not in the folder"):
        flyexpress(row_of("('77_s.bmp',)"))
    assert not flyexpress.folder.exists()
    (tmp_path / "bad.csv").write_text("what,is,this\n")
    (tmp_path / "bad.csv.gz").write_bytes(gzip.compress(b"gene,stage\n" * 50)[:40])
    (tmp_path / "annotations.csv").write_text(TERMS)
    tables = ["", "bad.csv", "images.csv images.csv", "absent.csv", "bad.csv.gz", "annotations.csv"]
    for names in [*(f"bmp {table}" for table in tables), "images.csv", ". bmp images.csv"]:
        with pytest.raises(InputError) as caught:
            import_tables("flyexpress", [tmp_path / name for name in names.split()], tmp_path / "set")
        assert ("folders of images" in caught.value.message) == ("bmp" not in names or ". " in names)
        assert caught.value.fix or "no such" in caught.value.message


def test_copied_images_are_files_of_the_folder_itself(flyexpress):
    (flyexpress.folder.parent / "bmp" / "deep").mkdir()
    (flyexpress.folder.parent / "bmp" / "deep" / "insitu7_s.bmp").write_bytes(b"seven")
    flyexpress(row_of("('7_s.bmp',)"), copy=True)
    (image,) = read_images(flyexpress.folder)
    assert image.name == "images/deep/insitu7_s.bmp"
    assert image.path.read_bytes() == b"seven" and not (flyexpress.folder / "images").is_symlink()
    with pytest.raises(InputError, match="folder already"):
        flyexpress(row_of("('7_s.bmp',)"))


def test_a_gene_is_named_by_number_symbol_or_cg_and_never_by_another_case():
    genes = GeneTable()
    genes.add("FBgn0000463", "Dl", "CG3619", ["Delta"])
    genes.add("FBgn0000462", "dl", "CG6667")
    genes.add("FBgn0000003", "Delta")
    genes.add("not a number", "x")
    assert genes.find("DL").fbgn == ""
    assert genes.find("Dl").fbgn == genes.find("CG3619").fbgn == genes.find("unheard of", "CG3619").fbgn
    assert genes.find("FBgn0000462").symbol == genes.find("whatever", fbgn="FBgn0000462").symbol == "dl"
    assert genes.find("Delta").fbgn == "FBgn0000003"  # a symbol before another's synonym
    assert genes.find("x", fbgn="FBgn12").gene_id == "x"
    genes.add("FBgn0000004", "Dl")
    with pytest.raises(AmbiguousGene, match="FBgn0000004 and FBgn0000463"):
        genes.find("Dl")


FIRST_OF_BDGP = [f"insitu_images/img_dir_1/insitu{i}.jpe" for i in (1, 2)]
PICTURES = """3_s.bmp other/insitu4.jpe a/twice.jpe b/twice.jpe img_dir_179/insitu179269.jpe
img_dir_10/insitu10741.jpe production_images/insituLP06969-dg_1.jpe img_dir_1/insitu1.jpe"""


@pytest.mark.parametrize("packed", [False, True])
def test_bdgp_dumps_lie_in_the_folder_and_speak_for_themselves(flyannot, tmp_path, packed):
    """Symbols are symbols, inverted embryos are turned, and parts of embryos are left out."""
    for name in (*FIRST_OF_BDGP, *PICTURES.split()):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).touch()
    for name in ("insitu_annot.csv", "insitu_images.csv"):
        raw = (Path(__file__).parent / name).read_bytes()
        (tmp_path / "in" / (name + ".gz" * packed)).write_bytes(gzip.compress(raw) if packed else raw)
    assert flyannot("import bdgp IN -o OUT", IN=tmp_path / "in", OUT=tmp_path / "in" / "set").code == 2
    assert flyannot("import bdgp IN -o OUT", IN=tmp_path / "in", OUT=tmp_path / "set").code == 0
    log = json.loads((tmp_path / "set" / "import.json").read_text())["log"]
    of_terms = (resolve.REPEATED, resolve.UNKNOWN_STAGE, resolve.NO_TERM, source_tables.BAD_ROW)
    of_images = (resolve.NO_IMAGE, *of_terms[1::2], tables.AMBIGUOUS_NAME, tables.NOT_THERE, PART_OF_EMBRYO)
    for rows, things, reasons in (
        ("annotation rows", "terms", of_terms),
        ("image rows", "images", of_images),
    ):
        assert log[rows]["rejected"] | log[things]["rejected"] == dict.fromkeys(reasons, 1)
    images, terms = read_images(tmp_path / "set"), read_annotations(tmp_path / "set")
    assert [(i.name.removeprefix("images/"), i.gene, i.gene_id, i.stage_range, i.view) for i in images] == [
        *((name, "Dl", "FBgn0000463", "4-6", "") for name in FIRST_OF_BDGP),
        ("3_s.bmp", "FBgn0000009", "FBgn0000009", "13-16", ""),
        ("other/insitu4.jpe", "x", "x", "1-3", ""),
        ("img_dir_179/insitu179269.jpe", "AIF", "FBgn0031392", "13-16", "lateral"),
        ("img_dir_10/insitu10741.jpe#turned=left-right", "sgl", "FBgn0010851", "13-16", "lateral"),
        ("production_images/insituLP06969-dg_1.jpe", "CG1139", "FBgn0035300", "1-3", ""),
        ("img_dir_1/insitu1.jpe#turned=both", "\xe9lan", "FBgn0009999", "4-6", "lateral"),
    ]
    assert terms.terms_of("Dl", "4-6", "FBgn0000463") == {"gap", "subset"}
    assert terms.terms_of('odd "name"', "4-6") == {"yes, a comma"}
    assert terms.terms_of("sgl", "13-16") == {"embryonic midgut"}
    assert terms.terms_of("\xe9lan", "4-6") == {"gap"}


# --- whatever bytes a table holds: it is imported and accounted for, or refused in one line ---

N_IMAGES = 24
NAMES = ["Dl", "dl", "CG3619", "l(1)sc", "Abd-B"]
SPICE = [b'"', b",", b"\n", b"\r", b"\0", b"(", b"'", b"\xff", b"=", b"\xef\xbb\xbf", b"9" * 40, b"../"]


def tables_of(kind):
    """Return the text of a table of images and of a table of terms."""
    images, terms = ([], []) if kind == "bdgp" else ([IMAGES.strip()], [TERMS.strip()])
    for i in range(0, N_IMAGES, 2):
        gene, stage = NAMES[i % len(NAMES)], i % 6 + 1
        if kind == "bdgp":
            images.append(f"{gene},CG{i},RE1,FBgn{i % 5:07d},Fly,img_dir_1/insitu{i}.jpe,{stage},dorsal,0,0")
            terms.append(f"{gene},CG{i},FBgn{i % 5:07d},{stage},term {i}")
        else:
            images.append(row_of(f"('{i}_s.bmp', '{i + 1}_s.bmp')", gene=gene, stage=stage))
            terms.append(f"{gene},{stage},\"('gap', 'term {i}')\"")
    return "\n".join(images).encode(), "\n".join(terms).encode()


def spoilt(raw, rng):
    """Change, insert or cut some bytes of a table."""
    raw = bytearray(raw)
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(0, len(raw)))
        match rng.integers(0, 4):
            case 0:
                raw[at] = int(rng.integers(0, 256))
            case 1:
                raw[at:at] = SPICE[rng.integers(0, len(SPICE))]
            case 2:
                del raw[at : at + int(rng.integers(1, 30))]
            case 3:
                raw += raw[at : at + 80]
    return bytes(raw)


@pytest.mark.parametrize("kind", ["flyexpress", "bdgp"])
def test_spoilt_tables_are_accounted_for_or_refused(kind, tmp_path, rng, trials):
    n_trials, n_taken, pictures = trials(25), 0, tmp_path / "pictures"
    pictures.mkdir()
    for i in range(N_IMAGES):
        (pictures / f"insitu{i}_s.bmp").touch()
    for trial in range(n_trials):
        tables = [tmp_path / "images.csv", tmp_path / "terms.csv"]
        for path, raw in zip(tables, tables_of(kind)):
            raw = spoilt(raw, rng)
            path.write_bytes(gzip.compress(raw) if trial % 3 == 0 else raw)
        folder = tmp_path / f"set{trial}"
        try:
            log = import_tables(kind, [*tables, pictures], folder)["log"]
        except InputError as refusal:
            assert "\n" not in refusal.message and not folder.exists()
            continue
        n_taken += 1
        assert_accounted_for(log)
        images = read_images(folder)
        assert len(images) == log["images"]["taken"] == len({image.path for image in images})
        assert all(image.path.resolve().parent == pictures for image in images)
        if log["terms"]["taken"]:
            read_annotations(folder)
    assert n_taken > 0.48 * n_trials


def assert_accounted_for(log):
    for sort in log.values():
        assert sort["total"] == sort["taken"] + sum(sort["rejected"].values())


def test_the_published_tables_are_accounted_for_to_the_last_row(shared_data, tmp_path):
    sources = [shared_data / "bdgp" / f"flyexpress_{name}.csv.gz" for name in ("images", "annotations")]
    sources.append(shared_data / "flyexpress" / "images")
    genes = shared_data / "bdgp" / "annotations.csv.gz"
    summary = import_tables("flyexpress", sources, tmp_path / "set", genes=genes)
    log = summary["log"]
    assert log["image rows"]["total"] == 18_773 and log["annotation rows"]["total"] == 17_210
    assert_accounted_for(log)
    listed = Counter(one["reason"] for one in rows_of_csv(tmp_path / "set" / "rejected.csv"))
    assert listed == Counter(log["images"]["rejected"]) + Counter(log["terms"]["rejected"])
    theirs = {image.path.resolve(): image for image in read_images(shared_data / "flyexpress")}
    names, agreed = set(), 0  # of every gene, here and there: Dms is Ms today
    for image in read_images(tmp_path / "set"):
        known = theirs[image.path.resolve()]
        names.add((image.gene, known.gene))
        agreed += (image.stage_range, image.view) == (known.stage_range, known.view)
    assert agreed >= 139  # of 140: one image has another stage range there
    assert len(names) == len({ours for ours, _ in names}) == len({other for _, other in names}) == 7

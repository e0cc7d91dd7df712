"""What is probably wrong in a table is named in one line; real tables draw no false alarm."""

import csv
import gzip

import pytest

from flyannot.base.errors import InputError
from flyannot.base.stage_ranges import STAGE_RANGES
from flyannot.base.text import is_unknown
from flyannot.dataset import table_warnings
from flyannot.dataset.folder import (
    count_per_stage_range,
    read_annotations,
    read_images,
    write_annotations_csv,
)
from flyannot.dataset.ontology import Ontology, OntologyEntry, read_ontology
from flyannot.files.tables import MissingColumnsError
from flyannot.jobs.executor import _Pace

TERMS = "gene,stage_range,term\n"


@pytest.fixture
def said(tmp_path, caplog):
    """Read annotations; returns the warnings, and the terms of the gene x in 4-6."""

    def read(rows, **how):
        (tmp_path / "annotations.csv").write_text(TERMS + rows)
        caplog.clear()
        annotations = read_annotations(tmp_path, **how)
        return caplog.messages, annotations.terms_of("x", "4-6")

    return read


MISSPELT = {
    "mesodrem anlage in statu nascendi": "mesoderm anlage in statu nascendi",
    "anterior endodem anlage": "anterior endoderm anlage",
    "embryonic mid-gut": "embryonic midgut",
    "ubiqutious": "ubiquitous",
} | dict.fromkeys(("pole cells", "polecell", "pole cell (weak)"), "pole cell")


def test_a_term_that_says_that_a_gene_lacks_one_is_named(said):
    negated = ("no pole cell", "not pole cell", "pole cell: absent", "pole cell - no")
    for term in negated:
        ((message,), terms) = said(f"x,4-6,{term}\n")
        assert message.startswith(f'warning: annotations.csv: 1 term looks negated: "{term}"; to say that')
        assert terms == {term}
    assert said("x,4-6,no staining\nx,4-6,knot\n")[0] == []


@pytest.mark.parametrize(("term", "meant"), [*MISSPELT.items(), ("wandring stripe", "wandering stripe")])
def test_a_term_that_is_nearly_one_of_bdgp_or_a_frequent_one_of_the_table_is_named(said, term, meant):
    many = "".join(f"g{i},4-6,wandering stripe\n" for i in range(5))
    messages, terms = said(f"{many}x,4-6,{term}\ny,4-6,{term}\nx,4-6,gap\n")
    assert messages == [f'warning: annotations.csv: 1 term looks misspelt: "{term}" (2 genes; "{meant}"?)']
    assert terms == {term, "gap"}  # named, not changed


NEAR = {("anus", "anis"), ("midguts", "midgats"), ("midgutty", "medgatty")}
FAR = {("gut", "gat"), ("midguts", "medgats"), ("midgutty", "medgattx"), ("segment4", "segment5")}


@pytest.mark.parametrize("words", sorted(NEAR | FAR))
def test_a_longer_word_may_have_more_wrong_letters(words):
    assert bool(table_warnings.find_misspelt_terms({words[0]: 1}, {words[1]})) == (words in NEAR)


def test_of_several_known_terms_the_most_frequent_one_is_meant():
    known = {"spot a", "spots", "spotx"}
    for counts, meant in (({}, "spots"), ({"spotx": 1}, "spotx"), ({"spots": 2, "spotx": 3}, "spotx")):
        assert table_warnings.find_misspelt_terms({"spotb": 1} | counts, known) == {"spotb": meant}
    for n in (14, 15):
        assert len(table_warnings.find_misspelt_terms({"spotb": 3, "spotx": n}, set())) == (n == 15)


def test_faults_of_a_table_are_one_error_with_each_remedy_once():
    faults = [InputError(name, fix="mend it") for name in "ab"]
    faults.append(MissingColumnsError("c", words={"image": "bild"}, fix=""))
    with pytest.raises(InputError, match="t.csv: 3 faults:\na\nb\nc") as caught:
        table_warnings.raise_errors("t.csv", faults)
    assert caught.value.fix == "add --columns image=bild; mend it"
    with pytest.raises(InputError, match="^a"):
        table_warnings.raise_errors("t.csv", faults[:1])


def test_a_term_that_two_known_ones_may_mean_keeps_its_capitals():
    assert table_warnings.unify_capitals(["GAP", "Gut"], {"Gap", "gap", "gut"}) == {"Gut": "gut"}


def test_three_terms_are_named_in_the_line_and_more_below(said):
    terms = list(MISSPELT)
    for n in (3, 4):
        ((message,), _) = said("".join(f"x,4-6,{term}\n" for term in terms[:n]))
        assert message.count("\n") == (0 if n == 3 else 4)


OTHER_TERMS = [
    *("anterior endoderm anlage", "posterior endoderm anlage"),
    *("head mesoderm primordium P2", "head mesoderm primordium P4"),
    *("dorsal ectoderm primordium P3", "anterior ectoderm anlage", "embryonic ventral nervous system"),
    *("stripe 1", "stripe 2", "wing A", "wing B"),
]


def test_terms_that_differ_in_words_or_numbers_are_not(said):
    assert said("".join(f"x,4-6,{term}\n" for term in OTHER_TERMS))[0] == []


def test_what_an_ontology_names_is_right(said):
    ontology = Ontology({"FBbt:1": OntologyEntry("FBbt:1", "dorsal bridge")})
    assert said("x,4-6,dorsal bridge\n")[0] and not said("x,4-6,dorsal bridge\n", ontology=ontology)[0]


JOINED = (
    "gap / pole cell",
    "gap and pole cell",
    "gap；pole cell",
    "gap+pole cell",
    "\"['gap', 'pole cell']\"",
)


@pytest.mark.parametrize("cell", ["gap; pole cell", "gap|pole cell;", '"gap, pole cell"', *JOINED])
def test_a_cell_of_several_terms_is_taken_apart_and_named(said, cell):
    (message,), terms = said(f"y,4-6,gap\nx,4-6,{cell}\n")
    assert terms == {"gap", "pole cell"}
    assert message.startswith("warning: annotations.csv: 1 cell holds several terms: ")
    assert 'line 3: "' in message and "give each a row" in message
    (message,), terms = said('x,4-6,"gap, mine"\n')
    assert terms == {"gap, mine"} and 'separated by ;: "gap, mine"' in message
    assert said('x,4-6,"stripe, narrow"\n') == ([], {"stripe, narrow"}), "a comma within another term stays"


MADE_OF_NAMES = [
    *("1-Sep", "Sep-01", "01-Sep", "1. Sep", "Sep 1", "01/09/2024", "9/1/2024", "2024-09-01", "01.09.2024"),
    *("1-sept.", "01-sept", "1-set", "1-сен", "2-Сен", "1-gru", "1-dez", "1-lis", "1-Şub", "1-ene", "9月1日"),
    *("01-IX", "Sep-2001", "sep-01", "SEP-01", "Dec-1", "45536", "2,00E+05", "2E5", "1E+05"),
    *("2 de sep", "2-Sep-24 00:00", "2024/09/02", "44806.0", "2e5", "Mär 01", "дек.01", "2 сентября"),
    *("mars-01", "1 de septiembre de 2024", "Sep 1, 2024", "September 1st 2024", "Sunday, September 1, 2024"),
    *("2024年9月1日", "9월 1일", "1–Sep", "1‑sep", "1_Sep", "01.09", "1.9.", "01.09.24", "2024. 09. 01."),
    *("1-ruj", "1-rgp", "1-септ", "1-сеп", "1-thg9", "1 tháng 9, 2024", "1-ก.ย.", "1 सितंबर", "1-ספט"),
    *("2024-09-01T12:00", "1899-12-30 04:06:00", "04:06:00", "4:06 PM", "45536.5", "２Ｅ５", "2.E+05"),
    *("1er sept.", "d’abr. 1, 2024", "2024 m. rugsėjo 1 d.", "mar. 1 sept. 2024", "1 Eylül 2024 Pazar"),
]
NAMES = [
    *("Sep1", "dec-1", "Lis-1", "14-3-3zeta", "18w", "5-HT1A", "26-29-p", "2mit", "1.28", "7B2", "mir-10"),
    *("let-7", "nan", "na", "I-2", "Ca-P60A", "eIF-4E", "DEC1", "mei-38", "CG1234", "fs(1)M3", "l(3)02640"),
    *("18-wheeler", "2-cell", "3 decapods", "tra 2", "ara-1", "7-up", "1/2-r", "14:00x", "unk", "sd+"),
]


def test_names_that_a_spreadsheet_made_are_known():
    assert [name for name in MADE_OF_NAMES if not table_warnings.is_changed_by_spreadsheet(name)] == []
    assert [name for name in NAMES if table_warnings.is_changed_by_spreadsheet(name)] == []


def test_no_real_gene_or_term_is_taken_for_one_that_a_spreadsheet_made(shared_data):
    genes = set(NAMES)
    for path in sorted(shared_data.glob("*/*annotations.csv*")):
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", newline="") as file:
            genes |= {row[column] for row in csv.DictReader(file) for column in {"gene", "cg"} & row.keys()}
    genes.discard("")
    ontology = read_ontology(*sorted(shared_data.glob("ontology/*.obo.gz")))
    terms = {entry.name for entry in ontology.entries.values()} | table_warnings.bdgp_terms()
    assert len(genes) > 5000 and len(terms) > 5000
    assert [name for name in genes | terms if table_warnings.is_changed_by_spreadsheet(name)] == []
    assert [gene for gene in genes if is_unknown(gene, "gene")] == []
    assert [term for term in terms if is_unknown(term, "term")] == []


NO_NAMES = ["#N/A", "#NV", "#REF!", "#NAME?", "#¿NOMBRE?", "#ДЕЛ/0!", "Err:502", "###", "?", "-", "#N/A N/A"]
NO_NAMES += ["<NA>", "(null)", "n.d.", "unknown", "Unbekannt", "NA", "NULL", "N/A", "#n/a", "TRUE"]


@pytest.mark.parametrize("cell", NO_NAMES)
def test_a_row_whose_cell_is_no_name_is_left_out_and_named(images_csv, said, cell, caplog):
    header = "image,gene,stage_range,view,fbgn,group\n"
    path = images_csv(f"{header}a.png,Dl,4-6,{cell},,\nb.png,{cell},4-6,,,\nc.png,eve,{cell},,,\n")
    images = read_images(path, unknown_stage="7-8")
    assert [(image.gene, image.stage_range) for image in images] == [("Dl", "4-6"), ("eve", "7-8")]
    assert images[0].view == "" and any(f'line 2, column "view": "{cell}"' in m for m in caplog.messages)
    assert any(f'left out: line 3, column "gene": "{cell}" is no name' in m for m in caplog.messages)
    messages, terms = said(f"x,4-6,{cell}\nx,4-6,gap\n{cell},4-6,gap\n")
    assert (
        terms == {"gap"} and 'line 2, column "term"' in messages[0] and 'line 4, column "gene"' in messages[0]
    )
    with pytest.raises(InputError, match=r'line 2, column "term": ".*" is no name'):
        said(f"x,4-6,{cell}\n")
    assert not any("rows are left out" in message for message in caplog.messages)


def test_html_entities_in_names_are_read_as_characters(images_csv, said):
    (image,) = read_images(images_csv("image,gene,stage_range\na&amp;b.png,&alpha;Tub84B&#39;,4-6\n"))
    assert (image.name, image.gene) == ("a&amp;b.png", "αTub84B'")
    assert said("x,4-6,head &amp; tail\n")[1] == {"head & tail"}


def test_a_table_of_images_without_stage_ranges_leaves_them_unknown(images_csv, caplog):
    path = images_csv("image,gene\na.png,Dl\n")
    assert [image.stage_range for image in read_images(path, unknown_stage="4-6")] == ["4-6"]
    with pytest.raises(InputError, match='line 2, column "stage_range": no stage range') as caught:
        read_images(path)
    assert "--guess-stages" in caught.value.fix
    with pytest.raises(InputError, match='"stage" may be "stage_range"'):
        read_images(images_csv("image,gene,stage\na.png,Dl,5\n"), unknown_stage="4-6")
    caplog.set_level("INFO", "flyannot")
    path = images_csv("image,gene,stage_range\na.png,Dl,\nb.png,Dl,?\nknown.png,x,4-6\ntoo.png,x,4-6\n")
    assert [image.stage_range for image in read_images(path, unknown_stage="7-8")] == [
        "7-8",
        "7-8",
        "4-6",
        "4-6",
    ]
    assert "rows without a stage range are taken as 7-8" in caplog.text
    assert [image.name for image in read_images(path)] == ["known.png", "too.png"]
    assert '2 rows are at fault, and left out: line 2, column "stage_range": no stage' in caplog.text


def test_another_format_of_a_table_is_named(tmp_path, images_csv, caplog):
    caplog.set_level("INFO")
    images_csv("image,gene,stage_range\na.png,Dl,4-6\n")
    (tmp_path / "images.xlsx").touch()
    read_images(tmp_path)
    assert caplog.messages[0] == "note: images.csv is read, and images.xlsx beside it is not"


def test_missing_images_are_named_with_both_places_and_a_suggestion(images_csv, tmp_path, caplog):
    """But none that is named as Windows does, or whose name holds such a sign."""
    for folder in ("images", "plate 1", "deep"):
        (tmp_path / folder).mkdir()
    for name in ("images/a.BMP", "b.tiff", "here.png", "plate 1/a.png", "b\\c.png", "deep/keep.png"):
        (tmp_path / name).touch()
    for name in ("IMG_1.JPG", "two.png", "two.tif", "notes.txt"):
        (tmp_path / name).touch()
    rows = ["a.bmp", "here.png", "C:\\b.tiff", "deep/lost.png", "b.tif", "deep/b.png"]
    rows += ["img_1", "two", "notes", "plate 1\\a.png", "b\\c.png"]
    path = images_csv("image,gene,stage_range\n" + "".join(f"{name},x,4-6\n" for name in rows))
    assert [image.path.is_file() for image in read_images(path)[-2:]] == [True, True]
    capitals, message = caplog.messages
    taken = '2 images were taken by a similar name: "a.bmp" (line 2: "a.BMP"), "img_1" (line 8: "IMG_1.JPG")'
    assert capitals.endswith(taken)
    assert message == (
        'warning: images.csv: 6 images are missing: \n  "C:\\b.tiff" (line 4; did you mean "b.tiff"?)'
        '\n  "deep/lost.png" (line 5)\n  "b.tif" (line 6; did you mean "b.tiff"?)'
        '\n  "deep/b.png" (line 7; did you mean "deep/keep.png"?)'
        '\n  "two" (line 9; did you mean "two.png"?)\n  "notes" (line 10; did you mean "notes.txt"?); '
        f"looked for in {tmp_path} and {tmp_path}/images"
    )
    (tmp_path / "a.Bmp").touch()
    assert not read_images(path)[0].path.is_file(), "of two files nobody knows which is meant"


def test_a_table_is_warned_of_once_however_often_it_is_read(flyannot, own_chain):
    table = own_chain.embryos / "images.csv"
    table.write_text(table.read_text().replace(",4-6,", ",5,"))
    with open(own_chain.annotations, "a") as rows:
        rows.write("nobody,4-6,pole cels\n")
    config = own_chain.folder / "c.toml"
    config.write_text(f'data-set = "{own_chain.embryos}"\noutput = "results"\n[train]\nmin-groups = 4\n')
    said = flyannot("run C --dry-run", C=config)
    assert said.code == 0 and said.err.count('"pole cels" (1 gene; "pole cell"?)') == 1
    assert said.err.count("note: images.csv: stage 5 lies in stage range 4-6") == 1


def test_columns_may_have_other_names_in_commands_and_in_runs(flyannot, own_chain, monkeypatch):
    monkeypatch.setattr(_Pace, "n_processes", lambda pace, most: most)
    names = "image=imagen,gene=gen,stage_range=etapa,term=t\u00e9rmino"
    for table in (own_chain.embryos / "images.csv", own_chain.annotations):
        first, _, rows = table.read_text().partition("\n")
        words = dict(pair.split("=") for pair in names.split(","))
        table.write_text(",".join(words.get(column, column) for column in first.split(",")) + "\n" + rows)
    said = flyannot("check F", F=own_chain.embryos, code=2)
    assert said.err.endswith(f"\nFix: add --columns {names}\n"), "one remedy for both tables"
    assert flyannot("check F --columns C", F=own_chain.embryos, C=names).code == 0
    by_two = own_chain.folder / "by-two.h5"
    line = "extract F -o H --stride-px 16 --columns C --jobs 2"
    flyannot(line, F=own_chain.embryos, H=by_two, C=names, code=0)
    assert by_two.read_bytes() == own_chain.descriptors.read_bytes(), "names of columns change no output"
    said = flyannot("check F --columns imagen=image", F=own_chain.embryos, code=2)
    assert "the columns are image, gene" in said.err
    flyannot("check F", F=own_chain.embryos, code=2)  # names of one command are not those of the next
    line = "run --data-set F --output O --dry-run --set train.min-groups=4 --columns C"
    flyannot(line, F=own_chain.embryos, O=own_chain.folder / "out", C=names, code=0)
    table = own_chain.folder / "c.csv"
    table.write_text("Gen;Stadium;Begriff;Urteil;Kurator;Datum\nDl;4-6;gap;reject;Jens;30.01.2026\n")
    remedy = flyannot("curate T", T=table, code=2).err.rpartition("Fix: add ")[2]
    assert "Jens (1 term)" in flyannot(f"curate T {remedy}", T=table, code=0).out
    table.write_text(table.read_text() + "Dl;4-8;gap;reject;Jens;30.01.2026\n")
    said = flyannot(f"curate T {remedy}", T=table, code=3)
    assert "1 row is left out: line 3" in said.err and "Jens (1 term)" in said.out
    table.write_text(table.read_text().replace("4-8", "4-6"))
    some = remedy.strip().replace(",curator=Kurator", "")
    assert 'the column "Kurator" may be "curator"' in flyannot(f"curate T {some}", T=table, code=0).err
    config = own_chain.folder / "c.toml"
    config.write_text(
        f'data-set = "{own_chain.embryos}"\noutput = "results"\n[train]\nmin-groups = 4\n'
        f'[select]\ncolumns = ["{names}"]\n',
        encoding="utf-8",
    )
    assert flyannot("run C --dry-run", C=config).code == 0


def test_real_tables_are_read_whole_and_draw_no_alarm(shared_data, tmp_path, caplog):
    with gzip.open(shared_data / "bdgp" / "annotations.csv.gz", "rt", newline="") as packed:
        rows = [row | {"gene": row["gene"] or row["fbgn"]} for row in csv.DictReader(packed)]
    write_annotations_csv(tmp_path / "annotations.csv", rows)
    read_annotations(tmp_path)
    folder = shared_data / "flyexpress"
    images, annotations = read_images(folder), read_annotations(folder)
    assert len(images) == 165 and all(image.path.is_file() for image in images)
    counts = count_per_stage_range(images, annotations)
    assert tuple(counts) == STAGE_RANGES and sum(n["n_images"] for n in counts.values()) == 165
    assert len(read_annotations(shared_data / "wu2016").terms_by_gene) > 400
    assert [message for message in caplog.messages if "pair_rule" not in message] == []
    assert len(caplog.messages) <= 1  # BDGP itself writes one term in two ways


def test_a_term_is_compared_with_few(rng, monkeypatch):
    names = ["".join(map(chr, letters)) for letters in rng.integers(97, 101, (20_000, 9))]
    compared = []
    monkeypatch.setattr(table_warnings, "_is_misspelt", lambda *words: compared.append(words))
    table_warnings.find_misspelt_terms(dict.fromkeys(names, 1), table_warnings.bdgp_terms())
    assert 0 < len(compared) <= 200 * 200


def test_parts_of_a_cell_that_are_no_terms_are_left_out_and_named(tmp_path, caplog):
    table = tmp_path / "annotations.csv"
    table.write_text("gene,stage_range,term\ng1,4-6,maternal; #N/A\ng2,4-6,gap|?|maternal\n")
    found = read_annotations(table).terms_by_gene
    assert found == {("g1", "4-6"): {"maternal"}, ("g2", "4-6"): {"gap", "maternal"}}
    assert 'line 2: "#N/A"' in caplog.text and 'line 3: "?"' in caplog.text

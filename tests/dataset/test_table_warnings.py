"""What is probably wrong in a table is named in one line; real tables draw no false alarm."""

import csv
import gzip

import pytest

from flyannot.dataset import vocabulary
from flyannot.dataset.folder import read_annotations, read_images, write_annotations_csv

TERMS = "gene,stage_range,term\n"


@pytest.fixture
def said(tmp_path, caplog):
    """What is said of some annotations, and their terms of the gene x in 4-6."""

    def read(rows, **how):
        (tmp_path / "annotations.csv").write_text(TERMS + rows)
        caplog.clear()
        annotations = read_annotations(tmp_path, **how)
        return caplog.messages, annotations.terms_of("x", "4-6")

    return read


@pytest.mark.parametrize(
    "term, meant",
    [("mesodrem anlage in statu nascendi", "mesoderm anlage in statu nascendi"), ("Pole Cell", "pole cell"),
     ("pole cells", "pole cell"), ("polecell", "pole cell"), ("embryonic mid-gut", "embryonic midgut"),
     ("anterior endodem anlage", "anterior endoderm anlage"), ("ubiqutious", "ubiquitous")],
)  # fmt: skip
def test_a_term_that_is_nearly_one_of_bdgp_is_named(said, term, meant):
    messages, terms = said(f"x,4-6,{term}\ny,4-6,{term}\nx,4-6,gap\n")
    assert messages == [f'warning: annotations.csv: 1 term looks misspelt: "{term}" (2 genes; "{meant}"?)']
    assert terms == {term, "gap"}  # named, not changed


def test_a_term_that_is_nearly_a_frequent_one_of_the_table_is_named(said):
    many = "".join(f"g{i},4-6,wandering stripe\n" for i in range(5))
    messages, _ = said(many + "x,4-6,wandring stripe\n")
    assert messages == [
        'warning: annotations.csv: 1 term looks misspelt: "wandring stripe" (1 gene; "wandering stripe"?)'
    ]


@pytest.mark.parametrize(
    "terms",
    [("anterior endoderm anlage", "posterior endoderm anlage"), ("dorsal ectoderm primordium P3",),
     ("head mesoderm primordium P2", "head mesoderm primordium P4"), ("anterior ectoderm anlage",),
     ("embryonic ventral nervous system",), ("stripe 1", "stripe 2"), ("wing A", "wing B")],
)  # fmt: skip
def test_terms_that_differ_in_words_or_numbers_are_not(said, terms):
    assert said("".join(f"x,4-6,{term}\n" for term in terms))[0] == []


def test_what_an_ontology_names_is_right(said):
    assert said("x,4-6,dorsal bridge\n")[0] and not said("x,4-6,dorsal bridge\n", known={"dorsal bridge"})[0]


@pytest.mark.parametrize("cell", ["gap; pole cell", "gap|pole cell;", '"gap, pole cell"'])
def test_a_cell_of_several_terms_is_taken_apart_and_named(said, cell):
    messages, terms = said(f"y,4-6,gap\nx,4-6,{cell}\n")
    assert terms == {"gap", "pole cell"}
    (message,) = messages
    assert message.startswith("warning: annotations.csv: 1 cell holds several terms, each of which was taken")
    assert 'line 3: "gap' in message and "give each a row" in message


def test_a_comma_within_a_term_that_is_not_bdgp_stays(said):
    assert said('x,4-6,"stripe, narrow"\n') == ([], {"stripe, narrow"})


def test_genes_that_a_spreadsheet_turned_into_dates_are_named(images_csv, caplog):
    genes = ["Sep1", "dec-1", "26-29-p", "18w", "14-3-3epsilon", "1-Sep", "Dec-01", "2.00E+05", "01-Mar-2023"]
    read_images(images_csv("image,gene,stage_range\n" + "".join(f"{g}.png,{g},4-6\n" for g in genes)))
    (message,) = caplog.messages
    assert message.startswith(
        "warning: images.csv: 4 genes are dates or numbers that a spreadsheet made of the name: "
        '"1-Sep" (line 7), "Dec-01" (line 8), "2.00E+05" (line 9) and 1 more; '
    )
    assert "column as Text" in message


def test_a_table_is_warned_of_once_however_often_it_is_read(flyannot, own_chain):
    with open(own_chain.annotations, "a") as table:
        table.write("nobody,4-6,pole cels\n")
    names = {"F": own_chain.features, "A": own_chain.annotations, "O": own_chain.folder / "m2.h5"}
    said = flyannot("train F A -o O --min-groups 4", **names)
    assert said.code == 0 and said.err.count('"pole cels" (1 gene; "pole cell"?)') == 1
    assert said.err.count("without an image: 1 in 4-6 (nobody)") == 1


def test_real_tables_draw_no_alarm(shared_data, tmp_path, caplog):
    with gzip.open(shared_data / "bdgp" / "annotations.csv.gz", "rt", newline="") as packed:
        rows = [row | {"gene": row["gene"] or row["fbgn"]} for row in csv.DictReader(packed)]
    write_annotations_csv(tmp_path / "annotations.csv", rows)
    for folder in (tmp_path, shared_data / "flyexpress", shared_data / "wu2016"):
        read_annotations(folder)
    read_images(shared_data / "flyexpress")
    assert [message for message in caplog.messages if "pair_rule" not in message] == []
    assert len(caplog.messages) <= 1  # BDGP itself writes one term in two ways


def test_a_term_is_compared_with_few(rng, monkeypatch):
    names = ["".join(map(chr, letters)) for letters in rng.integers(97, 101, (20_000, 9))]
    compared = []
    monkeypatch.setattr(vocabulary, "_n_edits", lambda *words: compared.append(words) or 9)
    vocabulary.near_terms(dict.fromkeys(names, 1), vocabulary.bdgp_terms())
    assert 0 < len(compared) <= 200 * 200

"""Terms find their ids by a table, by name or synonym, or respelt; obsolete ones are said to be so."""

import csv
import gzip
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyannot.base.errors import InputError
from flyannot.dataset import ontology as about
from flyannot.dataset.folder import read_annotations
from flyannot.dataset.ontology import add_parent_terms, find_parent_terms, find_stage_ids, read_ontology
from tests.small_embryos import rows_of_csv

OBO = (Path(__file__).parent / "small.obo").read_text(encoding="utf-8")


@pytest.fixture
def write(tmp_path):
    def write(text, name="o.obo"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / name

    return write


MATCHES = {
    "gut": ("FBbt:1", "name"),
    'mid-gut "old"': ("FBbt:2", "exact synonym"),
    "middle": ("FBbt:2", "synonym"),
    "hindgut": ("FBbt:3", "name"),
    "midgut, anterior": ("FBbt:4", "name"),
    "anlage": ("FBbt:6", "obsolete"),
    "older": ("FBbt:3", "replaced"),
} | dict.fromkeys(("Gut", "cell", "part_of", ""), ("", ""))


@pytest.mark.parametrize("packed", [False, True])
def test_a_term_is_found_by_exact_name_or_synonym(write, packed):
    ontology = read_ontology(write(gzip.compress(OBO.encode()) if packed else OBO))
    matches = {term: ontology.match(term) for term in MATCHES}
    assert {term: (match.id, match.how) for term, match in matches.items()} == MATCHES
    considered = {term: match.consider for term, match in matches.items() if match.consider}
    assert considered == {"anlage": ("FBbt:1",)}


@pytest.mark.parametrize(("written", "read"), [(r"eye\Wanlage", "eye anlage"), (r"eye\, left", "eye, left")])
def test_signs_that_a_name_escapes_are_read_as_obo_defines_them(write, written, read):
    match = read_ontology(write(f"[Term]\nid: FBbt:1\nname: {written}\n")).match(read)
    assert (match.how, match.id) == ("name", "FBbt:1")


def test_its_own_name_comes_first_then_a_synonym_then_a_respelling_and_last_the_nearest_stage(write):
    related, exact = (f'synonym: "eye anlage" {scope} []' for scope in ("RELATED", "EXACT"))
    ranks = {"nearest": "name: eye primordium", "respelt": "name: eye specific anlage", "synonym": related}
    ranks |= {"exact synonym": exact, "name": "name: eye anlage"}
    known = ""
    for n, (how, line) in enumerate(ranks.items(), start=1):
        known += f"[Term]\nid: FBbt:{n}\n{line}\n"
        match = read_ontology(write(known)).match("eye anlage")
        assert (match.how, match.id) == (how, f"FBbt:{n}"), "a better one comes before all that were there"


def test_ancestors_follow_is_a_and_part_of_and_survive_a_ring(write):
    ontology = read_ontology(write(OBO))
    assert ontology.ancestors("FBbt:4") == {"FBbt:1", "FBbt:2", "FBbt:5"}
    assert ontology.ancestors("FBbt:3") == {"FBbt:1"}  # what it develops from is no parent
    assert ontology.ancestors("FBbt:1") == set()
    parents = find_parent_terms(ontology, ["gut", "hindgut", "midgut, anterior", "unheard of", "ring"])
    assert parents["hindgut"] == {"gut"} and parents["midgut, anterior"] == {"gut", "ring"}
    assert parents["gut"] == parents["unheard of"] == frozenset()


def test_two_files_are_one_ontology(write):
    more = "[Term]\nid: FBdv:5\nname: embryonic stage 5\n\n[Term]\nid: FBbt:1\nname: another\n"
    ontology = read_ontology(write(OBO), write(more, "more.obo"))
    assert ontology.match("gut").id == "FBbt:1" and ontology.match("another").id == ""
    ids = find_stage_ids(ontology)
    assert ids["4-6"] == ["FBdv:4", "FBdv:5"] and ids["1-3"] == []


OLD = "is_obsolete: true\nreplaced_by:"
MERGED = f"""[Term]
id: FBbt:1
name: gut {{source="FBC:a {{b}} ! c", x="\\"y"}} ! in use
alt_id: FBbt:2
alt_id: FBbt:3
[Term]\nid: FBbt:3\nname: Obsolete: hose (obsolete)\nis_obsolete: true {{a="b"}}
[Term]\nid: FBbt:4\nname: obsolete tube\n{OLD} FBbt:5 {{a="b"}} ! with others
[Term]\nid: FBbt:5\nname: pipe\nsynonym: "tract" EXACT []\n{OLD} http://purl.obolibrary.org/obo/FBbt_2
[Term]\nid: FBbt:6\nname: left\n{OLD} FBbt:7\nconsider: FBbt:4
[Term]\nid: FBbt:7\nname: right\n{OLD} FBbt:6
[Term]\nid: FBbt:8\nname: me\n{OLD} FBbt:8\nreplaced_by: FBbt:99
[Term]\nid: FBbt:9\nname: two\n{OLD} FBbt:10\nreplaced_by: FBbt:1\nconsider: FBbt:7
[Term]\nid: FBbt:10\nname: sac\\{{a="b"\\}}\nis_a: FBbt:2
[Term]\nid: FBbt:11\nname: obsolete in use
"""


def test_what_was_merged_or_replaced_leads_to_an_entry_in_use(write, caplog):
    ontology = read_ontology(write(MERGED))
    for term in ("gut", "fbbt_1", "http://flybase.org/FBbt_1", "Obsolete: hose (obsolete)", "hose", "tube"):
        assert ontology.match(term).id == "FBbt:1", term
    for term in ("obsolete tube", "pipe", "tract", "FBbt:2", "FBbt:3", "FBbt:4"):
        assert (ontology.match(term).id, ontology.match(term).how) == ("FBbt:1", "replaced"), term
    found = {term: ontology.match(term) for term in ("left", "right", "me", "two")}
    ids = {term: (match.id, match.consider) for term, match in found.items()}
    assert ids["left"] == ("FBbt:6", ("FBbt:1",)) and ids["right"] == ("FBbt:7", ("FBbt:1",))
    assert ids["me"] == ("FBbt:8", ()) and ids["two"] == ("FBbt:10", ("FBbt:1",))
    assert ontology.match('sac{a="b"}').how == ontology.match("obsolete in use").how == "name"
    assert not ontology.match("in use").id and not ontology.match("").id
    assert ontology.ancestors("FBbt:10") == {"FBbt:1"}
    read_ontology(write(MERGED))
    said = "warning: o.obo: terms replace each other in a circle: FBbt:6, FBbt:7, FBbt:8"
    assert caplog.messages == [said], "once"


@pytest.mark.parametrize("n", range(2))
def test_an_excerpt_says_the_same_of_its_terms(write, n):
    ontology = read_ontology(write((OBO, MERGED)[n], "whole.obo"))
    known = [*ontology.entries, *(entry.name for entry in ontology.entries.values()), *MATCHES]
    for terms in (*([term] for term in known), known):
        kept = ontology.excerpt(terms)
        again = read_ontology(write(kept, "again.obo")) if kept else about.Ontology({})
        assert [again.match(term) for term in terms] == [ontology.match(term) for term in terms], terms
        for find in (find_parent_terms, lambda ontology, _: find_stage_ids(ontology)):
            assert find(again, terms) == find(ontology, terms)
    assert "unknown_tag" not in kept and "Not: parsed" not in kept


def test_ids_of_a_table_are_compared_with_the_ontology(write, caplog):
    ids = "gut,FBbt:1 gut,FBbt_1 tract,FBbt:1 pipe,FBbt:5 me,FBbt:8 hose,FBbt:12 FBbt:4, x gut,FBbt:10"
    rows = "gene,stage_range,term,term_id\n" + "".join(f"a,4-6,{row}\n" for row in ids.split())
    table = write(rows, "annotations.csv")
    read_annotations(table, ontology=read_ontology(write(MERGED)))
    assert [line.strip() for line in caplog.messages[-1].splitlines()[1:]] == [
        "line 5: FBbt:5 of pipe was replaced by FBbt:1",
        "line 6: FBbt:8 of me is obsolete",
        "line 7: FBbt:12 of hose is not in the ontology",
        "line 8: FBbt:4 of FBbt:4 was replaced by FBbt:1",
        'line 10: FBbt:10 of gut is "sac{a="b"}"',
    ]
    caplog.clear()
    read_annotations(table)
    assert "wrong: line 3: FBbt_1 of gut is FBbt:1 elsewhere, line 10: FBbt:10 of gut is" in caplog.text


BAD = {
    "": "no .Term",
    "a,b\n1,2\n": "no .Term",
    "[Term]\nname: x\n": "line 2.*begin with its id",
    "[Term]\nid: no id\n": "line 2.*no id",
    "[Term]\nid: A:1\njust words\n": "line 3.*no tag",
    "[Term]\nid: A:1\n\n[Term]\nid: A:1\n": "line 5.*twice",
    "[Term]\nid: A:1\nsynonym: bare\n": "line 3.*quotes",
    "[Term]\nid: A:1\nis_a: \n": "line 3.*no id",
    gzip.compress(OBO.encode(), mtime=0)[:60]: "cannot read",
}


@pytest.mark.parametrize(("text", "why"), BAD.items())
def test_a_bad_file_is_refused_with_its_line(write, text, why):
    with pytest.raises(InputError, match=why) as caught:
        read_ontology(write(text))
    assert caught.value.fix


@given(st.lists(st.sampled_from(["[Term]", "id: A:1", "name: x\\", "is_a: !", 'synonym: "', ":", "[", "\\"])))
def test_no_text_makes_the_parser_fall_over(tmp_path_factory, lines):
    path = tmp_path_factory.getbasetemp() / "any.obo"
    path.write_text("\n".join(lines))
    with suppress(InputError):
        read_ontology(path)


NO_ANATOMY = """anterior, apically cleared, epi_combo, faint ubiquitous, flag_as_nonspecific, gap, maternal,
flag_for_volker, middle, need new term(localised), no staining, pair rule, pair_rule, posterior, subset,
rapidly degraded, segment polarity, segmentally repeated, strong ubiquitous, ubiquitous"""
RESPELT = {
    "need new term(larval eye primordium)": "Bolwig organ primordium",
    "plasmatocytes anlage": "plasmatocyte primordium",
    "sensory system head": "embryonic head sensory system",
    "head epidermis ventral P1": "ventral head epidermis primordium",
    "hypopharynx primordium P1": "hypopharynx proper primordium",
    "proventriculus primordium P2": "proventriculus inclusive primordium",
    "visual primordium2": "visual primordium",
    "mesectoderm primordium": "mesectoderm",
    "ventral imaginal precursor specific anlage": "ventral imaginal precursor",
    "posterior adult midgut precursors": "posterior adult midgut progenitor",
    "tracheal system anlage": "presumptive embryonic/larval tracheal system",
}


def test_the_published_ontologies_know_most_terms_of_bdgp(shared_data):
    folder = shared_data / "ontology"
    ontology = read_ontology(*sorted(folder.glob("*.obo.gz")))
    with gzip.open(shared_data / "bdgp" / "annotations.csv.gz", "rt") as file:
        terms = {row["term"] for row in csv.DictReader(file)}
    matches = {term: ontology.match(term) for term in terms}
    assert sum(bool(match.id) for match in matches.values()) >= 284  # of 316 to 319: a few are kept back
    assert not [term for term in NO_ANATOMY.replace("\n", " ").split(", ") if matches[term].id]
    assert {term: matches[term].name for term in RESPELT} == RESPELT
    obsolete = {term for term, match in matches.items() if match.how == "obsolete"}
    assert len(obsolete) == 3, "an entry in use comes before an obsolete one"
    assert [len(ids) for ids in find_stage_ids(ontology).values()] == [3, 3, 2, 2, 2, 4]
    parents = find_parent_terms(ontology, {*terms, "embryonic anterior midgut"})
    assert "embryonic midgut" in parents["embryonic anterior midgut"]
    assert sum(map(len, parents.values())) > 100


# --- in the commands ---

ANNOTATIONS = "gene,stage_range,term\na,4-6,midgut\na,4-6,hindgut\nb,4-6,gut\nc,7-8,unheard of\n"


@pytest.mark.parametrize("of_b", ["gut", "midgut"])
def test_a_gene_with_a_term_has_its_parents_too_also_those_that_only_join_terms(write, of_b):
    annotations = read_annotations(write(ANNOTATIONS.replace(",gut", f",{of_b}"), "annotations.csv"))
    annotations.unsure[annotations.gene_id("a"), "4-6"] = frozenset({"ring", "gut"})
    ontology = read_ontology(write(OBO + "\n[Term]\nid: FBbt:20\nname: foregut\nis_a: FBbt:1\n"))
    rolled = add_parent_terms(annotations, ontology)
    assert rolled.terms_of("a", "4-6") == {"midgut", "hindgut", "gut"}
    assert rolled.terms_of("b", "4-6") == {of_b, "gut"} and rolled.terms_of("c", "7-8") == {"unheard of"}
    assert list(rolled.unsure.values()) == [{"ring"}], "what is certain is not unsure"
    assert rolled.terms_of("a", "7-8") is None
    assert annotations.terms_of("a", "4-6") == {"midgut", "hindgut"}


@pytest.fixture
def obo_of_chain(chain, write):
    """Write an ontology of the synthetic terms, in which the first is the parent of the second."""
    terms = sorted(set().union(*read_annotations(chain.annotations).terms_by_gene.values()))
    stanzas = [f"[Term]\nid: FBbt:{i}\nname: {term}\n" for i, term in enumerate(terms)]
    stanzas[1] += "is_a: FBbt:0\n"
    stanzas += [f"[Term]\nid: FBdv:{i}\nname: embryonic stage {i}\n" for i in range(4, 7)]
    return write("\n".join(stanzas), "chain.obo"), {term: f"FBbt:{i}" for i, term in enumerate(terms)}


def test_an_ontology_given_once_is_kept_with_results(chain, obo_of_chain, tmp_path, flyannot, monkeypatch):
    monkeypatch.chdir(tmp_path)
    obo, ids = obo_of_chain
    flyannot("annotate M E -o p.h5", code=0, **chain.words)
    kept = Path("p-ontology.obo")
    flyannot("report p.h5", code=0)
    assert not kept.exists() and "term_id" not in Path("p.csv").read_text()
    flyannot("report p.h5 --ontology O", O=obo, code=0)
    by_report = kept.read_bytes()
    links = Path("p.html").read_bytes().count(b"FBbt:")
    kept.unlink()
    flyannot("annotate M E -o p.h5 --ontology O", O=obo, **chain.words, code=0)
    assert kept.read_bytes() == by_report
    obo.unlink()
    Path("p.csv").unlink()
    flyannot("annotate M E -o p.h5", **chain.words, code=0)
    flyannot("export p.h5 --to csv -o e.csv", code=0)
    for row in rows_of_csv("p.csv") + rows_of_csv("e.csv"):
        assert row["term_id"] == ids[row["term"]]
    flyannot("report p.h5", code=0)
    assert Path("p.html").read_bytes().count(b"FBbt:") == links > 0


def test_the_evaluation_rolls_terms_up_on_demand(chain, obo_of_chain, tmp_path, flyannot):
    obo, _ = obo_of_chain
    for more, n_digests in (("", 0), (" --roll-up O", 1)):
        json_path = tmp_path / f"{n_digests}.json"
        assert flyannot(f"evaluate P A --json J{more}", J=json_path, O=obo, **chain.words).code == 0
        scores = json.loads(json_path.read_text())
        assert len(scores["made_from"]["roll_up"]) == n_digests
        assert sum("gained parent terms, 0 of which" in note for note in scores["notes"]) == n_digests

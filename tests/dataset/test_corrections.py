"""What curators say of single terms: read, settled, applied to annotations."""

import re
from dataclasses import asdict, replace
from functools import partial
from itertools import permutations

import pytest

from flyannot.base.errors import InputError
from flyannot.curation.agreement import pairwise_agreements
from flyannot.curation.corrections import (
    COLUMNS,
    VERDICTS,
    Correction,
    apply_corrections,
    describe_changes,
    format_corrections,
    read_corrections,
    settle_verdicts,
)
from flyannot.dataset.folder import read_annotations
from flyannot.results.curate import format_agreement, settle_corrections, write_merged_corrections
from tests.corrections_cases import GENES, fields, list_cases

EVERY = ("pole cell", "amnioserosa anlage", "brain primordium")
HEAD = "gene,fbgn,stage_range,term,verdict,curator,date,note,probability,model_digest,decides,"
HEAD += "chance,finished,with\n"


def said(verdict, day=1, curator="anna", gene="Dl", term="pole cell", fbgn="", time=""):
    return Correction(gene, fbgn, "4-6", term, verdict, curator, f"2026-01-{day:02}{time}")


@pytest.fixture
def annotations(tmp_path):
    table = tmp_path / "annotations.csv"
    table.write_text("gene,stage_range,term\nDl,4-6,pole cell\nDl,4-6,amnioserosa anlage\nen,4-6,pole cell\n")
    return read_annotations(table)


def applied(annotations, *corrections):
    return apply_corrections(annotations, list(corrections), "annotations.csv")


def test_a_table_of_corrections_comes_back(tmp_path):
    first = "Dl", "FBgn0463", "4-6", 'a "term"', "accept", "=anna", "2026-01-02", "näh", "0.4", "ab"
    second = "en", "", "11-12", "pole cell", "unsure", "ben", "2026-01-03T23:59:59-08:00"
    second += "", "", "", "", "0.25", "yes", "12"
    rows, path = [Correction(*first), Correction(*second)], tmp_path / "corrections.csv"
    path.write_text(format_corrections(rows[::-1]))
    assert path.read_text().startswith(HEAD)
    assert read_corrections([path]) == rows


def test_terms_weigh_one_in_a_gene_judged_whole_and_the_inverse_chance_if_they_were_drawn(annotations):
    new, named = partial(said, gene="new"), ("pole cell", "amnioserosa anlage", "brain primordium")
    drawn = replace(new("reject"), chance="0.25"), new("accept", term="amnioserosa anlage")

    def weights(*corrections, gene="new", terms=named):
        corrected, changes = applied(annotations, *corrections)
        unknown = corrected.unknown_terms(gene, "4-6", terms)
        return corrected.judged_weights(gene, "4-6", terms), unknown, changes

    assert weights(*drawn, gene="Dl")[0] == [1, 1, 1], "the table has it"
    assert weights(*drawn)[:2] == ([4, 0, 0], {"brain primordium"})
    assert weights(*drawn, terms=named[:2])[0] == [1, 1], "all terms were judged"
    marked, unsure = replace(drawn[1], finished="yes"), new("unsure", term="brain primordium")
    found, unknown, changes = weights(drawn[0], marked)
    assert found == [1, 1, 1] and not unknown and not changes["of_new_genes"]
    assert weights(drawn[0], marked, unsure)[1] == {"brain primordium"}
    later = replace(marked, finished="", date="2999-01-01")
    assert weights(drawn[0], marked, later)[0] == [4, 0, 0], "a row that a later one replaces has no effect"


def test_a_table_without_a_row_that_can_be_read_is_refused_with_the_reason(tmp_path):
    path = tmp_path / "ben.csv"
    path.write_text("gene,stage_range,term,verdict,date\nDl,4-6,pole cell,accept,1/3/2026\n")
    why = 'line 2, column "date": "1/3/2026" may be 2026-03-01 or 2026-01-03'
    with pytest.raises(InputError, match=why) as caught:
        read_corrections([path])
    assert "year-month-day" in caught.value.fix


def test_a_row_may_lack_its_flybase_number(tmp_path):
    path = tmp_path / "ben.csv"
    rows = "Dl,FBgn0000463,4-6,gap,accept,2026-01-02\nDl,,5,gap,reject,2026-01-03\n"
    path.write_text(f"gene,fbgn,stage_range,term,verdict,date\n{rows}")
    first, second = read_corrections([path])
    assert first.key == second.key == ("FBgn0000463", "4-6", "gap")


def decides(verdict, day, *curators):
    return replace(said(verdict, day, "eva"), decides="; ".join(curators))


ANNA = said("accept", 1)
BEN = said("reject", 2, "ben")
CARL = said("accept", 1, "carl")
NOON = said("accept", 2, time="T12:00:00+02:00")
EVA = decides("accept", 2, "anna", "ben")


@pytest.mark.parametrize(
    ("rows", "verdict", "curators"),
    [
        ([ANNA, said("accept", 3, "ben")], "accept", "anna; ben"),
        ([ANNA, BEN], "contested", "anna; ben"),  # the later outvotes nobody
        ([ANNA, BEN, said("accept", 3, "eva")], "contested", "anna; ben; eva"),  # nor do two
        ([ANNA, said("reject", 2)], "reject", "anna"),  # anna thought again
        ([ANNA, said("reject", 1)], "contested", "anna"),  # which was the later nobody knows
        ([ANNA, NOON, said("reject", 2, time="T10:00:01+00:00")], "reject", "anna"),  # a second later
        ([NOON, said("reject", 3, time="T00:00:00+14:01")], "accept", "anna"),
        ([NOON, said("reject", 2)], "contested", "anna"),  # at an unknown time of that day
        ([NOON, BEN, decides("reject", 2, "anna", "ben")], "reject", "anna; ben; eva"),
        ([ANNA, BEN, said("reject", 3)], "reject", "anna; ben"),
        ([ANNA, BEN, EVA], "accept", "anna; ben; eva"),  # of the same day
        ([ANNA, BEN, decides("unsure", 2, "anna", "ben")], "unsure", "anna; ben; eva"),
        ([ANNA, BEN, decides("accept", 1, "anna", "ben")], "contested", "anna; ben; eva"),
        ([ANNA, BEN, EVA, said("reject", 3, "ben")], "contested", "anna; ben; eva"),
        ([ANNA, BEN, decides("reject", 3, "anna"), CARL], "contested", "anna; ben; carl; eva"),
        ([ANNA, BEN, EVA, decides("reject", 3, "anna", "ben")], "reject", "anna; ben; eva"),
    ],
)
def test_what_curators_disagree_on_is_unsure_until_it_is_decided(rows, verdict, curators):
    for order in permutations(rows):
        (settled,) = settle_verdicts(order).values()
        assert settled.is_contested == (verdict == "contested")
        assert settled.correction.verdict == ("unsure" if settled.is_contested else verdict)
        assert settled.correction.curator == curators


@pytest.mark.parametrize(
    ("rows", "overruled"), [([ANNA, BEN], []), ([ANNA, said("reject", 2)], [ANNA]), ([ANNA, BEN, EVA], [BEN])]
)
def test_verdicts_that_a_later_one_or_a_decision_replaces_are_said_to_be_overruled(rows, overruled):
    (settled,) = settle_verdicts(rows).values()
    assert list(settled.overruled) == overruled


@pytest.mark.parametrize("trial", range(10))
def test_merging_again_in_any_order_says_the_same(tmp_path, rng, trial):
    """All that is merged is merged: of parts, of merged tables, of tables to decide that nobody filled in."""
    rows = [
        replace(said(*rng.choice(VERDICTS, 1), day, *rng.choice([*"abc"], 1), time=time), decides=decided)
        for day in rng.integers(1, 4, 4)
        for time in ("", *rng.choice(["T01:00:00+14:00", "T12:00:00-11:00", "T13:00:00+00:00"], 2))
        for decided in rng.choice(["", "", "a; b", "c"], 2)
    ]
    tables = [tmp_path / f"{number}.csv" for number in range(4)]
    for number, table in enumerate(tables):
        table.write_text(format_corrections(rows[number::4]))

    def merged(name, *paths):
        to_decide = write_merged_corrections(tmp_path / name, settle_corrections(paths))
        return [tmp_path / name, *([to_decide] if to_decide else [])]

    whole = merged("whole.csv", *tables)
    parts = merged("one.csv", *tables[:2]) + merged("other.csv", *tables[:0:-1])
    for n, other in enumerate((tables[::-1], whole, parts, [*whole, *parts[::-1]])):
        again = merged(f"again{n}.csv", *other)
        assert [path.read_text() for path in again] == [path.read_text() for path in whole]


def test_tables_of_one_name_without_a_curator_are_two_curators(tmp_path):
    for name in ("anna", "ben"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "corrections.csv").write_text(format_corrections([said("accept", 1, "")]))
    rows = read_corrections(sorted(tmp_path.glob("*/*.csv")))
    assert [row.curator for row in rows] == ["anna/corrections", "ben/corrections"]
    rows = said("accept", 1, "Ben"), said("reject", 2, "ben"), decides("accept", 3, "BEN", "anna")
    (tmp_path / "c.csv").write_text(format_corrections(rows))
    read = {(row.curator, row.decides) for row in read_corrections([tmp_path / "c.csv"])}
    assert read == {("Ben", ""), ("eva", "Ben; anna")}, "capitals make no other curator"


def test_accepted_terms_come_rejected_ones_go_and_unsure_ones_are_not_known(annotations):
    verdicts = [said("reject"), said("unsure", term="amnioserosa anlage")]
    verdicts += [said("accept", gene="en", term=term) for term in ("amnioserosa anlage", "pole cell")]
    after, changes = applied(annotations, *verdicts)
    assert after.terms_of("en", "4-6") == {"pole cell", "amnioserosa anlage"}
    assert after.terms_of("Dl", "4-6") == frozenset(), "annotated, with no term: not the same as unannotated"
    assert after.unknown_terms("Dl", "4-6", EVERY) == {"amnioserosa anlage"}
    assert after.unknown_terms("en", "4-6", EVERY) == set()
    assert describe_changes(changes) == [
        "4 reviewed terms: 1 added (amnioserosa anlage of en in 4-6), 1 removed (pole cell of Dl in 4-6), "
        "1 unsure and left out (amnioserosa anlage of Dl in 4-6), 1 as before"
    ]
    assert annotations.terms_of("Dl", "4-6") == set(EVERY[:2]), "the given is not touched"


def test_a_gene_without_a_row_is_known_only_of_what_was_reviewed(annotations):
    verdicts = said("accept", gene="hb"), said("reject", gene="hb", term="brain primordium")
    after, changes = applied(annotations, *verdicts)
    assert after.terms_of("hb", "4-6") == {"pole cell"}
    assert after.unknown_terms("hb", "4-6", EVERY) == {"amnioserosa anlage"}
    assert after.terms_of("hb", "7-8") is None
    assert "1 gene without a row in the annotations: only the reviewed terms are known" in describe_changes(
        changes
    )


def test_the_later_of_annotations_and_corrections_stays(tmp_path):
    table = tmp_path / "annotations.csv"
    table.write_text("gene,stage_range,term,date\nDl,4-6,pole cell,2026-01-05\n")
    annotations = read_annotations(table)
    for day, verdict, term, has in (
        (4, "reject", "pole cell", True),
        (5, "reject", "pole cell", False),
        (4, "accept", "brain primordium", False),  # whoever looked on the 5th did not give it
        (6, "accept", "brain primordium", True),
    ):
        after, changes = applied(annotations, said(verdict, day, term=term))
        assert (term in after.terms_of("Dl", "4-6")) == has
        assert len(changes["older"]) == (day == 4)
        older = "older than the annotations, which contradict them and stay"
        assert any(older in line for line in describe_changes(changes)) == (day == 4)
    table.write_text("gene,stage_range,term,date\nDl,4-6,pole cell,5/1/2026\n")
    with pytest.raises(InputError, match='"5/1/2026" may be 2026-01-05 or 2026-05-01'):
        applied(read_annotations(table), said("reject"))


def test_a_gene_is_the_one_of_the_annotations_whatever_else_it_is_called(tmp_path):
    table = tmp_path / "annotations.csv"
    genes = ("Dl,FBgn0000463", "X,FBgn1", "X,FBgn2")
    table.write_text("gene,fbgn,stage_range,term\n" + "".join(f"{gene},4-6,pole cell\n" for gene in genes))
    annotations = read_annotations(table)
    after, _ = applied(annotations, said("accept", 1), said("reject", 2, fbgn="FBgn0000463"))
    assert after.terms_of("Dl", "4-6", "FBgn0000463") == frozenset()
    with pytest.raises(InputError, match="X is FBgn1 and FBgn2"):
        applied(annotations, said("accept", gene="X"))


def test_kappa_is_one_for_agreement_zero_for_chance_and_undefined_without_a_choice():
    keys = [(f"g{i}", "4-6", "pole cell") for i in range(4)]
    every = {"accept": ["accept"] * 4, "half": ["accept"] * 2 + ["reject"] * 2}
    every["other"] = ["accept", "reject", "accept", "reject"]
    verdicts = {name: dict(zip(keys, said)) for name, said in every.items()}
    found = {one.curators: one for one in pairwise_agreements(verdicts) if one.term}
    assert found["half", "other"].kappa == pytest.approx(0) and found["half", "other"].n_agree == 2
    assert found["accept", "half"].kappa == pytest.approx(0)
    same = pairwise_agreements({"a": verdicts["half"], "b": dict(verdicts["half"])})
    assert [(one.term, one.kappa) for one in same] == [
        ("pole cell", pytest.approx(1)),
        ("", pytest.approx(1)),
    ]
    (alike, _) = pairwise_agreements({"a": verdicts["accept"], "b": dict(verdicts["accept"])})
    assert alike.kappa is None and alike.why == "undefined: both say accept throughout"


def test_tables_of_curators_come_to_one_that_teaches_the_same(tmp_path, annotations):
    rows = [said("accept", 1, gene="en", term="gap"), said("reject", 3), said("unsure", 1, gene="hb")]
    rows += [said("reject", 2, "ben", gene="en", term="gap"), said("accept", 3, "ben")]
    rows.append(said("accept", 2, "eva", gene="hb"))
    tables = [tmp_path / f"{name}.csv" for name in ("anna", "ben", "eva")]
    for table in tables:
        table.write_text(format_corrections(row for row in rows if row.curator == table.stem))
    curated = settle_corrections(tables)
    to_decide = write_merged_corrections(tmp_path / "merged.csv", curated)
    one, other = (applied(annotations, *read_corrections(p))[0] for p in (tables, [tmp_path / "merged.csv"]))
    for what in ("terms_by_gene", "unsure", "known_only"):
        assert getattr(one, what) == getattr(other, what)
    words = format_agreement(curated)
    assert words.startswith("3 curators: anna (3 terms), ben (2 terms), eva (1 term); 3 in all")
    contested = "pole cell of Dl in 4-6: anna: reject (2026-01-03), ben: accept (2026-01-03)"
    assert "3 disagreements, 3 to decide" in words, words
    assert f"{contested}; is unsure until decided" in words
    filled = to_decide.read_text().replace("unsure,,", "accept,carl,")
    to_decide.write_text(filled)
    decided = settle_corrections([tmp_path / "merged.csv", to_decide])
    assert "3 disagreements, 0 to decide" in format_agreement(decided)
    tie = tmp_path / "tie.csv"
    tie.write_text(format_corrections([said("accept", 1), said("reject", 1)]))
    words = format_agreement(settle_corrections([tie]))
    assert "; anna said several at one time; is unsure until decided" in words
    assert decided.agreements == curated.agreements, "what was decided later does not flatter them"


@pytest.mark.parametrize("case", list_cases(), ids=lambda case: case.name)
def test_a_table_is_read_as_the_table_of_cases_says(tmp_path, case, caplog):
    """The page reads it alike, see `tests/report/test_report_corrections.py`."""
    path = tmp_path / "table.csv"
    path.write_bytes(case.content)
    read = read_corrections([path])
    rows = [asdict(c) | {"fbgn": c.fbgn or GENES[c.gene]} for c in read]
    assert {fields(case, row) for row in rows} == case.rows
    said = " ".join(message for message in caplog.messages if "left out" in message)
    assert {int(line) for line in re.findall(r"line (\d+)[,:]", said)} == case.lines
    path.write_text(format_corrections(read), encoding="utf-8")
    assert set(read_corrections([path])) == set(read), "what is written is read again"
    assert set(case.own) == set(path.read_text(encoding="utf-8").split("\n")[0].split(",")) - {*COLUMNS}

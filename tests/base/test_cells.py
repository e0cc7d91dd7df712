"""What a cell of a table may mean: a view, a date that a spreadsheet made, or nothing; tables by hand."""

import pytest

from flyannot.base.dates import parse_serial_date, parse_spreadsheet_date
from flyannot.base.text import clean_name, fold, is_error_value, is_unknown
from flyannot.base.views import ViewType, parse_view, suggest_view


@pytest.mark.parametrize(
    ("text", "view"),
    [
        ("Lateral", "lateral"),
        (" DORSAL  view", "dorsal"),
        ("véntral", "ventral"),
        ("\u200blateral", "lateral"),
    ]
    + [("Vue latérale", "lateral"), ("seitliche Ansicht", "lateral"), ("Seitenansicht", "lateral")]
    + [("vista dorsal", "dorsal"), ("dorsali", "dorsal"), ("Rückenansicht", "dorsal"), ("背側", "dorsal")]
    + [("widok brzuszny", "ventral"), ("Вентральный вид", "ventral"), ("dorsolateral", "dorsolateral")]
    + [("latéral-dorsal", "latéral-dorsal"), ("laterodorsal", "laterodorsal")]
    + [("Dorso  lateral", "dorso lateral"), ("Ünder", "ünder"), ("view", "view"), ("", "")],
)
def test_a_view_is_compared_without_capitals_spaces_and_the_word(text, view):
    assert parse_view(text) == ViewType().parse(text) == view


@pytest.mark.parametrize(
    ("view", "meant"),
    [("lat.", "lateral"), ("d", "dorsal"), ("ventrl", "ventral"), ("dorsolateral", ""), ("lateral", "")]
    + [("", ""), (".", ""), ("anterior", "")],
)
def test_a_misspelt_or_shortened_view_is_known_and_another_view_is_not(view, meant):
    assert suggest_view(view) == meant


DATES = {  # what was meant is 4-6 or 1-9, and the day may come first
    (4, 6): ["06-Apr", "6. avril", "6-Apr-23", "Apr-06", "Sunday 6 Apr", "6 IV", "6 de abril de 2024"],
    (9, 1): ["1 Sep", "1er sept.", "Sep-01", "Sep-2001", "September 1st, 2024", "9月1日", "2024年9月1日"],
    (6, 4): ["4/6/2023", "2023-04-06", "2023. 04. 06.", "04:06", "04:06:00 PM", "4/6", "4.06", "4.6."],
    None: ["", "Lis-1", "mei-38", "1.28", "4-6", "hello", "6 iv", "0-Apr", "32-Apr", "4/32", "CG1234"],
}


@pytest.mark.parametrize(("text", "date"), [(text, date) for date, texts in DATES.items() for text in texts])
def test_a_date_is_read_as_spreadsheets_write_it(text, date):
    assert parse_spreadsheet_date(text) == date


def test_a_serial_date_is_counted_from_the_end_of_1899():
    assert parse_serial_date("45022") == parse_serial_date("45022.75") == "2023-04-06"
    assert parse_serial_date("30000") == "1982-02-18" and parse_serial_date("49999") == "2036-11-20"
    assert [parse_serial_date(text) for text in ("29999", "50000", "4502", "450220", "x45022")] == [None] * 5


def test_text_is_folded_to_small_letters_without_accents_with_plain_dashes():
    assert fold("  É\u2013a\u2212B  ß\u00a0x ") == "e-a-b ss x"
    assert fold("a  B") == "a b" and fold("ﬁ") == "fi"


@pytest.mark.parametrize(
    ("text", "is_error"),
    [(text, True) for text in ("#N/A", "#n/a", "#NV", "#REF!", "#ССЫЛКА!", "###", "Err:502", "Fehler: 502")]
    + [(text, False) for text in ("", "N/A", "a#b", "#nv", "#1", "Err:402", "a:b", "#Dl")],
)
def test_an_error_of_a_spreadsheet_is_known_in_any_language(text, is_error):
    assert is_error_value(text) == is_error
    assert not is_error or is_unknown(text)


UNKNOWN = ["unknown", "?", "-", "n/a", "TRUE", "(unknown)", "unknown gene", "None", "", "#N/A", "k.A."]


def test_words_for_nothing_are_unknown_and_genes_of_such_names_are_not():
    assert [text for text in UNKNOWN if not is_unknown(text)] == []
    assert [text for text in ("Dl", "sd+", "CG1", "a-b", "gap", "no") if is_unknown(text)] == []
    assert is_unknown("na", "term") and not is_unknown("na", "gene") and is_unknown("NA", "gene")
    assert is_unknown("0", "gene") and is_unknown("0", "term") and not is_unknown("0", "view")


def test_a_name_loses_what_html_and_typesetting_added():
    for text, name in (
        ("&alpha;-Tub", "α-Tub"),
        ("<i>Dl</i>", "Dl"),
        ("E(z)<up>1</up>", "E(z)[1]"),
        ("&bgr;Tub60D", "βTub60D"),
        ("&Dgr;&thgr;&eegr;", "Δθη"),
        ("E(spl)m&ggr;-HLH &AMP; &b;", "E(spl)mγ-HLH & &b;"),
        ("cafe\u0301", "caf\u00e9"),
        ("a&#38;b", "a&b"),
        ("“Dl”", "Dl"),
        ("fbgn0000463", "FBgn0000463"),
        ("FBGN12", "FBgn12"),
        ("FB:FBgn0000463", "FBgn0000463"),
        ("FlyBase: FBgn 0000463", "FBgn0000463"),
        ("FBgn0000463.1", "FBgn0000463"),
        ("https://flybase.org/reports/FBgn0000463.html", "FBgn0000463"),
        ("flybase.org/cgi-bin/uniq.html?id=FBgn0000463", "FBgn0000463"),
        ("FBgn1 FBgn2", "FBgn1 FBgn2"),
        ("FBgn1|FBgn2", "FBgn1|FBgn2"),
        ("Dl-FBgn2", "Dl-FBgn2"),
        ("FBgn１", "FBgn１"),  # no digit of ASCII
        ("a  \u00a0b\u200b", "a b"),
        ("a & b", "a & b"),
        ("a<b", "a<b"),
        ("é&#10;b", "é&#10;b"),  # no cell has a line break
    ):
        assert clean_name(text) == name

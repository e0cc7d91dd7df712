"""Tests of the review of terms on the page. Skipped without a browser."""

import re
from dataclasses import astuple, replace
from datetime import UTC, date, datetime, timedelta

import pytest

from flyannot.curation.corrections import COLUMNS, VERDICTS, Correction, read_corrections, settle_verdicts
from flyannot.dataset.folder import Image
from flyannot.dataset.images import name_genes_by_file
from flyannot.report.groups import ABSENT, AGREED, MISSED, NEW, GroupEntry, ImageEntry, ReviewMark
from flyannot.report.page import ReviewSettings
from flyannot.report.templates import read_template
from tests.report.browser import (
    LINES,
    downloaded,
    focused,
    genes,
    next_gene,
    open_gene,
    reload,
    review_as,
    shown,
    violations,
    violations_in_light_and_dark,
    wait_for_store,
)
from tests.report.small_pages import shown as shown_picture
from tests.report.small_pages import term, write_groups
from tests.small_embryos import rows_of_csv

NEEDED = ("gene", "stage_range", "term", "verdict", "date")
REVIEW = ReviewSettings(
    "digest-of-the-model", {t: [1] for t in ("brain primordium", "midgut", "pole cell", "=odd, term")}
)


def entry(gene, stage_range="4-6", fbgn=""):
    terms = [
        term("pole cell", AGREED, 0.9),
        term("midgut", NEW, 0.8),
        term("=odd, term", MISSED, 0.3),
        term("gap", ABSENT, 0.1),
    ]
    images = [ImageEntry(f"{gene}{i}.png", "lateral", shown_picture(f"{gene}{i}")) for i in range(2)]
    return GroupEntry(stage_range, f"{gene}", gene, fbgn, True, images, terms)


def write(path, genes=("Dl", "en", "hb"), **more):
    entries = [entry(gene, fbgn="FBgn0000463" * (gene == "Dl")) for gene in genes]
    entries += [entry("Dl", "7-8", "FBgn0000463")]
    write_groups(path, entries, review=REVIEW, **more)
    return path


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return write(tmp_path_factory.mktemp("review") / "report.html")


@pytest.fixture
def view(browser, pages):
    with shown(browser, pages) as opened:
        review_as(opened, "anna")
        yield opened


def cell(view, term, gene="4-6.Dl"):
    return view.locator(f'[data-group="{gene}"][data-term="{term}"]')


def verdict(view, term, gene="4-6.Dl"):
    cell(view, term, gene).locator("[data-verdict]").first.wait_for()
    pressed = cell(view, term, gene).locator("button[aria-pressed=true]")
    return pressed.get_attribute("data-verdict") if pressed.count() else None


def press(view, term, what, gene="4-6.Dl"):
    cell(view, term, gene).locator(f"[data-verdict={what}]").click()


def progress(view):
    return view.inner_text("#review-progress")


def take_in(view, table, said=""):
    """Import a table of corrections; return what the page says of it."""
    view.set_input_files("#import-corrections", table)
    view.locator("#review-said", has_text=said or f"{table.name}: ").wait_for()
    return view.inner_text("#review-said")


def test_a_verdict_is_given_changed_taken_back_and_undone(view):
    assert progress(view) == "0 of 12 terms reviewed"
    press(view, "pole cell", "accept")
    press(view, "midgut", "reject")
    assert (verdict(view, "pole cell"), verdict(view, "midgut")) == ("accept", "reject")
    assert progress(view) == "2 of 12 terms reviewed"
    assert view.inner_text("#review-said") == "midgut rejected. 2 of 12 terms reviewed."
    assert "2 of 3 reviewed" in view.locator(LINES).first.inner_text()
    press(view, "midgut", "unsure")
    assert verdict(view, "midgut") == "unsure"
    view.click("#undo")
    assert verdict(view, "midgut") == "reject"
    press(view, "midgut", "reject")
    assert verdict(view, "midgut") is None
    view.click("#undo")
    view.click("#undo")
    assert verdict(view, "midgut") is None and verdict(view, "pole cell") == "accept"
    assert "Undone: Dl, 4-6: midgut is not reviewed." in view.inner_text("#review-said")


def test_verdicts_survive_a_reload_and_a_page_made_anew(browser, tmp_path):
    path = write(tmp_path / "report.html")
    with shown(browser, path) as view:
        view.fill("#curator", "anna")
        press(view, "pole cell", "unsure")
        cell(view, "pole cell").locator(".note").fill("faint, one side")
        cell(view, "pole cell").locator(".note").blur()
        reload(view)
        assert verdict(view, "pole cell") == "unsure" and view.input_value("#curator") == "anna"
        assert cell(view, "pole cell").locator(".note").input_value() == "faint, one side"
        write(path, ("Dl", "ems", "en"), made_from="abc")
        view.reload()
        assert verdict(view, "pole cell") == "unsure"
        (tmp_path / "moved").mkdir()
        view.goto(write(tmp_path / "moved" / "other.html").as_uri())
        assert verdict(view, "pole cell") == "unsure", "and of another run on the same data set"


def test_a_picture_without_a_gene_has_the_name_that_a_run_gives_it(browser, tmp_path):
    """So that corrections from the page of `annotate` teach a run on the same pictures."""
    names = ["Embryo 1.PNG", "x/b.png", "y/b.png", "photo.tif#1", "photo.tif#2", "last"]
    groups = [GroupEntry("4-6", name, terms=entry("Dl").terms) for name in names]
    write_groups(tmp_path / "terms.html", groups, review=ReviewSettings())
    with shown(browser, tmp_path / "terms.html") as view:
        for name in names:
            open_gene(view, f"4-6.{name}")
            press(view, "pole cell", "accept", f"4-6.{name}")
        rows = rows_of_csv(downloaded(view, tmp_path / "corrections.csv"))
    images = name_genes_by_file([Image(name, name, "", "4-6", group=name) for name in names])
    assert {row["gene"] for row in rows} == {image.gene for image in images} and len(rows) == len(names)


def test_verdicts_of_other_pictures_of_the_same_names_are_never_shown(browser, tmp_path):
    """Two folders of one camera, of any name, against one folder that was moved, renamed, or has grown."""

    def page(place, *genes, pictures="a"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        images = {gene: [ImageEntry("IMG_1.jpg", digest=gene + pictures)] for gene in genes}
        groups = [replace(entry(gene), images=images[gene]) for gene in genes]
        write_groups(tmp_path / place, groups, review=REVIEW)
        return (tmp_path / place).as_uri()

    with shown(browser, write(tmp_path / "any.html")) as view:
        view.goto(page("emb/report.html", "Dl", "ems"))
        press(view, "pole cell", "accept")
        for other in ("emb/report.html", "emb #2/report.html", "emb late/report.html"):
            view.goto(page(other, "Dl", "ems", pictures=other))
            assert verdict(view, "pole cell") is None and progress(view).startswith("0 of")
            press(view, "midgut", "reject")
        for own in ("emb/report.html", "renamed/report.html", "emb #2/moved.html"):
            view.goto(page(own, *("Dl", "ems", "hb")[: 3 if "moved" in own else 2]))
            assert verdict(view, "pole cell") == "accept" and verdict(view, "midgut") is None


_NAMES = "Object.keys(localStorage).filter((name) => name.startsWith('flyannot-verdicts')).sort()"


def test_what_cannot_be_read_is_named_and_kept_aside_whatever_it_is(view):
    press(view, "pole cell", "accept")
    press(view, "midgut", "reject")
    (name,) = view.evaluate(_NAMES)
    whole = view.evaluate("name => localStorage.getItem(name)", name)
    row = whole[1:-1].split("},")[0].rstrip("}") + "}"
    damages = ["no list", '"text"', "{}", "[1]", "[null]", f"[{row},3]", whole[:-1]]
    changed = (("acc", "exc"), ('"term"', '"t"'), ("20", "2x"), ("{", '{"note":3,'))
    damages += [f"[{row}]".replace(*was_and_is) for was_and_is in changed]
    for n, text in enumerate(damages):
        view.evaluate("([name, text]) => localStorage.setItem(name, text)", [name, text])
        reload(view)
        assert verdict(view, "pole cell") is None and "0 of 12" in progress(view), text
        assert "Unreadable in this browser, and kept aside: verdicts on Dl, 4-6" in view.inner_text(
            "#review-said"
        )
        press(view, "pole cell", "accept")
        first, *aside = view.evaluate(f"{_NAMES}.map((name) => localStorage.getItem(name))")
        assert sorted(aside) == sorted(damages[: n + 1]) and "accept" in first
    press(view, "midgut", "reject")
    view.evaluate("name => localStorage.setItem(name, 'while the page is open')", name)
    press(view, "=odd, term", "reject")
    reload(view)
    assert progress(view) == "3 of 12 terms reviewed" and len(view.evaluate(_NAMES)) == len(damages) + 2


def test_a_store_that_is_emptied_while_the_page_is_open_is_written_again(view):
    press(view, "pole cell", "accept")
    open_gene(view, "7-8.Dl")
    press(view, "midgut", "accept", "7-8.Dl")
    other = view.context.new_page()
    other.goto(view.url)
    other.evaluate("localStorage.clear()")
    view.locator(
        "#review-said", has_text="was emptied while this page was open. This browser does"
    ).wait_for()
    assert "does not keep 2 verdicts: download corrections.csv" in view.inner_text("#review-said")
    view.evaluate("localStorage.clear()")
    press(view, "pole cell", "reject", "7-8.Dl")
    reload(view)
    assert progress(view) == "3 of 12 terms reviewed"
    other.locator("#review-progress", has_text="3 of 12 terms reviewed").wait_for()
    other.keyboard.press("z")
    assert other.inner_text("#review-said") == "There is nothing to undo.", "the first page wrote all again"
    view.evaluate("localStorage.clear()")  # no event tells the page
    press(view, "=odd, term", "reject", "7-8.Dl")
    assert "was emptied while this page was open, and is written again." in view.inner_text("#review-said")
    reload(view)
    assert progress(view) == "4 of 12 terms reviewed"


def test_the_table_of_corrections_is_downloaded_and_taken_in_again(view, browser, pages, tmp_path):
    press(view, "pole cell", "accept")
    press(view, "=odd, term", "reject")
    cell(view, "=odd, term").locator(".note").fill('not "here"')
    cell(view, "=odd, term").locator(".note").blur()
    path = downloaded(view, tmp_path / "corrections.csv")
    rows = rows_of_csv(path)
    given = ["Dl", "FBgn0000463", "4-6", "'=odd, term", "reject", "anna", rows[0]["date"]]
    cells = [*given, 'not "here"', "0.3000", "digest-of-the-model", *[""] * 4]
    assert list(rows[0].items()) == list(zip(COLUMNS, cells, strict=True))
    assert abs(datetime.now(UTC) - datetime.fromisoformat(rows[0]["date"])) < timedelta(minutes=5)
    read = {one.term: one for one in read_corrections([path])}
    assert (read["=odd, term"].verdict, read["pole cell"].verdict) == ("reject", "accept")
    with shown(browser, pages) as other:  # another browser, that knows nothing
        take_in(other, path)
        assert (verdict(other, "=odd, term"), verdict(other, "pole cell")) == ("reject", "accept")
        assert progress(other) == "2 of 12 terms reviewed"
        assert downloaded(other, tmp_path / "again.csv").read_text() == path.read_text()


def test_what_is_taken_in_replaces_what_the_curator_said_before_and_says_what_it_cannot_take(view, tmp_path):
    press(view, "pole cell", "accept")
    table = tmp_path / "c.csv"
    today, tomorrow = date.today(), date.today() + timedelta(days=1)
    table.write_text(
        f"term;gene;stage_range;verdict;date;curator\npole cell;Dl;4-6;reject;{tomorrow};anna\n"
        f"midgut;other;4-6;accept;{today} 00:00:00;ben\nmidgut;Dl;4-6;perhaps;{today};ben\n"
    )
    said = take_in(view, table)
    assert "c.csv: 1 verdict loaded; left out: 1 verdict on genes or stage ranges that are not here;" in said
    assert "line 4: unknown verdict \u201cperhaps\u201d" in said
    assert verdict(view, "pole cell") == "reject"
    assert progress(view) == "1 of 12 terms reviewed"
    table.write_text("term,gene,stage_range,verdict,date,curator\npole cell,Dl,4-6,accept,2000-01-01,anna\n")
    take_in(view, table, "older")
    assert verdict(view, "pole cell") == "reject"
    view.click("#undo")
    assert verdict(view, "pole cell") == "accept", "what was taken in is undone at once"
    table.write_text("a,b\n1,2\n")
    take_in(view, table, "no column gene")


def test_the_page_and_python_settle_verdicts_alike(view, rng):
    functions = re.search(
        r"^  const textOf.*?^(?=  function setRows)", read_template("verdicts.js"), re.S | re.M
    )[0]
    script = f"(rows) => {{ const COLUMNS = {list(COLUMNS)}; {functions} return settled(rows); }}"
    dates = [f"2026-01-0{day}{time}" for day in (1, 2) for time in ("", "T01:00:00+14:00", "T12:00:00-11:00")]
    draw = {"curator": ["a", "b", "c"], "date": dates, "verdict": VERDICTS}
    draw["decides"] = ["", "", "", "a; b", "b;c ", "a"]
    for _ in range(200):
        drawn = {name: rng.choice(values, rng.integers(1, 7)).tolist() for name, values in draw.items()}
        rows = [Correction("Dl", "", "4-6", "gap", **dict(zip(drawn, row))) for row in zip(*drawn.values())]
        (settled,) = settle_verdicts(rows).values()
        by_page = view.evaluate(script, [dict(zip(COLUMNS, astuple(row))) for row in rows])
        assert by_page["isContested"] == settled.is_contested
        assert by_page["verdict"] == settled.correction.verdict
        assert (", at one time" in by_page["said"]) == bool(settled.ties)
        assert {Correction(*map(row.get, COLUMNS)) for row in by_page["rows"]} == set(settled.rows)


def test_a_curator_decides_on_the_page_and_takes_it_back(view, tmp_path):
    press(view, "midgut", "reject")
    (tmp_path / "ben.csv").write_text(f"{','.join(NEEDED)},curator\nDl,4-6,midgut,accept,2026-01-03,ben\n")
    assert "verdicts disagree on 1 term" in take_in(view, tmp_path / "ben.csv")
    assert "To decide. anna: reject (" in cell(view, "midgut").inner_text()
    view.select_option("#groups-which", "contested")
    assert genes(view) == ["Dl"]
    view.locator(LINES, has_text="1 to decide").first.wait_for()
    assert not violations(view)
    press(view, "midgut", "accept")
    view.select_option("#groups-which", "all")
    rows = rows_of_csv(downloaded(view, tmp_path / "c.csv"))
    assert {(row["curator"], row["verdict"], row["decides"]) for row in rows} == {
        ("ben", "accept", ""),
        ("anna", "reject", ""),
        ("anna", "accept", "anna; ben"),
    }
    reload(view)
    assert verdict(view, "midgut") == "accept" and "To decide" not in cell(view, "midgut").inner_text()
    press(view, "midgut", "accept")
    assert verdict(view, "midgut") == "unsure" and "withdrawn; to decide" in view.inner_text("#review-said")


def test_terms_that_were_not_predicted_are_added(view):
    group = view.locator("#gene")
    group.locator(".another").fill("Brain Primordium")
    group.locator("form.add [type=submit]").click()
    assert verdict(view, "brain primordium") == "accept"
    assert group.locator("tr[data-status=added]").inner_text().startswith("brain primordium")
    group.locator(".another").fill("no such term")
    group.locator("form.add [type=submit]").click()
    assert "There is no term" in view.inner_text("#review-said")
    assert not cell(view, "gap").locator("button").first.is_visible()
    group.locator("button.more").click()
    press(view, "gap", "accept")
    assert progress(view) == "0 of 12 terms reviewed, and 2 verdicts on other terms"
    reload(view)
    assert verdict(view, "brain primordium") == "accept" and verdict(view, "gap") == "accept"
    assert cell(view, "gap").locator("button").first.is_visible(), "what was reviewed is not folded away"


def finished(view, path):
    """Return (verdict, finished) by term, of the corrections that the page gives."""
    rows = rows_of_csv(downloaded(view, path / "c.csv"))
    return {row["term"]: (row["verdict"], row["finished"]) for row in rows}


def test_a_gene_is_finished_by_a_key_and_opened_again(view, tmp_path):
    """Open terms that are shown are rejected unless curated; a later verdict on the gene has the mark."""
    view.locator("#gene button.more").click()
    press(view, "midgut", "accept")
    view.keyboard.press("f")
    assert "1 open term rejected; Dl is finished" in view.inner_text("#review-said")
    assert finished(view, tmp_path) == {"midgut": ("accept", "yes"), "gap": ("reject", "yes")}
    button = view.locator("button.finish")
    assert button.get_attribute("aria-pressed") == "true"
    assert "1 of 3 reviewed, finished" in view.locator(LINES).first.inner_text()
    press(view, "pole cell", "accept")
    assert finished(view, tmp_path)["pole cell"] == ("accept", "yes")
    reload(view)
    button.click()
    assert {mark for _, mark in finished(view, tmp_path).values()} == {""}
    view.click("#undo")
    assert {mark for _, mark in finished(view, tmp_path).values()} == {"yes"} and not violations(view)


def test_a_gene_that_is_opened_again_is_open_beside_an_earlier_table_too(view, tmp_path):
    tables = []
    press(view, "midgut", "accept")
    for hour in (9, 10):
        view.clock.set_fixed_time(datetime(2026, 3, 1, hour, tzinfo=UTC))
        view.locator("button.finish").click()
        tables.append(downloaded(view, tmp_path / f"{hour}.csv"))
    for paths in (tables, tables[::-1]):
        settled = settle_verdicts(read_corrections(paths)).values()
        assert {row.finished for one in settled for row in one.rows} == {""}
    take_in(view, tables[0])
    assert {mark for _, mark in finished(view, tmp_path).values()} == {""}


def test_finishing_a_gene_keeps_the_verdicts_of_others(view, tmp_path):
    """Without any own verdict, the first open term is rejected to carry the mark."""
    for name in ("pole cell", "midgut", "=odd, term"):
        press(view, name, "accept")
    review_as(view, "ben")
    view.locator("button.finish").click()
    rows = rows_of_csv(downloaded(view, tmp_path / "c"))
    said = {row["term"]: (row["verdict"], row["curator"]) for row in rows}
    assert said.pop("gap") == ("reject", "ben") and set(said.values()) == {("accept", "anna")}


def test_a_term_that_the_eye_adds_finishes_the_gene_once_no_shown_term_is_open(view, tmp_path):
    for name in ("pole cell", "midgut", "=odd, term"):
        press(view, name, "accept")
    assert {mark for _, mark in finished(view, tmp_path).values()} == {""}, "nothing was added"
    view.locator("#gene .another").fill("brain primordium")
    view.locator("#gene form.add [type=submit]").click()
    assert finished(view, tmp_path) == dict.fromkeys(
        ("'=odd, term", "brain primordium", "midgut", "pole cell"), ("accept", "yes")
    )


def test_the_chance_of_a_drawn_term_is_recorded(browser, tmp_path):
    drawn = replace(term("gap", ABSENT, 0.1), review=ReviewMark("look", 0.1, "0.2500"))
    write_groups(tmp_path / "p.html", [replace(entry("Dl"), terms=[term("midgut", NEW, 0.8), drawn])])
    with shown(browser, tmp_path / "p.html") as view:
        press(view, "gap", "reject")
        press(view, "midgut", "reject")
        rows = rows_of_csv(downloaded(view, tmp_path / "c.csv"))
    assert {row["term"]: row["chance"] for row in rows} == {"gap": "0.2500", "midgut": ""}


@pytest.fixture
def bare(browser, tmp_path):
    """Show a page of three genes without predictions."""
    vocabulary = {"pole cell": [1], "midgut": [1, 5], "gonad": [5], "our own": []}
    groups = [
        GroupEntry("4-6", gene, gene, images=[ImageEntry(gene, shown=shown_picture(gene))], unlike=unlike)
        for gene, unlike in (("a", 0.5), ("b", 2.0), ("c", 0.7))
    ]
    write_groups(tmp_path / "bare.html", groups, review=ReviewSettings("", vocabulary), is_predicted=False)
    with shown(browser, tmp_path / "bare.html") as opened:
        review_as(opened, "anna")
        yield opened


def test_where_nothing_is_predicted_a_term_of_one_gene_is_asked_of_the_others(bare, tmp_path):
    assert genes(bare) == ["b", "c", "a"] and progress(bare) == "No terms to review yet"
    field = bare.locator("#gene .another")
    listed = bare.locator(f"#{field.get_attribute('list')} option")
    assert [one.get_attribute("value") for one in listed.all()] == ["pole cell", "midgut", "our own"]
    bare.keyboard.press("j")
    bare.locator(".another:focus").wait_for()
    for text in ("pole cell", "gonad"):  # what others stage ranges have is no mistake, perhaps
        bare.keyboard.type(text)
        bare.keyboard.press("Enter")
    assert verdict(bare, "pole cell", "4-6.b") == "accept" == verdict(bare, "gonad", "4-6.b")
    assert progress(bare) == "2 of 6 terms reviewed"
    bare.keyboard.press("Escape")
    next_gene(bare)
    assert verdict(bare, "pole cell", "4-6.c") is None, "asked, not answered"
    for key in ("t", *"midgut", "Enter"):
        bare.keyboard.press(key)
    bare.locator("#gene .others").click()
    said = {term: verdict(bare, term, "4-6.c") for term in ("pole cell", "gonad", "midgut")}
    assert said == {"pole cell": "reject", "gonad": "reject", "midgut": "accept"}
    rows = read_corrections([downloaded(bare, tmp_path / "c.csv")])
    assert {one.term: one.verdict for one in rows if one.gene == "c"} == said
    bare.fill("#groups-search", "GON")
    assert genes(bare) == ["b"]
    bare.fill("#groups-search", "")
    assert genes(bare) == ["a", "b", "c"], "those that have verdicts are looked at"
    bare.reload()
    assert progress(bare) == "5 of 9 terms reviewed" and not violations(bare)


def test_a_review_by_keyboard(view):
    row = "document.activeElement.closest('tr')?.dataset.term"
    view.locator(LINES).first.click()
    for marked, key in (("pole cell", "a"), ("midgut", "r"), ("=odd, term", "u")):
        assert focused(view) == marked, "a key acts on what is marked, also after a click into the list"
        view.keyboard.press(key)
    given = {"pole cell": "accept", "midgut": "reject", "=odd, term": "unsure"}
    for key in ("u", "r", "a"):  # after the last term a key more changes nothing
        assert view.evaluate(row) is None and {term: verdict(view, term) for term in given} == given
        view.keyboard.press(key)
        assert "j " in view.inner_text("#review-said")
    next_gene(view)
    view.keyboard.press("z")
    assert "Undone: Dl, 4-6: =odd, term is not reviewed." in view.inner_text("#review-said")
    view.wait_for_function(f"{row} === '=odd, term'")
    assert verdict(view, "=odd, term") is None
    view.keyboard.press("ArrowUp")
    view.keyboard.press("n")
    view.keyboard.type("jar")
    view.keyboard.press("Escape")
    assert cell(view, "midgut").locator(".note").input_value() == "jar", "letters of a note are letters"
    assert view.evaluate(row) == "midgut"
    view.keyboard.press("j")
    view.locator('#gene[data-key="4-6.en"]:focus-within').wait_for()
    view.keyboard.press("ArrowRight")
    view.locator('#gene[data-key="4-6.hb"]:focus-within').wait_for()
    view.keyboard.press("k")
    view.locator('#gene[data-key="4-6.en"]:focus-within').wait_for()
    view.keyboard.press("?")
    assert view.locator("#keys").is_visible() and "accept the term" in view.inner_text("#keys")
    view.keyboard.press("a")
    view.keyboard.press("Escape")
    assert not view.locator("#keys").is_visible() and verdict(view, "pole cell", "4-6.en") is None
    view.click(".menu summary")
    view.uncheck("#by-key")
    cell(view, "pole cell", "4-6.en").locator("button").first.focus()
    view.keyboard.press("r")
    assert verdict(view, "pole cell", "4-6.en") is None, "switched off"


def test_a_verdict_without_a_name_asks_for_it_once(browser, pages, tmp_path):
    with shown(browser, pages) as view:
        press(view, "pole cell", "accept")
        assert "Write your name" in view.inner_text("#review-said")
        view.fill("#curator", "ben")
        press(view, "midgut", "accept")
        assert "name" not in view.inner_text("#review-said")
        rows = rows_of_csv(downloaded(view, tmp_path / "c.csv"))
        assert [row["curator"] for row in rows] == ["ben", "ben"]


_ABSENT = "Object.defineProperty(window, 'localStorage', { get() { throw 1; } })"
_FULL = """Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }"""


@pytest.mark.parametrize("script", [_FULL, _ABSENT])
def test_a_browser_that_keeps_nothing_says_so_and_the_review_goes_on(browser, pages, tmp_path, script):
    with shown(browser, pages) as view:
        view.add_init_script(script)
        view.reload()
        press(view, "pole cell", "accept")
        assert "does not keep 1 verdict: download corrections.csv before" in view.inner_text("#review-said")
        assert len(rows_of_csv(downloaded(view, tmp_path / "c.csv"))) == 1


def test_a_store_that_is_nearly_full_loses_nothing_in_silence(view, tmp_path):
    """The page reads a full store, and warns of verdicts that it could not keep until they are downloaded."""
    press(view, "pole cell", "accept")
    view.evaluate(
        """() => {
          for (let n = 2 ** 22; n >= 1; n /= 2)
            try { for (;;) localStorage.setItem("of another page " + Math.random(), "x".repeat(n)); } catch {}
        }"""
    )
    press(view, "midgut", "reject")
    assert "does not keep 1 verdict: download corrections.csv before" in view.inner_text("#review-said")
    asked = []
    view.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    reload(view)
    view.locator("#review-progress", has_text="1 of 12 terms reviewed").wait_for()
    assert asked == ["beforeunload"] and verdict(view, "pole cell") == "accept"
    press(view, "midgut", "reject")
    assert len(rows_of_csv(downloaded(view, tmp_path / "c.csv"))) == 2
    reload(view)
    assert asked == ["beforeunload"] and verdict(view, "midgut") is None
    press(view, "midgut", "reject")
    view.evaluate(
        "Object.keys(localStorage).forEach((name) => /^of/.test(name) && localStorage.removeItem(name))"
    )
    press(view, "=odd, term", "reject")
    assert "keep" not in view.inner_text("#review-said")
    reload(view)
    assert progress(view) == "3 of 12 terms reviewed"


def test_another_tab_follows(view):
    other = view.context.new_page()
    other.goto(view.url)
    press(view, "pole cell", "reject")
    other.locator("#review-progress", has_text="1 of 12 terms reviewed").wait_for()
    assert verdict(other, "pole cell") == "reject"
    other.add_init_script("addEventListener('storage', (event) => event.stopImmediatePropagation(), true)")
    reload(other)  # it learns nothing of the first tab any more
    press(view, "midgut", "accept")
    wait_for_store(view)
    press(other, "midgut", "accept")
    assert "midgut was just changed in another tab" in other.inner_text("#review-said")
    press(other, "=odd, term", "reject")
    view.locator("#review-progress", has_text="3 of 12 terms reviewed").wait_for()
    assert progress(other) == progress(view) and verdict(view, "midgut") == "accept"


def test_a_picture_is_enlarged_and_its_map_faded(browser, page):
    with shown(browser, page) as view:
        group = view.locator("#gene")
        group.locator("button.map").first.click()
        group.locator("button.enlarge").first.focus()
        view.keyboard.press("Enter")
        large = view.locator("#enlarged .embryo img")
        assert large.bounding_box()["width"] > 2 * group.locator(".embryo img").first.bounding_box()["width"]
        view.locator("#map-opacity").fill("25")
        assert view.locator("#enlarged canvas").evaluate("one => getComputedStyle(one).opacity") == "0.25"
        view.keyboard.press("Escape")
        assert view.evaluate("document.activeElement.className") == "enlarge", "back where it was"


def test_groups_stand_side_by_side_and_a_gene_in_its_stages(view):
    view.locator("#gene button.course").click()
    titles = view.locator("#beside h4").all_inner_texts()
    assert titles == ["Dl, stage range 4-6", "Dl, stage range 7-8"]
    assert view.locator("#beside img").count() == 4
    reload(view)
    assert view.locator("#beside h4").all_inner_texts() == titles
    view.locator("#beside article button").last.click()
    open_gene(view, "4-6.en")
    view.locator("#gene button.beside").click()
    assert view.locator("#beside h4").all_inner_texts() == ["Dl, stage range 4-6", "en, stage range 4-6"]
    view.click("#beside-none")
    assert not view.locator("#beside").is_visible()


def test_the_list_is_downloaded_as_it_is_filtered(view, tmp_path):
    press(view, "midgut", "reject")
    view.fill("#groups-search", "midgut")
    first, second, *_ = rows_of_csv(downloaded(view, tmp_path / "terms.csv", "#download-list"))
    dl = {"gene_symbol": "Dl", "FBgn_ID": "FBgn0000463", "term": "midgut"}
    assert first.items() >= (dl | {"verdict": "reject", "status": "new", "probability": "0.8"}).items()
    assert second.items() >= (dl | {"gene_symbol": "en", "FBgn_ID": ""}).items()


def test_axe_finds_no_fault(browser, pages, page):
    """The tool tests WCAG A and AA, and best practices, on all that a curator opens."""
    with shown(browser, page) as view:
        view.locator("#dictionary details.fold summary").first.click()
        view.locator("#gene button.map").first.click()
        assert violations_in_light_and_dark(view) == []
    with shown(browser, pages) as view:
        press(view, "pole cell", "accept")
        press(view, "midgut", "reject")
        view.locator("#gene button.more").click()
        view.locator("#gene button.course").click()
        assert violations_in_light_and_dark(view) == []
        view.click(".menu summary")
        view.click("#show-keys")
        assert violations_in_light_and_dark(view) == []
        view.keyboard.press("Escape")
        view.locator("button.enlarge").first.click()
        assert violations_in_light_and_dark(view) == []
        view.locator("#enlarged img").evaluate("one => one.removeAttribute('alt')")
        assert [name for name, *_ in violations(view)] == ["image-alt"], "it looks"
        view.emulate_media(color_scheme="dark")
        view.add_style_tag(content="#enlarged, #enlarged * { color: #444; background: #333 }")
        assert {name for name, *_ in violations(view, ["color-contrast"])} == {"color-contrast"}, (
            "in dark too"
        )

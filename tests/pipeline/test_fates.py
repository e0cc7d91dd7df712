"""The table of the fates of pictures: what became of every picture of a folder, and why."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from flyannot.base.fates import LEFT_OUT, MISSING, NOT_NAMED, NOT_READ, REFUSED, USED, WARNED
from flyannot.pipeline.engine import parts
from flyannot.pipeline.engine.fates import write_fates
from tests.small_embryos import rows_of_csv

LATERAL = ("lateral", "latérale", "vue latérale", "Seitenansicht", "Lateral view", "laterale")
DORSAL = ("dorsale", "vue dorsale", "Rückenansicht", "dorsal")
EITHER = "used or warned"
ANNOTATE = "annotate blastoderm mine -o t.h5 --view lateral"


@pytest.fixture
def fates(chain, tmp_path, monkeypatch):
    """Make a folder of 42 pictures of every kind, work beside it, and return the fate of each picture."""
    monkeypatch.chdir(tmp_path)
    Path("mine/below").mkdir(parents=True)
    early, late = (sorted((chain.embryos / "images").glob(f"*_{s}_*.png")) for s in ("4-6", "11-12"))
    rows = ["image,gene,stage_range,view"]
    fates = {}

    def add(fate, name, row="", source=None):
        """Add a picture with its expected fate, and its row if it has one."""
        name = f"{name}.png"
        fates[name] = fate
        if fate == NOT_READ:
            Path("mine", name).write_bytes(early[0].read_bytes()[:300])
        elif fate != MISSING:
            shutil.copy(source or early[len(fates)], Path("mine", name))
        rows.append(f"{name},{row}") if row else None

    for i in range(12):
        add(EITHER, f"early{i}", f"g{i},4-6,{LATERAL[i % 6]}")
    for i, view in enumerate(DORSAL):
        add(LEFT_OUT, f"above{i}", f"h{i},4-6,{view}")
    for i in range(5):
        add(LEFT_OUT, f"late{i}", f"k{i},11-12,lateral", late[i])
    wrong = (",4-6,", ",4-6,", ",,", "#N/A,4-6,", "m,?,", "m,unbekannt,", "m,early,", "m,4-6,lat.", "m,4-6,")
    for i, row in enumerate(wrong):
        add(REFUSED, f"wrong{i}", row)
    rows.append("wrong8.png,other,4-6,lateral")
    for name in ("twin0", "twin1"):
        add(WARNED, name, f"{name},4-6,lateral", early[-1])
    add(NOT_READ, "broken0", "n,4-6,lateral")
    add(NOT_READ, "broken1", "n,4-6,lateral")
    add(REFUSED, "white", "n,4-6,lateral")
    Image.fromarray(np.full((128, 320), 255, np.uint8)).save("mine/white.png")
    add(MISSING, "gone0", "n,4-6,lateral")
    add(MISSING, "gone1", "n,4-6,lateral")
    for name in ("new0", "new1", "new2", "new3", "below/new4"):
        add(NOT_NAMED, name)
    Path("mine/images.csv").write_text("\n".join(rows), encoding="utf-8")
    return fates


def test_every_picture_has_one_fate_with_its_reason_and_the_counts_add_up(fates, flyannot):
    said = flyannot(f"{ANNOTATE} --page", code=3)
    rows = rows_of_csv("t-pictures.csv")
    told = {row["image"]: EITHER if fates[row["image"]] == EITHER else row["fate"] for row in rows}
    assert told == fates and len(rows) == len(fates) == 42
    assert {row["view"] for row in rows if row["fate"] in (USED, WARNED)} == {"lateral"}
    assert all(bool(row["reason"]) == (row["fate"] != USED) for row in rows)
    assert all(row["advice"] for row in rows if row["fate"] not in (USED, LEFT_OUT))
    counts = next(line for line in said.err.splitlines() if line.startswith("42 pictures: "))
    assert sum(int(part.split()[0]) for part in counts[13:].split(", ")) == 42
    assert 'column "gene": empty (3)' in said.err and "view dorsal is not selected (4)" in said.err
    page = Path("t.html").read_text(encoding="utf-8")
    assert "refused: images.csv, line 23, column" in page and ": wrong0.png</li>" in page
    assert page.count("it is not of stage range 4-6") == 1, "a reason is given once"
    reasons = {row["image"]: row["reason"] for row in rows}
    assert reasons["late0.png"] == "it is not of stage range 4-6"
    assert "lines 31 and 32" in reasons["wrong8.png"] and "twin1.png" in reasons["twin0.png"]


def test_the_table_is_the_same_for_any_number_of_workers_and_of_shares(fates, flyannot, monkeypatch):
    monkeypatch.setattr(parts, "IMAGES_PER_PART", 4)
    run = "run --data-set mine --output results --set select.view=lateral --step extract"
    flyannot(run, code=3)
    whole = Path("results/pictures.csv").read_bytes()
    assert {row["image"] for row in rows_of_csv("results/pictures.csv")} == set(fates)
    shutil.rmtree("results")
    for share in ("1/3", "2/3", "3/3"):
        flyannot(f"{run} --part {share}", code=0)
    flyannot(f"{run} --jobs 2", code=3)
    assert Path("results/pictures.csv").read_bytes() == whole
    assert flyannot("status results").out.split()[:3] == ["extract", "done", "4"]


def test_check_says_the_same_fates_whatever_it_meets_first(fates, flyannot):
    said = flyannot("check mine", code=3).out
    for name, fate in fates.items():
        if fate not in (EITHER, LEFT_OUT):
            assert f"  {name}: {fate}: " in said
    assert "42 pictures: " in said and said.endswith(
        "next: flyannot annotate blastoderm mine -o terms.h5 --page\n"
    )
    Path("mine/annotations.csv").write_text("gene,term\ng1,pole cell\n")
    said = flyannot("check mine", code=2)
    assert "42 pictures: " in said.out and 'no column "stage_range"' in said.err
    Path("mine/images.csv").write_text("gene,stage_range\ng1,4-6\n")
    said = flyannot("check mine", code=2)
    assert "40 pictures: " in said.out and "2 faults:" in said.err and "broken0.png: not read: " in said.out


def test_the_command_that_check_names_guesses_stages_that_a_table_lacks(flyannot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flyannot("synthesize -o e --n-genes 4 --stage-range 4-6", code=0)
    table = Path("e/images.csv").read_text().replace(",4-6,", ",,")
    Path("e/images.csv").write_text(table)
    *_, command = flyannot("check e", code=3).out.splitlines()
    flyannot(command.removeprefix("next: flyannot ") + " --step extract", code=0)


def test_a_table_is_refused_if_more_than_half_of_its_rows_are_at_fault(fates, flyannot):
    rows = Path("mine/images.csv").read_text(encoding="utf-8").splitlines()
    bad = [f"early{i}.png,g,4-6,lat." for i in range(5)]
    Path("mine/images.csv").write_text("\n".join([rows[0], *rows[1:3], *bad[2:4]]), encoding="utf-8")
    flyannot(ANNOTATE, code=3)
    Path("t.h5").unlink()
    Path("mine/images.csv").write_text("\n".join([rows[0], *rows[1:3], *bad[2:5]]), encoding="utf-8")
    said = flyannot(ANNOTATE, code=2)
    assert "3 faults:" in said.err and 'is no view. Did you mean "lateral"?' in said.err
    assert not Path("t.h5").exists()


def test_a_table_of_other_origin_is_not_replaced(tmp_path):
    (tmp_path / "pictures.csv").write_text("image,camera\na.png,2\n")
    with pytest.raises(ValueError, match="would be replaced"):
        write_fates(tmp_path / "pictures.csv", [])

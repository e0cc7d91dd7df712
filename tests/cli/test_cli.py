"""The command line: exit codes, errors with their remedy, and unusual environments."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from functools import partial
from pathlib import Path

import h5py
import pytest
from PIL import Image as Picture

from flyannot import DictionaryLearning
from flyannot.base.errors import InputError
from flyannot.dataset.folder import read_images
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.terms.calibration import calibration_errors
from tests.conftest import ROOT
from tests.processes import CLI, LIMIT_S, start_process, wait_for
from tests.small_embryos import KINDS, rows_of_csv

TERMS = "embryos/annotations.csv"


def check_error(said, code, *words):
    """Check that the answer is one `Error:` and one `Fix:`, without output; return both texts.

    Several errors have a line each. A fix that ends in a colon is followed by lines to paste.
    """
    before, _, last = f"\n{said.err.strip()}".rpartition("\nError: ")
    error, sign, fix = last.partition("\nFix: ")
    assert said.code == code and sign, said.err
    assert "\nError:" not in before and "\nFix:" not in before + fix, said.err
    assert fix.partition("\n")[0][-1] == ":" or "\n" not in fix, said.err
    assert said.out == ""
    for word in words:
        assert word in said.err, said.err
    return error, fix


def in_shell(line, cwd, **environment):
    """Run a line of bash in which $flyannot is the command line."""
    env = {k: v for k, v in (os.environ | environment | {"flyannot": " ".join(CLI)}).items() if v is not None}
    words = ["bash", "-c", f"set -o pipefail; {line}"]
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return done


# --- each command once ---


def test_commands_that_look_at_files_leave_stdout_to_data(flyannot, desk):
    """Steps print nothing on stdout: see tests/cli/test_progress.py."""
    said = flyannot(f"evaluate features.h5 {TERMS} --json scores.json --min-groups 4 --folds 3", code=0)
    assert said.out.startswith("Scores on SYNTHETIC embryos")
    assert "held-out" in flyannot("evaluate --help").out
    assert "flatter" in flyannot(f"evaluate predictions.h5 {TERMS}", code=0).out
    files = " ".join(f"{kind}.h5" for kind in KINDS)
    assert flyannot(f"verify {files}", code=0).out.count("whole ") == 5
    said = flyannot(f"verify embryos/images.csv {files} none.h5", code=65).out
    assert said.count("NOT whole: ") == 2 and said.count("whole ") == 5
    said = flyannot("show model.h5", code=0)
    assert "made by flyannot train" in said.out and said.err == ""
    said = flyannot("extract embryos -o descriptors.h5 --stride-px 16")
    assert said[:2] == (0, "") and "up to date: descriptors.h5\n108 pictures: " in said.err
    assert flyannot("-h").out == flyannot("--help").out == flyannot("").err


# --- the model that comes with it ---


def test_what_is_supplied_is_what_its_page_says(flyannot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = json.loads(flyannot("show blastoderm --json", code=0).out)
    (known,), path = model["terms"].values(), Path(model["file"])
    assert list(model["terms"]) == ["4-6"] and path.stat().st_size < 10e6
    assert "93 answers on test pictures as expected" in flyannot("verify blastoderm", code=0).out
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.partition("<!-- end of terms -->")[0].splitlines()]
    terms = sorted(term["term"] for term in known)
    assert sorted(row[0].strip("| ") for row in rows if len(row) == 4 and row[1].isdigit()) == terms
    assert len(terms) == 31 and model["stage_ranges"]["4-6"]["train_gene"]["shape"] == [553]
    assert "gave 553 of them" in page and "Mean AUC of the 31 terms" in page
    bins = open_stored_file(path).read_array("4-6", "model/reliability").sum(axis=0)
    said = f"is {calibration_errors(bins)['ece']:.3f}, but of {bins[-1, 2]:.0f} answers above 0.9 only "
    assert f"{said}{bins[-1, 1] / bins[-1, 2]:.0%} were right" in " ".join(page.split())
    notice = tomllib.loads((path.parent / "models.toml").read_text(encoding="utf-8"))["blastoderm"]
    card = flyannot("info blastoderm", code=0).out
    assert f"<!-- card -->\n{card}<!-- end of card -->" in page and notice["licence"] in card
    assert "Did you mean" in flyannot("info blastodrm", code=2).err
    shown = flyannot("show blastoderm", code=0).out
    assert f"cross-validation on {notice['measured']}" in " ".join(shown.split())
    assert "31 terms, learned from 553 genes" in shown and all(term in shown for term in terms)


def test_the_supplied_model_annotates_pictures_and_its_page_shows_all(flyannot, chain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pictures").mkdir()
    for path in sorted((chain.embryos / "images").glob("*_4-6_1.png"))[:4]:
        shutil.copy(path, "pictures")
    check_error(flyannot("annotate blastoderm pictures --stage-range 11-12 -o a.h5"), 2, "4-6", "11-12")
    assert [path.name for path in tmp_path.iterdir()] == ["pictures"]
    said = flyannot("annotate blastoderm pictures -o terms.h5 --page", code=0)
    assert "4-6: 4 groups, 31 terms" in said.err
    rows = rows_of_csv("terms.csv")
    assert len(rows) == 4 * 31 and {row["held_out"] for row in rows} == {"yes"}
    assert all(0 <= float(row["unlikeness"]) <= 1 for row in rows)
    assert {row["measured_on"] for row in rows} == {"drawn patterns of 553 genes"}
    page = Path("terms.html").read_bytes()
    assert b"Expression patterns: terms<" in page and b" genes, 4 images" not in page and b"4 images" in page
    assert b'class=\\"map\\"' in page or b'class="map"' in page, "maps, although the model is not beside it"
    assert b"Reliability, 17,143 held-out answers of the model on drawn patterns of 553 genes<" in page
    assert "up to date" in flyannot("annotate blastoderm pictures -o terms.h5 --page", code=0).err
    shutil.rmtree("pictures")
    flyannot("report terms.h5 -o again.html", code=0)
    assert Path("again.html").read_bytes() == page
    assert "up to date" in flyannot("report terms.h5", code=0).err and Path("terms.html").read_bytes() == page
    Path("blastoderm").write_bytes(chain.model.read_bytes())
    check_error(flyannot("show blastoderm"), 2, "comes with flyannot", "rename blastoderm")
    assert "learned from 24 genes" in flyannot("show F", F=Path("blastoderm").absolute(), code=0).out


def test_the_page_names_pictures_without_an_embryo(flyannot, chain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pictures").mkdir()
    shutil.copy(next((chain.embryos / "images").glob("*_4-6_1.png")), "pictures")
    for i in range(7):
        Picture.new("L", (320, 128), 255).save(f"pictures/white{i}.png")
    said = flyannot("annotate blastoderm pictures -o terms.h5 --page", code=3)
    reason = "no embryo found: nothing stands out from the background"
    assert f"refused: {reason} (7)" in said.err and Path("terms-pictures.csv").read_text().count(reason) == 7
    page = Path("terms.html").read_text(encoding="utf-8")
    banner = "7 pictures were skipped and have no terms: white0.png (no embryo found: nothing stands out"
    assert banner in page and "and 2 more under How it was made" in page and "white6.png" in page


# --- faults ---


def test_unreadable_images_are_listed_and_asked_for_again(flyannot, own_chain):
    """The exit code is 3 each time; the fate in the table changes once the image is repaired."""
    broken = next((own_chain.embryos / "images").glob("*.png"))
    good = broken.read_bytes()
    names = own_chain.words
    broken.write_bytes(good[:300])
    lines = ("extract E -o X --stride-px 16 --force --jobs 1", "annotate M E -o P --force --jobs 1")
    for line in lines * 2:
        assert ", 1 not read\n" in flyannot(line, **names, code=3).err
    tables = [own_chain.folder / f"{kind}-pictures.csv" for kind in ("descriptors", "predictions")]
    for table in tables:
        (row,) = (row for row in rows_of_csv(table) if row["fate"] == "not read")
        assert row["image"] == f"images/{broken.name}" and "damaged" in row["reason"]
        assert not any("Fix:" in row["reason"] or "\n" in row["reason"] for row in rows_of_csv(table))
    assert "skipped  images/" in flyannot("show X", **names).out
    broken.write_bytes(good)
    for line in lines:
        flyannot(line, **names, code=0)
    assert not any("not read" in table.read_text() for table in tables)


def test_odd_names_of_images_are_listed_and_stay_inside(flyannot, chain, tmp_path):
    """Newline, leading dash, formula, quote and invalid UTF-8; twice, since tables are read back."""
    folder = tmp_path / "odd"
    folder.mkdir()
    picture = next((chain.embryos / "images").glob("*_4-6_1.png")).read_bytes()
    for name in (b"-o.png", b"=1+1.png", b'quo"te.png', b"line\nbreak.png", b"caf\xe9.png", "é.png".encode()):
        (Path(os.fsdecode(folder)) / os.fsdecode(name)).write_bytes(picture)
        (folder / os.fsdecode(b"bad " + name)).write_bytes(b"no picture")
    for _ in range(2):
        names = {"M": chain.model, "F": folder, "O": tmp_path / "p.h5"}
        said = flyannot("annotate M F --stage-range 4-6 -o O --jobs 1", **names)
        assert said.code == 3 and ", 6 not read\n" in said.err
    found = {row["image"] for row in rows_of_csv(tmp_path / "p.csv")}
    assert found == {"'-o.png", "'=1+1.png", 'quo"te.png', "line\\nbreak.png", "caf\\xe9.png", "é.png"}
    names = ["odd", "p-pictures.csv", "p-pictures.h5", "p.csv", "p.h5"]
    assert sorted(p.name for p in tmp_path.iterdir()) == names
    (folder / "images.csv").write_text("image,gene,stage_range\né.png,eve,4-6\n", "utf-8")
    flyannot("extract F -o O --stride-px 64", F=folder, O=tmp_path / "d.h5", code=0)
    fates = {row["image"]: row["fate"] for row in rows_of_csv(tmp_path / "d-pictures.csv")}
    assert fates == dict.fromkeys(fates, "not named") | {"é.png": "used"} and found <= fates.keys()


def test_python_shows_the_fix_with_the_error(tmp_path):
    with pytest.raises(InputError) as caught:
        read_images(tmp_path / "nowhere")
    assert str(caught.value) == f"{caught.value.message}\nFix: {caught.value.fix}"
    with pytest.raises(ValueError, match="(?s)must be a number above 0.*Fix: choose another alpha"):
        DictionaryLearning(4, alpha=-1.0).fit([[1.0, 2.0]] * 9)


def test_debug_shows_the_traceback(chain, tmp_path):
    done = subprocess.run([*CLI, "show", tmp_path / "none", "--debug"], capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" in done.stderr and "Fix: " in done.stderr


# --- environments ---


def test_a_reader_that_has_had_enough_is_no_fault(chain):
    for line in ("show model.h5 | head -n 1", "evaluate --help | head -n 1", "verify *.h5 2>&1 | head -c 1"):
        done = in_shell(f"$flyannot {line}", chain.folder)
        assert (done.returncode, done.stderr) == (0, ""), line


def test_closed_and_full_outputs(chain):
    assert in_shell("$flyannot show model.h5 >&-", chain.folder).returncode == 0
    assert in_shell("$flyannot show none.h5 2>&-", chain.folder).returncode == 2
    done = in_shell("$flyannot show model.h5 > /dev/full", chain.folder)
    assert done.returncode == 74
    assert done.stderr.startswith("Error: cannot write to the standard output: No space left")


def test_with_its_messages_closed_a_step_does_its_work(own_chain):
    """Cron closes streams. The next opened file must not get the number of a stream."""
    train = "train features.h5 embryos/annotations.csv -o b.h5 --min-groups 3 --jobs 1"
    for line in ("extract embryos -o a.h5 --stride-px 16 --jobs 1 2>&-", f"{train} 0<&- 1>&- 2>&-"):
        assert in_shell(f"$flyannot {line}", own_chain.folder).returncode == 0, line
    assert in_shell("$flyannot verify a.h5 b.h5", own_chain.folder).returncode == 0
    assert in_shell("$flyannot extract none -o c.h5 2>&-", own_chain.folder).returncode == 2


@pytest.mark.parametrize("delay", [0.02, 0.05, 0.1, 0.2])
def test_an_interruption_at_the_very_start_is_one_line(chain, delay, tmp_path):
    words = [*CLI, "extract", chain.embryos, "-o", tmp_path / "d.h5", "--jobs", "1"]
    # What a shell starts in the background ignores an interrupt.
    process = start_process(words, preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL))
    command_line = Path(f"/proc/{process.pid}/cmdline")
    # Before the program is loaded, a signal is lost with what was forked.
    wait_for(lambda: b"extract" in command_line.read_bytes(), process)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=LIMIT_S)
    if "File " in said and f"{os.sep}flyannot{os.sep}" not in said:
        return  # Python was not yet at the first line of ours
    assert process.returncode in (130, -signal.SIGINT), said
    assert said.count("Interrupted") <= 1 and "Traceback" not in said
    assert not list(tmp_path.iterdir())


@pytest.mark.not_on_windows
@pytest.mark.skipif(sys.platform != "linux", reason="limits on addresses are tested on Linux")
@pytest.mark.parametrize("kib", [300_000, 400_000, 800_000])
def test_too_little_address_space_is_explained(own_chain, kib):
    """Without the check, imports hang under such a limit and answer no signal."""
    line = f"ulimit -v {kib} && $flyannot pool descriptors.h5 dictionary.h5 -o f.h5 --jobs 1"
    done = in_shell(line, own_chain.folder)
    assert done.returncode == 1 and "the limit on address space is" in done.stderr
    assert done.stderr.splitlines()[-1] == "Fix: raise it: ulimit -v unlimited"
    assert in_shell(f"ulimit -v {kib} && $flyannot --help", own_chain.folder).returncode == 0


def test_pipes_and_folders_that_are_gone_are_explained(flyannot, chain, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_error(flyannot("run P", P=pipe), 2, "not a regular file")
    check_error(flyannot("train F P -o O", F=chain.features, P=pipe, O=tmp_path / "o.h5"), 2, "no such table")
    done = in_shell(f"mkdir gone && cd gone && rmdir {tmp_path}/gone && $flyannot show x", tmp_path)
    assert done.returncode == 2 and "the working folder does not exist any more" in done.stderr


def test_a_long_message_is_cut(flyannot, own_chain):
    with h5py.File(own_chain.model, "r+") as file:
        file.attrs["digest"] = "x" * 60_000
    said = flyannot("show F", F=own_chain.model)
    assert said.code == 65 and len(said.err) < 3000


def test_any_locale_and_terminal(own_chain):
    """A name beyond ASCII is printed on a terminal that knows only ASCII."""
    table = own_chain.embryos / "images.csv"
    table.write_text(table.read_text().replace(",syn001,", ",β-Tub,"), encoding="utf-8")
    plain = {"LANG": "C", "LC_ALL": "C", "TERM": "dumb"}
    ascii_only = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    for number, environment in enumerate((plain, ascii_only)):
        out = f"p{number}.h5"
        line = f"$flyannot annotate model.h5 embryos -o {out} --stage-range 4-6 --jobs 1"
        done = in_shell(f"{line} && $flyannot show {out}", own_chain.folder, **environment)
        assert done.returncode == 0, done.stderr
        assert "β-Tub" in (own_chain.folder / f"p{number}.csv").read_text(encoding="utf-8")
    not_utf8 = ascii_only | {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = in_shell("$flyannot annotate model.h5 embryos -o p.h5 --jobs 1", own_chain.folder, **not_utf8)
    assert done.returncode == 2 and "as ascii, not UTF-8" in done.stderr and "PYTHONUTF8=1" in done.stderr


def test_curate_prints_the_agreement_and_annotations_every_change(flyannot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for curator, verdict in (("anna", "accept"), ("ben", "reject")):
        rows = [
            f"{gene},4-6,pair rule,{v},{curator},2026-11-30"
            for gene, v in (("eve", "accept"), ("ftz", verdict))
        ]
        Path(f"{curator}.csv").write_text(
            "\n".join(["gene,stage_range,term,verdict,curator,date", *rows, ""])
        )
    Path("terms.csv").write_text("gene,stage_range,term\neve,4-6,gap\nftz,4-6,gap\n")
    said = flyannot("curate anna.csv ben.csv -o all.csv", code=0)
    assert said.err == "wrote all.csv; to decide: all.to-decide.csv\n"
    assert re.search(r"^pair rule +anna and ben +2 +1 +0\.00$", said.out, re.MULTILINE)
    assert flyannot("curate anna.csv -o one.csv", code=0).err == "wrote one.csv\n"
    said = flyannot("annotations terms.csv anna.csv -o new.csv", code=0)
    assert said.out == "added: pair rule of eve in 4-6\nadded: pair rule of ftz in 4-6\n"

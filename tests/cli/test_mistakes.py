"""Mistakes of users, one in each row of mistakes.txt, and the answers that they get."""

import os
import re
import shlex
import shutil
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.cli.test_cli import check_error
from tests.images.test_quality import WRONG
from tests.small_embryos import KINDS

PICTURE = "embryos/images/syn001_4-6_1.png"
TERMS = "embryos/annotations.csv"
CONFIG = 'data-set = "embryos"\noutput = "results"\n[learn-dict]\nn-atoms = 24\n'

HEADER, VERDICT = "image,gene,stage_range", "gene,stage_range,term,verdict,date"
GOOD = f"../{PICTURE},Dl,4-6"
# Folders with an images.csv.
TABLES = {
    "another-header": f"image,gene,stage\n{GOOD}\n",
    "wrong-range": f"{HEADER}\na.png,Dl,4-6\nb.png,Dl,4-66\n",
    "date-as-range": f"{HEADER}\n../{PICTURE},Dl,06-Apr\n",
    "many-faults": f"{HEADER}\na.png,,4-6\nb.png,Dl,4-6,lateral\n",
    "date-as-gene": f"{HEADER}\n../{PICTURE},1-Sep,4-6\n",
    "capital-header": f"IMAGE,Gene,Stage_Range\n{GOOD}\n",
    "filename-header": f"filename,gene,stage_range\n{GOOD}\n",
    "semicolons": f"{HEADER}\n{GOOD}\n".replace(",", ";"),
    "another-suffix": f"{HEADER}\n{GOOD}\n".replace(".png", ".PNG"),
    "blank-picture": f"{HEADER}\n../blank.png,Dl,4-6\n",
    "another-name": f"{HEADER}\n{GOOD}\n".replace(".png", ".tif"),
    "windows-path": f"{HEADER}\n{GOOD}\n".replace("/", "\\"),
}
FILES = {
    **{f"{folder}/images.csv": content for folder, content in TABLES.items()},
    **{f"{word.partition(':')[0].replace(' ', '-')}.png": pixels for word, pixels in WRONG.items()},
    "blank.png": np.full((128, 320), 255, np.uint8),
    "text.png": "text",
    "text.h5": "text",
    "no-table/a.txt": "",
    "project/embryos/images.csv": TABLES["capital-header"].replace("..", "../.."),
    "capital-name/Images.csv": TABLES["capital-header"],
    "pictures/a.png": np.full((128, 320), 255, np.uint8),
    "fbbt.obo": "[Term]\n",
    "many-faults/annotations.csv": "gene,stage_range,term\nDl,4-6,gut\nDl,4-6,gut\nDl,4-6,\n",
    "capital-header/annotations.csv": "gene,stage_range,term\nDL,4-6,gut\n",
    "few.csv": "gene,stage_range,term\n" + "".join(f"syn00{i},4-6,pole cell\n" for i in (1, 2, 3)),
    "other-genes.csv": "gene,stage_range,term\nSYN001,4-6,gut\n",
    "no-term.csv": "gene,stage_range,term\n",
    "empty-term.csv": "gene,stage_range,term\nx,4-6, \n",
    "wrong-stages.csv": "gene,stage_range,term\nx,4-6,a\nx,4_7,a\n",
    "right.csv": f"{VERDICT}\nsyn001,4-6,pole cell,accept,2026-01-02\n",
    "no-verdict.csv": "gene,stage_range,term,answer,date\nsyn001,4-6,pole cell,accept,2026-01-02\n",
    "acept.csv": f"{VERDICT}\nsyn001,4-6,pole cell,acept,2026-01-02\n",
    "pole-cel.csv": f"{VERDICT}\nsyn001,4-6,pole cel,accept,2026-01-02\n",
    "capital-gene.csv": f"{VERDICT}\nSYN001,4-6,pole cell,accept,2026-01-02\n",
    "another-date.csv": f"{VERDICT}\nsyn001,4-6,pole cell,accept,01/02/2026\n",
    "excel.csv": f"{VERDICT}\nsyn001,06-Apr,pole cell,accept,2026-01-02\n",
    "c.toml": CONFIG,
    "no-quotes.toml": "data-set = my-embryos\n",
    "windows-text.toml": 'data-set = "C:\\temp"\noutput = "r"\n',
    "no-ontology.toml": CONFIG + '[report]\nontology = "fbbt2.obo"\n',
    "a-scheduler.toml": CONFIG + '[run]\nscheduler = "tcp://127.0.0.1:8786"\n',
    "two-tables.toml": CONFIG + "[[extract]]\nstride-px = 8\n",
    "count.toml": CONFIG + f"n-epochs = {'9' * 30}\n",
    "deep.json": '{"terms": ' + "[" * 5000,
}
# What stands below the good rows of the table of terms.
MORE_TERMS = {
    "more-terms.csv": "",
    "two-in-a-cell.csv": "syn001,4-6,pole cell; brain primordium\n",
    "misspelt-term.csv": "syn001,4-6,pole cel\nsyn001,4-6,Pole Cell\n",
    "capitals.csv": "SYN001,4-6,pole cell\n",
}


STAGE_RANGE = re.compile(r"(stage-range.)\d+-\d+")
# What a message says to do, as a pattern -> the command that does so, made of the command and the match.
DONE_AS_SAID = {
    r"Fix: add (--(?:columns \S+|force|stage-range \d+-\d+))": lambda line, found: f"{line} {found[1]}",
    r"Fix: add --stage-range \(to a run: (--set )select\.(stage-range)=(\S+)\)": lambda line, found: (
        f"{line} {'--set select.' if line.startswith('run') else '--'}{found[2]}={found[3]}"
    ),
    r"Fix: leave out (--view|--stage-range)": lambda line, found: re.sub(rf" {found[1]} \S+", "", line),
    r"Fix: (?:give the folder|name) (\S*embryos)(?:,|$)": lambda line, found: re.sub(
        "project|embryos/images", found[1], line
    ),
    r"Fix: (?:name the output|write to) (\S+\.\w+)[;,]": lambda line, found: re.sub(
        r"-o \S+", f"-o {found[1]}", line
    ),
    r"Fix: lower n-atoms to (\d+)": lambda line, found: re.sub(r"(n-atoms) \d+", rf"\1 {found[1]}", line),
    r"Fix: choose from (?:stage range )?(\d+-\d+)": lambda line, found: STAGE_RANGE.sub(
        rf"\g<1>{found[1]}", line
    ),
    r'Did you mean "([^"]+)"\?': lambda line, found: replace_nearest(line, found[1]),
}
# The first lacks a file, the second is no table at all, and the third needs the steps before.
STILL_WRONG = ("import wu2015 x -o y", "run c.toml --set seed.x=1", "run c.toml --step pol")


def replace_nearest(line, meant):
    """Return a command with the word that is nearest to a suggested one replaced by it."""
    words = [word for word in shlex.split(line) if not word.endswith(".csv")]
    words = {part.casefold(): part for word in words for part in re.split("[=.]", word)}
    near = get_close_matches(meant.casefold(), words, n=1, cutoff=0.7)
    return line.replace(words[near[0]], meant) if near else line


def do_as_said(flyannot, folder, line, message):
    """Follow the advice of a message to the letter, after which the command must succeed."""
    if shown := re.search(r"Fix: (?:.* )?(flyannot (?:[a-z-]+ --help|--help|show \S+))$", message, re.M):
        flyannot(shown[1].removeprefix("flyannot "), code=0)
    if moved := re.search("Fix: mv (\\S+) (\\S+)$", message, re.MULTILINE):
        shutil.move(folder / moved[1], folder / moved[2])
        flyannot(line, code=0)
    for pattern, change in DONE_AS_SAID.items():
        found = re.search(pattern, message, re.MULTILINE)
        if found and (done := change(line, found)) != line and not line.startswith(STILL_WRONG):
            flyannot(done, code=0)


def rows():
    """Yield (command, exit code, words of the answer) of every row."""
    text = Path(__file__).with_name("mistakes.txt").read_text(encoding="utf-8")
    text = text.replace("CORRECTED", "train features.h5 TERMS -o m.h5 --corrections")
    text = (
        text.replace("TERMS", TERMS)
        .replace("LONG", "x" * 256)
        .replace("PICTURE_COPY", "copy.png")
        .replace("PICTURE", PICTURE)
    )
    for row in re.findall(r"^    (\S.*(?:\n {8}.*)?)", text, re.MULTILINE):
        command, code, words = re.fullmatch(r"(.*?)\s+-> (\d+) ?(.*)", row, re.DOTALL).groups()
        for one in each_of(command):
            yield one, int(code), [word.replace(r"\n", "\n") for word in words.split(" | ") if word]


def each_of(command):
    """Return the commands that a command with {a,b} stands for."""
    head, _, rest = command.partition("{")
    within, _, tail = rest.partition("}")
    return [head + one + tail for one in within.split(",")]


@pytest.fixture(scope="module")
def made(chain, tmp_path_factory):
    """Make all files that rows name, once."""
    folder = chain.copied_to(tmp_path_factory.mktemp("made") / "all").folder
    terms = (folder / TERMS).read_text()
    more = {name: terms + row for name, row in MORE_TERMS.items()}
    more |= {f"cut/{kind}.h5": (folder / f"{kind}.h5").read_bytes()[:-500] for kind in KINDS}
    more["stage.csv"] = terms.replace("stage_range", "stage", 1)
    more["copy.png"] = (folder / PICTURE).read_bytes() + b"other"  # bytes, of the same picture
    for name, content in (FILES | more).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        if isinstance(content, np.ndarray):
            Image.fromarray(content).save(path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.fixture
def desk(made, tmp_path, monkeypatch):
    """Make the working folder of one row, with links to all files."""
    for path in made.iterdir():
        os.symlink(path, tmp_path / path.name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def state_of(*folders):
    """Return the path, size and time of change of every file in the folders, except tables of fates."""
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    paths = (path for path in files if not path.name.endswith("pictures.csv"))  # they say what is wrong
    return sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths)


@pytest.mark.parametrize(("command", "code", "words"), [pytest.param(*row, id=row[0]) for row in rows()])
def test_a_mistake_is_explained_and_the_advice_is_true(
    flyannot, made, desk, monkeypatch, command, code, words
):
    before = state_of(desk, made)
    for line in (command, f"{command} --dry-run") if command.startswith("run ") else (command,):
        said = flyannot(line)
        if code == 0:
            assert said.code == 0 and all(word in said.err for word in words), said.err
            continue
        # what could be found out stands on stdout all the same
        check_error(said._replace(out="") if code == 1 or command.startswith("check") else said, code, *words)
        assert state_of(desk, made) == before, "nothing is made, nothing is left, nothing is changed"
        is_listed = "not one image" in said.err
        assert bool(list(desk.rglob("*pictures.csv"))) == is_listed
    if code:
        shutil.copytree(made, desk / "copy", symlinks=True)
        monkeypatch.chdir(desk / "copy")
        do_as_said(flyannot, desk / "copy", line, said.err.replace(str(desk), str(desk / "copy")))


def test_the_table_has_each_mistake_once():
    commands = [command for command, _, _ in rows()]
    assert len(set(commands)) == len(commands) > 150

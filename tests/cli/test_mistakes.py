"""What people get wrong in their first hours, one row each: what they did, and what must be answered.

To add one, add a row.  The command runs in a folder with the data set `embryos` and a file of every kind made
from it (descriptors.h5, dictionary.h5, features.h5, model.h5, predictions.h5); `files` are written first.
Stage ranges 4-6 and 11-12; 24 genes, syn001 to syn024.
"""

import os
import shutil
from dataclasses import dataclass, field

import numpy as np
import pytest
from PIL import Image

from tests.cli.test_cli import faulty
from tests.descriptors.test_quality import WRONG

PICTURE = "embryos/images/syn001_4-6_1.png"
TERMS = "embryos/annotations.csv"
CONFIG = 'data-set = "embryos"\noutput = "results"\n[learn-dict]\nn-atoms = 24\n'


@dataclass(frozen=True)
class Mistake:
    """code : the exit code; 0 for what is only warned of
    says : what the message must contain, in the Error or in the Fix line
    files : name -> text, bytes or pixels; environment : name -> value
    """

    what: str
    command: str
    code: int
    says: tuple
    files: dict = field(default_factory=dict)
    environment: dict = field(default_factory=dict)


def table(row="", header="image,gene,stage_range"):
    """A data set folder `mine` with an images.csv of one good row and another."""
    return {"mine/images.csv": f"{header}\na.png,Dl,4-6\n{row}\n"}


def of_embryos(gene_and_stages, header="image,gene,stage_range"):
    """A data set folder `mine` whose only picture is there."""
    return {"mine/images.csv": f"{header}\n../{PICTURE},{gene_and_stages}\n"}


def terms(row):
    """The table of terms with one row more."""
    return {"terms.csv": f"MORE {TERMS}\n{row}\n"}


def verdict(row="syn001,4-6,pole cell,accept,2026-01-02", header="gene,stage_range,term,verdict,date"):
    """A table of corrections with one row."""
    return {"corrections.csv": f"{header}\n{row}\n"}


CORRECTED = f"train features.h5 {TERMS} -o m.h5 --corrections corrections.csv"

M = Mistake
MISTAKES = [
    # --- commands and options ---
    M("a misspelt command", "exract embryos -o d.h5", 2, ('Did you mean "extract"?', "flyannot --help")),
    M("a misspelt option", "extract embryos -o d.h5 --strid-px 8", 2, ("--stride-px",)),
    M("no output", "extract embryos", 2, ("Missing option '-o'", "flyannot extract --help")),
    M("no input", "train features.h5 -o m.h5", 2, ("Missing argument 'FEATURES...'",)),
    M("a misspelt choice", "extract embryos -o d.h5 --channel grei", 2, ('Did you mean "grey"?',)),
    M(
        "a value of another kind",
        "extract embryos -o d.h5 --stride-px big",
        2,
        ("--stride-px", "whole number"),
    ),
    M("a grid of one number", "pool descriptors.h5 dictionary.h5 -o f.h5 --grid 2", 2, ("such as", "2x4")),
    M(
        "a stage range that is none",
        "extract embryos -o d.h5 --stage-range 4-66",
        2,
        ('Did you mean "4-6"?',),
    ),
    M(
        "stages of two ranges",
        "extract embryos -o d.h5 --stage-range 8-9",
        2,
        ("lie in several", "7-8, 9-10"),
    ),
    M("a stage", "extract embryos -o d.h5 --stage-range 5", 0, ("stage 5 lies in stage range 4-6",)),
    M(
        "a stage in words",
        'extract embryos -o d.h5 --stage-range "stage 11"',
        0,
        ("lies in stage range 11-12",),
    ),
    M(
        "a stage range that no image has",
        "extract embryos -o d.h5 --stage-range 7-8",
        2,
        ("no image is of stage range 7-8", "choose from stage range 4-6, 11-12"),
    ),
    M("a view that no image has", "extract embryos -o d.h5 --view latral", 2, ('Did you mean "lateral"?',)),
    M("a part that there is not", "run c.toml --step pool --part 3/2", 2, ("3/2", "such as 2/8")),
    M("an option of before parts", "extract embryos -o d.h5 --shard 1/2", 2, ("--step STEP --part I/N",)),
    M("a command of before parts", "join a.h5 b.h5 -o d.h5", 2, ('no such command "join"', "--step STEP")),
    M("another name now", "learn-dict descriptors.h5 -o d.h5 --shares 4", 2, ("--data-parallel",)),
    M("what is beside the package now", "bench", 2, ('no such command "bench"', "python -m benchmarks")),
    # --- files in the wrong order, or of another kind ---
    *(
        M(f"wrong kind: {command}", command, code, says, {"fbbt.obo": "[Term]\n"} | verdict())
        for command, code, says in (
            (f"train {TERMS} features.h5 -o m.h5", 65, (f"{TERMS} is not an HDF5", "flyannot pool")),
            ("pool dictionary.h5 descriptors.h5 -o f.h5", 65, ("holds a dictionary, not descriptors",)),
            ("annotate embryos model.h5 -o p.h5", 2, ("model.h5 is an HDF5 file, not an image",)),
            (
                "annotate model.h5 descriptors.h5 -o p.h5",
                2,
                ("is an HDF5 file, not an image", "data set folder"),
            ),
            (
                "annotate predictions.h5 embryos -o p.h5",
                65,
                ("holds predictions, not a model", "flyannot train"),
            ),
            (f"evaluate {TERMS} predictions.h5", 65, (f"{TERMS} is not an HDF5 file",)),
            (f"explain {PICTURE} model.h5 --stage-range 4-6", 2, ("model.h5 is an HDF5 file, not an image",)),
            (f"ontology fbbt.obo {TERMS}", 2, (f"{TERMS} holds no [Term]", "OBO file")),
            (f"extract {TERMS} -o d.h5", 2, ('has no column "image"',)),
            ("extract descriptors.h5 -o d.h5", 2, ("descriptors.h5 is an HDF5 file, not a table",)),
            ("train features.h5 dictionary.h5 -o m.h5", 2, ("dictionary.h5 is an HDF5 file, not a table",)),
            ("train features.h5 embryos/images.csv -o m.h5", 2, ('has no column "term"',)),
            (
                f"train descriptors.h5 {TERMS} -o m.h5",
                65,
                ("holds descriptors, not features", "flyannot pool"),
            ),
            ("learn-dict embryos -o d.h5", 2, ("embryos is not a file", "flyannot extract")),
            (f"annotations corrections.csv {TERMS} -o new.csv", 2, (f'{TERMS} has no column "verdict"',)),
            (f"curate {TERMS}", 2, (f'{TERMS} has no column "verdict"',)),
        )
    ),
    # --- files that are not there, not whole, or in the way ---
    M("a missing file", f"train featurs.h5 {TERMS} -o m.h5", 2, ("featurs.h5 is not there",)),
    M(
        "a file cut short",
        "show cut.h5",
        65,
        ("cut.h5 is damaged", "make it again"),
        {"cut.h5": "HEAD model.h5"},
    ),
    M(
        "a picture that is called .h5",
        "show wrong.h5",
        65,
        ("not an HDF5 file",),
        {"wrong.h5": b"\x89PNG\r\n"},
    ),
    M(
        "another stage range, the same output",
        "extract embryos -o descriptors.h5 --stage-range 4-6",
        2,
        ("it is of stage range 4-6, 11-12, and 4-6 is asked for", "--force"),
    ),
    M(
        "another view, the same output",
        "extract embryos -o descriptors.h5 --view lateral",
        2,
        ("images, such as images/syn", "not asked for", "--force"),
    ),
    M(
        "another option, the same output",
        "pool descriptors.h5 dictionary.h5 -o features.h5 --grid 2x4",
        2,
        ("pool.grid was [[1,2]] and is now [[2,4]]", "--force"),
    ),
    M(
        "an output that is a table",
        "annotate model.h5 embryos -o predictions.csv",
        2,
        ("does not end in .h5", "name the output predictions.h5"),
    ),
    M(
        "a table that would be replaced",
        "annotate model.h5 embryos -o images.h5",
        2,
        ("images.csv would be replaced",),
        {"images.csv": "image,gene,stage_range\n"},
    ),
    M(
        "the same file twice",
        "train features.h5 features.h5 embryos -o m.h5",
        2,
        ("hold the same", "name each file once"),
    ),
    M("a run's folder that is none", "report embryos", 2, ("embryos",)),
    M("scores that are none", "compare embryos/images.csv embryos/images.csv", 2, ("does not hold scores",)),
    # --- stage ranges, terms and genes that the model does not have ---
    M(
        "a stage range that the model does not know",
        f"annotate model.h5 {PICTURE} --stage-range 7-8 -o p.h5",
        2,
        (
            "knows terms of stage range 4-6 and 11-12, and the images are of 7-8",
            "trained on annotated images",
        ),
    ),
    M(
        "the same of an explanation",
        f"explain model.h5 {PICTURE} --stage-range 7-8",
        2,
        ("knows terms of stage range 4-6 and 11-12",),
    ),
    M(
        "a picture without its stage range",
        f"annotate model.h5 {PICTURE} -o p.h5",
        2,
        ("does not say its stage range", "--stage-range"),
    ),
    M(
        "features without that stage range",
        f"train features.h5 {TERMS} -o m.h5 --stage-range 7-8",
        2,
        ("holds no stage range 7-8", "4-6, 11-12"),
    ),
    M(
        "a misspelt term",
        "explain model.h5 embryos --gene syn001 --term 'pole cel'",
        2,
        ('Did you mean "pole cell"?',),
    ),
    M(
        "a misspelt term to leave out",
        f"train features.h5 {TERMS} -o m.h5 --exclude-terms 'pole cel'",
        2,
        ('Did you mean "pole cell"?',),
    ),
    M(
        "a gene that is not there",
        "explain model.h5 embryos --gene SYN001",
        2,
        ('the gene "SYN001"', "syn001"),
    ),
    M(
        "more groups than there are",
        f"train features.h5 {TERMS} -o m.h5 --min-groups 99",
        2,
        ("no term can be trained", "--min-groups"),
    ),
    M(
        "genes that are spelled otherwise",
        "train features.h5 mine.csv -o m.h5",
        2,
        ("spelled alike in both",),
        {"mine.csv": "gene,stage_range,term\nSYN001,4-6,gut\n"},
    ),
    M(
        "more folds than genes",
        f"evaluate features.h5 {TERMS} --folds 99",
        1,
        ("24 genes are annotated", "at least 99 genes with a term", "--folds"),
    ),
    M(
        "more atoms than patches",
        "learn-dict descriptors.h5 -o d.h5 --n-atoms 90000",
        65,
        ("too few for 90,000 atoms",),
    ),
    # --- tables and pictures ---
    M("no table", "extract mine -o d.h5", 2, ("images.csv",), {"mine/a.txt": ""}),
    M(
        "an empty table",
        "extract mine -o d.h5",
        2,
        ("is empty", "image,gene,stage_range"),
        {"mine/images.csv": ""},
    ),
    M(
        "a table of a header",
        "extract mine -o d.h5",
        2,
        ("names no image",),
        {"mine/images.csv": "image,gene,stage_range\n"},
    ),
    M(
        "a stage range in a table",
        "extract mine -o d.h5",
        2,
        ("line 3", '"4-66"', 'Did you mean "4-6"?'),
        table("b.png,Dl,4-66"),
    ),
    M(
        "an empty cell",
        "extract mine -o d.h5",
        2,
        ("line 3", 'column "gene"', "fill it in"),
        table("b.png,,4-6"),
    ),
    M(
        "a comma within a cell",
        "extract mine -o d.h5",
        2,
        ("line 3", "double quotes"),
        table("b.png,Dl,4-6,a,b"),
    ),
    M(
        "a quote that stays open",
        "extract mine -o d.h5",
        2,
        ("line 3", "close every double quote"),
        table('"b.png,Dl,4-6'),
    ),
    M("an image twice", "extract mine -o d.h5", 2, ("lines 2 and 3", "delete one"), table("a.png,Dl,4-6")),
    M(
        "a folder without pictures",
        "annotate model.h5 mine --stage-range 4-6 -o p.h5",
        2,
        ("no picture in mine",),
        {"mine/a.txt": ""},
    ),
    M(
        "a text called a picture",
        "annotate model.h5 a.png --stage-range 4-6 -o p.h5",
        1,
        ("not one image of 1 could be used",),
        {"a.png": "text"},
    ),
    # --- what spreadsheets do, and what tables of others look like ---
    M(
        "a stage range that became a date",
        "extract mine -o d.h5",
        2,
        ('"06-Apr" is a date', "of 4-6", "Text"),
        table("b.png,Dl,06-Apr"),
    ),
    M("a gene that became a date", "extract mine -o d.h5", 0, ("1-Sep",), of_embryos("1-Sep,4-6")),
    M(
        "two terms in a cell",
        "train features.h5 terms.csv -o m.h5",
        0,
        ("pole cell; brain primordium",),
        terms("syn001,4-6,pole cell; brain primordium"),
    ),
    M(
        "a misspelt term of a gene",
        "train features.h5 terms.csv -o m.h5",
        0,
        ('"pole cel"', '"pole cell"?'),
        terms("syn001,4-6,pole cel"),
    ),
    M(
        "a gene in capitals",
        "train features.h5 terms.csv -o m.h5",
        0,
        ('SYN001: did you mean "syn001"?',),
        terms("SYN001,4-6,pole cell"),
    ),
    M("headers in capitals", "extract mine -o d.h5", 0, (), of_embryos("Dl,4-6", "IMAGE,Gene,Stage_Range")),
    M(
        "a column filename",
        "extract mine -o d.h5",
        2,
        ("rename",),
        of_embryos("Dl,4-6", "filename,gene,stage_range"),
    ),
    M(
        "semicolons",
        "extract mine -o d.h5",
        0,
        (),
        {"mine/images.csv": f"image;gene;stage_range\n../{PICTURE};Dl;4-6\n"},
    ),
    M(
        "an old workbook",
        "extract mine -o d.h5",
        2,
        ("Save As",),
        {"mine/images.csv": b"\xd0\xcf\x11\xe0" * 99},
    ),
    M(
        "a table in UTF-16",
        "extract mine -o d.h5",
        2,
        ("UTF-16", "CSV UTF-8"),
        {"mine/images.csv": "image,gene,stage_range\n".encode("utf-16")},
    ),
    M(
        "a table in Latin-1",
        "extract mine -o d.h5",
        2,
        ("line 2", "CSV UTF-8"),
        {"mine/images.csv": "image,gene,stage_range\na.png,Krüppel,4-6\n".encode("latin-1")},
    ),
    M(
        "a picture with another suffix",
        "extract mine -o d.h5",
        1,
        ("did you mean",),
        {"mine/images.csv": f"image,gene,stage_range\n../{PICTURE[:-3]}PNG,Dl,4-6\n"},
    ),
    M(
        "a path of Windows",
        "extract mine -o d.h5",
        0,
        (),
        {"mine/images.csv": "image,gene,stage_range\n..\\" + PICTURE.replace("/", "\\") + ",Dl,4-6\n"},
    ),
    M(
        "a folder too deep",
        "extract embryos/images -o d.h5",
        2,
        ("has no images.csv, but", "name the folder"),
    ),
    M("a folder for its annotations", "train features.h5 embryos -o m.h5", 0, ()),
    # --- what curators said ---
    M("no corrections", CORRECTED, 2, ("no such table: corrections.csv", "gene, stage_range, term, verdict")),
    M(
        "corrections without a verdict",
        CORRECTED,
        2,
        ('has no column "verdict"', 'Did you mean "answer"?'),
        verdict("syn001,4-6,pole cell,yes,2026-01-02", "gene,stage_range,term,answer,date"),
    ),
    M(
        "an unknown verdict",
        CORRECTED,
        2,
        ("line 2", 'unknown verdict "acept"', 'Did you mean "accept"?', "accept, reject, unsure"),
        verdict("syn001,4-6,pole cell,acept,2026-01-02"),
    ),
    M(
        "a verdict on a misspelt term",
        CORRECTED,
        2,
        ('line 2, column "term"', 'a term "pole cel"', 'Did you mean "pole cell"?'),
        verdict("syn001,4-6,pole cel,accept,2026-01-02"),
    ),
    M(
        "a verdict on a gene that is not there",
        CORRECTED,
        0,
        ('SYN001: did you mean "syn001"?', "1 gene without a row"),
        verdict("SYN001,4-6,pole cell,accept,2026-01-02"),
    ),
    M(
        "a date of another country",
        CORRECTED,
        2,
        ('"02.01.2026" is no date such as 2026-01-31', "year-month-day"),
        verdict("syn001,4-6,pole cell,accept,02.01.2026"),
    ),
    M(
        "corrections that Excel has saved",
        CORRECTED,
        2,
        ('"06-Apr" is a date', "of 4-6", "Text"),
        verdict("syn001,06-Apr,pole cell,accept,2026-01-02"),
    ),
    M(
        "annotations that would replace what they are made from",
        "annotations terms.csv corrections.csv -o terms.csv",
        2,
        ("both input and output",),
        verdict() | {"terms.csv": f"MORE {TERMS}\n"},
    ),
    M(
        "scores of a model that learned without these corrections",
        f"evaluate features.h5 {TERMS} --model model.h5 --corrections corrections.csv",
        2,
        ("was trained on other corrections", "leave out --model"),
        verdict(),
    ),
    # --- too little to learn from ---
    M(
        "genes too few to evaluate",
        "evaluate features.h5 few.csv --folds 2",
        1,
        ("nothing could be evaluated: 3 genes are annotated",),
        {"few.csv": "gene,stage_range,term\n" + "".join(f"syn00{i},4-6,pole cell\n" for i in (1, 2, 3))},
    ),
    M(
        "atoms of few patches",
        "learn-dict descriptors.h5 -o d.h5 --n-atoms 600",
        0,
        ("patches an atom", "use --n-atoms"),
    ),
    # --- pictures that are used all the same, and named ---
    *(
        M(
            f"a picture: {word}",
            "annotate model.h5 odd.png --stage-range 4-6 -o p.h5",
            0,
            (f"check: {word.partition(':')[0]}", "odd.png"),
            {"odd.png": pixels},
        )
        for word, pixels in {"blank": np.full((128, 320), 255, np.uint8), **WRONG}.items()
    ),
    # --- configurations and settings ---
    M(
        "text without quotes",
        "run c.toml",
        2,
        ("at line 1", 'Fix: text stands in quotes: data-set = "my-embryos"'),
        {"c.toml": "data-set = my-embryos\n"},
    ),
    M(
        "a Windows path in double quotes",
        "run c.toml",
        2,
        ("at line 1", r"data-set = 'C:\Users\me'"),
        {"c.toml": 'data-set = "C:\\Users\\me"\n'},
    ),
    M(
        "a Windows path that happens to be text",
        "run c.toml",
        2,
        ("a backslash begins", "write the path with /"),
        {"c.toml": 'data-set = "C:\\temp"\noutput = "r"\n'},
    ),
    M("a misspelt table", "run c.toml", 2, ('Did you mean "extract"',), {"c.toml": CONFIG + "[extrakt]\n"}),
    M(
        "a misspelt option of a table",
        "run c.toml",
        2,
        ('Did you mean "stride-px"',),
        {"c.toml": CONFIG + "[extract]\nstride = 8\n"},
    ),
    M(
        "a misspelt setting",
        "run c.toml --set extract.strid-px=8",
        2,
        ('Did you mean "stride-px"',),
        {"c.toml": CONFIG},
    ),
    M("a folder for the configuration", "run embryos", 2, ("embryos is not a file", "TOML")),
    M(
        "a term that train would refuse",
        "run c.toml",
        2,
        ('Did you mean "pole cell"?',),
        {"c.toml": CONFIG + '[train]\nexclude-terms = ["pole cel"]\n'},
    ),
    M(
        "folds that evaluate would refuse",
        "run c.toml --dry-run",
        2,
        ("cannot be split into 99 folds",),
        {"c.toml": CONFIG + "[evaluate]\nfolds = 99\n"},
    ),
    M(
        "an ontology that report would miss",
        "run c.toml --dry-run",
        2,
        ("no such file", "fbbt.obo"),
        {"c.toml": CONFIG + '[report]\nontology = "fbbt.obo"\n'},
    ),
    M(
        "a data set that is not there",
        "run c.toml --data-set embrios",
        2,
        ("embrios",),
        {"c.toml": CONFIG},
    ),
    M(
        "a variable with a bad value",
        "run c.toml",
        2,
        ("FLYANNOT_EXTRACT_STRIDE_PX in the environment is 'many'",),
        {"c.toml": CONFIG},
        {"FLYANNOT_EXTRACT_STRIDE_PX": "many"},
    ),
    # --- other programs ---
    M("a format that there is not", "export features.h5 --to xlsx -o f.xlsx", 2, ("xlsx", "csv")),
    M(
        "a format of other files",
        "export features.h5 --to mat -o f.mat",
        2,
        ('no format of features "mat"', "npz"),
    ),
]


@pytest.fixture(scope="module")
def made(chain, tmp_path_factory):
    """All that rows name, copied once."""
    return chain.copied_to(tmp_path_factory.mktemp("made") / "all").folder


@pytest.fixture
def desk(made, tmp_path, monkeypatch):
    """The working folder of one row, where everything lies by links."""
    for path in made.iterdir():
        os.symlink(path, tmp_path / path.name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(desk, name, content):
    path = desk / name
    path.parent.mkdir(exist_ok=True)
    if isinstance(content, str) and content.startswith("HEAD "):
        content = (desk / content.removeprefix("HEAD ")).read_bytes()[:-500]
    if isinstance(content, str) and content.startswith("MORE "):
        source, _, more = content.removeprefix("MORE ").partition("\n")
        content = (desk / source).read_text() + more
    if isinstance(content, np.ndarray):
        Image.fromarray(content).save(path)
        return
    path.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what.replace(" ", "-"))
def test_a_mistake_is_explained(flyannot, desk, monkeypatch, mistake):
    for name, content in mistake.files.items():
        write(desk, name, content)
    for name, value in mistake.environment.items():
        monkeypatch.setenv(name, value)
    before = sorted(path.name for path in desk.iterdir())
    said = flyannot(mistake.command)
    if mistake.code:
        # what could be found out stands on stdout all the same
        faulty(said._replace(out="") if mistake.code == 1 else said, mistake.code, *mistake.says)
    else:
        assert said.code == 0 and all(words in said.err for words in mistake.says), said.err
        return
    assert sorted(path.name for path in desk.iterdir()) == before, "nothing is made, nothing is left"


def test_the_table_has_each_mistake_once_and_enough_of_them():
    assert len({mistake.what for mistake in MISTAKES}) == len(MISTAKES) >= 48


def test_nothing_of_all_this_has_changed_a_file(made, flyannot):
    files = [str(path) for path in sorted(made.glob("*.h5"))]
    assert flyannot(f"verify {' '.join(files)}").code == 0
    shutil.rmtree(made)

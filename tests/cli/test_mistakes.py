"""What people get wrong in their first hours, one row each: what they did, and what must be answered.

To add one, add a row: command -> exit code, then what the answer must contain, put apart by |.  Code 0 is of
what is only warned of.  {a,b} stands for each of them, as in bash.  The command runs in a folder with the
data set `embryos`, a file of every kind made from it (descriptors.h5, dictionary.h5, features.h5, model.h5,
predictions.h5), and FILES.  Stage ranges 4-6 and 11-12; 24 genes, syn001 to syn024.  A run is asked for with
--dry-run too.  More of what is wrong in a table is in tests/runtime/test_tables.py.
"""

import os
import re

import numpy as np
import pytest
from PIL import Image

from tests.cli.test_cli import faulty
from tests.descriptors.test_quality import WRONG
from tests.small_embryos import KINDS

PICTURE = "embryos/images/syn001_4-6_1.png"
TERMS = "embryos/annotations.csv"
CONFIG = 'data-set = "embryos"\noutput = "results"\n[learn-dict]\nn-atoms = 24\n'

MISTAKES = """
commands and options
    exract embryos -o d.h5 -> 2 Did you mean "extract"? | flyannot --help
    import wu2015 x -o y -> 2 Did you mean "wu2016"?
    extract embryos -o d.h5 {--strid-px 8,--stride 3} -> 2 --stride-px | flyannot extract --help
    -q --verbos extract embryos -o d.h5 -> 2 Did you mean one of: '--verbose'
    extract -> 2 Missing
    extract embryos -> 2 Missing option '-o' | flyannot extract --help
    train features.h5 -o m.h5 -> 2 Missing argument 'FEATURES...'
    extract embryos -o d.h5 --channel grei -> 2 one of grey, stain | Did you mean "grey"?
    learn-dict descriptors.h5 -o d.h5 --learner dscc -> 2 dssc. Did you mean
    completion bsh -> 2 Did you mean "bash"?
    extract embryos -o d.h5 --stride-px big -> 2 --stride-px | whole number
    pool descriptors.h5 dictionary.h5 -o f.h5 --grid 2 -> 2 such as | 2x4
    learn-dict descriptors.h5 -o d.h5 --max-patches some -> 2 auto, or a whole number
    run c.toml --step pool --part 3/2 -> 2 3/2 | such as 2/8
    synthesize -o new --n-genes {0,10000} -> 2 --n-genes
    synthesize -o new --max-images 0 -> 2 --max-images
    synthesize -o new --stage-range 5-9 -> 2 "5-9" lie in several
    run -> 2 no configuration is named
    run --demo c.toml -> 2 --demo brings
stage ranges and views
    extract embryos -o d.h5 --stage-range 4-66 -> 2 Did you mean "4-6"?
    extract embryos -o d.h5 --stage-range 11-112
        -> 2 unknown stage range "11-112". Did you mean "11-12"? | 1-3, 4-6
    extract embryos -o d.h5 --stage-range 8-9 -> 2 "8-9" lie in several | 7-8, 9-10
    extract embryos -o d.h5 --stage-range 5 -> 0 stage 5 lies in stage range 4-6
    extract embryos -o d.h5 --stage-range "stage 11" -> 0 lies in stage range 11-12
    extract embryos -o d.h5 --stage-range 7-8
        -> 2 no image is of stage range 7-8 | choose from stage range 4-6, 11-12
    extract embryos -o d.h5 --view latral -> 2 Did you mean "lateral"?
    pool descriptors.h5 dictionary.h5 -o f.h5 --view lateral
        -> 2 views of descriptors were chosen | leave out --view
    train features.h5 TERMS -o m.h5 --stage-range 7-8 -> 2 holds no stage range 7-8 | 4-6, 11-12
    annotate model.h5 PICTURE -o p.h5 -> 2 does not say its stage range | --stage-range
    annotate model.h5 {PICTURE PICTURE_COPY,embryos/images} -o p.h5 -> 2 stage range | --stage-range
    annotate model.h5 PICTURE --stage-range 7-8 -o p.h5
        -> 2 knows terms of stage range 4-6 and 11-12, and the images are of 7-8 | trained on annotated images
    explain model.h5 PICTURE --stage-range 7-8 -> 2 knows terms of stage range 4-6 and 11-12
    similar features.h5 PICTURE -o t.csv --stage-range 1-3 -> 2 not in 1-3 | --stage-range
files in the wrong order, or of another kind
    train TERMS features.h5 -o m.h5 -> 65 TERMS is not an HDF5 | flyannot pool
    pool dictionary.h5 {descriptors.h5,embryos} -o f.h5
        -> 65 dictionary.h5 holds a dictionary, not descriptors
    {pool no-table no-table,extract no-table,annotate model.h5 no-table --stage-range 4-6} -o o.h5
        -> 2 and no picture in no-table
    {annotate embryos model.h5 -o p.h5,explain PICTURE model.h5 --stage-range 4-6}
        -> 2 model.h5 is an HDF5 file, not an image
    annotate model.h5 descriptors.h5 -o p.h5 -> 2 is an HDF5 file, not an image | data set folder
    annotate predictions.h5 embryos -o p.h5 -> 65 holds predictions, not a model | flyannot train
    evaluate TERMS predictions.h5 -> 65 TERMS is not an HDF5 file
    evaluate predictions.h5 TERMS --retrieval -> 2 by features | leave out --retrieval
    ontology fbbt.obo TERMS -> 2 TERMS gives no term an id | OBO file
    extract TERMS -o d.h5 -> 2 has no column "image"
    extract descriptors.h5 -o d.h5 -> 2 descriptors.h5 is an HDF5 file, not an image
    train features.h5 dictionary.h5 -o m.h5 -> 2 dictionary.h5 is an HDF5 file, not a table
    train features.h5 embryos/images.csv -o m.h5 -> 2 has no column "term"
    train descriptors.h5 TERMS -o m.h5 -> 65 holds descriptors, not features | flyannot pool
    learn-dict embryos -o d.h5 -> 2 cannot read embryos: a folder, not a file | flyannot extract
    {annotations right.csv TERMS -o new.csv,curate TERMS} -> 2 TERMS has no column "verdict"
    compare {embryos/images.csv embryos/images.csv,deep.json deep.json} -> 2 does not hold scores
    similar descriptors.h5 syn001 -o t.csv --stage-range 4-6 -> 2 holds descriptors | flyannot pool
    show text.h5 -> 65 not an HDF5 file
    report embryos -> 2 nothing of a run | embryos
    report . --data-set nowhere -> 2 no such table
    run embryos -> 2 cannot read embryos: a folder, not a file | TOML
    status {embryos,none} -> 2 name the output folder of: flyannot run CONFIG
files that are not there, or not whole
    {extract none,learn-dict none,pool none dictionary.h5,annotate none embryos} -o o.h5 -> 2 none
    annotate model.h5 none -o o.h5 -> 2 none
    train none TERMS -o o.h5 -> 2 none is not there
    {train features.h5 none -o o.h5,evaluate features.h5 none} -> 2 no such table | none
    {evaluate none TERMS,show none,run none.toml,run c.toml --data-set none} -> 2 none
    learn-dict cut/descriptors.h5 -o o.h5 -> 65 cut/descriptors.h5 is damaged | with: flyannot extract --force
    pool descriptors.h5 cut/dictionary.h5 -o o.h5
        -> 65 cut/dictionary.h5 is damaged | with: flyannot learn-dict --force
    train cut/features.h5 TERMS -o o.h5 -> 65 cut/features.h5 is damaged | with: flyannot pool --force
    annotate cut/model.h5 embryos -o o.h5 -> 65 cut/model.h5 is damaged | with: flyannot train --force
    evaluate cut/predictions.h5 TERMS
        -> 65 cut/predictions.h5 is damaged | with: the command that wrote it --force
    show cut/model.h5 -> 65 cut/model.h5 is damaged | make it again with
    {extract LONG -o o.h5,train features.h5 LONG -o o.h5,run LONG,status LONG} -> 2 File name too long
outputs that are in the way
    extract embryos -o descriptors.h5 --stage-range 4-6
        -> 2 it is of stage range 4-6, 11-12, and 4-6 is asked for | --force
    extract embryos -o descriptors.h5 --view lateral -> 2 images, such as images/syn | not asked for | --force
    pool descriptors.h5 dictionary.h5 -o features.h5 --grid 2x4
        -> 2 pool.grid was [[1,2]] and is now [[2,4]] | --force
    annotate model.h5 embryos -o predictions{.csv,.txt,.hdf5,}
        -> 2 does not end in .h5 | name the output predictions.h5
    evaluate features.h5 TERMS --json features.h5 -> 2 features.h5
    evaluate features.h5 TERMS --json TERMS -> 2 TERMS
    similar features.h5 syn001 -o features.h5 --stage-range 4-6 -> 2 is both input and output | another
    train features.h5 features.h5 embryos -o m.h5 -> 2 hold the same | name each file once
outputs that cannot be written
    {extract embryos -o,synthesize --n-genes 1 -o,evaluate predictions.h5 TERMS --json} text.h5/o.h5
        -> 74 cannot write | text.h5
terms and genes
    explain model.h5 {embryos --gene syn001,PICTURE --stage-range 4-6} --term 'pole cel'
        -> 2 Did you mean "pole cell"?
    {train -o m.h5 features.h5,evaluate features.h5,evaluate predictions.h5} TERMS --exclude-terms 'pole cel'
        -> 2 Did you mean "pole cell"?
    train features.h5 TERMS -o m.h5 --exclude-terms 'not-anatomyy' -> 2 Did you mean "not-anatomy"?
    explain model.h5 embryos --gene SYN001 -> 2 the gene "SYN001" | syn001
    similar features.h5 nonsense -o t.csv -> 2 no image and no gene of that name | capitals count
    similar features.h5 PICTURE_COPY -o t.csv -> 2 which of them | --stage-range 4-6
    train features.h5 other-genes.csv -o m.h5 -> 2 SYN001: did you mean "syn001"? | spelled alike in both
    evaluate features.h5 other-genes.csv -> 2 no gene of | is annotated | SYN001: did you mean "syn001"?
    train features.h5 two-in-a-cell.csv -o m.h5 -> 0 pole cell; brain primordium
    train features.h5 misspelt-term.csv -o m.h5 -> 0 "pole cel" | "pole cell"? | "Pole Cell" as "pole cell"
    train features.h5 capitals.csv -o m.h5 -> 0 SYN001: did you mean "syn001"?
    {train features.h5 embryos -o m.h5,evaluate features.h5 embryos --model model.h5 --folds 2} -> 0
too little to learn from
    train features.h5 TERMS -o m.h5 --min-groups 99 -> 2 no term can be trained | lower min-groups
    evaluate features.h5 TERMS --folds 99 -> 1 24 genes are annotated | at least 99 genes with | --folds
    evaluate features.h5 TERMS --operating-point precision=2 -> 2 with P above 0 and at most 1
    evaluate features.h5 few.csv --folds 2 -> 1 nothing could be evaluated: 3 genes are annotated
    learn-dict descriptors.h5 -o d.h5 --n-atoms 90000 -> 65 too few for 90,000 atoms | lower n-atoms to
    learn-dict descriptors.h5 -o d.h5 --n-atoms 600 -> 0 patches an atom | use --n-atoms
    learn-dict descriptors.h5 -o d.h5 --max-patches auto --learner ol
        -> 2 ol cannot learn data-parallel | --max-patches auto, or
    learn-dict descriptors.h5 -o d.h5 --data-parallel 4 --learner ol
        -> 2 ol cannot learn data-parallel | --learner scc
tables of images
    extract embryos/images -o d.h5 -> 2 has no images.csv, but | name the folder
    extract another-header -o d.h5 -> 2 another-header/images.csv | no column "stage_range" | mean "stage"
    extract wrong-range -o d.h5 -> 2 wrong-range/images.csv | line 3 | "4-66" | Did you mean "4-6"?
    extract date-as-range -o d.h5 -> 0 "06-Apr" as 4-6 (line 2) | column as Text
    {check many-faults,run c.toml --data-set many-faults}
        -> 2 3 faults | line 2, column "gene": empty | line 3: 4 cells | line 4, column "term": empty
    extract date-as-gene -o d.h5 -> 0 1-Sep
    extract {capital-header,semicolons,windows-path} -o d.h5 -> 0
    extract filename-header -o d.h5 -> 2 rename
    extract another-suffix -o d.h5 -> 0 1 image was taken with other capitals
    extract another-name -o d.h5 -> 1 did you mean
    extract blank-picture -o d.h5 -> 1 not one patch of 1 image was kept | lower min-std
pictures
    annotate model.h5 text.png --stage-range 4-6 -o p.h5 -> 1 not one image of 1 could be used
    annotate model.h5 blank.png --stage-range 4-6 -o p.h5 -> 0 check: blank | blank.png
    annotate model.h5 dark-background.png --stage-range 4-6 -o p.h5 -> 0 dark background, 1 image: dark-b
    annotate model.h5 portrait.png --stage-range 4-6 -o p.h5 -> 0 check: portrait | portrait.png
    annotate model.h5 small.png --stage-range 4-6 -o p.h5 -> 0 check: small | small.png
    annotate model.h5 several-embryos.png --stage-range 4-6 -o p.h5 -> 0 several embryos, 1 image: several
tables of terms
    train features.h5 no-term.csv -o m.h5 -> 2 no-term.csv holds no term
    train features.h5 empty-term.csv -o m.h5 -> 2 empty-term.csv, line 2, column "term" | empty
    train features.h5 wrong-stages.csv -o m.h5 -> 2 wrong-stages.csv, line 3, column "stage_range"
    train features.h5 stage.csv -o m.h5 -> 2 stage.csv has no column "stage_range" | Did you mean "stage"?
what curators said
    CORRECTED none.csv -> 2 no such table: none.csv | gene, stage_range, term, verdict
    CORRECTED no-verdict.csv -> 2 has no column "verdict" | Did you mean "answer"?
    CORRECTED acept.csv
        -> 2 line 2 | unknown verdict "acept" | Did you mean "accept"? | accept, reject, unsure
    CORRECTED pole-cel.csv -> 2 line 2, column "term" | a term "pole cel" | Did you mean "pole cell"?
    CORRECTED capital-gene.csv -> 0 SYN001: did you mean "syn001"? | 1 gene without a row
    CORRECTED another-date.csv -> 2 "02.01.2026" is no date such as 2026-01-31 | year-month-day
    CORRECTED excel.csv -> 0 "06-Apr" as 4-6 (line 2) | Text
    evaluate features.h5 TERMS --model model.h5 --corrections right.csv
        -> 2 was trained on other corrections | leave out --model
configurations
    run no-quotes.toml -> 2 at line 1 | Fix: text stands in quotes: data-set = "my-embryos"
    run windows-text.toml -> 2 a backslash begins | write the path with /
    run two-tables.toml -> 2 several tables [[extract]] | as [extract]
    run count.toml -> 2 n-epochs
    run no-ontology.toml -> 2 no such file | fbbt2.obo
    run a-scheduler.toml -> 2 a-scheduler.toml: [run] scheduler is not taken from a file | --scheduler
    run c.toml --set {extract,extract=4} -> 2 extract
    run c.toml --set extract.stride-px -> 2 extract.stride-px
    run c.toml --set seed.x=1 -> 2 seed
    run c.toml --set .= -> 2 there is no table ""
    run c.toml --set = -> 2 =
    ablate no-name.toml -> 2 needs a name
    ablate misspelt-key.toml -> 2 unknown key "bse"
what a late step would refuse, said before the first
    run c.toml --set train.exclude-terms='pole cel'
        -> 2 the term "pole cel", which is to be left out. Did you mean "pole cell"?
    run c.toml --set train.min-groups=500 --set evaluate.folds=99
        -> 2 and min-groups is 500 | into 99 folds | [train]\nmin-groups = 5\n[evaluate]\nfolds = 24
    run c.toml --set evaluate.folds=99 -> 2 genes cannot be split into 99 folds
    run c.toml --set evaluate.pixels=4x4 -> 2 [evaluate] pixels is for
    run c.toml --set {evaluate.roll-up,annotate.ontology,report.ontology}=none.obo -> 2 none.obo
    run c.toml --set learn-dict.n-atoms=100000
        -> 2 stage range 4-6 has | stage range 11-12 has | for 100,000 atoms | [learn-dict]\nn-atoms = 
    run c.toml --set learn-dict.max-patches=5 -> 2 stage range 4-6 has at most 5 patches
    run c.toml --set extract.patch-px=400 -> 2 does not fit into an image of 128 x 320 px
    run c.toml --set select.view=latral -> 2 Did you mean "lateral"
    run c.toml --set select.stage-range=7-8 -> 2 stage range 7-8
    run c.toml --data-set semicolons -> 0 semicolons has no annotations.csv: train, evaluate are
    run --data-set pictures -o results -> 2 pictures does not say its stage range | select.stage-range=4-6
    run c.toml --data-set pictures --set select.stage-range=4-6 --step train
        -> 2 no step "train" | pictures has no annotations.csv | --corrections corrections.csv
    run c.toml --data-set capital-header -> 2 no gene of | is annotated in | capital-header/annotations.csv
parts and workflows
    run c.toml --part 1/2 -> 2 --part is of one step
    run c.toml --step pol -> 2 no step "pol". Did you mean "pool"
    run c.toml --step synthesize -> 2 no step "synthesize"
    workflow c.toml --engine nextflow -o w -> 2 nextflow
    workflow c.toml --engine slurm --parts 3 -o w -> 2 3 parts of 108 images: they are worked on 64 at a time
    workflow c.toml --engine slurm --data-set none -o w -> 2 there is no data set none: memory and time
    workflow c.toml --engine slurm --set evaluate.folds=500 -o w -> 2 folds
    workflow c.toml --engine slurm --set pool.gird=1x2 -o w -> 2 Did you mean "grid"
other programs
    export features.h5 --to xlsx -o f.xlsx -> 2 xlsx | csv
    export features.h5 --to mat -o f.mat -> 2 no format of features "mat" | npz
"""

HEADER, VERDICT = "image,gene,stage_range", "gene,stage_range,term,verdict,date"
GOOD = f"../{PICTURE},Dl,4-6"
# Folders with an images.csv.
TABLES = {
    "another-header": "image,gene,stage\na.png,Dl,4-6\n",
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
    "pictures/a.png": np.full((128, 320), 255, np.uint8),
    "fbbt.obo": "[Term]\n",
    "many-faults/annotations.csv": "gene,stage_range,term\nDl,4-6,gut\nDl,4-6,gut\nDl,4-6,\n",
    "capital-header/annotations.csv": "gene,stage_range,term\nDL,4-6,gut\n",
    "few.csv": "gene,stage_range,term\n" + "".join(f"syn00{i},4-6,pole cell\n" for i in (1, 2, 3)),
    "other-genes.csv": "gene,stage_range,term\nSYN001,4-6,gut\n",
    "no-term.csv": "gene,stage_range,term\n",
    "empty-term.csv": "gene,stage_range,term\nx,4-6, \n",
    "wrong-stages.csv": "gene,stage_range,term\nx,4-6,a\nx,4_7,a\n",
    "stage.csv": "gene,stage,term\nx,4-6,a\n",
    "right.csv": f"{VERDICT}\nsyn001,4-6,pole cell,accept,2026-01-02\n",
    "no-verdict.csv": "gene,stage_range,term,answer,date\nsyn001,4-6,pole cell,yes,2026-01-02\n",
    "acept.csv": f"{VERDICT}\nsyn001,4-6,pole cell,acept,2026-01-02\n",
    "pole-cel.csv": f"{VERDICT}\nsyn001,4-6,pole cel,accept,2026-01-02\n",
    "capital-gene.csv": f"{VERDICT}\nSYN001,4-6,pole cell,accept,2026-01-02\n",
    "another-date.csv": f"{VERDICT}\nsyn001,4-6,pole cell,accept,02.01.2026\n",
    "excel.csv": f"{VERDICT}\nsyn001,06-Apr,pole cell,accept,2026-01-02\n",
    "c.toml": CONFIG,
    "no-quotes.toml": "data-set = my-embryos\n",
    "windows-text.toml": 'data-set = "C:\\temp"\noutput = "r"\n',
    "no-ontology.toml": CONFIG + '[report]\nontology = "fbbt2.obo"\n',
    "a-scheduler.toml": CONFIG + '[run]\nscheduler = "tcp://127.0.0.1:8786"\n',
    "two-tables.toml": CONFIG + "[[extract]]\nstride-px = 8\n",
    "count.toml": CONFIG + f"n-epochs = {'9' * 30}\n",
    "deep.json": '{"terms": ' + "[" * 5000,
    "no-name.toml": "[[row]]\nbase = 'x'",
    "misspelt-key.toml": "[[row]]\nname = 'x'\nbse = 'y'",
}
# What stands below the good rows of the table of terms.
MORE_TERMS = {
    "more-terms.csv": "",
    "two-in-a-cell.csv": "syn001,4-6,pole cell; brain primordium\n",
    "misspelt-term.csv": "syn001,4-6,pole cel\nsyn001,4-6,Pole Cell\n",
    "capitals.csv": "SYN001,4-6,pole cell\n",
}


def rows():
    """(command, exit code, words of the answer) of every row."""
    text = MISTAKES.replace("CORRECTED", "train features.h5 TERMS -o m.h5 --corrections")
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
    """The commands for which one with {a,b} stands."""
    head, _, rest = command.partition("{")
    within, _, tail = rest.partition("}")
    return [head + one + tail for one in within.split(",")]


@pytest.fixture(scope="module")
def made(chain, tmp_path_factory):
    """All that rows name, made once."""
    folder = chain.copied_to(tmp_path_factory.mktemp("made") / "all").folder
    terms = (folder / TERMS).read_text()
    more = {name: terms + row for name, row in MORE_TERMS.items()}
    more |= {f"cut/{kind}.h5": (folder / f"{kind}.h5").read_bytes()[:-500] for kind in KINDS}
    more["copy.png"] = (folder / PICTURE).read_bytes()
    for name, content in (FILES | more).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if isinstance(content, np.ndarray):
            Image.fromarray(content).save(path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.fixture
def desk(made, tmp_path, monkeypatch):
    """The working folder of one row, where everything lies by links."""
    for path in made.iterdir():
        os.symlink(path, tmp_path / path.name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def state_of(*folders):
    """All files that lie there, with their size and the time of their last change."""
    paths = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths)


def is_explained(flyannot, made, desk, command, code, words):
    before = state_of(desk, made)
    for line in (command, f"{command} --dry-run") if command.startswith("run ") else (command,):
        said = flyannot(line)
        if code == 0:
            assert said.code == 0 and all(word in said.err for word in words), said.err
            continue
        # what could be found out stands on stdout all the same
        faulty(said._replace(out="") if code == 1 else said, code, *words)
        assert state_of(desk, made) == before, "nothing is made, nothing is left, nothing is changed"


MISSPELT = [row for row in rows() if "id you mean" in " ".join(row[2])]
OTHERS = [row for row in rows() if row not in MISSPELT]


@pytest.mark.parametrize("row", MISSPELT, ids=[row[0] for row in MISSPELT])
def test_a_misspelling_gets_a_suggestion(flyannot, made, desk, row):
    is_explained(flyannot, made, desk, *row)


@pytest.mark.parametrize("row", OTHERS, ids=[row[0] for row in OTHERS])
def test_a_mistake_is_explained(flyannot, made, desk, row):
    is_explained(flyannot, made, desk, *row)


def test_the_table_has_each_mistake_once():
    assert len({command for command, _, _ in rows()}) == len(MISSPELT) + len(OTHERS) > 150

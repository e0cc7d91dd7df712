"""The documentation: its blocks of code run or at least parse, and its links lead somewhere."""

import csv
import glob
import gzip
import re
import shlex
import shutil
import subprocess
import tomllib

import pytest

import flyannot as package
from flyannot.cli import group
from flyannot.dataset.folder import read_annotations, read_images
from flyannot.files.hdf5.schema import SCHEMAS
from flyannot.pipeline.runs.configuration import read_configuration
from flyannot.terms.answers import PREDICTION_COLUMNS
from tests.command_lines import commands_below, contexts_of, flyannot_lines
from tests.conftest import ROOT
from tests.page_blocks import blocks_of, run_python

DOCS = ROOT / "docs"
TUTORIAL, CLUSTER, CURATING = DOCS / "tutorial.md", DOCS / "cluster.md", DOCS / "curating.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md")), *sorted((ROOT / "data").glob("*.md"))]
# Pages that are run one after the other in one folder: what one leaves, the next takes.
RUN = [
    (ROOT / "README.md", DOCS / "similar.md"),  # both begin with the same run
    (TUTORIAL, DOCS / "file-format.md", DOCS / "questions.md"),
    (CLUSTER,),
    (CURATING,),
    (DOCS / "programs.md",),
]
LANGUAGES = {"sh", "python", "r", "csv", "toml", "text"}
STAGES = {"4-6": 2}
page_ids = [page.relative_to(ROOT).as_posix() for page in PAGES]


def bdgp_files(embryos, folder):
    """Write the synthetic embryos as BDGP publishes them: tables without header beside the pictures."""
    shutil.copytree(embryos / "images", folder)
    images, terms = read_images(embryos), read_annotations(embryos)
    with open(folder / "insitu_images.csv", "w", newline="") as table:
        csv.writer(table).writerows(
            [i.gene, "", "", "", "Fly", i.file.rpartition("/")[2], STAGES[i.stage_range]] for i in images
        )
    with open(folder / "insitu_annot.csv", "w", newline="") as table:
        csv.writer(table).writerows(
            [gene, "", "", STAGES[s], term]
            for (gene, s), found in terms.terms_by_gene.items()
            for term in found
        )


def flyexpress_files(embryos, folder):
    """Write the synthetic embryos as FlyExpress publishes them: picture names are a tuple in a cell."""
    from PIL import Image

    (folder / "bmp").mkdir()
    images, terms = read_images(embryos), read_annotations(embryos)
    with gzip.open(folder / "images.csv.gz", "wt", newline="") as table:
        rows = csv.writer(table)
        rows.writerow(["gene", "stage", "direction", "image_url"])
        for number, image in enumerate(images[:6]):
            Image.open(image.file).save(folder / "bmp" / f"{number}_s.bmp")
            rows.writerow([image.gene, STAGES[image.stage_range], "lateral", f"('{number}_s.bmp',)"])
    with gzip.open(folder / "annotations.csv.gz", "wt", newline="") as table:
        rows = csv.writer(table)
        rows.writerow(["gene", "stage", "annotation"])
        rows.writerows([gene, STAGES[s], t] for (gene, s), of in terms.terms_by_gene.items() for t in of)


@pytest.fixture
def workplace(chain, tmp_path, monkeypatch):
    """Make a working folder with all files that the pages expect; the steps are small and use one process."""
    embryos = tmp_path / "my-embryos"
    shutil.copytree(chain.embryos, embryos)
    # One stage range is enough, and one picture of a gene.
    for table, kept in ((embryos / "images.csv", "_4-6_1."), (embryos / "annotations.csv", ",4-6,")):
        lines = table.read_text().splitlines(keepends=True)
        table.write_text("".join([lines[0], *(line for line in lines if kept in line)]))
    bdgp_files(embryos, tmp_path / "bdgp-files")
    flyexpress_files(embryos, tmp_path)
    pictures = sorted((chain.embryos / "images").glob("*_4-6_1.png"))
    (tmp_path / "new-images").mkdir()
    for picture in pictures[:3]:
        shutil.copy(picture, tmp_path / "new-images")
    shutil.copy(pictures[0], tmp_path / "embryo.png")
    (corrections,) = blocks_of(CURATING, "csv")
    for name in ("corrections.csv", "anna.csv", "ben.csv"):
        (tmp_path / name).write_text(corrections.code)
    (configuration,) = blocks_of(TUTORIAL, "toml")
    (tmp_path / "my-configuration.toml").write_text(configuration.code)
    monkeypatch.chdir(tmp_path)
    small = "RUN_JOBS=1 LEARN_DICT_N_ATOMS=24 LEARN_DICT_N_EPOCHS=1 EVALUATE_FOLDS=2 TRAIN_MIN_GROUPS=6"
    for name, value in (setting.split("=") for setting in small.split()):
        monkeypatch.setenv(f"FLYANNOT_{name}", value)
    return tmp_path


def lines_of(block):
    """Return the lines of a block of shell without comments, with continued lines joined."""
    lines = (line.partition(" #")[0].strip() for line in block.code.replace("\\\n", " ").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("pages", RUN, ids=lambda pages: pages[0].stem)
def test_the_blocks_of_pages_run_one_after_the_other(flyannot, workplace, pages):
    named: dict = {}  # what blocks of Python leave for the next
    for page, block in ((place, block) for place in pages for block in blocks_of(place)):
        if block.language == "python":
            run_python(page, named, [block])
        if block.language != "sh" or not block.is_run:
            continue
        for line in lines_of(block):
            where = f"{page.name}, line {block.line}: {line}"
            if line.startswith("make "):  # installs; the target must be there
                assert re.search(rf"^{line.split()[1]}:", (ROOT / "Makefile").read_text(), re.M), where
                continue
            assert line.startswith("flyannot "), f"{where}: mark the block with <!-- not run: REASON -->"
            words = [name for word in shlex.split(line)[1:] for name in sorted(glob.glob(word)) or [word]]
            said = flyannot(shlex.join(words))
            assert said.code == 0, f"{where}\n{said.err}"


@pytest.mark.parametrize("page", PAGES, ids=page_ids)
def test_every_command_on_a_page_parses(page):
    for block in blocks_of(page, "sh"):
        for line in flyannot_lines(block.code):
            contexts_of(line)


@pytest.mark.parametrize("page", PAGES, ids=page_ids)
def test_code_stands_in_blocks_of_a_known_language_and_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    assert {block.language for block in blocks_of(page)} <= LANGUAGES
    assert text.count("\n```") + text.startswith("```") == 2 * len(blocks_of(page))
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"^    \S", outside, re.MULTILINE), "indented code: put it between ```"
    for target in re.findall(r"\]\((?!http)([^)]*)\)", outside):
        file = target.partition("#")[0]  # headings are looked up when the site is built
        assert (page.parent / file if file else page).exists(), target


def test_tables_and_configurations_on_the_pages_are_read(tmp_path):
    for page in [page for pages in RUN for page in pages] + [DOCS / "images.md"]:
        for block in blocks_of(page, "csv"):
            is_images = block.code.startswith("image,")
            path = tmp_path / "table.csv"
            path.write_text(block.code)
            assert (read_images if is_images else read_annotations)(path)
        for block in blocks_of(page, "toml"):
            path = tmp_path / "c.toml"
            path.write_text(block.code)
            assert read_configuration(path) and tomllib.loads(block.code)


def test_the_blocks_in_r_read_what_is_there(tmp_path):
    blocks = [block for page in PAGES for block in blocks_of(page, "r")]
    assert blocks
    for block in blocks:
        for kind, name in re.findall(r'h5read\("(\w+)\.h5", "[^/"]+/([^"]+)"', block.code):
            assert name in SCHEMAS[kind]
        for left, right in ("()", "[]", "{}"):
            assert block.code.count(left) == block.code.count(right)
        if shutil.which("Rscript"):
            (tmp_path / "block.R").write_text(block.code)
            subprocess.run(["Rscript", "-e", f"parse('{tmp_path / 'block.R'}')"], check=True)


@pytest.mark.parametrize(("page", "least"), [("errors.md", 12), ("cluster.md", 5)])
def test_the_messages_that_are_explained_are_those_that_are_said(page, least):
    """Each piece of an explained message, between dots, is in the code."""
    code = "\n".join(path.read_text() for path in sorted((ROOT / "flyannot").rglob("*.py")))
    code = re.sub(r'"\s*\n\s*f?"', "", code)  # texts that go on in the next line
    table = (DOCS / page).read_text()
    messages = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert len(messages) > least
    for message in messages:
        for piece in (piece.strip('" ') for piece in message.split("...")):
            assert piece in code, message


@pytest.mark.parametrize("page", PAGES, ids=page_ids)
def test_the_files_of_the_project_that_a_page_names_are_there(page):
    named = set(re.findall(r"`((?:flyannot|tests|configs)/[\w/]+\.(?:py|toml))`", page.read_text()))
    assert [path for path in sorted(named) if not (ROOT / path).is_file()] == []


WORDS = """patch, atom, dictionary, code, pooling, term, gene, group, stage range, decision value,
probability, threshold, AUC, interval, fold, held out, cross-validation, sensitivity, specificity, calibrated,
register, view, part, data-parallel, look at first"""

NOT_BY_HAND = ["papers.md", "measured.md", "benchmarks.md", "CHANGELOG.md"]
BY_HAND = [page for page in PAGES if page.name not in NOT_BY_HAND]


@pytest.mark.parametrize("page", BY_HAND, ids=lambda page: page.name)
def test_a_page_begins_with_whom_it_is_for_and_the_site_names_it(page):
    title, _, first = page.read_text(encoding="utf-8").partition("\n\n")
    assert title.startswith("# ") and re.match(r"(This page|flyannot) is for ", first), page
    assert page.name == "README.md" or f": {page.name}\n" in (ROOT / "mkdocs.yml").read_text()


def test_commands_that_sentences_name_have_their_options():
    """Each `flyannot COMMAND --option` in a page, in help or in a message exists."""
    commands = dict(commands_below(group))
    code = "".join(path.read_text() for path in sorted((ROOT / "flyannot").rglob("*.py")))
    text = re.sub(r'"\s*\n\s*f?"', "", code) + "".join(page.read_text() for page in BY_HAND)
    for line in re.findall(r"`(flyannot [a-z][^`]+)`", text):
        words = line.split()
        command = commands.get(" ".join(words[:2])) or commands.get(" ".join(words[:3]))
        known = {o for p in getattr(command, "params", ()) for o in (*p.opts, *p.secondary_opts)} | {"--help"}
        wrong = [word for word in words if word.startswith("--") and word.partition("=")[0] not in known]
        assert not wrong and (command or words[1] == "import"), line


def test_the_glossary_has_every_word_and_the_tutorial_every_column():
    defined = set(re.findall(r"\*\*([\w -]+)\*\*", (DOCS / "glossary.md").read_text()))
    assert [word for word in re.split(r",\s", WORDS) if not defined & {word, f"{word}s"}] == []
    tutorial = TUTORIAL.read_text()
    assert [name for name in PREDICTION_COLUMNS if f"`{name}`" not in tutorial] == []


def test_the_pages_on_python_have_every_public_name():
    page, reference = (DOCS / "python.md").read_text(), (DOCS / "api.md").read_text()
    assert [name for name in package.__all__ if f"`flyannot.{name}`" not in page] == []
    assert [name for name in package.__all__ if f"\n::: flyannot.{name}\n" not in reference] == []


def test_numbers_of_the_paper_stand_in_the_pages():
    pages = "".join(page.read_text() for page in PAGES)
    numbers = re.findall(r"\d+[.,]\d+", (DOCS / "joss" / "paper.md").read_text())
    assert numbers and [number for number in numbers if number not in pages] == []

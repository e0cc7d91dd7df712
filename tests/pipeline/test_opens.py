"""How often each picture is opened: once to make files of it, and never to show what was made."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from flyannot.dataset.folder import read_images
from tests.pipeline.test_plan import list_opened
from tests.small_embryos import write_configuration

GUESSED = "run --data-set photographs -o results --set select.guess-stages=true"


@pytest.fixture
def opens(flyannot):
    """Return a function that runs a command, and returns how often it opened each picture."""

    def count(line, code=0):
        with list_opened() as opened:
            flyannot(line, code=code)
        return Counter(Path(path).name for path in opened if path.endswith((".png", ".bmp")))

    return count


def once(folder):
    return Counter(path.name for path in folder.rglob("*.*") if path.suffix in (".png", ".bmp"))


@pytest.fixture
def photographs(shared_data, tmp_path, monkeypatch):
    """Make a folder with two photographs of each stage range, and work beside it."""
    monkeypatch.chdir(tmp_path)
    Path("photographs").mkdir()
    taken = Counter()
    for image in read_images(shared_data / "flyexpress"):
        taken[image.stage_range] += 1
        if taken[image.stage_range] <= 2:
            shutil.copy(image.path, "photographs")
    return Path("photographs")


@pytest.mark.parametrize("has_terms", [True, False])
def test_a_run_opens_each_picture_once_and_its_results_need_none(has_terms, opens, tmp_path, monkeypatch):
    write_configuration(tmp_path, images='[select]\nstage-range = ["4-6"]\n')
    monkeypatch.chdir(tmp_path)
    if not has_terms:
        Path("embryos/annotations.csv").unlink()
    every = once(Path("embryos"))
    shares = [opens(f"run c.toml --step extract --part {n}/3") for n in (1, 2, 3)]
    assert sum(shares, Counter()) == every
    shutil.rmtree("results")
    assert opens("run c.toml") == every
    assert opens("run c.toml") == opens("run c.toml --dry-run") == every
    page = Path("results/report.html").read_bytes()
    Path("embryos").rename("away")
    assert not opens("status results", code=None)
    assert not opens("report results -o results/again.html")
    assert Path("results/again.html").read_bytes() == page
    gene = next(iter(read_images("away"))).gene
    assert not opens(f"similar results/features.h5 {gene} -o s.csv")
    if has_terms:
        assert not opens("explain results/model.h5 results -o why")


def test_a_run_that_guesses_stage_ranges_opens_each_picture_once(opens, photographs):
    assert opens(GUESSED, code=None) == once(photographs)
    assert opens(GUESSED, code=None) == opens(f"{GUESSED} --dry-run") == once(photographs)
    assert not opens("status results")


@pytest.mark.parametrize(
    "line",
    [
        "annotate blastoderm photographs --stage-range 4-6 -o t.h5 --page",
        "annotate blastoderm photographs --guess-stages -o t.h5 --page",
        "check photographs",
        "explain blastoderm photographs --stage-range 4-6 -o why",
    ],
)
def test_a_command_on_photographs_opens_each_once(opens, photographs, line):
    assert opens(line, code=None) == once(photographs)

"""The plan of a run: all commands follow it, and making it reads each table once and opens no picture."""

import json
import re
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from shutil import copy

import pytest

from flyannot.base.errors import InputError
from flyannot.dataset import folder as dataset_folder
from flyannot.files.hdf5.supplied import supplied_path
from flyannot.files.tables import write_table
from flyannot.pipeline.chain import STEPS
from flyannot.pipeline.engine.step import Step
from flyannot.pipeline.engine.task import Execution, Task
from flyannot.pipeline.runs.configuration import read_configuration
from flyannot.pipeline.runs.plan import plan_run
from flyannot.pipeline.runs.run import run_steps
from tests.small_embryos import rows_of_csv

EARLY = ["extract", "learn-dict", "pool"]
SUGGESTED = [*EARLY, "annotate", "report"]  # by the supplied model, as there is nothing to learn from
ADAPTED = ["extract", "pool", "train", "evaluate", "annotate", "report"]
SETTINGS = {  # of each case, with the steps of its run
    "terms": ("", list(STEPS)),
    "no terms": ("", SUGGESTED),
    "no terms of a stage range that is known": ('[select]\nstage-range = "11-12"\n', [*EARLY, "report"]),
    "too few genes": ("", SUGGESTED),
    "corrections": ('[train]\ncorrections = ["c.csv"]\n[select]\nstage-range = "4-6"\n', ADAPTED),
    "adapt": ('[train]\nadapt = "blastoderm"\n[select]\nstage-range = "4-6"\n', ADAPTED),
    "guess": ("[select]\nguess-stages = true\n", SUGGESTED),
    "guess, corrections": ('[train]\ncorrections = ["c.csv"]\n[select]\nguess-stages = true\n', ADAPTED),
    "folder": ('[select]\nstage-range = "4-6"\n', SUGGESTED),
}
opened = []  # paths of files that were opened for reading by Python, while `list_opened` is in use
is_listing = False


def note_opened(event, arguments):
    # What an opener does is an event of its own, without a mode.
    if is_listing and event == "open" and str(arguments[1]).startswith("r"):
        opened.append(str(arguments[0]))


sys.addaudithook(note_opened)


@contextmanager
def list_opened():
    global is_listing
    opened.clear()
    is_listing = True
    yield opened
    is_listing = False


@pytest.fixture(params=SETTINGS)
def case(request, own_chain, monkeypatch):
    """Make the data set of a case the only thing in the working folder, with c.toml; return the case."""
    for file in own_chain.kinds.values():
        file.rename(own_chain.folder / f"{file.stem}.made")
    monkeypatch.chdir(own_chain.folder)
    write_case(own_chain, request.param)
    return request.param


def write_case(chain, case):
    images = chain.embryos / "images.csv"
    terms = rows_of_csv(chain.annotations)
    if case not in ("terms", "adapt"):
        chain.annotations.unlink()
    if case == "too few genes":
        kept = [row.values() for row in terms if row["gene"] in ("syn001", "syn002")]
        write_table(chain.annotations, tuple(terms[0]), kept)
    if "guess" in case:
        images.write_text(images.read_text().replace(",4-6,", ",,").replace(",11-12,", ",,"))
    if case == "folder":
        images.unlink()
        for picture in (chain.embryos / "images").iterdir():
            picture.rename(chain.embryos / picture.name)
    verdicts = enumerate(["accept"] * 5 + ["reject"] * 4, 1)
    rows = [[f"syn{i:03d}", "4-6", "pole cell", verdict, "2026-01-02"] for i, verdict in verdicts]
    write_table(Path("c.csv"), ["gene", "stage_range", "term", "verdict", "date"], rows)
    Path("c.toml").write_text(f'data-set = "embryos"\noutput = "results"\n{SETTINGS[case][0]}')


@pytest.fixture
def built(monkeypatch):
    """Build tasks of outputs that are up to date; return the list of the names of their steps."""
    names = []

    class UpToDate(Task):
        def stale_reason(self, *, is_verified=True):
            return ""

    def build(step, request):
        names.append(step.name)
        return UpToDate(request.out)

    monkeypatch.setattr(Step, "build_task", build)
    return names


def test_all_commands_have_the_steps_of_the_plan(case, built, flyannot):
    steps = SETTINGS[case][1]
    plan = plan_run(read_configuration("c.toml"))
    assert list(plan.requests) == steps
    assert [name for name, *_ in run_steps(plan, Execution())] == steps
    assert set(built) == set(steps)
    built.clear()
    flyannot("run c.toml --dry-run", code=0)
    assert set(built) == set(steps)
    flyannot("workflow c.toml -o Snakefile", code=0)
    assert [*re.findall(r"'(\S+)': \{", Path("Snakefile").read_text()), "report"] == steps
    found = json.loads(flyannot("status results --json", code=0).out)["steps"]
    assert [step["step"] for step in found] == steps


def test_what_is_left_out_is_explained_and_not_run(case, built):
    plan = plan_run(read_configuration("c.toml"))
    absent = [name for name in STEPS if name not in plan.requests]
    assert bool(plan.omitted) == ("train" in absent) and not (plan.supplied_model and plan.base_model)
    if plan.omitted:
        assert f"left out: {', '.join(absent)}. Give terms" in plan.omitted
    assert (plan.supplied_model == supplied_path("blastoderm")) == (SETTINGS[case][1] == SUGGESTED)
    assert (plan.base_model == supplied_path("blastoderm")) == (absent == ["learn-dict"])
    for name in absent:
        with pytest.raises(InputError, match=f'no step "{name}"'):
            plan.require(name)
    known = {plan.supplied_model, plan.base_model, Path("embryos"), Path("results")}
    made = {request.out for request in plan.requests.values()}
    for request in plan.requests.values():
        assert {path for paths in request.inputs.values() for path in paths} <= known | made


def test_a_plan_opens_no_picture_and_reads_each_table_once(case, built, flyannot, monkeypatch):
    tables = Counter()
    read_rows = dataset_folder.read_gene_rows

    def count(table, *columns, **how):
        tables[table.name] += 1
        return read_rows(table, *columns, **how)

    monkeypatch.setattr(dataset_folder, "read_gene_rows", count)
    expected = {name: 1 for name in ("images.csv", "annotations.csv") if Path("embryos", name).exists()}
    flyannot("workflow c.toml -o Snakefile", code=0)  # writes the record
    lines = (
        "run c.toml --dry-run",
        "workflow c.toml -o Snakefile",
        "status results",
        "run c.toml --step pool",
    )
    for line in lines:
        tables.clear()
        with list_opened() as files:
            flyannot(line, code=0)
        assert tables == expected, line
        assert any(file.endswith("annotations.csv") for file in files) == ("annotations.csv" in expected)
        assert not [file for file in files if file.endswith(".png")], line


@pytest.mark.parametrize("case", ["guess", "guess, corrections"], indirect=True)
def test_what_guesses_decide_is_settled_by_the_file_of_descriptors(case, built, own_chain):
    """The stage ranges that were guessed are 4-6 and 11-12; the supplied model knows only the first."""
    plan = plan_run(read_configuration("c.toml"))
    assert {image.stage_range for image in plan.images} == {""} and plan.training_sets is None
    Path("results").mkdir()
    copy(own_chain.folder / "descriptors.made", "results/descriptors.h5")
    settled = plan.settled()
    assert {image.stage_range for image in settled.images} == {"4-6", "11-12"}
    assert list(settled.requests) == (SUGGESTED if case == "guess" else list(STEPS))
    made = [(name, task.path.name) for name, task, _ in run_steps(plan, Execution())]
    # Without the model to adapt, `extract` has other options, and is run again.
    assert [name for name, _ in made] == ["extract"] * (case != "guess") + list(settled.requests)
    assert list(plan_run(read_configuration("c.toml")).requests) == list(settled.requests)
    with open("embryos/images.csv", "a") as table:
        table.write("images/new.png,new,\n")
    opened_again = plan_run(read_configuration("c.toml"))
    assert list(opened_again.requests) == list(plan.requests), (
        "nothing is settled before the new image is read"
    )


@pytest.mark.parametrize("case", ["terms"], indirect=True)
def test_a_picture_that_cannot_be_read_changes_no_plan(case, built, flyannot):
    before = plan_run(read_configuration("c.toml")).requests
    for picture in Path("embryos/images").iterdir():
        picture.write_bytes(b"no picture")
    assert plan_run(read_configuration("c.toml")).requests == before

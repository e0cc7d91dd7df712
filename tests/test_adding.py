"""Extensions: a dummy of each kind needs its file and one line, and is found everywhere."""

import re
import sys
from shutil import copy

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.__main__ import command as benchmarks
from benchmarks.items import ITEMS
from flyannot.cli import COMMANDS
from flyannot.dataset.folder import read_images
from flyannot.dataset.importers import IMPORTERS
from flyannot.export import EXPORTERS
from flyannot.files.hdf5.features import read_features
from flyannot.files.hdf5.reading import open_stored_file
from flyannot.files.hdf5.schema import COMMAND_BY_KIND
from flyannot.pipeline.chain import STEPS
from flyannot.sparse.coders import CODERS
from flyannot.sparse.coders.verified import WrongCodesWarning
from flyannot.sparse.learners import LEARNERS
from flyannot.terms import CLASSIFIERS
from tests.conftest import ROOT
from tests.page_blocks import blocks_of
from tests.small_embryos import write_configuration

# The files of the dummies: each is what a contributor would write, in one module.
DUMMIES = '''
"""One of each kind."""

from dataclasses import dataclass

import click
import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.findings import not_runnable
from flyannot.terms.ridge import Ridge
from flyannot.cli.shared.options import Command
from flyannot.dataset.importers import Importer
from flyannot.base.options import IntegerType, Options, option
from flyannot.sparse.coders.blocks import Codes
from flyannot.sparse.coders.verified import Coder
from flyannot.sparse.learners.lagrange_dual import LagrangeDual

@Coder
def liar(samples, lam, **rules):
    """Report zeros as right."""
    shape = len(samples.X), len(samples.D)
    return Codes(csr_matrix(shape, dtype=samples.X.dtype), np.zeros(shape[0]))


@dataclass(frozen=True, kw_only=True)
class DummyOptions(Options):
    """The dummy's."""

    zeal: int = option(1, IntegerType(), "How often the dummy nods.")


class Learner(LagrangeDual):
    """Learns as its parent does."""


class Classifier(Ridge):
    """Ridge regression."""


@click.command("dummy", cls=Command)
def command():
    """Nod.

    \\b
    Example:
        flyannot dummy
    """
    click.echo("nods")


IMPORTER = Importer("Dummies as a data set folder.\\n\\nExample:\\n    flyannot import dummy d -o e\\n",
                    "SOURCE", DummyOptions, lambda sources, folder, options, force: {})


def write(stored, stage_ranges, path):
    path.write_text("dummy")


def measure_nothing(setup):
    return not_runnable("it is a dummy")
'''

# The first step that CONTRIBUTING.md shows, and the line that it names.
LIST_GENES, _ = blocks_of(ROOT / "CONTRIBUTING.md", "python")
STEP_LINE = ("list-genes", "list_genes:LIST_GENES")
# The lines of the tables.
LINES = [
    (CODERS, "copied_coder:encode"),
    (LEARNERS, "dummies:Learner"),
    (CLASSIFIERS, "dummies:Classifier"),
    (IMPORTERS, "dummies:IMPORTER"),
    (EXPORTERS["features"], "dummies:write"),
]


@pytest.fixture
def dummies(tmp_path, monkeypatch):
    """Make the module of dummies importable, and register each."""
    folder = tmp_path / "module"
    folder.mkdir()
    (folder / "dummies.py").write_text(DUMMIES)
    (folder / "list_genes.py").write_text(
        LIST_GENES.code.replace("flyannot.pipeline.list_genes", "list_genes")
    )
    monkeypatch.syspath_prepend(folder)
    model_coder = re.search(r"\| a coder.*`(flyannot/\S+\.py)`", (ROOT / "CONTRIBUTING.md").read_text())[1]
    copy(ROOT / model_coder, folder / "copied_coder.py")
    for registry, place in LINES:
        monkeypatch.setitem(registry.import_paths, "dummy", place)
    item = {"title": "A dummy of an item", "measure": "dummies:measure_nothing"}
    monkeypatch.setitem(ITEMS.entries, "dummy", item)
    *before, report = STEPS.import_paths.items()
    monkeypatch.setattr(STEPS, "import_paths", dict([*before, STEP_LINE, report]))
    monkeypatch.setitem(COMMANDS["Data"], "dummy", ("dummies:command", "Nods."))
    for name in [name for name in sys.modules if name.startswith("flyannot.cli.")]:
        if not name.startswith("flyannot.cli.shared"):  # commands list what may be chosen when imported
            monkeypatch.delitem(sys.modules, name)
    yield folder
    for name in ("copied_coder", "dummies", "list_genes"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pool --help", "siso|dummy"),
        ("learn-dict --help", "dummy"),
        ("train --help", "ridge|dummy"),
        ("evaluate --help", "ridge|dummy"),
        ("import --help", "Dummies as a data set folder."),
        ("import dummy --help", "--zeal"),
        ("export --help", "dummy"),
        ("--help", "Nods."),
        ("--help", "Features to the list of their genes."),
        ("list-genes --help", "--min-images"),
        ("dummy --help", "Nod."),
    ],
)
def test_help_finds_what_was_added(dummies, flyannot, line, words):
    said = flyannot(line, code=0)
    assert words in " ".join(said.out.split()), said.out


def test_the_list_of_benchmarks_finds_what_was_added(dummies):
    assert "A dummy of an item" in CliRunner().invoke(benchmarks, ["--list"]).output


def test_what_was_added_works_from_the_command_line(dummies, flyannot, desk):
    assert flyannot("dummy").out == "nods\n"
    flyannot("learn-dict descriptors.h5 -o d.h5 --n-atoms 8 --n-epochs 1 --learner dummy", code=0)
    flyannot("pool descriptors.h5 d.h5 -o f.h5 --coder dummy", code=0)
    assert not CODERS["dummy"]._is_trusted
    flyannot("train f.h5 embryos/annotations.csv -o m.h5 --method dummy", code=0)
    flyannot("export f.h5 --to dummy -o x", code=0)
    assert (desk / "x").read_text() == "dummy"


def test_pool_mends_what_a_coder_that_lies_returns_and_names_it(dummies, flyannot, desk, monkeypatch):
    flyannot("learn-dict descriptors.h5 -o d.h5 --n-atoms 8 --n-epochs 1", code=0)
    flyannot("pool descriptors.h5 d.h5 -o honest.h5 --tol 1e-8", code=0)
    monkeypatch.setitem(CODERS.import_paths, "dummy", "dummies:liar")
    with pytest.warns(WrongCodesWarning, match="the coder liar returned wrong duality gaps"):
        flyannot("pool descriptors.h5 d.h5 -o mended.h5 --tol 1e-8 --coder dummy", code=0)
    found = []
    for name in ("honest.h5", "mended.h5"):
        stored = open_stored_file(desk / name)
        found.append(read_features([stored], stored.stage_ranges[0])[1])
    assert found[0].any()
    np.testing.assert_allclose(found[1], found[0], atol=1e-3)


def test_the_step_of_the_contributors_page_is_in_run_status_workflow_and_report(dummies, flyannot, tmp_path):
    """One declaration gives the command, the table, the environment variable, the file and the job."""
    config = write_configuration(tmp_path)
    results = tmp_path / "results"
    config.write_text(config.read_text() + "[list-genes]\nmin-images = 1\n")
    said = flyannot("run C", C=config)
    genes = (results / "genes.txt").read_text().split()
    assert said.code == 0 and "[list-genes]" in said.err and genes
    assert genes == sorted({image.gene for image in read_images(tmp_path / "embryos")})
    assert "everything is up to date" in flyannot("run C", C=config).err
    said = flyannot("run C --step list-genes --set list-genes.min-images=1000", C=config)
    assert said.code == 0 and (results / "genes.txt").read_text() == ""
    rows = flyannot("status R", R=results).out.splitlines()
    assert "done" in next(row for row in rows if row.startswith("list-genes"))
    page = (results / "report.html").read_text()
    assert "genes.txt" in page and "flyannot list-genes" in page
    flyannot("workflow C -o W", C=config, W=tmp_path / "Snakefile", code=0)
    assert "'list-genes': " in (tmp_path / "Snakefile").read_text()
    flyannot("list-genes F -o O", F=results / "features.h5", O=tmp_path / "g.txt", code=0)
    assert (tmp_path / "g.txt").read_text().split() == genes


def test_what_a_file_says_made_it_is_the_command_of_its_step():
    made_by = {step.kind: f"flyannot {step.name}" for step in reversed(list(STEPS.values())) if step.kind}
    others = {"checkpoint": made_by["dictionary"], "pictures": made_by["descriptors"]}
    assert made_by | others == COMMAND_BY_KIND

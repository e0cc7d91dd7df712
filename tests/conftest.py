"""Fixtures for all tests."""

import gc
import logging
import os
import re
import shlex
import signal
import sys
from pathlib import Path
from typing import NamedTuple

import hypothesis
import numpy as np
import pytest
import tifffile

ROOT = Path(__file__).resolve().parents[1]
collect_ignore = ["platforms"]  # imported, it would hide what Linux has from all tests
_ONE_AS_MANY = re.compile(
    r"(?<![\w.,-])1 (?:atoms|cells|columns|embryos|features|files|folds|genes|groups|images|patches|pictures"
    r"|rows|parts|terms)\b.*"
)
_BESIDE = ROOT.parent / "shared" / "data"  # of the checkout
if _BESIDE.is_dir():
    os.environ.setdefault("FLYANNOT_DATA", str(_BESIDE))


# Files with the longest tests: begun last, they would keep one worker busy long after the others.
_FIRST = ("test_ways_in.py", "test_cold_kernels.py", "test_workflow_engines.py", "test_interruptions.py")


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="one quick test of each law: see CONTRIBUTING.md")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Pause garbage collection: nearly all that importing and collecting the tests creates stays."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


def pytest_collection_modifyitems(config, items):
    """Put the longest tests first; with --quick, keep one case of every quick test."""
    items.sort(key=lambda item: item.path.name not in _FIRST)
    if config.getoption("--quick", False):
        slow = {*(ROOT / "tests" / "slow.txt").read_text().split()}
        first_cases = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
        items[:] = [
            item for name, item in reversed(first_cases.items()) if not slow & {name, name.partition("::")[0]}
        ]


def pytest_configure():
    from tests.processes import keep_watch

    keep_watch()
    hypothesis.settings.register_profile("untimed", deadline=None)
    hypothesis.settings.load_profile("untimed")


@pytest.fixture
def rng():
    return np.random.default_rng(20140824)


@pytest.fixture
def trials(record_property):
    """Return a function that gives the number of random trials of a test.

    `trials(n)` returns n, or a larger number if the tests run as a campaign. `trials(n, campaign=m)`
    returns m in a campaign. The campaign adds up the numbers.
    """
    from tests.campaign.trials import n_trials

    def count(n, campaign=None):
        n = n_trials(n, campaign)
        record_property("trials", n)
        return n

    return count


@pytest.fixture(scope="session")
def shared_data():
    """Return the folder of real data, which FLYANNOT_DATA names or which lies beside the checkout."""
    folder = Path(os.environ.get("FLYANNOT_DATA", _BESIDE))
    if not folder.is_dir():
        pytest.skip(f"the real data are absent ({folder}); set FLYANNOT_DATA")
    return folder


@pytest.fixture(autouse=True)
def started_processes():
    """End the processes that the test has started."""
    yield
    from tests.processes import end_processes

    end_processes()


@pytest.fixture
def picture(tmp_path):
    """Return a function that writes bytes or a Pillow image to a file, and returns its path."""

    def write(content, **options):
        path = tmp_path / "picture"
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            content.save(path, **options)
        return path

    return write


@pytest.fixture
def tiff(tmp_path):
    """Return a function that writes pixels as a TIFF file, and returns its path."""

    def write(pixels, **options):
        path = tmp_path / "picture.tif"
        tifffile.imwrite(path, pixels, **options)
        return path

    return write


@pytest.fixture
def images_csv(tmp_path):
    """Return a function that writes an images.csv from text or bytes, and returns its path."""

    def write(content):
        path = tmp_path / "images.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture(scope="session")
def chain(tmp_path_factory):
    """Make synthetic embryos and all files of the steps, once for all workers; tests only read them."""
    from filelock import FileLock

    from tests.small_embryos import Chain, make_chain

    session = tmp_path_factory.getbasetemp()
    folder = (session.parent if "PYTEST_XDIST_WORKER" in os.environ else session) / "chain"
    with FileLock(f"{folder}.lock"):
        return Chain(folder) if folder.exists() else make_chain(folder)


@pytest.fixture
def own_chain(chain, tmp_path):
    """Make a copy of `chain` that the test may change."""
    return chain.copied_to(tmp_path / "own")


@pytest.fixture
def desk(chain, tmp_path, monkeypatch):
    """Make a working folder with links to all of `chain`."""
    folder = tmp_path / "desk"
    folder.mkdir()
    for path in chain.folder.iterdir():
        (folder / path.name).symlink_to(path)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def run(chain, tmp_path_factory):
    """Make a whole run on a copy of `chain`; tests only read it."""
    from tests.report.small_pages import make_run

    return make_run(chain.copied_to(tmp_path_factory.mktemp("run") / "results"))


@pytest.fixture(scope="session")
def page(run, tmp_path_factory):
    """Make the report of `run` by two threads; tests only read it."""
    from flyannot.jobs.executor import Executor
    from flyannot.pipeline.engine.task import Execution, run_task
    from flyannot.pipeline.options import ReportOptions
    from flyannot.report.build import ReportTask

    out = tmp_path_factory.mktemp("page") / "report.html"
    return run_task(ReportTask(run.folder, out, None, ReportOptions()), Execution(Executor(2))).path


class Said(NamedTuple):
    """The exit code and the printed output of a command."""

    code: int
    out: str
    err: str


@pytest.fixture
def flyannot(capsys, monkeypatch):
    """Return a function that runs a command line in this process.

    `flyannot("extract DATA -o F", DATA=..., F=..., code=0)` returns a `Said`; `code` is the exit code to
    expect. It uses one job if the command line names no other number.
    """
    from flyannot.base.system import ENDING_SIGNALS
    from flyannot.cli import group
    from flyannot.cli.shared import exit_codes as faults

    log = logging.getLogger("flyannot")
    handlers = {n: signal.getsignal(n) for n in ENDING_SIGNALS}
    monkeypatch.setattr(faults, "exit_immediately", lambda code: code)  # it would end the tests
    monkeypatch.setenv("FLYANNOT_JOBS", "1")  # on a busy machine a second one would be started or not

    def run(line, *, code=None, **named):
        words = [str(named.get(word, word)) for word in shlex.split(line)]
        monkeypatch.setattr(sys, "argv", ["flyannot", *words])
        capsys.readouterr()
        log.handlers.clear()  # it writes to the stderr of its day
        log.setLevel(logging.NOTSET)
        said = Said(faults.run_click_group(group), *capsys.readouterr())
        assert "Traceback" not in said.err
        assert not _ONE_AS_MANY.findall(said.out + said.err)
        assert code in (None, said.code), said.err
        return said

    yield run
    log.handlers.clear()
    log.setLevel(logging.NOTSET)
    sys.unraisablehook = sys.__unraisablehook__
    for number, handler in handlers.items():
        signal.signal(number, handler)

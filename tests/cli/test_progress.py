"""Progress messages on a terminal and in a log; they change no output."""

import logging
import re
import shutil

import pytest

from flyannot.cli.shared import messages
from flyannot.cli.shared.messages import Progress
from flyannot.jobs import progress_events
from tests.cli.test_help import on_a_terminal

STEPS = {  # and what they say
    "synthesize -o new --n-genes 6 --max-images 2 --stage-range 4-6": "wrote",
    "extract embryos -o new.h5 --stride-px 16 --jobs 1": "patches kept",
    "learn-dict descriptors.h5 -o new.h5 --n-atoms 20 --n-epochs 2": "epoch 2/2",
    "pool descriptors.h5 dictionary.h5 -o new.h5 --grid 1x2 --jobs 1": "48 features each",
    "train features.h5 embryos/annotations.csv -o new.h5 --min-groups 3 --jobs 1": "terms from 24 genes",
    "annotate model.h5 embryos -o new.h5 --jobs 1": "24 groups",
    "evaluate features.h5 embryos/annotations.csv --folds 2 --min-groups 3 --jobs 1": "",
    "evaluate features.h5 embryos/annotations.csv --folds 2 --min-groups 3 --nested --jobs 1": "",
    "report . -o new.html": "",
}


@pytest.fixture
def told(monkeypatch):
    """Record the (done, total, unit) of every progress call."""
    calls = []
    monkeypatch.setattr(Progress, "__call__", lambda self, *what: calls.append(what))
    return calls


@pytest.mark.parametrize("line", STEPS)
def test_every_step_tells_how_far_it_is_in_small_parts(flyannot, own_chain, monkeypatch, told, line):
    monkeypatch.chdir(own_chain.folder)
    said = flyannot(line, code=0)
    assert STEPS[line] in said.err and (said.out == "") == (not line.startswith("evaluate"))
    done, totals, units = (list(one) for one in zip(*told))
    assert len(set(units)) == 1 and done[-1] == totals[-1]
    assert all(b >= a or b == 0 for a, b in zip(done, done[1:])), "never back, but to begin again"
    assert all(n <= total for n, total in zip(done, totals))
    assert len(set(done)) > 3, "finer than whole shards"


def test_in_a_log_a_line_now_and_then_with_rate_and_time_left(monkeypatch, caplog):
    progress = Progress()
    with caplog.at_level(logging.INFO, "flyannot"):
        for done in range(12):
            monkeypatch.setattr(messages.time, "monotonic", lambda seconds=10 * done: seconds)
            progress(done, 12, "patch")
    assert caplog.messages == [
        "  4 of 12 patches, 0.1 per second",  # too early to estimate: kernels are compiled at first
        *(f"  {done} of 12 patches, 0.1 per second, {12 - done}0 s to go" for done in (7, 10)),
    ]


def test_on_a_terminal_there_is_a_bar_and_it_goes(chain, tmp_path):
    words = ["extract", str(chain.embryos), "-o", str(tmp_path / "d.h5"), "--stride-px", "2", "--jobs", "1"]
    code, said = on_a_terminal(words)
    assert code == 0
    assert re.search(r"\d+/108 \[\d\d:\d\d<\d\d:\d\d, +[\d.]+(s/ images| images/s)", said), said
    assert "|" not in said[said.index("wrote ") :], "the bar is wiped away"


def test_compiling_is_said_once_and_only_when_it_happens(flyannot, chain, tmp_path, monkeypatch):
    monkeypatch.setitem(progress_events._said, "compiles", False)
    line = "pool D L -o O --jobs 1"
    names = {"D": chain.descriptors, "L": chain.dictionary}
    assert "compiling kernels" not in flyannot(line, O=tmp_path / "a.h5", **names).err
    words = ["extract", str(chain.embryos), "-o", str(tmp_path / "b.h5"), "--stride-px", "16", "--jobs", "2"]
    said = on_a_terminal(words, FLYANNOT_CACHE=str(tmp_path / "cache"))[1]
    assert said.count("compiling kernels, once per machine") == 1
    shutil.rmtree(tmp_path / "cache")

"""Signals at any moment: no partial file, no worker left, and the same bytes after a repeated command."""

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from flyannot.cli.shared import exit_codes
from flyannot.files.hdf5.reading import verify_stored_file
from tests import processes

N_EPOCHS = 6

# Of every step: arguments that take it some tenths of a second or that make it write often, and its output.
LINES = {
    "extract": "extract embryos -o out.h5 --stride-px 4",
    "learn-dict": f"learn-dict descriptors.h5 -o out.h5 --n-atoms 100 --n-epochs {N_EPOCHS}",
    "pool": "pool descriptors.h5 dictionary.h5 -o out.h5 --tol 1e-9",
    "train": "train features.h5 embryos/annotations.csv -o out.h5 --min-groups 3 --inner-folds 4",
    "annotate": "annotate model.h5 embryos -o out.h5",
}
# What a signal, or a second run, is to meet in the middle: longer than any machine is quick.
LONGER = {"extract": "--stride-px 2", "learn-dict": "--n-epochs 5000"}
LONGER |= {"train": "--min-groups 1 --inner-folds 24"}


def start(chain, step, *, jobs=1, longer=False, **options):
    """Start a step: in a copy of this process, or in a process of its own that starts workers."""
    line = f"{LINES[step]} --jobs {jobs}"
    line += f" {LONGER[step]}" if longer else ""
    if jobs > 1 and step != "train":  # which has threads
        return processes.start_process([*processes.BY_PROCESSES, *line.split()], cwd=chain.folder)
    return processes.start_fork(line, cwd=chain.folder, **options)


def wait_for_epoch(run, epoch):
    """Read messages until an epoch ends; kernels may be compiled first."""
    while f"epoch {epoch}/" not in run.stderr.readline():
        assert run.poll() is None


def finish(chain, step, jobs=1, **options):
    run = start(chain, step, jobs=jobs, **options)
    _, err = run.communicate(timeout=processes.LIMIT_S)
    assert run.returncode == 0, err
    return err


def nothing_half_written(folder, *, after_sigkill=False):
    """Check that the output is whole or absent, and that only SIGKILL leaves temporary files."""
    out = folder / "out.h5"
    if out.exists():
        verify_stored_file(out)
    if not after_sigkill:
        assert not [p for p in folder.rglob("*") if p.name.endswith((".tmp", ".lock"))]


def clean(folder):
    """Remove the output and its parts."""
    for path in folder.glob("out.*"):
        path.unlink()
    shutil.rmtree(folder / ".out.h5.parts", ignore_errors=True)


HANG_UP = pytest.param("SIGHUP", 129, marks=pytest.mark.not_on_windows)


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130), HANG_UP])
@pytest.mark.parametrize("step, jobs", [("extract", 2), ("learn-dict", 1), ("learn-dict", 2), ("train", 2)])
def test_a_signal_ends_a_run_promptly_and_cleanly(own_chain, trials, step, jobs, name, code):
    for _ in range(trials(1, campaign=2)):
        one_signal(own_chain, step, jobs, name, code)
        clean(own_chain.folder)


def one_signal(own_chain, step, jobs, name, code):
    """Send a signal to a run; Ctrl-C goes to the whole group of processes, as on a terminal."""
    run = start(own_chain, step, jobs=jobs, longer=True)
    assert run.stderr.readline().startswith("writing out.h5")
    if step == "learn-dict":
        wait_for_epoch(run, 1)
    elif step == "extract":
        processes.wait_for(lambda: any(map(processes.is_worker, processes.members(run.pid))), run)
    else:
        time.sleep(0.2)  # nothing tells when the threads of training are at work
    err = processes.said_when_ended_by(run, getattr(signal, name), group=name == "SIGINT")
    assert run.returncode == code
    assert err.splitlines()[-1] == "Interrupted: repeat the command, and it continues where it stopped."
    assert "Traceback" not in err and "KeyboardInterrupt" not in err
    processes.wait_for(lambda: not processes.members(run.pid))  # workers are gone
    assert not (own_chain.folder / "out.h5").exists()
    assert not list(Path("/dev/shm").glob(f"*loky-{run.pid}-*"))
    nothing_half_written(own_chain.folder)


def test_workers_do_not_outlive_a_killed_parent(own_chain):
    run = start(own_chain, "extract", jobs=3, longer=True)
    processes.wait_for(lambda: sum(map(processes.is_worker, processes.members(run.pid))) == 2, run)
    run.kill()
    _, err = run.communicate()
    processes.wait_for(lambda: not processes.members(run.pid))
    assert all(line.startswith(("writing", "compiling")) for line in err.splitlines()), err
    assert not list(Path("/dev/shm").glob(f"*loky-{run.pid}-*"))


def die_after(text):
    """Let this process be killed as soon as it has written a text to stderr."""
    write = sys.stderr.write

    def write_and_die(written):
        write(written)
        if text in written:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.stderr.write = write_and_die


def stop_after_epoch(chain, epoch):
    """Kill learning when it says that an epoch has ended."""
    run = start(chain, "learn-dict", prepare=lambda: die_after(f"epoch {epoch}/"))
    assert run.wait(processes.LIMIT_S) == -signal.SIGKILL


def test_learning_resumes_after_its_last_finished_epoch_to_the_same_bytes(own_chain):
    folder = own_chain.folder
    finish(own_chain, "learn-dict")
    expected = (folder / "out.h5").read_bytes()
    clean(folder)
    stop_after_epoch(own_chain, 3)
    assert not (folder / "out.h5").exists()
    said = finish(own_chain, "learn-dict")
    done = int(said.partition("continues after epoch ")[2].split()[0])
    assert 2 <= done < N_EPOCHS
    assert f" 4-6  epoch {done}/" not in said and f" 4-6  epoch {done + 1}/" in said
    assert (folder / "out.h5").read_bytes() == expected
    assert not list(folder.glob(".out*"))
    assert len((folder / "out.trace.csv").read_text().splitlines()) == 1 + 2 * N_EPOCHS

    clean(folder)
    stop_after_epoch(own_chain, 3)
    for checkpoint in (folder / ".out.h5.parts").glob("*.h5"):  # damage costs time and nothing else
        checkpoint.write_bytes(checkpoint.read_bytes()[:-99])
    assert "continues" not in finish(own_chain, "learn-dict")
    assert (folder / "out.h5").read_bytes() == expected


def test_finished_parts_are_taken_up_again(own_chain):
    """The repeated command leaves the finished parts unchanged until it joins them."""
    folder = own_chain.folder
    parts = folder / ".out.h5.parts"
    run = start(own_chain, "extract", longer=True)
    processes.wait_for(lambda: list(parts.glob("[!.]*.h5")), run)
    run.kill()
    run.communicate()
    kept = {path.name: path.stat().st_mtime_ns for path in parts.glob("[!.]*.h5")}
    assert kept and not (folder / "out.h5").exists()
    again = start(own_chain, "extract", longer=True)
    assert again.stderr.readline().startswith("writing")
    seen = {path.name: path.stat().st_mtime_ns for path in parts.glob("[!.]*.h5")} or kept
    assert {name: seen.get(name) for name in kept} == kept
    assert again.communicate(timeout=processes.LIMIT_S) and again.returncode == 0
    resumed = (folder / "out.h5").read_bytes()
    clean(folder)
    finish(own_chain, "extract", longer=True)
    assert (folder / "out.h5").read_bytes() == resumed
    assert not list(folder.glob(".out*"))


@pytest.mark.parametrize("step", LINES)
def test_sigkill_at_random_moments_loses_nothing(own_chain, step, trials):
    """Kills are spread over the time of the step; then the step ends with the same bytes."""
    folder = own_chain.folder
    wait = random.Random(len(step))
    jobs = 2 if step == "extract" else 1
    started = time.monotonic()
    finish(own_chain, step, jobs)
    seconds = time.monotonic() - started
    expected = (folder / "out.h5").read_bytes()
    clean(folder)
    for _ in range(trials(2, campaign=5)):
        run = start(own_chain, step, jobs=jobs)
        time.sleep(wait.uniform(0.2, 1.0) * seconds)
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        nothing_half_written(folder, after_sigkill=True)
    finish(own_chain, step)
    assert (folder / "out.h5").read_bytes() == expected
    assert not list(folder.glob(".out*"))


def test_of_two_runs_on_one_output_one_wins_and_the_other_says_so(own_chain):
    first = start(own_chain, "extract")
    assert first.stderr.readline().startswith("writing out.h5")
    os.kill(first.pid, signal.SIGSTOP)
    second = start(own_chain, "extract")
    _, err = second.communicate(timeout=processes.LIMIT_S)
    assert second.returncode == 75, err
    error, fix = err.splitlines()
    assert f"out.h5 is being written by another run: process {first.pid} on " in error
    assert fix.startswith("Fix: ")
    os.kill(first.pid, signal.SIGCONT)
    assert first.communicate(timeout=processes.LIMIT_S) and first.returncode == 0
    nothing_half_written(own_chain.folder)


def test_what_hdf5_says_of_an_interrupted_write_is_kept_back(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "__unraisablehook__", told.append)
    lost = SimpleNamespace(exc_value=RuntimeError("cannot decrement id ref count"))
    for received in ([], [signal.SIGINT]):
        monkeypatch.setattr(exit_codes, "_received_signals", received)
        exit_codes._report_unraisable(lost)
        assert len(told) == 1

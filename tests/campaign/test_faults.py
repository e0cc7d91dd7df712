"""Faults of the whole program: runs that collide, workers that die, memory that is short."""

import csv
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

import pytest

from flyannot.files.hdf5.reading import verify_stored
from tests.campaign.trials import IN_CAMPAIGN
from tests.cli.test_full_disk import LINES
from tests.cli.test_interruptions import CLI, clean, finish, members, nothing_half_written, start, wait_for
from tests.processes import LIMIT_S, is_worker

N_RUNS = 8
SLOPE = (2500, 5000)  # images, in two runs whose peaks are compared
MOST_GROWTH = 5 * 2**20 / 1000  # bytes of an image: what its row of the table says, some times over

only_in_campaign = pytest.mark.skipif(not IN_CAMPAIGN, reason="minutes: make campaign")


def test_of_many_runs_on_one_output_none_spoils_it(own_chain, trials):
    for _ in range(trials(1, campaign=3)):
        clean(own_chain.folder)
        runs = [start(own_chain, "pool") for _ in range(N_RUNS)]
        said = [run.communicate(timeout=LIMIT_S)[1] for run in runs]
        codes = [run.returncode for run in runs]
        assert set(codes) <= {0, 75} and 0 in codes, said
        for code, text in zip(codes, said):
            assert "Traceback" not in text and (code == 0 or "is being written by another run" in text)
        assert verify_stored(own_chain.folder / "out.h5") == "features"
        nothing_half_written(own_chain.folder)


def test_a_killed_worker_changes_nothing(own_chain, trials):
    """Of a real run: the same bytes as without, or where a second one died too, the advice."""
    folder, wait = own_chain.folder, random.Random(20)
    finish(own_chain, "extract", jobs=1)
    expected = (folder / "out.h5").read_bytes()
    n_killed = 0
    for _ in range(trials(1, campaign=3)):
        clean(folder)
        run = start(own_chain, "extract", jobs=2, longer=False)
        wait_for(lambda run=run: len(members(run.pid)) >= 3, run)
        time.sleep(wait.uniform(0.5, 1.5))
        workers = [pid for pid in members(run.pid) if pid != run.pid and is_worker(pid)]
        for pid in workers[:1]:
            os.kill(pid, signal.SIGKILL)
            n_killed += 1
        _, said = run.communicate(timeout=LIMIT_S)
        assert run.returncode == 0, said
        assert (folder / "out.h5").read_bytes() == expected
    assert n_killed or not IN_CAMPAIGN


@only_in_campaign
@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("mib", [1000, 1600, 2500, 4000])
def test_a_limit_on_memory_is_enough_or_is_explained(own_chain, kind, mib):
    """Either the file, or one line that says what is short, and the old file."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (mib * 2**20, mib * 2**20))

    path = own_chain.kinds[kind]
    before = path.read_bytes()
    words = [*CLI, *LINES[kind].format(jobs=1 + mib % 1000 // 500).split(), "--force"]
    done = subprocess.run(
        words, cwd=own_chain.folder, preexec_fn=limit, capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr and "unexpected" not in done.stderr, done.stderr
    if done.returncode:
        assert done.stderr.count("Error: ") == 1 and path.read_bytes() == before
    assert verify_stored(path)


@only_in_campaign
def test_memory_does_not_grow_with_the_number_of_images(chain, tmp_path):
    pictures = sorted((chain.embryos / "images").glob("*.png"))[:20]
    peaks = []
    for n_images in SLOPE:
        folder = tmp_path / str(n_images)
        folder.mkdir()
        with open(folder / "images.csv", "w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["image", "gene", "stage_range"])
            for i in range(n_images):
                shutil.copy(pictures[i % len(pictures)], folder / f"{i}.png")
                table.writerow([f"{i}.png", f"g{i // 3}", "4-6"])
        words = ["extract", folder, "-o", tmp_path / f"{n_images}.h5", "--stride-px", "24", "--jobs", "1"]
        peaks.append(peak_of(words))
    assert (peaks[1] - peaks[0]) / (SLOPE[1] - SLOPE[0]) < MOST_GROWTH, peaks


def peak_of(words):
    """The largest memory of a run in bytes."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *CLI, *map(str, words)], check=True, capture_output=True, text=True
    )
    return int(done.stdout)

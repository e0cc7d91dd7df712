"""Faults of the whole program: too little memory, and very many images."""

import csv
import resource
import shutil
import subprocess
import sys

import pytest

from flyannot.files.hdf5.reading import verify_stored_file
from tests.campaign.trials import IN_CAMPAIGN
from tests.cli.test_full_disk import LINES
from tests.processes import CLI, LIMIT_S

SLOPE = (2500, 5000)  # images, in two runs whose peaks are compared
MOST_GROWTH = 5 * 2**20 / 1000  # bytes of an image: what its row of the table says, some times over

only_in_campaign = pytest.mark.skipif(not IN_CAMPAIGN, reason="minutes: make campaign")


@only_in_campaign
@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("mib", [1000, 1600, 2500, 4000])
def test_a_limit_on_memory_is_enough_or_is_explained(own_chain, kind, mib):
    """The command makes the file, or it explains what is short and keeps the old file."""

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
    assert verify_stored_file(path)


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
    """Return the peak memory of a run in bytes."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *CLI, *map(str, words)], check=True, capture_output=True, text=True
    )
    return int(done.stdout)

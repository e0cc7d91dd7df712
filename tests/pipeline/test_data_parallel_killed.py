"""Tests of learn-dict --data-parallel with real processes: the bytes do not depend on workers or kills."""

import os
import random
import signal
from functools import partial

import pytest

from flyannot.images.options import ExtractOptions
from flyannot.pipeline.options import LearnOptions
from flyannot.pipeline.steps import learn_dict
from flyannot.pipeline.steps.learn_dict import DictionaryTask
from tests.dask_cluster import cluster_in
from tests.processes import CLI, LIMIT_S, is_worker, members, start_fork, start_process, wait_for
from tests.small_embryos import make

OPTIONS = LearnOptions(
    n_atoms=12, n_epochs=2, data_parallel=5, shared=True, learner_option={"variant": "quick"}
)
LINE = "learn-dict x.h5 -o d.h5 --n-atoms 12 --n-epochs 2 --data-parallel 5 --shared"
LINE += " --learner-option variant=quick"
N_ROUNDS = 20  # a few fewer than there are


def die_in_round(n_rounds):
    """Let this process kill itself after it has written the checkpoint of a given round."""
    write = learn_dict.write_checkpoint

    def write_and_die(*arguments):
        nonlocal n_rounds
        write(*arguments)
        n_rounds -= 1
        if n_rounds == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    learn_dict.write_checkpoint = write_and_die


@pytest.fixture(scope="module")
def folder(chain, tmp_path_factory):
    """Make a folder with x.h5, which has enough patches for rounds to be sent to workers."""
    folder = tmp_path_factory.mktemp("many")
    make(chain.task("descriptors", folder / "x.h5", options=ExtractOptions(stride_px=4)))
    return folder


@pytest.fixture(scope="module")
def expected(folder):
    """Return the bytes of the dictionary that one process makes."""
    make(DictionaryTask([folder / "x.h5"], folder / "expected.h5", OPTIONS))
    return (folder / "expected.h5").read_bytes()


def start(folder, *more):
    return start_process([*CLI, *LINE.split(), *more], cwd=folder)


def ends_in(expected, folder, run):
    _, said = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 0, said
    assert (folder / "d.h5").read_bytes() == expected and not list(folder.glob(".d*"))
    (folder / "d.h5").unlink()


def checkpoint_changes(folder, run):
    """Wait until a round ends."""

    def age():
        return [path.stat().st_mtime_ns for path in (folder / ".d.h5.parts").glob("[!.]*.h5")]

    before = age()
    wait_for(lambda: age() != before, run)


def test_two_workers_of_which_one_is_killed_make_the_bytes_of_one_process(folder, expected, trials):
    wait = random.Random(15)
    for _ in range(trials(1, campaign=5)):
        run = start(folder, "--jobs", "2")
        wait_for(lambda run=run: len([pid for pid in members(run.pid) if is_worker(pid)]) == 2, run)
        for _ in range(wait.randrange(1, 3)):
            checkpoint_changes(folder, run)
        os.kill(max(pid for pid in members(run.pid) if is_worker(pid)), signal.SIGKILL)
        ends_in(expected, folder, run)


def test_a_cluster_makes_them_too_also_when_a_worker_is_killed(folder, expected, tmp_path, trials):
    wait = random.Random(16)
    with cluster_in(tmp_path, 2) as cluster:
        for _ in range(trials(1, campaign=5)):
            run = start(folder, "--scheduler", cluster.address)
            wait_for(lambda: cluster.log("worker").count("Registered to") >= 2, run)
            for _ in range(wait.randrange(15, N_ROUNDS)):  # the first rounds are not sent to workers
                checkpoint_changes(folder, run)
            cluster.workers()[0].kill()
            ends_in(expected, folder, run)


def test_killed_in_any_round_and_started_again_it_ends_in_the_same_bytes(folder, expected, trials):
    """Kill the command twice while it writes a checkpoint, so that it continues from the round before."""
    wait = random.Random(17)
    for _ in range(trials(1, campaign=10)):
        for _ in range(2):
            dies = partial(die_in_round, wait.randrange(1, N_ROUNDS // 2))
            run = start_fork(f"{LINE} --jobs 1", cwd=folder, prepare=dies)
            run.communicate(timeout=LIMIT_S)
            assert run.returncode == -signal.SIGKILL and not (folder / "d.h5").exists()
        ends_in(expected, folder, start_fork(f"{LINE} --jobs 1", cwd=folder))

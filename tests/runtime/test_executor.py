"""The one seam of parallel work: same results for any number of workers, and workers that may die."""

import os
import signal
import time
from concurrent.futures import Executor, Future
from pathlib import Path

import pytest

from flyannot.errors import DataError, FlyannotError
from flyannot.runtime import executor
from flyannot.runtime.executor import open_executor, run_all

N_TASKS = 9


def square(i):
    return i * i


def fail_with_a_fix(i):
    raise DataError(f"task {i} is damaged", fix="mend it")


def die_once(folder):
    """Kills its process the first time that it runs on a folder."""
    mark = Path(folder) / "died"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return mark.name


def die(folder):
    os.kill(os.getpid(), signal.SIGKILL)


def threads_of_worker(_):
    """(BLAS threads, numba threads, cv2 threads, whether Ctrl-C is ignored)."""
    import cv2
    import numba
    import numpy as np
    from threadpoolctl import threadpool_info

    np.ones((4, 4)) @ np.ones((4, 4))
    blas = max((pool["num_threads"] for pool in threadpool_info()), default=1)
    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    return blas, numba.get_num_threads(), cv2.getNumThreads(), ignored


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_tasks_and_every_end_is_told(jobs):
    told = []
    assert run_all(square, list(range(N_TASKS)), jobs=jobs, on_done=told.append) == [
        i * i for i in range(N_TASKS)
    ]
    assert sorted(told) == [i * i for i in range(N_TASKS)]


def test_no_task_is_no_work():
    assert run_all(square, [], jobs=4, on_done=None) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_fault_arrives_with_its_remedy(jobs):
    with pytest.raises(DataError) as caught:
        run_all(fail_with_a_fix, [1, 2, 3], jobs=jobs, on_done=square)
    assert "is damaged" in str(caught.value)
    assert (caught.value.fix, caught.value.exit_code) == ("mend it", 65)


def test_a_killed_worker_costs_one_more_try(tmp_path):
    folders = [tmp_path / name for name in "abc"]
    for folder in folders[1:]:
        folder.mkdir()
        (folder / "died").touch()  # these run through at once
    folders[0].mkdir()
    assert run_all(die_once, folders, jobs=2, on_done=str) == ["died"] * 3


def test_workers_that_keep_dying_are_explained(tmp_path):
    with pytest.raises(FlyannotError, match="killed twice.*0 of 2 shards") as caught:
        run_all(die, [tmp_path, tmp_path], jobs=2, on_done=str)
    assert caught.value.exit_code == 1 and "--jobs" in caught.value.fix


def die_unless_told(task):
    folder, lives = task
    return folder if lives else die(folder)


def test_what_kills_its_worker_is_never_tried_in_this_process(tmp_path):
    """The second try has one task left, and one task would be one job."""
    with pytest.raises(FlyannotError, match="killed twice"):
        run_all(die_unless_told, [(1, True), (2, True), (tmp_path, False)], jobs=2, on_done=str)


def test_a_worker_has_one_thread_and_leaves_ctrl_c_to_its_parent():
    before = dict(os.environ)
    assert run_all(threads_of_worker, [0, 1], jobs=2, on_done=str) == [(1, 1, 1, True)] * 2
    assert dict(os.environ) == before


def test_leaving_by_a_fault_ends_the_workers():
    with pytest.raises(ZeroDivisionError), open_executor(2) as executor:
        executor.submit(square, 3).result()
        workers = list(executor._processes)
        raise ZeroDivisionError
    assert workers
    end = time.monotonic() + 20
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_no_more_tasks_are_handed_out_than_memory_is_for_however_long_they_take(monkeypatch):
    class Slow(Executor):
        """Ends one task after the other, each after several looks."""

        def __init__(self):
            self.open, self.most = [], 0

        def submit(self, work, task):
            future = Future()
            self.open.append((future, task))
            self.most = max(self.most, len(self.open))
            return future

        def listen(self, executor):
            self.n_looks = getattr(self, "n_looks", 0) + 1
            if self.n_looks % 4 == 0 and self.open:
                future, task = self.open.pop(0)
                future.set_result(task)

    monkeypatch.setattr(executor, "_LISTENS_EVERY_S", 0.001)
    slow = Slow()
    found = dict(executor._as_they_end(slow, None, list("abcdefgh"), range(8), 3, slow))
    assert found == dict(enumerate("abcdefgh")) and slow.most == 3

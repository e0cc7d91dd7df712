"""Tests of parallel work: equal results for any number of workers, also if workers die."""

import gc
import os
import signal
import threading
import time
from collections import Counter
from concurrent import futures
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

from flyannot.base.errors import DataError, FlyannotError
from flyannot.jobs import executor
from flyannot.jobs.executor import Executor, map_ordered
from flyannot.jobs.progress_events import report_item
from tests.processes import LIMIT_S

N_TASKS = 9


def square(i):
    report_item()
    report_item()
    return i * i


def fail_with_a_fix(i):
    raise DataError(f"task {i} is damaged", fix="mend it")


def die_once(folder):
    """Kill the process the first time that it works on a folder."""
    mark = Path(folder) / "died"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return mark.name


def die(folder):
    os.kill(os.getpid(), signal.SIGKILL)


def threads_of_worker(_):
    """Return (BLAS threads, numba threads, cv2 threads, whether Ctrl-C is ignored)."""
    import cv2
    import numba
    from threadpoolctl import threadpool_info

    np.ones((4, 4)) @ np.ones((4, 4))
    blas = max((pool["num_threads"] for pool in threadpool_info()), default=1)
    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    return blas, numba.get_num_threads(), cv2.getNumThreads(), ignored


def run_all(work, tasks, *, jobs, **more):
    """Run tasks by an executor of its own."""
    with Executor(jobs) as workers:
        return workers.run_all(work, tasks, **more)


def test_results_come_in_the_order_of_tasks_and_every_end_is_told(workers):
    tasks = list(range(N_TASKS))
    squares = [i * i for i in tasks]
    for _ in range(2):
        told, items = [], []
        assert workers.run_all(square, tasks, on_done=told.append, on_items=items.append) == squares
        assert sorted(told) == squares
        assert items[-1] == 2 * N_TASKS and items == sorted(items), "they are counted anew in every round"
    assert workers.run_all(square, []) == []


def test_a_fault_arrives_with_its_remedy(workers):
    with pytest.raises(DataError, match="is damaged") as caught:
        workers.run_all(fail_with_a_fix, [1, 2, 3])
    assert (caught.value.fix, caught.value.exit_code) == ("mend it", 65)


def own_process(_):
    time.sleep(0.05)  # so that each worker gets some
    return os.getpid()


def all_processes(workers, n, tasks=8):
    """Return the ids of `n` processes that work; on a busy machine one may do all tasks of a round."""
    seen, end = set(), time.monotonic() + LIMIT_S
    while len(seen) < n and time.monotonic() < end:
        seen |= set(workers.run_all(own_process, list(range(tasks))))
    return seen


def test_more_tasks_than_before_get_more_workers_and_these_serve_one_step_after_the_other():
    with Executor(3) as workers:
        assert len(set(workers.run_all(own_process, [0, 1]))) <= 2
        workers.run_all(own_process, list(range(30)))
        first = all_processes(workers, 3, 30)
        second = set(workers.run_all(own_process, list(range(8))))
    assert second <= first and len(first) == 3 and os.getpid() not in first


def tell_until(mark):
    """Report items until the parent has received one."""
    ends, n = time.monotonic() + LIMIT_S, 0
    while not mark.exists() and time.monotonic() < ends:
        report_item()
        n += 1
        time.sleep(0.02)
    return n


@pytest.mark.parametrize("jobs", [1, 2])
def test_items_are_told_of_while_a_task_goes_on(jobs, tmp_path):
    told, mark = [], tmp_path / "heard"
    (n,) = run_all(tell_until, [mark], jobs=jobs, on_items=lambda n: told.append(n) or mark.touch())
    assert mark.exists() and 0 < max(told) <= n


def test_a_killed_worker_costs_one_more_try(tmp_path):
    folders = [tmp_path / name for name in "abc"]
    for folder in folders[1:]:
        folder.mkdir()
        (folder / "died").touch()  # these run through at once
    folders[0].mkdir()
    assert run_all(die_once, folders, jobs=2) == ["died"] * 3


def die_unless_told(task):
    number, lives = task
    time.sleep(0.2)
    return number if lives else die(number)


@pytest.mark.parametrize("n_items", [None, lambda task: 1])
def test_what_kills_its_worker_twice_is_named_whatever_ran_beside_it(monkeypatch, n_items):
    """The task is not tried in this process either, which takes tasks if `n_items` is given."""
    monkeypatch.setattr(executor._Pace, "n_processes", lambda pace, most: most)
    tasks, done, more = [(i, i != 3) for i in range(6)], [], {"name": lambda task: f"task {task[0]}"}
    with pytest.raises(FlyannotError, match=r"of task 3 were killed twice.*\d of 6 parts") as caught:
        run_all(die_unless_told, tasks, jobs=3, on_done=done.append, n_items=n_items, **more)
    assert 3 not in done and len(done) == len(set(done))
    assert caught.value.exit_code == 1 and "--jobs" in caught.value.fix


def test_a_worker_has_one_thread_and_leaves_ctrl_c_to_its_parent(cluster_workers):
    of_sklearn = {"KMP_INIT_AT_FORK": "FALSE"}  # set when it is first imported, by whatever test
    before = os.environ | of_sklearn
    assert run_all(threads_of_worker, [0, 1], jobs=2) == [(1, 1, 1, True)] * 2
    assert os.environ | of_sklearn == before
    found = cluster_workers.run_all(threads_of_worker, [0, 1])  # no kernel asks numba for more than one
    assert [(blas, cv2) for blas, _, cv2, _ in found] == [(1, 1)] * 2


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("work", [fail_with_a_fix, own_process])
def test_leaving_ends_the_workers_and_removes_their_semaphores(work, capfd):
    """This holds even if the process is killed that keeps track of the semaphores."""
    with suppress(DataError), Executor(2) as workers:
        found = [psutil.Process(number) for number in set(workers.run_all(own_process, [1, 2, 3, 4]))]
        children = psutil.Process().children()
        trackers = [p for p in children if "loky.backend.resource_tracker" in str(p.cmdline())]
        assert len(trackers) == 1
        trackers[0].kill()
        workers.run_all(work, [1, 2])
    assert not psutil.wait_procs([*found, *trackers], timeout=LIMIT_S)[1]
    assert not list(Path("/dev/shm").glob(f"sem.loky-{os.getpid()}-*"))
    gc.collect()  # finalisers of the semaphores
    with Executor(2) as workers:  # starts the tracker again
        workers.run_all(own_process, [1, 2])
        for _ in range(20):  # more than loky hands to its workers
            workers._engine._pool.submit(time.sleep, 9)
    assert "Traceback" not in capfd.readouterr().err


def test_no_more_tasks_are_handed_out_than_memory_is_for_however_long_they_take(monkeypatch):
    class Slow(futures.Executor):
        """An executor that ends one task after the other, each after several rounds."""

        def __init__(self):
            self.open, self.most, self.n_looks = [], 0, 0

        def submit(self, run, i, work, task):
            future = futures.Future()
            self.open.append((future, task))
            self.most = max(self.most, len(self.open))
            return future

        def listen(self, tell):
            self.n_looks += 1
            if self.n_looks % 4 == 0 and self.open:
                future, task = self.open.pop(0)
                future.set_result(task)

    monkeypatch.setattr(executor, "_LISTENS_EVERY_S", 0.001)
    slow, processes = Slow(), executor.LocalProcesses()
    processes.n_workers, processes._pool, processes._listen = 2, slow, slow.listen
    found = dict(processes._run(None, list("abcdefgh"), list(range(8)), Counter(), None, None))
    assert found == dict(enumerate("abcdefgh")) and slow.most == 4


def square_in_order(numbers):
    def square(i):
        time.sleep(0.01 * (i % 3))
        return i * i, threading.get_ident()

    for _ in (found := list(map_ordered(square, numbers))):
        report_item()
    return os.getpid(), *zip(*found)


def test_this_process_begins_on_its_threads_and_others_join_it_once_they_pay(monkeypatch):
    tasks = [list(range(i, i + 12)) for i in range(4)]
    for jobs, start_s, here in ((1, 0, "1111"), (3, 1e6, "1111"), (3, 1e-9, "1001")):
        monkeypatch.setattr(executor, "_START_S", start_s)
        told = []
        done = run_all(square_in_order, tasks, jobs=jobs, n_items=len, on_items=told.append)
        assert [list(squares) for _, squares, _ in done] == [[i * i for i in task] for task in tasks]
        assert told[-1] == sum(map(len, tasks))
        assert [process == os.getpid() for process, _, _ in done] == [one == "1" for one in here]
        assert (len(set(done[0][2])) > 1) == (jobs > 1)


def test_processes_that_are_there_help_without_the_price_of_a_start(monkeypatch):
    tasks = [list(range(i, i + 12)) for i in range(4)]
    with Executor(3) as executor_of_three:
        for start_s in (1e-9, 1e6):
            monkeypatch.setattr(executor, "_START_S", start_s)
            done = executor_of_three.run_all(square_in_order, tasks, n_items=len)
            assert [process == os.getpid() for process, *_ in done] == [True, False, False, True]


def test_what_fails_on_a_thread_arrives_and_nothing_is_begun_after_it():
    begun = []

    def fail(task):
        for _ in map_ordered(lambda i: begun.append(i) or fail_with_a_fix(i), task):
            raise AssertionError("nothing came of it")

    with pytest.raises(DataError, match="task 0 is damaged"):
        run_all(fail, [range(100)], jobs=2, n_items=len)
    assert len(begun) <= 4

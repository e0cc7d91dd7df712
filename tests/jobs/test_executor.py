"""The one seam of parallel work: same results for any number of workers, and workers that may die."""

import os
import signal
import threading
import time
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import psutil
import pytest

from flyannot.base.errors import DataError, FlyannotError
from flyannot.jobs import executor
from flyannot.jobs.executor import Executor, in_order
from flyannot.jobs.progress_events import item_done
from tests.processes import LIMIT_S

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
    from threadpoolctl import threadpool_info

    np.ones((4, 4)) @ np.ones((4, 4))
    blas = max((pool["num_threads"] for pool in threadpool_info()), default=1)
    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    return blas, numba.get_num_threads(), cv2.getNumThreads(), ignored


def run_all(work, tasks, *, jobs, **more):
    with Executor(jobs) as workers:
        return workers.run_all(work, tasks, **more)


def test_results_come_in_the_order_of_tasks_and_every_end_is_told(workers):
    tasks = list(range(N_TASKS))
    for _ in range(2):
        told = []
        assert workers.run_all(square, tasks, on_done=told.append) == [i * i for i in tasks]
        assert sorted(told) == [i * i for i in tasks]
    assert workers.run_all(square, []) == []


def test_a_fault_arrives_with_its_remedy(workers):
    with pytest.raises(DataError, match="is damaged") as caught:
        workers.run_all(fail_with_a_fix, [1, 2, 3])
    assert (caught.value.fix, caught.value.exit_code) == ("mend it", 65)


def own_process(_):
    time.sleep(0.05)  # so that each worker gets some
    return os.getpid()


def all_processes(workers, n, tasks=8):
    """The numbers of the processes that work: on a busy machine one may do all of a round."""
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


def test_a_killed_worker_costs_one_more_try(tmp_path):
    folders = [tmp_path / name for name in "abc"]
    for folder in folders[1:]:
        folder.mkdir()
        (folder / "died").touch()  # these run through at once
    folders[0].mkdir()
    assert run_all(die_once, folders, jobs=2) == ["died"] * 3


def test_workers_that_keep_dying_are_explained(tmp_path):
    with pytest.raises(FlyannotError, match="killed twice.*0 of 2 parts") as caught:
        run_all(die, [tmp_path, tmp_path], jobs=2)
    assert caught.value.exit_code == 1 and "--jobs" in caught.value.fix


def die_unless_told(task):
    number, lives = task
    time.sleep(0.2)
    return number if lives else die(number)


def test_what_kills_its_worker_twice_is_named_whatever_ran_beside_it():
    tasks, done, more = [(i, i != 3) for i in range(6)], [], {"name": lambda task: f"task {task[0]}"}
    with pytest.raises(FlyannotError, match="of task 3 were killed twice"):
        run_all(die_unless_told, tasks, jobs=3, on_done=done.append, **more)
    assert 3 not in done and len(done) == len(set(done))


def test_a_worker_has_one_thread_and_leaves_ctrl_c_to_its_parent(cluster_workers):
    of_sklearn = {"KMP_INIT_AT_FORK": "FALSE"}  # set when it is first imported, by whatever test
    before = os.environ | of_sklearn
    assert run_all(threads_of_worker, [0, 1], jobs=2) == [(1, 1, 1, True)] * 2
    assert os.environ | of_sklearn == before
    found = cluster_workers.run_all(threads_of_worker, [0, 1])  # no kernel asks numba for more than one
    assert [(blas, cv2) for blas, _, cv2, _ in found] == [(1, 1)] * 2


@pytest.mark.parametrize("work", [fail_with_a_fix, own_process])
def test_leaving_ends_the_workers(work):
    with suppress(DataError), Executor(2) as workers:
        found = [psutil.Process(number) for number in set(workers.run_all(own_process, [1, 2, 3, 4]))]
        workers.run_all(work, [1, 2])
    assert not psutil.wait_procs(found, timeout=LIMIT_S)[1]


def time_of(_):
    began = time.monotonic()
    time.sleep(0.05)
    return began


def test_no_more_tasks_are_handed_out_than_memory_is_for_however_slowly_results_are_taken():
    taken = []
    with Executor(2) as workers:
        workers.run_all(own_process, [0, 1])
        began = workers.run_all(
            time_of, list(range(8)), on_done=lambda _: time.sleep(0.2) or taken.append(time.monotonic())
        )
    for n, taken_at in enumerate(taken[:-3], 1):
        assert sum(time < taken_at for time in began) <= n + 3


def square_in_order(numbers):
    def square(i):
        time.sleep(0.01 * (i % 3))
        return i * i, threading.get_ident()

    for _ in (found := list(in_order(square, numbers))):
        item_done()
    return os.getpid(), *zip(*found)


def test_this_process_begins_on_its_threads_and_others_take_over_once_they_pay(monkeypatch):
    tasks = [list(range(i, i + 12)) for i in range(4)]
    for jobs, pays_from_s, here in ((1, 0, "1111"), (3, 1e6, "1111"), (3, 1e-9, "1000")):
        monkeypatch.setattr(executor, "_PAYS_FROM_S", pays_from_s)
        items = count()
        done = run_all(square_in_order, tasks, jobs=jobs, is_threaded=True, on_item=partial(next, items))
        assert [list(squares) for _, squares, _ in done] == [[i * i for i in task] for task in tasks]
        assert next(items) == 12 * here.count("1"), "this process reports each of its items"
        assert [process == os.getpid() for process, _, _ in done] == [one == "1" for one in here]
        assert (len(set(done[0][2])) > 1) == (jobs > 1)


def test_what_fails_on_a_thread_arrives_and_nothing_is_begun_after_it():
    begun = []

    def fail(task):
        for _ in in_order(lambda i: begun.append(i) or fail_with_a_fix(i), task):
            raise AssertionError("nothing came of it")

    with pytest.raises(DataError, match="task 0 is damaged"):
        run_all(fail, [range(100)], jobs=2, is_threaded=True)
    assert len(begun) <= 4

"""The one seam of parallel work: a `concurrent.futures.Executor`, each worker on one thread.

One job runs in this process; more run in spawned processes (a fork after compiled threads is killed).
BLAS is held to one thread in both cases, so that the bits do not depend on the number of jobs.
"""

import multiprocessing
import os
from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager

from flyannot.errors import FlyannotError
from flyannot.runtime.apart import obey_parent
from flyannot.runtime.blas_threads import one_blas_thread
from flyannot.runtime.news import counters_of, hear, tell_parent, telling
from flyannot.runtime.processors import THREAD_VARIABLES
from flyannot.runtime.system import held_interrupts

_LISTENS_EVERY_S = 0.5  # to what workers tell; on Windows a wait without end cannot be interrupted


class SerialExecutor(Executor):
    """Runs each call at once, in this process."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def open_executor(jobs, *, apart=False):
    """An executor of `jobs` workers; leaving ends them, at once if an error or a signal came.

    One worker is this process, unless `apart` asks for one of its own.  `counters` of others are what
    `flyannot.runtime.news` tells in the workers.
    """
    if jobs == 1 and not apart:
        with one_blas_thread():
            yield SerialExecutor()
        return
    kept = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    context = multiprocessing.get_context("spawn")
    pool = _WorkerPool(jobs, context)
    try:
        yield pool
        pool.shutdown()
    except BaseException:
        workers = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()
        raise
    finally:
        for name, value in kept.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


class _WorkerPool(ProcessPoolExecutor):
    def __init__(self, jobs, context):
        self.counters = counters_of(context)
        super().__init__(jobs, mp_context=context, initializer=_start_worker, initargs=(self.counters,))


def _submit(executor, work, task):
    """A worker that starts here inherits a blocked Ctrl-C, which is the parent's to answer."""
    if isinstance(executor, SerialExecutor):
        return executor.submit(work, task)
    with held_interrupts():
        return executor.submit(work, task)


def _start_worker(counters):
    obey_parent()
    tell_parent(counters)
    import cv2

    cv2.setNumThreads(1)


def run_all(work, tasks, *, jobs, on_done, on_items=None):
    """Call work(task) for every task; results come in the order of the tasks.

    `on_done(result)` is called as each one ends, and now and then on_items(n), n the items of tasks that
    `flyannot.runtime.news` told of so far.  If a worker dies, what it left is tried once more.

    Raises
    ------
    FlyannotError
        If workers die twice.
    """
    results, heard = {}, _Items(on_items)
    for attempt in (1, 2):
        open_tasks = [i for i in range(len(tasks)) if i not in results]
        try:
            n_workers = min(jobs, max(1, len(open_tasks)))
            # What has killed a worker must not be tried in this process.
            with open_executor(n_workers, apart=attempt == 2) as executor, telling(heard.one):
                for i, result in _as_they_end(executor, work, tasks, open_tasks, 2 * jobs, heard):
                    results[i] = result
                    on_done(result)
            break
        except BrokenExecutor as error:
            if attempt == 2:
                raise FlyannotError(
                    f"worker processes were killed twice (out of memory?); {len(results)} of {len(tasks)} "
                    "shards are done",
                    fix="run the same command again with fewer --jobs; finished shards are kept",
                ) from error
    return [results[i] for i in range(len(tasks))]


class _Items:
    """Counts the items that ended, here or in workers, and says how many."""

    def __init__(self, say):
        self._say, self._here = say, 0

    def one(self):
        self._here += 1
        self._tell(self._here)

    def listen(self, executor):
        """Ask the workers."""
        if not isinstance(executor, SerialExecutor):
            self._tell(self._here + hear(executor.counters))

    def _tell(self, n):
        if self._say is not None:
            self._say(n)


def _as_they_end(executor, work, tasks, order, at_once, heard):
    """(index, result) pairs; at most `at_once` tasks are handed out, so that memory stays bounded."""
    waiting, running = deque(order), {}
    most = 1 if isinstance(executor, SerialExecutor) else at_once
    while waiting or running:
        while waiting and len(running) < most:
            i = waiting.popleft()
            running[_submit(executor, work, tasks[i])] = i
        done, _ = wait(running, timeout=_LISTENS_EVERY_S, return_when=FIRST_COMPLETED)
        heard.listen(executor)
        for future in done:
            yield running.pop(future), future.result()

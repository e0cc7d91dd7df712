"""Parallel execution of the tasks of a command: in this process, in worker processes, or on a Dask cluster.

This process runs the first tasks, with threads within each task.  Worker processes start when the remaining
tasks pay for their start.  With the address of a scheduler, the workers of its Dask cluster run all tasks
(`DaskCluster`).  loky and Dask are imported on first use.  BLAS runs on one thread everywhere, so that the
results do not depend on the number of workers.
"""

import os
import time
import warnings
from collections import Counter, deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import Any

from flyannot.base.errors import FlyannotError
from flyannot.base.system import interrupts_deferred
from flyannot.base.text import pluralise
from flyannot.jobs.progress_events import items_reported_to
from flyannot.jobs.resources import (
    THREAD_VARIABLES,
    one_blas_thread,
    one_thread_for_good,
    threads_of_one_blas,
)
from flyannot.jobs.subprocess_call import exit_with_parent

_WAIT_S = 0.5  # on Windows, Ctrl-C does not interrupt a wait without an end
_MOST_KILLS = 2
_PAYS_FROM_S = 4.0  # a new process needs 1.2 s until it works; two processes save 2 s of 4
_MOST_THREADS = 8  # more would wait for the interpreter, and hold as many pictures in memory
_n_threads: ContextVar = ContextVar("n_threads", default=1)  # of this process, for the current task


class Executor:
    """Runner of tasks, to be closed when the command ends; a context manager.

    jobs : how many threads or processes of this machine work at a time, at most
    scheduler : address of the scheduler of a Dask cluster that works instead; None for none
    """

    def __init__(self, jobs=1, scheduler=None):
        self.jobs, self.scheduler, self._engine = jobs, scheduler, None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def run_all(
        self, work, tasks, *, on_done=None, on_item=None, name=str, folder=None, reads=None, is_threaded=False
    ):
        """Call work(task) for every task and return the results in the order of the tasks.

        Parameters
        ----------
        work : function at the top of a module; a task and a result are pickled
        on_done : called with each result as it comes
        on_item : called without arguments whenever a task that runs in this process reports an item
        name : function of a task to its name in messages
        folder, reads : where tasks write, and a function of a task to the paths that it reads: a cluster must
            see these
        is_threaded : whether `work` uses `in_order`, so that threads of this process can run the first tasks

        Raises
        ------
        FlyannotError
            If a task kills its worker twice, or if the cluster cannot be used.
        Exception
            Whatever `work` raises.  The workers are ended then.
        """
        results = {}
        try:
            with closing(self._results(work, tasks, name, on_item, folder, reads, is_threaded)) as pairs:
                for i, result in pairs:
                    results[i] = result
                    if on_done is not None:
                        on_done(result)
        except BaseException:
            self.close()
            raise
        return [results[i] for i in range(len(tasks))]

    def close(self):
        """End the workers at once.  More tasks would start new workers."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _results(self, work, tasks, name, on_item, folder, reads, is_threaded):
        """Yield (index, result) of each task when the task ends."""
        if self.scheduler is not None and tasks:
            if self._engine is None:
                from flyannot.jobs.dask_cluster import DaskCluster

                self._engine = DaskCluster(self.scheduler)
            yield from self._engine.results(work, tasks, name, folder, reads)
            return
        seconds = 0.0  # that the last task took
        for i, task in enumerate(tasks):
            n_left = len(tasks) - i
            is_parallel = self.jobs > 1 and n_left > 1
            if is_parallel and (not is_threaded or processes_pay(seconds * n_left)):
                self._engine = self._engine or LocalProcesses()
                for j, result in self._engine.results(work, tasks[i:], name, self.jobs):
                    yield i + j, result
                return
            began = time.perf_counter()
            n_threads = _MOST_THREADS if is_threaded else 1
            with self.threads(n_threads), one_blas_thread(), items_reported_to(on_item):
                result = work(task)
            seconds = time.perf_counter() - began
            yield i, result

    @contextmanager
    def threads(self, most=_MOST_THREADS):
        """Let `in_order` use as many threads as there are jobs within this context, `most` at most."""
        token = _n_threads.set(min(self.jobs, most))
        try:
            yield
        finally:
            _n_threads.reset(token)


def processes_pay(seconds_left):
    """Return whether processes would end sooner what takes the threads of this process so many seconds."""
    return seconds_left > _PAYS_FROM_S


def in_order(work, items):
    """Yield work(item) for every item, in their order: within a task, on the threads that this process has.

    The calling thread takes the items, a few in advance.  `work` should spend its time outside the
    interpreter.
    """
    n = _n_threads.get()
    if n == 1:
        yield from map(work, items)
        return
    waiting: deque = deque()
    threads = threads_of_one_blas(n)
    try:
        for item in items:
            waiting.append(threads.submit(work, item))
            if len(waiting) >= 2 * n:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        threads.shutdown(cancel_futures=True)


class LocalProcesses:
    """Worker processes of this machine (joblib's loky), each on one thread, until closed.

    The processes are spawned, because a fork after compiled threads is killed.  When a worker is killed, the
    tasks that were handed out run again in new workers, no two of them at a time.  The task that kills again
    is then known by name.
    """

    def __init__(self):
        self._n_workers = 0
        self._pool: Any = None

    def results(self, work, tasks, name, n_workers):
        """Yield (index, result) of every task when the task ends, from at most so many new workers.

        Raises FlyannotError if workers die twice over one task.
        """
        left, kills = list(range(len(tasks))), Counter()
        while left:
            if self._pool is None or self._n_workers < min(n_workers, len(left)):
                self.close()
                self._start(min(n_workers, len(left)))
            running: dict = {}
            try:
                for i, result in self._run(work, tasks, list(left), kills, running):
                    left.remove(i)
                    yield i, result
            except BrokenExecutor as error:
                self.close()
                kills.update(sorted(running.values()) or left[:1])
                worst, n = kills.most_common(1)[0]
                if n >= _MOST_KILLS:
                    whole = pluralise(len(tasks), "part is", "parts are")
                    raise FlyannotError(
                        f"worker processes of {name(tasks[worst])} were killed twice (out of memory?); "
                        f"{len(tasks) - len(left)} of {whole} done",
                        fix="run the same command again with fewer --jobs; finished parts are kept",
                    ) from error

    def close(self):
        """End the processes at once."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(kill_workers=True)

    def _start(self, n_workers):
        from joblib.externals.loky import ProcessPoolExecutor

        warnings.filterwarnings("ignore", module=r"joblib\.externals\.loky")
        # One thread, and no report of a crash by loky, which the parent explains.
        crash_report = os.environ.get("PYTHONFAULTHANDLER", "")
        environment = dict.fromkeys(THREAD_VARIABLES, "1") | {"PYTHONFAULTHANDLER": crash_report}
        self._n_workers = n_workers
        _start_trackers()
        with interrupts_deferred():
            self._pool = ProcessPoolExecutor(
                n_workers, initializer=_start_worker, initargs=(os.getpid(),), env=environment
            )
            self._pool.submit(int)  # starts all processes, which inherit that Ctrl-C is deferred

    def _run(self, work, tasks, waiting, kills, running):
        """Yield (index, result) of the waiting tasks; `running` maps futures to the indices handed out.

        One task more than there are workers is handed out, so that no worker waits and memory is bounded.
        """
        while waiting or running:
            for i in list(waiting):
                is_alone = not kills[i] or not any(kills[j] for j in running.values())
                if is_alone and len(running) <= self._n_workers:
                    with interrupts_deferred():
                        running[self._pool.submit(work, tasks[i])] = i
                    waiting.remove(i)
            done, _ = wait(running, _WAIT_S, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda future: future.exception() is not None):
                result = future.result()  # results first, so that an error loses none of them
                yield running.pop(future), result


def _start_trackers():
    """Start the processes that remove semaphores after a kill, before loky starts them: they must print
    nothing, and they unblock Ctrl-C."""
    from joblib.externals.loky.backend.spawn import get_preparation_data

    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        get_preparation_data("")
    finally:
        os.environ.pop("PYTHONWARNINGS") if before is None else os.environ.update(PYTHONWARNINGS=before)


def _start_worker(parent):
    """Prepare a worker process whose parent has this process number."""
    exit_with_parent(parent)
    from joblib.externals.loky import process_executor

    process_executor._USE_PSUTIL = False  # it would end workers that keep a dictionary, as leaking memory
    one_thread_for_good()

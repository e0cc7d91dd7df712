"""The executor, which runs the tasks of a command in threads, in processes or on a cluster.

This process begins alone, with several threads. Other processes of this machine join when the remaining work
justifies their start, and they stay from step to step. With the address of a scheduler, the workers of its
Dask cluster run everything. Each engine is imported when it is first needed. BLAS runs on one thread
everywhere, so that the bits of a result do not depend on where it is computed.
"""

import multiprocessing.connection
import os
import signal
import threading
import time
import warnings
from collections import Counter, deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait
from contextlib import AbstractContextManager, closing, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from flyannot.base.errors import FlyannotError
from flyannot.base.system import defer_interrupts, remove_semaphores
from flyannot.base.text import pluralise
from flyannot.jobs.progress_events import report_compilation, use_progress_callbacks
from flyannot.jobs.resources import (
    THREAD_VARIABLES,
    create_thread_pool,
    limit_blas_threads,
    limit_worker_threads,
)

# The events of a worker.
_BEGINS = "begins"
_ENDS = "ends"
_ITEMS = "items"
_COMPILES = "compiles"
_LISTENS_EVERY_S = 0.5  # on Windows a wait without end cannot be interrupted
_MAX_KILLS = 2  # of workers over one task
_START_S = 1.2  # measured: until a new process has imported its modules and works
_MAX_THREADS = 8  # more would wait for the interpreter's lock, and need memory for more pictures
_WARM_ITEMS = 8  # are not timed, since the first ones load or compile kernels
_n_threads: ContextVar = ContextVar("n_threads", default=1)  # for the current task of this process
_of_worker: dict = {"events": None}


class Executor(AbstractContextManager):
    """The engine that runs the tasks of a command; close it at the end, or use it as a context manager.

    jobs : int, the largest number of threads or processes of this machine that work at once
    scheduler : str, the address of a Dask scheduler whose workers run everything instead; None without one
    """

    def __init__(self, jobs=1, scheduler=None):
        self.jobs = jobs
        self.scheduler = scheduler
        self._engine: Any = None

    def __exit__(self, *error):
        self.close()

    def run_all(
        self, work, tasks, *, on_done=None, on_items=None, name=str, folder=None, reads=None, n_items=None
    ):
        """Call work(task) for every task, and return the results in the order of the tasks.

        If `work` raises an error, the workers are ended.

        Parameters
        ----------
        work : function at the top of a module; a task and a result are pickled
        tasks : sequence
        on_done : function called with each result as it arrives
        on_items : function called now and then with the number of items that have ended
        name : function of a task to its name in messages
        folder : Path where tasks write, which the workers of a cluster must see
        reads : function of a task to the paths that it reads, which these workers must see
        n_items : function of a task to the number of its items; None if `work` does not report items
            With it, this process begins alone, on the threads of `map_ordered`, and other processes join if
            the remaining items take long. Without it, other processes do everything if `jobs` is above 1.

        Raises
        ------
        FlyannotError
            If a task kills its worker twice, or the cluster cannot be used.
        """
        results: dict = {}
        n_told = 0

        def tell(n):
            nonlocal n_told
            n_told += n
            if on_items is not None:
                on_items(n_told)

        try:
            with closing(self._results(work, tasks, name, tell, folder, reads, n_items)) as pairs:
                for i, result in pairs:
                    results[i] = result
                    if on_done is not None:
                        on_done(result)
        except BaseException:
            self.close()
            raise
        return [results[i] for i in range(len(tasks))]

    def close(self):
        """End the workers at once; further tasks start new ones."""
        engine = self._engine
        self._engine = None
        if engine is not None:
            engine.close()

    def _results(self, work, tasks, name, tell, folder, reads, n_items):
        """Yield (index, result) of every task as they end."""
        if not tasks:
            return
        if self.scheduler is not None:
            if self._engine is None:
                from flyannot.jobs.dask_cluster import DaskCluster

                self._engine = DaskCluster(self.scheduler)
            yield from self._engine.results(work, tasks, name, tell, folder, reads)
            return
        n_there = self._engine.n_workers + 1 if self._engine else 1
        pace = _Pace(sum(map(n_items, tasks)), n_there) if n_items and self.jobs > 1 else None
        for i, task in enumerate(tasks):
            if n_processes := self._n_processes(len(tasks) - i, pace):
                self._engine = self._engine or LocalProcesses()
                here = pace and partial(self._result_here, work, 1, tell, pace)
                rest = self._engine.results(work, tasks[i:], name, tell, n_processes, here)
                yield from ((i + j, result) for j, result in rest)
                return
            yield i, self._result_here(work, _MAX_THREADS if pace else 1, tell, pace, task)

    def _n_processes(self, n_tasks, pace):
        """Return how many processes should run the remaining tasks; 0 if this process continues alone.

        n_tasks : int, the remaining tasks; pace : _Pace, or None if tasks do not report items
        """
        if self.jobs == 1 or n_tasks < 2:
            return 0
        return self.jobs if pace is None else pace.n_processes(self.jobs)

    def _result_here(self, work, n_threads, tell, pace, task):
        """Run a task in this process, on at most `n_threads` threads, and return its result.

        work : function of the task; tell : function of a number of items that ended; pace : _Pace
        """

        def told(n):
            pace.count(n)
            tell(n)

        with self.threads(n_threads), limit_blas_threads(), use_progress_callbacks(told if pace else tell):
            return work(task)

    @contextmanager
    def threads(self, most=_MAX_THREADS):
        """Allow `map_ordered` as many threads as `jobs`, but at most `most`: a context manager."""
        before = _n_threads.set(min(self.jobs, most))
        try:
            yield
        finally:
            _n_threads.reset(before)


def map_ordered(work, items, stop=lambda: None):
    """Yield work(item) for every item, in order, computed by the threads of this process.

    Items are taken by the calling thread, a few in advance. `work` should mostly run without the
    interpreter's lock. If an item fails or the caller ends early, `stop()` may shorten the work that the
    threads still do.
    """
    n = _n_threads.get()
    if n == 1:
        yield from map(work, items)
        return
    waiting: deque = deque()
    threads = create_thread_pool(n)
    try:
        for item in items:
            waiting.append(threads.submit(work, item))
            if len(waiting) >= 2 * n:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        if waiting:
            stop()
        threads.shutdown(cancel_futures=True)


class _Pace:
    """An estimate of how long the remaining items take, from the items that have ended.

    n_left : int, the number of all items
    n_there : int, the number of processes that have started, this one included
    """

    def __init__(self, n_left, n_there):
        self._n_left = n_left
        self._n_there = n_there
        self._n_done = 0
        self._warm: tuple | None = None

    def count(self, n):
        """Add `n` to the items that have ended."""
        self._n_left -= n
        self._n_done += n
        if self._warm is None and self._n_done >= _WARM_ITEMS:
            self._warm = self._n_done, time.perf_counter(), time.process_time()

    def n_processes(self, most):
        """Return how many processes should do the rest, this one included.

        0 if its threads alone are as quick.

        Several processes must be quicker by a fifth, since these are estimates. Each that has to start must
        have at least as much work as its start costs.

        most : int, the largest number of processes
        """
        if self._warm is None or self._n_done == self._warm[0]:
            return 0
        n, wall, processor = self._warm
        left = self._n_left / (self._n_done - n)
        wall_left = left * (time.perf_counter() - wall)
        processor_left = left * (time.process_time() - processor)
        n_new = min(most, max(1, int(processor_left / _START_S)))
        seconds = {n_new: (processor_left + (n_new - 1) * _START_S) / n_new}
        seconds[self._n_there] = processor_left / self._n_there
        n = min(seconds, key=seconds.__getitem__)
        return n if n > 1 and seconds[n] < 0.8 * wall_left else 0


class LocalProcesses:
    """Worker processes of this machine, by joblib's loky, each with one thread.

    They are spawned, since a fork after compiled threads is killed. A worker reports which task it begins, so
    that the tasks that ran when a worker was killed are known. Each of these is tried once more, one at a
    time, so that a task that kills its worker again is identified.

    n_workers : int, the number of processes
    """

    def __init__(self):
        self.n_workers = 0
        self._begun: set = set()
        self._pipes: tuple = ()
        self._pool: Any = None

    def results(self, work, tasks, name, tell, n_workers, here=None):
        """Run all tasks, and yield (index of the task, result) as they end.

        Parameters
        ----------
        work, tasks, name : as `Executor.run_all` takes them
        tell : function called with the number of items that have ended since the last call
        n_workers : int, the smallest number of workers
        here : function of a task that runs it in this process, which then counts as a worker; None if this
            process only waits

        Raises
        ------
        FlyannotError
            If workers die twice in one task, or before they begin one.
        """
        left = list(range(len(tasks)))
        kills: Counter = Counter()
        here = here if self.n_workers < n_workers else None
        n_workers -= here is not None
        while left:
            if self._pool is None or self.n_workers < min(n_workers, len(left)):
                self.close()
                self._start(min(n_workers, len(left)))
            try:
                for i, result in self._run(work, tasks, list(left), kills, tell, here):
                    left.remove(i)
                    yield i, result
            except BrokenExecutor as error:
                self._listen(tell)
                kills.update(sorted(self._begun) or [None])
                self.close()
                worst, n = kills.most_common(1)[0]
                if n >= _MAX_KILLS:
                    of_task = "" if worst is None else f" of {name(tasks[worst])}"
                    whole = pluralise(len(tasks), "part is", "parts are")
                    raise FlyannotError(
                        f"worker processes{of_task} were killed twice (out of memory?); "
                        f"{len(tasks) - len(left)} of {whole} done",
                        fix="run the same command again with fewer --jobs; finished parts are kept",
                    ) from error

    def close(self):
        """End the processes at once; a process that is just starting ends when the pipes close."""
        pool = self._pool
        self._pool = None
        try:
            if pool is not None:
                pool._work_ids.queue.clear()  # otherwise loky's thread ends with a KeyError for such a task
                pool.shutdown(kill_workers=True)
        finally:
            for pipe in self._pipes:
                pipe.close()
            remove_semaphores(f"loky-{os.getpid()}-")  # its tracker may be killed, or not know all of them

    def _start(self, n_workers):
        """Start the worker processes."""
        from joblib.externals.loky import ProcessPoolExecutor

        warnings.filterwarnings("ignore", module=r"joblib\.externals\.loky")
        # Each worker has one thread. The parent explains a crash, so loky prints no report of it.
        crash_report = os.environ.get("PYTHONFAULTHANDLER", "")
        environment = dict.fromkeys(THREAD_VARIABLES, "1") | {"PYTHONFAULTHANDLER": crash_report}
        self.n_workers = n_workers
        self._begun = set()
        self._events, worker_events = multiprocessing.Pipe(duplex=False)
        worker_life, life = multiprocessing.Pipe(duplex=False)
        self._pipes = life, worker_life, worker_events, self._events
        _start_trackers()
        with defer_interrupts():
            self._pool = ProcessPoolExecutor(
                n_workers, initializer=_start_worker, initargs=(worker_events, worker_life), env=environment
            )
            self._pool.submit(int)  # starts all of them, while this process defers Ctrl-C

    def _run(self, work, tasks, waiting, kills, tell, here):
        """Yield (index, result) of the waiting tasks; at most two tasks per worker are submitted at a time.

        So no worker waits, and memory stays bounded. After a worker was killed, the tasks that were running
        then are run one at a time.

        waiting : the indices of tasks; kills : counts of killed workers by task; tell, here : as in
            `results`
        """
        running = {}

        def hand_out(most):
            """Submit waiting tasks until `most` are running."""
            for i in list(waiting):
                if len(running) >= most:
                    return
                if not kills[i] or not any(kills[j] for j in running.values()):
                    waiting.remove(i)
                    with defer_interrupts():
                        running[self._pool.submit(_run_in_worker, i, work, tasks[i])] = i

        while waiting or running:
            hand_out(self.n_workers)  # this process takes a task before workers get their second
            own = next((i for i in waiting if here and not kills[i]), None)
            if own is not None:
                waiting.remove(own)
            hand_out(2 * self.n_workers)
            if own is not None:
                yield own, here(tasks[own])
            done, _ = wait(running, _LISTENS_EVERY_S if own is None else 0, return_when=FIRST_COMPLETED)
            self._listen(tell)
            for future in sorted(done, key=lambda future: future.exception() is not None):  # results first
                yield running.pop(future), future.result()

    def _listen(self, tell):
        """Read the events that workers sent, and keep the set of tasks that have begun and not ended.

        tell : function called with the number of items that have ended
        """
        while self._events.poll():
            what, i = self._events.recv()
            if what == _ITEMS:
                tell(i)
            elif what == _COMPILES:
                report_compilation()
            else:
                (self._begun.add if what == _BEGINS else self._begun.discard)(i)


def _start_trackers():
    """Start the trackers of semaphores before loky does, so that they print nothing.

    They also unblock Ctrl-C. A tracker that was killed and started again would print errors about semaphores
    that it does not know, so no tracker hears that a semaphore is removed.
    """
    from joblib.externals.loky.backend import resource_tracker
    from joblib.externals.loky.backend.spawn import get_preparation_data

    resource_tracker.unregister = lambda name, kind: None
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        get_preparation_data("")
    finally:
        os.environ.pop("PYTHONWARNINGS") if before is None else os.environ.update(PYTHONWARNINGS=before)


def _start_worker(events, life):
    """Prepare a worker process: its pipe of events, its end with the parent, and its threads.

    events : writing end of the pipe; life : reading end of another pipe, of which only the parent has the
        writing end, so that it becomes readable when the parent ends
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()
    _of_worker["events"] = events
    from joblib.externals.loky import process_executor

    process_executor._USE_PSUTIL = False  # otherwise it ends workers that keep a dictionary in memory
    limit_worker_threads()


def _end_with(life):
    """Wait until the parent process ends, then end this process; `life` is as in `_start_worker`."""
    multiprocessing.connection.wait([life])
    os._exit(1)


def _run_in_worker(i, work, task):
    """Run task number i in a worker, and send the number of its items that have ended now and then."""
    n_items = 0
    told = time.monotonic()

    def count(n):
        """Count items that ended, and report them if the last report is old."""
        nonlocal n_items, told
        n_items += n
        if time.monotonic() - told > _LISTENS_EVERY_S:
            _tell(_ITEMS, n_items)
            n_items = 0
            told = time.monotonic()

    _tell(_BEGINS, i)
    try:
        with use_progress_callbacks(count, partial(_tell, _COMPILES, 0)):
            result = work(task)
        _tell(_ITEMS, n_items)
        return result
    finally:
        _tell(_ENDS, i)


def _tell(what, n):
    """Send an event to the parent process; it is short enough to stay in one piece in the shared pipe.

    what : kind of the event; n : its number
    """
    _of_worker["events"].send((what, n))

"""The one seam of parallel work: who runs the tasks of a command, from its first one to its end.

This process begins, on threads of its own; processes of this machine join it where so much is left that
they pay for their start, and stay from step to step; with the address of a scheduler, the workers of its Dask
cluster run all (`flyannot.jobs.dask_cluster`).  What starts or finds them is imported when it is wanted.
BLAS is held to one thread everywhere, so that the bits do not depend on who works.
"""

import multiprocessing
import os
import time
import warnings
from collections import Counter, deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait
from contextlib import AbstractContextManager, closing, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from flyannot.base.errors import FlyannotError
from flyannot.base.system import interrupts_deferred
from flyannot.base.text import pluralise
from flyannot.jobs.progress_events import kernel_compiles, progress_sent_to
from flyannot.jobs.resources import (
    THREAD_VARIABLES,
    one_blas_thread,
    one_thread_for_good,
    threads_of_one_blas,
)
from flyannot.jobs.subprocess_call import exit_with_parent

_BEGINS, _ENDS, _ITEMS, _COMPILES = "begins", "ends", "items", "compiles"  # events of a worker
_LISTENS_EVERY_S = 0.5  # on Windows a wait without end cannot be interrupted
_MOST_KILLS = 2
_START_S = 1.2  # measured: until a new process is at work, with what it imports and loads
_MOST_THREADS = 8  # more would wait for the interpreter, and hold as many pictures
_WARM_ITEMS = 8  # that tell nothing of the pace: kernels are loaded, or compiled, with the first
_n_threads: ContextVar = ContextVar("n_threads", default=1)  # of this process, for the task that it runs
_of_worker: dict = {"events": None}


class Executor(AbstractContextManager):
    """Runs tasks; to be closed when the command ends, or used as a context.

    jobs : how many threads or processes of this machine work at a time, at most
    scheduler : address of the scheduler of a Dask cluster that works instead; None for none
    """

    def __init__(self, jobs=1, scheduler=None):
        self.jobs, self.scheduler, self._engine = jobs, scheduler, None

    def __exit__(self, *error):
        self.close()

    def run_all(
        self, work, tasks, *, on_done=None, on_items=None, name=str, folder=None, reads=None, n_items=None
    ):
        """Call work(task) for every task; results come in the order of the tasks.

        FlyannotError if a task kills its worker twice, or the cluster cannot be used.  After whatever `work`
        raises the workers are ended.

        Parameters
        ----------
        work : function at the top of a module; a task and a result are pickled
        on_done : called with each result as it comes
        on_items : called now and then with n, the items of tasks that ended so far
        name : function of a task: what it is called in messages
        folder, reads : where tasks write, and a function of a task to the paths that it reads: a cluster must
            see these
        n_items : function of a task to the number of its items, if `work` tells of each: then this process
            begins, with threads where `work` takes them by `map_ordered`, and goes on; else processes do all
        """
        results, n_told = {}, 0

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
        """End the workers, at once; more tasks would start new ones."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _results(self, work, tasks, name, tell, folder, reads, n_items):
        """(index, result) pairs as they come."""
        if self.scheduler is not None and tasks:
            if self._engine is None:
                from flyannot.jobs.dask_cluster import DaskCluster

                self._engine = DaskCluster(self.scheduler)
            yield from self._engine.results(work, tasks, name, tell, folder, reads)
            return
        pace = _Pace(sum(map(n_items, tasks))) if n_items and self.jobs > 1 else None
        for i, task in enumerate(tasks):
            if n_processes := self._n_processes(len(tasks) - i, pace):
                self._engine = self._engine or LocalProcesses()
                here = pace and partial(self._result_here, work, 1, tell, pace)
                rest = self._engine.results(work, tasks[i:], name, tell, n_processes, here)
                yield from ((i + j, result) for j, result in rest)
                return
            yield i, self._result_here(work, _MOST_THREADS if pace else 1, tell, pace, task)

    def _n_processes(self, n_tasks, pace):
        """How many processes are to do the tasks that are left; 0 where this one goes on."""
        if self.jobs == 1 or n_tasks < 2:
            return 0
        return self.jobs if pace is None else pace.n_processes(self.jobs)

    def _result_here(self, work, n_threads, tell, pace, task):
        """What this process makes of a task, on so many threads at most."""

        def told(n):
            pace.count(n)
            tell(n)

        with self.threads(n_threads), one_blas_thread(), progress_sent_to(told if pace else tell):
            return work(task)

    @contextmanager
    def threads(self, most=_MOST_THREADS):
        """Within it `map_ordered` has as many threads of this process as jobs are allowed, `most` at most."""
        before = _n_threads.set(min(self.jobs, most))
        try:
            yield
        finally:
            _n_threads.reset(before)


def map_ordered(work, items):
    """Yield work(item) for every item, in their order: within a task, on the threads that this process has.

    `items` are taken by the calling thread, a few in advance; `work` is to spend its time where the
    interpreter is not needed.
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


class _Pace:
    """How long what is left of some tasks would take, by the items that ended."""

    def __init__(self, n_left):
        self._n_left, self._n_done, self._warm = n_left, 0, None

    def count(self, n):
        """So many more items have ended."""
        self._n_left, self._n_done = self._n_left - n, self._n_done + n
        if self._warm is None and self._n_done >= _WARM_ITEMS:
            self._warm = self._n_done, time.perf_counter(), time.process_time()

    def n_processes(self, most):
        """How many processes, this one among them, would do the rest sooner than its threads; 0 if none.

        Sooner by a fifth, for these are estimates; and each gets at least as much to do as it costs.
        """
        if self._warm is None or self._n_done == self._warm[0]:
            return 0
        n, wall, processor = self._warm
        left = self._n_left / (self._n_done - n)
        wall_left = left * (time.perf_counter() - wall)
        processor_left = left * (time.process_time() - processor)
        n = min(most, int(processor_left / _START_S))
        return n if n > 1 and (processor_left + (n - 1) * _START_S) / n < 0.8 * wall_left else 0


class LocalProcesses:
    """Worker processes of this machine, joblib's loky: each on one thread, until closed.

    They are spawned: a fork after compiled threads is killed.  A worker tells which task it begins, so that
    it is known which tasks ran when one is killed.  Each of these is tried once more, no two of them at a
    time: the one that kills again is then known by name.
    """

    def __init__(self):
        self._n_workers, self._begun = 0, set()
        self._pool: Any = None

    def results(self, work, tasks, name, tell, n_workers, here=None):
        """(index, result) of every task, as they end, of at least so many workers; tell(n) whenever n more
        items have.  By here(task) this process is one of them, unless there are as many without it.
        FlyannotError if workers die twice over one task, or before they begin any."""
        left, kills = list(range(len(tasks))), Counter()
        here = here if self._n_workers < n_workers else None
        n_workers -= here is not None
        while left:
            if self._pool is None or self._n_workers < min(n_workers, len(left)):
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
                if n >= _MOST_KILLS:
                    of_task = "" if worst is None else f" of {name(tasks[worst])}"
                    whole = pluralise(len(tasks), "part is", "parts are")
                    raise FlyannotError(
                        f"worker processes{of_task} were killed twice (out of memory?); "
                        f"{len(tasks) - len(left)} of {whole} done",
                        fix="run the same command again with fewer --jobs; finished parts are kept",
                    ) from error

    def close(self):
        """End the processes, at once, also one that just starts: without this end of the pipe it ends."""
        pool, self._pool = self._pool, None
        if pool is not None:
            try:
                pool.shutdown(kill_workers=True)
            finally:
                for pipe in self._pipes:
                    pipe.close()

    def _start(self, n_workers):
        from joblib.externals.loky import ProcessPoolExecutor

        warnings.filterwarnings("ignore", module=r"joblib\.externals\.loky")
        # One thread, and no report of a crash by loky, which the parent explains.
        crash_report = os.environ.get("PYTHONFAULTHANDLER", "")
        environment = dict.fromkeys(THREAD_VARIABLES, "1") | {"PYTHONFAULTHANDLER": crash_report}
        self._n_workers, self._begun = n_workers, set()
        self._events, worker_events = multiprocessing.Pipe(duplex=False)
        worker_life, life = multiprocessing.Pipe(duplex=False)
        self._pipes = life, worker_life, worker_events, self._events
        _start_trackers()
        with interrupts_deferred():
            self._pool = ProcessPoolExecutor(
                n_workers,
                initializer=_start_worker,
                initargs=(worker_events, worker_life),
                env=environment,
            )
            self._pool.submit(int)  # starts all of them; a Ctrl-C meanwhile is this process's to answer

    def _run(self, work, tasks, waiting, kills, tell, here):
        """(index, result) of the tasks whose indices wait; of those that saw a worker killed, one at a time.

        So many are handed out at once that no worker waits, and memory stays bounded.
        """
        running = {}

        def hand_out(most):
            for i in list(waiting):
                if len(running) >= most:
                    return
                if not kills[i] or not any(kills[j] for j in running.values()):
                    waiting.remove(i)
                    with interrupts_deferred():
                        running[self._pool.submit(_run_in_worker, i, work, tasks[i])] = i

        while waiting or running:
            hand_out(self._n_workers)  # a worker's second is not before our own: else we might wait for it
            own = next((i for i in waiting if here and not kills[i]), None)
            if own is not None:
                waiting.remove(own)
            hand_out(2 * self._n_workers)
            if own is not None:
                yield own, here(tasks[own])
            done, _ = wait(running, _LISTENS_EVERY_S if own is None else 0, return_when=FIRST_COMPLETED)
            self._listen(tell)
            for future in sorted(done, key=lambda future: future.exception() is not None):  # keeps what ended
                yield running.pop(future), future.result()

    def _listen(self, tell):
        """Hear what workers told; afterwards `_begun` has the tasks that were begun and have not ended."""
        while self._events.poll():
            what, i = self._events.recv()
            if what == _ITEMS:
                tell(i)
            elif what == _COMPILES:
                kernel_compiles()
            else:
                (self._begun.add if what == _BEGINS else self._begun.discard)(i)


def _start_trackers():
    """Start those that remove semaphores after a kill, which loky would do later: they are to be silent, and
    they unblock Ctrl-C."""
    from joblib.externals.loky.backend.spawn import get_preparation_data

    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        get_preparation_data("")
    finally:
        os.environ.pop("PYTHONWARNINGS") if before is None else os.environ.update(PYTHONWARNINGS=before)


def _start_worker(events, life):
    """Runs in a worker, first."""
    exit_with_parent(life)
    _of_worker["events"] = events
    from joblib.externals.loky import process_executor

    process_executor._USE_PSUTIL = False  # it would end workers that keep a dictionary: as leaking memory
    one_thread_for_good()


def _run_in_worker(i, work, task):
    """Runs in a worker: one task.  Items that end are told of twice a second, and the rest at the end."""
    n_items, told = 0, time.monotonic()

    def count(n):
        nonlocal n_items, told
        n_items += n
        if time.monotonic() - told > _LISTENS_EVERY_S:
            _tell(_ITEMS, n_items)
            n_items, told = 0, time.monotonic()

    _tell(_BEGINS, i)
    try:
        with progress_sent_to(count, partial(_tell, _COMPILES, 0)):
            result = work(task)
        _tell(_ITEMS, n_items)
        return result
    finally:
        _tell(_ENDS, i)


def _tell(what, n):
    """Send an event, so short that a pipe which workers share keeps it in one piece."""
    _of_worker["events"].send((what, n))

"""The one seam of parallel work: who runs the tasks of a command, from its first one to its end.

One job runs in this process; more run in processes of this machine, which stay from step to step; with the
address of a scheduler, the workers of its Dask cluster run all (`flyannot.runtime.dask_cluster`).  What
starts or finds them is imported with the first task.  BLAS is held to one thread everywhere, so that the bits
do not depend on who works.
"""

import multiprocessing
import os
import struct
import warnings
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait
from contextlib import closing
from functools import partial
from typing import Any

from flyannot.errors import FlyannotError
from flyannot.runtime.progress_events import LISTENS_EVERY_S, kernel_compiles, progress_sent_to
from flyannot.runtime.resources import THREAD_VARIABLES, one_blas_thread, one_thread_for_good
from flyannot.runtime.subprocess_call import exit_with_parent
from flyannot.runtime.system import interrupts_deferred
from flyannot.runtime.wording import pluralise

_EVENT = struct.Struct("=cq")  # so short that a pipe which workers share keeps it in one piece
_BEGINS, _ENDS, _ITEM, _COMPILES = b"b", b"e", b"i", b"c"
_MOST_KILLS = 2
_of_worker: dict = {"events": None}


class Executor:
    """Runs tasks; to be closed when the command ends, or used as a context.

    jobs : how many tasks run at a time on this machine
    scheduler : address of the scheduler of a Dask cluster that works instead; None for none
    """

    def __init__(self, jobs=1, scheduler=None):
        self.jobs, self.scheduler, self._engine = jobs, scheduler, None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def run_all(self, work, tasks, *, on_done=None, on_items=None, name=str, folder=None, reads=None):
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
        """
        results, n_items = {}, 0

        def tell(n):
            nonlocal n_items
            n_items += n
            if on_items is not None:
                on_items(n_items)

        try:
            with closing(self._results(work, tasks, name, tell, folder, reads)) as pairs:
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

    def _results(self, work, tasks, name, tell, folder, reads):
        """(index, result) pairs as they come."""
        if not tasks or self.scheduler is None and (self.jobs == 1 or len(tasks) == 1):
            with one_blas_thread(), progress_sent_to(tell):
                for i, task in enumerate(tasks):
                    yield i, work(task)
            return
        if self._engine is None and self.scheduler is None:
            self._engine = LocalProcesses(self.jobs)
        elif self._engine is None:
            from flyannot.runtime.dask_cluster import DaskCluster

            self._engine = DaskCluster(self.scheduler)
        yield from self._engine.results(work, tasks, name, tell, folder, reads)


class LocalProcesses:
    """Worker processes of this machine, joblib's loky: at most `jobs`, each on one thread, until closed.

    They are spawned: a fork after compiled threads is killed.  A worker tells which task it begins, so that
    it is known which tasks ran when one is killed.  Each of these is tried once more, no two of them at a
    time: the one that kills again is then known by name.
    """

    def __init__(self, jobs):
        self._jobs, self._n_workers, self._begun = jobs, 0, set()
        self._pool: Any = None

    def results(self, work, tasks, name, tell, _folder=None, _reads=None):
        """(index, result) of every task, as they end; tell(n) whenever n more items have.  FlyannotError if
        workers die twice over one task, or before they begin any."""
        left, kills = list(range(len(tasks))), Counter()
        while left:
            if self._pool is None or self._n_workers < min(self._jobs, len(left)):
                self.close()
                self._start(min(self._jobs, len(left)))
            try:
                for i, result in self._run(work, tasks, list(left), kills, tell):
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

    def _run(self, work, tasks, waiting, kills, tell):
        """(index, result) of the tasks whose indices wait; of those that saw a worker killed, one at a time.

        So many are handed out at once that no worker waits, and memory stays bounded.
        """
        running = {}
        while waiting or running:
            for i in _next(waiting, running.values(), kills, 2 * self._n_workers):
                with interrupts_deferred():
                    running[self._pool.submit(_run_in_worker, i, work, tasks[i])] = i
            done, _ = wait(running, timeout=LISTENS_EVERY_S, return_when=FIRST_COMPLETED)
            self._listen(tell)
            for future in sorted(done, key=lambda future: future.exception() is not None):  # keeps what ended
                yield running.pop(future), future.result()

    def _listen(self, tell):
        """Hear what workers told; afterwards `_begun` has the tasks that were begun and have not ended."""
        while self._events.poll():
            what, i = _EVENT.unpack(self._events.recv_bytes())
            if what == _ITEM:
                tell(i)
            elif what == _COMPILES:
                kernel_compiles()
            else:
                (self._begun.add if what == _BEGINS else self._begun.discard)(i)


def _next(waiting, running, kills, most):
    """Take from `waiting` what may be handed out beside what runs."""
    running = list(running)
    for i in list(waiting):
        if len(running) >= most:
            return
        if not kills[i] or not any(kills[j] for j in running):
            waiting.remove(i)
            running.append(i)
            yield i


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
    """Runs in a worker: one task."""
    _tell(_BEGINS, i)
    try:
        with progress_sent_to(partial(_tell, _ITEM), partial(_tell, _COMPILES, 0)):
            return work(task)
    finally:
        _tell(_ENDS, i)


def _tell(what, n):
    _of_worker["events"].send_bytes(_EVENT.pack(what, n))

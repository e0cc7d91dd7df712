"""Worker processes of this machine: joblib's loky.  They stay until they are closed, each on one thread.

They are spawned: a fork after compiled threads is killed.  A worker tells which task it begins, so that it is
known which tasks ran when one is killed.  Each of these is tried once more, no two of them at a time: the one
that kills again is then known by name.
"""

import multiprocessing
import os
import struct
import warnings
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait
from functools import partial

from flyannot.errors import FlyannotError
from flyannot.runtime.progress_events import kernel_compiles, progress_sent_to
from flyannot.runtime.resources import THREAD_VARIABLES, one_thread_for_good
from flyannot.runtime.subprocess_call import exit_with_parent
from flyannot.runtime.system import interrupts_deferred
from flyannot.runtime.wording import pluralise

_LISTENS_EVERY_S = 0.5  # to what workers tell; on Windows a wait without end cannot be interrupted
_NEWS = struct.Struct("=cq")  # so short that a pipe which workers share keeps it in one piece
_BEGINS, _ENDS, _ITEM, _COMPILES = b"b", b"e", b"i", b"c"
_MOST_KILLS = 2
_of_worker: dict = {"news": None}


class LocalWorkers:
    """At most `jobs` processes, started with the first tasks; no more than there are tasks."""

    def __init__(self, jobs):
        self._jobs, self._pool = jobs, None

    def results(self, work, tasks, name, tell, **_):
        """(index, result) of every task, as they end; tell(n) whenever n more items have.

        Raises
        ------
        FlyannotError
            If workers die twice over one task, or before they begin any.
        """
        left, kills = list(range(len(tasks))), Counter()
        while left:
            pool = self._opened(min(self._jobs, len(left)))
            try:
                for i, result in pool.results(work, tasks, list(left), kills, tell):
                    left.remove(i)
                    yield i, result
            except BrokenExecutor as error:
                running = pool.running(tell)
                self.close()
                kills.update(running or [None])
                worst, n = kills.most_common(1)[0]
                if n >= _MOST_KILLS:
                    done = (
                        f"{len(tasks) - len(left)} of {pluralise(len(tasks), 'shard is', 'shards are')} done"
                    )
                    raise _killed(None if worst is None else name(tasks[worst]), done) from error

    def close(self):
        """End the processes, at once."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _opened(self, n_workers):
        if self._pool is None or self._pool.n_workers < n_workers:
            self.close()
            self._pool = _Pool(n_workers)
        return self._pool


def _killed(task, done):
    which = "worker processes" if task is None else f"the worker processes of {task}"
    return FlyannotError(
        f"{which} were killed twice (out of memory?); {done}",
        fix="run the same command again with fewer --jobs; finished shards are kept",
    )


class _Pool:
    """Processes until one of them dies."""

    def __init__(self, n_workers):
        from joblib.externals.loky import ProcessPoolExecutor

        warnings.filterwarnings("ignore", module=r"joblib\.externals\.loky")
        self.n_workers, self._running = n_workers, set()
        self._hears, self._news = multiprocessing.Pipe(duplex=False)
        self._ends, self._life = multiprocessing.Pipe(duplex=False)
        _start_trackers()
        with interrupts_deferred():
            self._executor = ProcessPoolExecutor(
                n_workers, initializer=_start_worker, initargs=(self._news, self._ends), env=_environment()
            )
            self._executor.submit(int)  # starts all of them; a Ctrl-C meanwhile is this process's to answer

    def results(self, work, tasks, waiting, kills, tell):
        """(index, result) of the tasks whose indices wait; of those that saw a worker killed, one at a time.

        So many are handed out at once that no worker waits, and memory stays bounded.
        """
        running = {}
        while waiting or running:
            for i in _next(waiting, running.values(), kills, 2 * self.n_workers):
                with interrupts_deferred():
                    running[self._executor.submit(_run, i, work, tasks[i])] = i
            done, _ = wait(running, timeout=_LISTENS_EVERY_S, return_when=FIRST_COMPLETED)
            self._listen(tell)
            for future in sorted(done, key=lambda one: one.exception() is not None):  # what has ended is kept
                yield running.pop(future), future.result()

    def running(self, tell):
        """The indices of the tasks that workers have begun and not ended."""
        self._listen(tell)
        return sorted(self._running)

    def _listen(self, tell):
        while self._hears.poll():
            what, i = _NEWS.unpack(self._hears.recv_bytes())
            if what == _ITEM:
                tell(i)
            elif what == _COMPILES:
                kernel_compiles()
            else:
                (self._running.add if what == _BEGINS else self._running.discard)(i)

    def close(self):
        """End all of them, also one that only just starts: without this end of the pipe it does not live."""
        try:
            self._executor.shutdown(kill_workers=True)
        finally:
            for pipe in (self._life, self._ends, self._news, self._hears):
                pipe.close()


def _next(waiting, running, kills, most):
    """Take from `waiting` what may be handed out beside what runs."""
    running = list(running)
    for i in list(waiting):
        if len(running) >= most:
            return
        if not kills[i] or not any(kills[one] for one in running):
            waiting.remove(i)
            running.append(i)
            yield i


def _environment():
    """Of a worker: one thread, and no report of a crash by loky, which the parent explains."""
    crash_report = os.environ.get("PYTHONFAULTHANDLER", "")
    return dict.fromkeys(THREAD_VARIABLES, "1") | {"PYTHONFAULTHANDLER": crash_report}


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


def _start_worker(news, life):
    """Runs in a worker, first."""
    exit_with_parent(life)
    _of_worker["news"] = news
    from joblib.externals.loky import process_executor

    process_executor._USE_PSUTIL = False  # it would end workers that keep a dictionary: as leaking memory
    one_thread_for_good()


def _run(i, work, task):
    """Runs in a worker: one task."""
    _tell(_BEGINS, i)
    try:
        with progress_sent_to(partial(_tell, _ITEM), partial(_tell, _COMPILES, 0)):
            return work(task)
    finally:
        _tell(_ENDS, i)


def _tell(what, n):
    _of_worker["news"].send_bytes(_NEWS.pack(what, n))

"""The workers of a Dask cluster that somebody else started: the one place that knows `distributed`.

What is sent is a function by value, which needs nothing of ours to say that there is nothing of ours, and a
task as bytes, with its paths in full: who takes it works in another folder, and must see the files by these
paths.  A task whose worker dies is given to another one by the scheduler, as often as its `allowed-failures`
says.
"""

import asyncio
import io
import logging
import pickle
import secrets
import time
import warnings
from collections import deque
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from operator import itemgetter
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from flyannot import __version__
from flyannot.base.errors import FlyannotError, InputError
from flyannot.base.packages import optional_package
from flyannot.files.atomic_file import explained_write_error
from flyannot.jobs.progress_events import LISTENS_EVERY_S, batched_progress, kernel_compiles
from flyannot.jobs.resources import one_thread_for_good

log = logging.getLogger("flyannot")
_CONNECTS_S = 10
_WITHOUT_WORKERS_S = 60
_COUNTS_WORKERS_EVERY_S = 2.0
_CLOSES_S = 1.0
_SEES_WITHIN_S = 5.0  # what was written a moment ago, through a file system that keeps names for a while
_LEAST_AT_ONCE = 64  # so many tasks are handed out at least: clusters grow with what waits
_OF_A_THREAD = 4
_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")
_LOUD = ["distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application", "asyncio"]


class DaskCluster:
    """The workers behind the scheduler at an address."""

    def __init__(self, address):
        self.address = _checked_address(address)
        distributed = optional_package("distributed", "dask", needs="--scheduler needs")
        if not log.isEnabledFor(logging.DEBUG):  # what the libraries have to say is said here, in a line
            for name in _LOUD:
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
            warnings.filterwarnings("ignore", module="distributed")
        try:
            distributed.utils.LoopRunner(asynchronous=False).run_sync(_greet, self.address)
            self._client = distributed.Client(address, timeout=_CONNECTS_S, set_as_default=False)
        except Exception as error:  # what is no scheduler may answer anything
            raise FlyannotError(
                f"no scheduler answers at {address}",
                fix="start one with: dask scheduler; or name its address with --scheduler",
            ) from error
        self._executor = self._client.get_executor(pure=False)
        self._events, self._topic = deque(), f"flyannot-{secrets.token_hex(8)}"
        self._client.subscribe_topic(self._topic, lambda event: self._events.append(event[1]))
        self._n_threads, self._counted, self._had_workers, self._call = 0, 0.0, time.monotonic(), 0

    def results(self, work, tasks, name, tell, folder=None, reads=None):
        """As of `LocalProcesses`; workers must see `folder` and what tasks read.

        FlyannotError if the scheduler goes away or has no workers, if a worker has another flyannot or does
        not see the files, or if a task kills its workers.
        """
        self._call += 1
        send = _sent_by_value(__version__, self._topic, self._call)
        waiting, running = deque(range(len(tasks))), {}
        with _mark_in(folder) as mark:
            while waiting or running:
                with self._explained():
                    self._count_workers()
                    while waiting and len(running) < max(_LEAST_AT_ONCE, _OF_A_THREAD * self._n_threads):
                        i = waiting.popleft()
                        seen = [path for path in (mark, *(reads(tasks[i]) if reads else ())) if path]
                        running[self._executor.submit(send, _packed((work, tasks[i], seen, mark)))] = i
                done, _ = wait(running, timeout=LISTENS_EVERY_S, return_when=FIRST_COMPLETED)
                self._listen(tell)
                for future in done:
                    i = running.pop(future)
                    with self._explained(name(tasks[i])):
                        kind, result, where = future.result()
                    if kind != "result":
                        raise _unfit_worker(where, result)
                    yield i, result

    def close(self):
        """Leave the cluster: it drops what it has of ours."""
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._client.close(timeout=_CLOSES_S)

    def _count_workers(self):
        """How many threads the workers have; an error where there have been none for long."""
        now = time.monotonic()
        if now - self._counted < _COUNTS_WORKERS_EVERY_S:
            return
        self._n_threads, self._counted = sum(self._client.nthreads().values()), now
        if self._n_threads:
            self._had_workers = now
        elif now - self._had_workers > _WITHOUT_WORKERS_S:
            raise FlyannotError(
                f"the scheduler at {self.address} has had no workers for {_WITHOUT_WORKERS_S} s",
                fix=f"start some with: dask worker {self.address}; then run the same command again",
            )

    def _listen(self, tell):
        while self._events:
            call, n, compiles = self._events.popleft()
            if call == self._call:
                tell(n)
            if compiles:
                kernel_compiles()

    @contextmanager
    def _explained(self, task="tasks"):
        """Say what has happened to the cluster; what a task raises passes."""
        from distributed.scheduler import KilledWorker

        try:
            yield
        except FlyannotError:
            raise
        except KilledWorker as error:
            raise FlyannotError(
                f"{error.allowed_failures + 1} workers were killed over {task} (out of memory?)",
                fix="give the workers more memory, and run the same command again; finished parts are kept",
            ) from error
        except Exception as error:
            if not isinstance(error, CancelledError) and self._client.status == "running":
                raise
            raise FlyannotError(
                f"the scheduler at {self.address} has gone away",
                fix="start it and its workers again, and run the same command; finished parts are kept",
            ) from error


async def _greet(address):
    """Exchange the first words: a client that finds no scheduler there takes long to give up."""
    from distributed import Security
    from distributed.comm import connect

    connecting = connect(address, timeout=_CONNECTS_S, **Security().get_connection_args("client"))
    (await asyncio.wait_for(connecting, _CONNECTS_S)).abort()


def _checked_address(text):
    """An address that `distributed` can make a connection of; of others it says much, and slowly."""
    address = text if "://" in text else f"tcp://{text}"
    try:
        parts = urlsplit(address)
        is_address = bool(parts.hostname and parts.port) and parts.scheme in _SCHEMES
    except ValueError:  # of the port
        is_address = False
    if not is_address:
        raise InputError(f"{text} is not the address of a scheduler", fix="write it as tcp://HOST:8786")
    return address


@contextmanager
def _mark_in(folder):
    """A file in the folder while it is open: workers that do not see it see other files than this process."""
    if folder is None:
        yield None
        return
    mark = folder.absolute() / f".wanted-{secrets.token_hex(8)}"
    with explained_write_error(mark):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    try:
        yield mark
    finally:
        mark.unlink(missing_ok=True)


def _sent_by_value(version, topic, call):
    """The function that workers run: made here, so that it is sent itself and not its name."""

    def run_there(packed_task):
        from distributed import get_worker

        worker = get_worker()
        try:
            import flyannot
        except ImportError:
            return "unfit", "has no flyannot", worker.address
        if flyannot.__version__ != version:
            return "unfit", f"has flyannot {flyannot.__version__}, and here is {version}", worker.address
        from flyannot.jobs.dask_cluster import run_packed

        def tell(n, compiles):
            worker.log_event(topic, [call, n, compiles])

        return *run_packed(packed_task, tell), worker.address

    return run_there


def _unfit_worker(where, why):
    fix = (
        "let all machines share a file system, with the same paths to the images and to the output"
        if "see" in why
        else f"install flyannot {__version__} where the workers run, and start them again"
    )
    return FlyannotError(f"the worker at {where} {why}", fix=fix)


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj):
        if isinstance(obj, Path) and not obj.is_absolute():
            return type(obj), (str(obj.absolute()),)
        return NotImplemented


def _packed(task):
    """As bytes: a function, its argument, the paths that it must see, and the mark of the run or None."""
    written = io.BytesIO()
    _Pickler(written).dump(task)
    return written.getvalue()


def run_packed(packed_task, tell):
    """In a worker: ("result", what the task returns) or ("unfit", why this worker cannot do it).

    tell : function of the number of items that ended, and of kernels that began to be compiled
    """
    try:
        work, task, seen, mark = pickle.loads(packed_task)
    except (AttributeError, ImportError) as error:  # of one version, and yet not the same
        return "unfit", f"has another flyannot: {error}"
    for path in seen:
        if not _sees(path):
            return "unfit", f"does not see {path}"
    one_thread_for_good()

    def tell_items(n):
        if mark is not None and not mark.exists():  # nobody wants the task any more
            raise FlyannotError(
                f"a worker does not see {mark} any more", fix="check the file system that machines share"
            )
        tell(n, 0)

    with batched_progress(tell_items, partial(tell, 0, 1)):
        result = work(task)
    return "result", result


def _sees(path):
    until = time.monotonic() + _SEES_WITHIN_S
    while not path.exists():
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


def cluster_runner(executor, out):
    """A function (work, shared, tasks, on_done) to the results of work(shared, task) of every task on the
    cluster; None where none is to work: there threads share the array.

    `out` is the Path of the output, beside which the array lies meanwhile; None for none.
    """
    if executor.scheduler is None:
        return None
    if out is None:
        log.info("note: the folds are evaluated on this machine; with --json FILE, on the cluster")
        return None

    def run_all(work, shared, tasks, on_done):
        path = out.with_name(f".{out.name}.{secrets.token_hex(12)}.tmp")  # workers keep what has a name
        try:
            with explained_write_error(path), open(path, "wb") as file:
                np.save(file, shared)
            tasks_with_path = [(work, path, task) for task in tasks]
            name, reads = lambda _: "a term or fold", itemgetter(slice(1, 2))
            return executor.run_all(_with_shared, tasks_with_path, on_done=on_done, name=name, reads=reads)
        finally:
            path.unlink(missing_ok=True)

    return run_all


def _with_shared(task):
    """Runs in a worker."""
    work, path, own = task
    return work(_shared_array(path), own)


@lru_cache(maxsize=1)
def _shared_array(path):
    return np.load(path)

"""The workers of a Dask cluster that somebody else started: the one place that knows `distributed`.

What is sent is a function by value, which needs nothing of ours to say that there is nothing of ours, and a
task as bytes.  A task whose worker dies is given to another one by the scheduler, as often as its
`allowed-failures` says.
"""

import logging
import secrets
import time
import warnings
from collections import deque
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from flyannot import __version__
from flyannot.errors import FlyannotError, InputError
from flyannot.runtime.atomic_file import explained_write_error
from flyannot.runtime.cluster_task import packed
from flyannot.runtime.environment import optional_package
from flyannot.runtime.progress_events import kernel_compiles

log = logging.getLogger("flyannot")
_CONNECTS_S = 10
_WITHOUT_WORKERS_S = 60
_LOOKS_EVERY_S = 2.0  # how many workers there are
_LISTENS_EVERY_S = 0.5
_CLOSES_S = 1.0
_LEAST_AT_ONCE = 64  # so many tasks are handed out at least: clusters grow with what waits
_OF_A_THREAD = 4
_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")
_LOUD = (
    "distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application", "asyncio",
)  # fmt: skip


class DaskWorkers:
    """The workers behind the scheduler at an address."""

    def __init__(self, address):
        self.address = _checked_address(address)
        distributed = optional_package("distributed", "dask", needs="--scheduler needs")
        _silence()
        try:
            self._client = distributed.Client(address, timeout=_CONNECTS_S, set_as_default=False)
        except OSError as error:  # TimeoutError too
            raise FlyannotError(
                f"no scheduler answers at {address}",
                fix="start one with: dask scheduler; or name its address with --scheduler",
            ) from error
        self._executor = self._client.get_executor(pure=False)
        self._news, self._topic = deque(), f"flyannot-{secrets.token_hex(8)}"
        self._client.subscribe_topic(self._topic, lambda event: self._news.append(event[1]))
        self._n_threads, self._looked, self._had_workers, self._round = 0, 0.0, time.monotonic(), 0

    def results(self, work, tasks, name, tell, *, folder=None, reads=None):
        """As `flyannot.runtime.local_workers.LocalWorkers.results`.

        Parameters
        ----------
        folder : where the tasks write; None if they write nothing
        reads : function of a task: the paths that it reads

        Raises
        ------
        FlyannotError
            If the scheduler goes away or has no workers, if a worker has another flyannot or does not see the
            files, or if a task kills its workers.
        """
        self._round += 1
        send = _sent_by_value(__version__, self._topic, self._round)
        waiting, running = deque(range(len(tasks))), {}
        with _mark_in(folder) as mark:
            while waiting or running:
                with self._explained():
                    self._look()
                    while waiting and len(running) < max(_LEAST_AT_ONCE, _OF_A_THREAD * self._n_threads):
                        i = waiting.popleft()
                        seen = reads(tasks[i]) if reads else ()
                        running[self._executor.submit(send, packed(work, tasks[i], seen, mark))] = i
                done, _ = wait(running, timeout=_LISTENS_EVERY_S, return_when=FIRST_COMPLETED)
                self._listen(tell)
                for future in done:
                    i = running.pop(future)
                    with self._explained(name(tasks[i])):
                        result = _checked(*future.result())
                    yield i, result

    def close(self):
        """Leave the cluster: it drops what it has of ours."""
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._client.close(timeout=_CLOSES_S)

    def _look(self):
        """How many threads the workers have; an error where there have been none for long."""
        now = time.monotonic()
        if now - self._looked < _LOOKS_EVERY_S:
            return
        self._n_threads, self._looked = sum(self._client.nthreads().values()), now
        if self._n_threads:
            self._had_workers = now
        elif now - self._had_workers > _WITHOUT_WORKERS_S:
            raise FlyannotError(
                f"the scheduler at {self.address} has had no workers for {_WITHOUT_WORKERS_S} s",
                fix=f"start some with: dask worker {self.address}; then run the same command again",
            )

    def _listen(self, tell):
        while self._news:
            of_round, n, compiles = self._news.popleft()
            if of_round == self._round:
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
                fix="give the workers more memory, and run the same command again; finished shards are kept",
            ) from error
        except BaseException as error:
            if not isinstance(error, CancelledError) and self._client.status == "running":
                raise
            if not isinstance(error, Exception):
                raise
            raise FlyannotError(
                f"the scheduler at {self.address} has gone away",
                fix="start it and its workers again, and run the same command; finished shards are kept",
            ) from error


def _checked_address(text):
    """An address that `distributed` can make a connection of; of others it says much, and slowly."""
    address = text if "://" in text else f"tcp://{text}"
    try:
        parts = urlsplit(address)
        is_one = bool(parts.hostname and parts.port) and parts.scheme in _SCHEMES
    except ValueError:  # of the port
        is_one = False
    if not is_one:
        raise InputError(f"{text} is not the address of a scheduler", fix="write it as tcp://HOST:8786")
    return address


def _silence():
    """What the libraries have to say is said here, in a line; --debug shows it."""
    if not log.isEnabledFor(logging.DEBUG):
        for name in _LOUD:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        warnings.filterwarnings("ignore", module="distributed")


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


def _sent_by_value(version, topic, number):
    """The function that workers run: made here, so that it is sent itself and not its name."""

    def carry_out_there(packed_task):
        from distributed import get_worker

        worker = get_worker()
        try:
            import flyannot
        except ImportError:
            return "unfit", "has no flyannot", worker.address
        if flyannot.__version__ != version:
            return "unfit", f"has flyannot {flyannot.__version__}, and here is {version}", worker.address
        from flyannot.runtime.cluster_task import carry_out

        def tell(n, compiles):
            worker.log_event(topic, [number, n, compiles])

        return *carry_out(packed_task, tell), worker.address

    return carry_out_there


def _checked(kind, found, where):
    if kind == "result":
        return found
    fix = (
        "let all machines share a file system, with the same paths to the images and to the output"
        if "see" in found
        else f"install flyannot {__version__} where the workers run, and start them again"
    )
    raise FlyannotError(f"the worker at {where} {found}", fix=fix)

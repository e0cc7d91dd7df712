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
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from flyannot import __version__
from flyannot.base.errors import FlyannotError, InputError
from flyannot.base.packages import optional_package
from flyannot.files.atomic_file import explained_write_error
from flyannot.jobs.progress_events import progress_sent_to
from flyannot.jobs.resources import one_thread_for_good

log = logging.getLogger("flyannot")
_CONNECTS_S = 10
_WITHOUT_WORKERS_S = 60
_COUNTS_WORKERS_EVERY_S = 2.0
_LOOKS_EVERY_S = 0.05
_CLOSES_S = 1.0
_SEES_WITHIN_S = 5.0  # what was written a moment ago, through a file system that keeps names for a while
_SHARE = "let all machines share a file system, with the same paths to the images and to the output"
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
        self._counted = 0.0
        self._had_workers = time.monotonic()

    def results(self, work, tasks, name, tell, folder=None, reads=None):
        """As of `LocalProcesses`; workers must see `folder` and what tasks read.  Items of a task are told of
        when it has ended.

        FlyannotError if the scheduler goes away or has no workers, if a worker has another flyannot or does
        not see the files, or if a task kills its workers.
        """
        from distributed import as_completed

        with _mark_in(folder) as mark:
            paths = [[mark, *(reads(task) if reads else ())] for task in tasks]
            packed = [_packed((work, task, mark, seen)) for task, seen in zip(tasks, paths)]
            with self._explained():
                futures = self._client.map(_sent_by_value(__version__), packed, pure=False)
            numbers = {future.key: i for i, future in enumerate(futures)}
            ended = as_completed(futures, loop=self._client.loop)
            del futures  # the scheduler forgets a result once nobody has its future
            while ended.count():
                time.sleep(_LOOKS_EVERY_S)
                with self._explained():
                    self._require_workers()
                for future in ended.next_batch(block=False):
                    i = numbers[future.key]
                    with self._explained(name(tasks[i])):
                        fault, result, n_items = future.result()
                    if fault:
                        fix = f"install flyannot {__version__} where the workers run, and start them again"
                        raise FlyannotError(fault, fix=fix)
                    tell(n_items)
                    yield i, result

    def close(self):
        """Leave the cluster: it drops what it has of ours."""
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._client.close(timeout=_CLOSES_S)

    def _require_workers(self):
        """Raise an error if there have been no workers for long."""
        now = time.monotonic()
        if now - self._counted < _COUNTS_WORKERS_EVERY_S:
            return
        self._counted = now
        if self._client.nthreads():
            self._had_workers = now
        elif now - self._had_workers > _WITHOUT_WORKERS_S:
            raise FlyannotError(
                f"the scheduler at {self.address} has had no workers for {_WITHOUT_WORKERS_S} s",
                fix=f"start some with: dask worker {self.address}; then run the same command again",
            )

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


def _sent_by_value(version):
    """The function that workers run: made here, so that it is sent itself and not its name.

    It returns "" or what is wrong with the worker, the result of the task, and how many of its items ended.
    """

    def run_there(packed_task):
        from distributed import get_worker

        worker = f"the worker at {get_worker().address}"
        try:
            import flyannot
        except ImportError:
            return f"{worker} has no flyannot", None, 0
        if flyannot.__version__ != version:
            return f"{worker} has flyannot {flyannot.__version__}, and here is {version}", None, 0
        from flyannot.jobs.dask_cluster import run_packed

        return run_packed(packed_task, worker)

    return run_there


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj):
        if isinstance(obj, Path) and not obj.is_absolute():
            return type(obj), (str(obj.absolute()),)
        return NotImplemented


def _packed(task):
    """As bytes: a function, its argument, the mark of the run or None, and the paths that it must see."""
    written = io.BytesIO()
    _Pickler(written).dump(task)
    return written.getvalue()


def run_packed(packed_task, worker):
    """In a worker, as messages call it: what the function returns that `_sent_by_value` makes."""
    try:
        work, task, mark, paths = pickle.loads(packed_task)
    except (AttributeError, ImportError) as error:  # of one version, and yet not the same
        return f"{worker} has another flyannot: {error}", None, 0
    for path in filter(None, paths):
        if not _sees(path):
            raise FlyannotError(f"{worker} does not see {path}", fix=_SHARE)
    one_thread_for_good()
    n_items = 0

    def count(n):
        nonlocal n_items
        n_items += n
        if mark is not None and not mark.exists():  # nobody wants the task any more
            raise FlyannotError(f"{worker} does not see {mark} any more", fix=_SHARE)

    with progress_sent_to(count):
        return "", work(task), n_items


def _sees(path):
    until = time.monotonic() + _SEES_WITHIN_S
    while not path.exists():
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True

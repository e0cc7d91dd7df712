"""The workers of a Dask cluster that the user started; only this module uses `distributed`.

The function is sent by value, so that it can report a worker without flyannot. A task is sent as bytes with
absolute paths, since a worker runs in another folder. It must see the files by the same paths. If a worker
dies, the scheduler gives its task to another one, as often as its `allowed-failures` says.
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

from flyannot import __version__
from flyannot.base.errors import FlyannotError
from flyannot.base.packages import import_optional
from flyannot.files.atomic_file import explain_write_errors
from flyannot.jobs.progress_events import use_progress_callbacks
from flyannot.jobs.resources import limit_worker_threads

log = logging.getLogger("flyannot")
_CONNECTS_S = 10
_WITHOUT_WORKERS_S = 60  # then the run ends
_COUNTS_WORKERS_EVERY_S = 2.0
_LOOKS_EVERY_S = 0.05
_CLOSES_S = 1.0  # most for closing the connection
_SEES_WITHIN_S = 5.0  # a network file system may show a new file late
_SHARE = "use a file system that all machines share, with equal paths to the images and the output"
_LOUD = ["distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application", "asyncio"]


class DaskCluster:
    """The workers of the Dask scheduler at an address."""

    def __init__(self, address):
        self.address = address if "://" in address else f"tcp://{address}"
        distributed = import_optional("distributed", "dask", needs="--scheduler needs")
        if not log.isEnabledFor(logging.DEBUG):  # our own message says the same in one line
            for name in _LOUD:
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
            warnings.filterwarnings("ignore", module="distributed")
        try:
            distributed.utils.LoopRunner(asynchronous=False).run_sync(_greet, self.address)
            self._client = distributed.Client(self.address, timeout=_CONNECTS_S, set_as_default=False)
        except Exception as error:  # another server may answer anything
            fix = "start one with: dask scheduler; or name its address: --scheduler tcp://HOST:8786"
            raise FlyannotError(f"no scheduler answers at {address}", fix=fix) from error
        self._counted = 0.0
        self._had_workers = time.monotonic()

    def results(self, work, tasks, name, tell, folder=None, reads=None):
        """Run all tasks and yield (index, result) as they end; parameters as of `LocalProcesses.results`.

        The items of a task are reported when it ends.

        Parameters
        ----------
        folder : Path that the workers must see, or None
        reads : function of a task to the paths that it reads, or None

        Raises
        ------
        FlyannotError
            If the scheduler stops or has no workers, a worker has another flyannot or does not see the
            files, or a task kills its workers.
        """
        from distributed import as_completed

        with _create_mark(folder) as mark:
            paths = [[mark, *(reads(task) if reads else ())] for task in tasks]
            packed = [_pack((work, task, mark, seen)) for task, seen in zip(tasks, paths)]
            with self._explain_errors():
                futures = self._client.map(_make_function(__version__), packed, pure=False)
            numbers = {future.key: i for i, future in enumerate(futures)}
            ended = as_completed(futures, loop=self._client.loop)
            del futures  # the scheduler drops a result when its future is gone
            while ended.count():
                time.sleep(_LOOKS_EVERY_S)
                with self._explain_errors():
                    self._require_workers()
                for future in ended.next_batch(block=False):
                    i = numbers[future.key]
                    with self._explain_errors(name(tasks[i])):
                        fault, result, n_items = future.result()
                    if fault:
                        fix = f"install flyannot {__version__} where the workers run, and start them again"
                        raise FlyannotError(fault, fix=fix)
                    tell(n_items)
                    yield i, result

    def close(self):
        """Disconnect from the cluster, which then drops our tasks and results."""
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._client.close(timeout=_CLOSES_S)

    def _require_workers(self):
        """Raise FlyannotError if the cluster has had no workers for `_WITHOUT_WORKERS_S`."""
        now = time.monotonic()
        if now - self._counted < _COUNTS_WORKERS_EVERY_S:
            return
        self._counted = now
        if self._client.nthreads():
            self._had_workers = now
        elif now - self._had_workers > _WITHOUT_WORKERS_S:
            what = f"the scheduler at {self.address} has had no workers for {_WITHOUT_WORKERS_S} s"
            fix = f"start some with: dask worker {self.address}; then run the same command again"
            raise FlyannotError(what, fix=fix)

    @contextmanager
    def _explain_errors(self, task="tasks"):
        """Turn errors of `distributed` into a FlyannotError: workers were killed, or the scheduler is gone.

        This is a context manager; errors of the task itself pass unchanged.

        task : name of the task in messages
        """
        from distributed.scheduler import KilledWorker

        try:
            yield
        except FlyannotError:
            raise
        except KilledWorker as error:
            what = f"{error.allowed_failures + 1} workers were killed by {task} (out of memory?)"
            fix = "give the workers more memory, and run the same command again; finished parts are kept"
            raise FlyannotError(what, fix=fix) from error
        except Exception as error:
            if not isinstance(error, CancelledError) and self._client.status == "running":
                raise
            fix = "start it and its workers again, and run the same command; finished parts are kept"
            raise FlyannotError(f"the scheduler at {self.address} is gone", fix=fix) from error


async def _greet(address):
    """Connect to the scheduler once within `_CONNECTS_S`; a client takes minutes to notice another server."""
    from distributed import Security
    from distributed.comm import connect

    connecting = connect(address, timeout=_CONNECTS_S, **Security().get_connection_args("client"))
    (await asyncio.wait_for(connecting, _CONNECTS_S)).abort()


@contextmanager
def _create_mark(folder):
    """Create an empty file in a folder, and remove it at the end: a context manager that yields its path.

    A worker on another machine that does not find the file does not share the folder with this process.
    Yields None if `folder` is None.
    """
    if folder is None:
        yield None
        return
    mark = folder.absolute() / f".wanted-{secrets.token_hex(8)}"
    with explain_write_errors(mark):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    try:
        yield mark
    finally:
        mark.unlink(missing_ok=True)


def _make_function(version):
    """Return the function that workers run.

    It is nested, so that its code is sent and not its name. It returns three things: "" or what is wrong
    with the worker, the result of the task, and the number of its items that have ended.

    version : of flyannot that the worker must have
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
    """A pickler that makes all paths absolute."""

    def reducer_override(self, obj):
        if isinstance(obj, Path) and not obj.is_absolute():
            return type(obj), (str(obj.absolute()),)
        return NotImplemented


def _pack(task):
    """Return a task as bytes: a function, its argument, the path of the mark file, and needed paths."""
    written = io.BytesIO()
    _Pickler(written).dump(task)
    return written.getvalue()


def run_packed(packed_task, worker):
    """Run a packed task in a worker, and return as the function of `_make_function` does.

    worker : str, the name of the worker in messages
    """
    try:
        work, task, mark, paths = pickle.loads(packed_task)
    except (AttributeError, ImportError) as error:  # equal versions may still have different code
        return f"{worker} has another flyannot: {error}", None, 0
    for path in filter(None, paths):
        if not _sees(path):
            raise FlyannotError(f"{worker} does not see {path}", fix=_SHARE)
    limit_worker_threads()
    n_items = 0

    def count(n):
        """Add n ended items to the count; raise FlyannotError if the mark is gone, because the run ended."""
        nonlocal n_items
        n_items += n
        if mark is not None and not mark.exists():
            raise FlyannotError(f"{worker} does not see {mark} any more", fix=_SHARE)

    with use_progress_callbacks(count):
        return "", work(task), n_items


def _sees(path):
    """Return True if a file exists, or appears within `_SEES_WITHIN_S` seconds."""
    until = time.monotonic() + _SEES_WITHIN_S
    while not path.exists():
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True

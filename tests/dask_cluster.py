"""A Dask scheduler and workers, started from the command line."""

import os
import socket
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.processes import begin, end, wait_for

ROOT = Path(__file__).resolve().parents[1]
# Without these settings an idle cluster takes a tenth of a processor.
LOOKS = ("WORKER__PROFILE__", "WORKER__MEMORY__MONITOR_", "ADMIN__TICK__", "ADMIN__SYSTEM_MONITOR__")
QUIET = {f"DASK_DISTRIBUTED__{look}INTERVAL": "1s" for look in LOOKS}


class Cluster:
    """A Dask scheduler and worker processes on this machine; Dask restarts a worker that dies."""

    def __init__(self, folder):
        self.folder = folder
        self._started = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        line = f"--host 127.0.0.1 --port {port} --no-dashboard --no-show"
        self.scheduler = self._start(
            "scheduler", *line.split(), DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1"
        )

    def start_workers(self, n, *, path=ROOT):
        """Start workers, which import packages from `path` first, and wait until the scheduler knows them."""
        line = f"{self.address} --nworkers {n} --nthreads 1 --no-dashboard --local-directory".split()
        self.nannies = self._start("worker", *line, self.folder, PYTHONPATH=str(path))
        wait_for(lambda: self.log("worker").count("Registered to") >= n, self.nannies)
        assert self.nannies.poll() is None, self.log("worker")

    def workers(self):
        """Return the worker processes."""
        below = psutil.Process(self.nannies.pid).children(recursive=True)
        return [one for one in below if "spawn_main" in " ".join(one.cmdline())]

    def log(self, what):
        return (self.folder / f"{what}.log").read_text()

    def end(self):
        for one in self._started:
            with suppress(psutil.NoSuchProcess):
                for child in psutil.Process(one.pid).children(recursive=True):
                    child.kill()
            end(one)

    def _start(self, what, *words, **environment):
        with open(self.folder / f"{what}.log", "w") as log:
            line = [sys.executable, "-m", "dask", what, *map(str, words)]
            started = begin(
                line, stdout=log, stderr=log, env=os.environ | QUIET | environment, cwd=self.folder
            )
        self._started.append(started)
        return started


@contextmanager
def cluster_in(folder, n_workers=0, **more):
    """Yield a cluster that ends with the block; its files lie in the folder."""
    cluster = Cluster(folder)
    try:
        if n_workers:
            cluster.start_workers(n_workers, **more)
        yield cluster
    finally:
        cluster.end()

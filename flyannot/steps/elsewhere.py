"""The terms and folds of a classifier on a cluster: what they share goes there once, as a file.

On one machine threads do that, which share the array itself.
"""

import logging
import secrets
from contextlib import suppress
from functools import lru_cache
from operator import itemgetter

import numpy as np

from flyannot.runtime.atomic_file import replacing
from flyannot.steps.engine.parts import part_path

log = logging.getLogger("flyannot")


def elsewhere(workers, out):
    """What `flyannot.classifiers.scorer.FitOptions` takes as `elsewhere`; None where no cluster is to work.

    Parameters
    ----------
    workers : flyannot.runtime.executor.Executor
    out : Path of the output, beside which the file lies meanwhile
    """
    if workers.scheduler is None:
        return None
    if out is None:
        log.info("note: the folds are evaluated on this machine; with --json FILE, on the cluster")
        return None

    def run_all(work, shared, tasks, on_done):
        path = part_path(out, secrets.token_hex(12)).with_suffix(".npy")  # workers keep what has a name
        try:
            with replacing(path) as beside, open(beside, "wb") as file:
                np.save(file, shared)
            return workers.run_all(
                _with_shared, [(work, path, task) for task in tasks], on_done=on_done,
                name=lambda _: "a term or fold", folder=path.parent, reads=itemgetter(slice(1, 2)),
            )  # fmt: skip
        finally:
            path.unlink(missing_ok=True)
            with suppress(OSError):  # parts of something else lie there
                path.parent.rmdir()

    return run_all


def _with_shared(task):
    """Runs in a worker."""
    work, path, own = task
    return work(_shared(path), own)


@lru_cache(maxsize=1)
def _shared(path):
    return np.load(path)

"""What this process may take of the machine: memory, processors, and threads of BLAS."""

import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path

import psutil
from threadpoolctl import ThreadpoolController

from flyannot.base.errors import FlyannotError
from flyannot.base.system import BLAS_VARIABLES, read_proc

LEAST_ADDRESSES = 1536 * 2**20  # measured: imports hang below 0.8 GiB, training below 1
_CGROUPS = Path("/sys/fs/cgroup")
_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes")


def available_bytes():
    """The smallest of what the machine, its control groups, SLURM and the limit on addresses leave free."""
    addresses = _address_limit()
    if addresses != math.inf:
        addresses -= psutil.Process().memory_info().vms
    free = min(psutil.virtual_memory().available, _cgroup_bytes(), _slurm_bytes(), addresses)
    return max(0, int(free))


def require_address_space():
    """Refuse a limit on addresses (ulimit -v) under which the numerical libraries hang or crash on import.
    Raises FlyannotError."""
    limit = _address_limit()
    if limit < LEAST_ADDRESSES:
        raise FlyannotError(
            f"the limit on address space is {limit / 2**20:,.0f} MiB; the libraries alone take up to "
            f"{LEAST_ADDRESSES / 2**20:,.0f}",
            fix="raise it: ulimit -v unlimited",
        )


def _address_limit():
    """The limit on addresses in bytes; math.inf where there is none."""
    try:
        import resource
    except ImportError:  # Windows has none
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if limit == resource.RLIM_INFINITY else limit


def require_bytes(needed, purpose, *, fix):
    """Refuse a computation that would not fit: FlyannotError if it needs more bytes than are free.

    `purpose` is what needs them, as the subject of a sentence, `fix` what makes it need less.
    """
    available = available_bytes()
    if needed > available:
        raise FlyannotError(
            f"{purpose} needs about {needed / 2**20:,.0f} MiB of memory; "
            f"{available / 2**20:,.0f} MiB are available",
            fix=fix,
        )


def _cgroup_bytes():
    """Of this process's control group and those that hold it, version 2 or 1."""
    free = math.inf
    for folder, version in _control_groups("memory"):
        names = ("memory.max", "memory.current") if version == 2 else _VERSION_1
        limit, in_use = (read_proc(folder / name).strip() for name in names)
        if limit.isdigit() and in_use.isdigit():  # version 2 writes "max" for no limit
            free = min(free, int(limit) - int(in_use))
    return free


def _cgroup_processors():
    """So many as the control groups pay for all the time."""
    paid = math.inf
    for folder, version in _control_groups("cpu"):
        names = ("cpu.max",) if version == 2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        quota, period, *_ = (*(text for name in names for text in read_proc(folder / name).split()), "", "")
        if quota.isdigit() and period.isdigit():  # "max", or -1, for no limit
            paid = min(paid, math.ceil(int(quota) / int(period)))
    return paid


def _control_groups(controller):
    """(folder, version) of this process's control group, and of those that hold it."""
    for line in read_proc("/proc/self/cgroup").splitlines():
        _, controllers, inside = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = _CGROUPS / controllers
        own = root / inside.lstrip("/")
        for folder in (own, *own.parents):
            yield folder, 1 if controllers else 2
            if folder == root:
                break


def _slurm_bytes():
    """Of what a job of SLURM asked for on this node: it may end one that takes more, where no group does."""
    of_node = _number("SLURM_MEM_PER_NODE")
    megabytes = of_node or _number("SLURM_MEM_PER_CPU") * _number("SLURM_CPUS_ON_NODE")
    if not megabytes:
        return math.inf
    own = psutil.Process()
    in_use = sum(process.memory_info().rss for process in (own, *own.children(recursive=True)))
    return megabytes * 2**20 - in_use


def _number(variable):
    text = os.environ.get(variable, "")
    return int(text) if text.isdigit() else 0


THREAD_VARIABLES = (*BLAS_VARIABLES, "NUMBA_NUM_THREADS")


def available_cpus():
    """Those that the system lets this process run on, and its control group pays for."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, _cgroup_processors()))  # joblib knows too, but takes long to import


def one_blas_thread():
    """A context in which BLAS runs on the calling thread alone, that of numpy and SciPy's own.

    SciPy's must be loaded before it can be held, which takes long, unless the environment holds it to one
    thread, as that of a command does.
    """
    if any(os.environ.get(name) != "1" for name in BLAS_VARIABLES):
        import scipy.linalg  # noqa: F401

    return _libraries(len(sys.modules)).limit(limits=1)


def threads_of_one_blas(n_threads):
    """A pool of threads in each of which BLAS runs on that thread alone.

    A BLAS by OpenMP has a number of threads for each calling thread: `one_blas_thread` holds its own only.
    """
    libraries = _libraries(len(sys.modules))  # looked for once, not by each thread
    return ThreadPoolExecutor(n_threads, initializer=partial(libraries.limit, limits=1))


def one_thread_for_good():
    """BLAS and OpenCV on the calling thread alone from now on: in a worker, where tasks run side by side."""
    one_blas_thread()
    _one_opencv_thread()


@lru_cache(maxsize=1)
def _one_opencv_thread():
    import cv2

    cv2.setNumThreads(1)


@lru_cache(maxsize=1)
def _libraries(n_modules):
    """Looked for again only after imports: it takes longer than a short call of a coder."""
    return ThreadpoolController().select(user_api="blas")

"""The memory, processors and BLAS threads that this process may use."""

import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path

from flyannot.base.errors import FlyannotError
from flyannot.base.system import BLAS_VARIABLES, read_proc

LEAST_ADDRESSES = 1536 * 2**20  # bytes; measured: imports hang below 0.8 GiB, training below 1 GiB
_CGROUPS = Path("/sys/fs/cgroup")
# Entries of memory.stat that count as used, which the kernel frees as soon as a process needs memory.
_RECLAIMABLE = ("inactive_file", "active_file", "slab_reclaimable")


def available_bytes():
    """Return the free memory in bytes: the least of machine, control groups and address limit."""
    import psutil

    addresses = _address_limit()
    if addresses != math.inf:
        addresses -= psutil.Process().memory_info().vms
    free = min(psutil.virtual_memory().available, _cgroup_bytes(), addresses)
    return max(0, int(free))


def require_address_space():
    """Raise FlyannotError if the address limit (ulimit -v) is too low to import the numerical libraries.

    Below it their import hangs or crashes.
    """
    limit = _address_limit()
    if limit < LEAST_ADDRESSES:
        what = f"the limit on address space is {limit / 2**20:,.0f} MiB; the libraries alone take up to"
        raise FlyannotError(f"{what} {LEAST_ADDRESSES / 2**20:,.0f}", fix="raise it: ulimit -v unlimited")


def _address_limit():
    """Return the limit on address space in bytes; math.inf if there is none."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if limit == resource.RLIM_INFINITY else limit


def require_memory(needed, purpose, *, fix):
    """Raise a FlyannotError if a computation needs more memory than is free.

    Parameters
    ----------
    needed : int, bytes
    purpose : str, the thing that needs them, as the subject of a sentence
    fix : str, how to need less
    """
    available = available_bytes()
    if needed > available:
        what = f"{purpose} needs about {needed / 2**20:,.0f} MiB of memory"
        raise FlyannotError(f"{what}; {available / 2**20:,.0f} MiB are available", fix=fix)


def _cgroup_bytes():
    """Return the free memory in bytes of this process's control groups: the smallest of all nested groups.

    Memory that holds copies of files counts as free, as in MemAvailable of the machine. Without a limit the
    result is math.inf.
    """
    free = math.inf
    for folder in _control_groups():
        limit, in_use = (read_proc(folder / name).strip() for name in ("memory.max", "memory.current"))
        if limit.isdigit() and in_use.isdigit():  # "max" is no limit
            kept = max(0, int(in_use) - _reclaimable_bytes(read_proc(folder / "memory.stat")))
            free = min(free, int(limit) - kept)
    return free


def _reclaimable_bytes(statistics):
    """Return the bytes that the kernel can free at once, from the text of a control group's memory.stat."""
    entries: dict = dict(line.split(maxsplit=1) for line in statistics.splitlines() if len(line.split()) == 2)
    return sum(int(entries.get(name, 0)) for name in _RECLAIMABLE)


def _cgroup_processors():
    """Return the number of processors to which the control groups limit this process.

    Math.inf without a limit.
    """
    paid = math.inf
    for folder in _control_groups():
        quota, _, period = read_proc(folder / "cpu.max").strip().partition(" ")
        if quota.isdigit() and period.isdigit():  # "max" is no limit
            paid = min(paid, math.ceil(int(quota) / int(period)))
    return paid


def _control_groups():
    """Yield the folders of this process's control group (version 2) and its parents."""
    for line in read_proc("/proc/self/cgroup").splitlines():
        if line.startswith("0::/"):
            own = _CGROUPS / line.removeprefix("0::/")
            yield from (folder for folder in (own, *own.parents) if folder.is_relative_to(_CGROUPS))


THREAD_VARIABLES = (*BLAS_VARIABLES, "NUMBA_NUM_THREADS")


def available_cpus():
    """Return the number of processors that the system and the control groups let this process use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, _cgroup_processors()))  # joblib.cpu_count takes long to import


def limit_blas_threads():
    """Limit BLAS to the calling thread, for NumPy and SciPy: a context manager.

    SciPy's BLAS must be loaded before it can be limited, which takes long. This is not needed if the
    environment limits it, as for commands.
    """
    if any(os.environ.get(name) != "1" for name in BLAS_VARIABLES):
        import scipy.linalg  # noqa: F401

    return _libraries(len(sys.modules)).limit(limits=1)


def create_thread_pool(n_threads):
    """Return a pool of threads in which BLAS runs on the calling thread alone.

    A BLAS with OpenMP has a number of threads for each calling thread, so `limit_blas_threads` limits only
    its own.
    """
    libraries = _libraries(len(sys.modules))  # searched once, not by each thread
    return ThreadPoolExecutor(n_threads, initializer=partial(libraries.limit, limits=1))


def limit_worker_threads():
    """Limit BLAS and OpenCV to the calling thread from now on, in a worker process."""
    import cv2

    limit_blas_threads()
    cv2.setNumThreads(1)


@lru_cache(maxsize=1)
def _libraries(n_modules):
    """Return the loaded BLAS libraries; they are searched again only if modules were imported since then.

    n_modules : int, the number of imported modules
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")

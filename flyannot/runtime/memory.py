"""How much memory a program may still take, and a refusal in words where the system would kill it."""

import math
import os
from pathlib import Path

from flyannot.errors import FlyannotError

_CGROUPS = (  # (limit, in use) of version 2 and version 1
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def available_bytes():
    """The smallest of what the machine, its control group and the limit on addresses leave free.

    Returns
    -------
    n_bytes : int, or math.inf where the system tells none of them (it is no Linux)
    """
    return max(0, min(_machine_bytes(), _cgroup_bytes(), _address_bytes()))


def require_bytes(needed, purpose, *, fix):
    """Refuse a computation that would not fit.

    Parameters
    ----------
    needed : int, estimated bytes
    purpose : what needs them, as the subject of a sentence
    fix : what makes it need less

    Raises
    ------
    FlyannotError
        If fewer bytes are available than needed.
    """
    available = available_bytes()
    if needed > available:
        raise FlyannotError(
            f"{purpose} needs about {needed / 2**20:,.0f} MiB of memory; "
            f"{available / 2**20:,.0f} MiB are available",
            fix=fix,
        )


def _machine_bytes():
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    return math.inf


def _cgroup_bytes():
    free = math.inf
    for limit, in_use in _CGROUPS:
        limit, in_use = _text(limit).strip(), _text(in_use).strip()
        if limit.isdigit() and in_use.isdigit():  # version 2 writes "max" for no limit
            free = min(free, int(limit) - int(in_use))
    return free


def _address_bytes():
    try:
        import resource
    except ImportError:
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    pages = _text("/proc/self/statm").split()
    if limit == resource.RLIM_INFINITY or not pages:
        return math.inf
    return limit - int(pages[0]) * os.sysconf("SC_PAGE_SIZE")


def _text(path):
    try:
        return Path(path).read_text()
    except OSError:
        return ""

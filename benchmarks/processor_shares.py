"""Where the processor time of a piece of work goes, by looking at it a thousand times a second.

Nothing in the product is changed or slowed for it: the system sends a signal after every millisecond of
processor time.  A kernel is seen when it has returned, so a look counts for all the time since the one
before.
"""

import signal
import time
from contextlib import contextmanager

_EVERY_S = 0.001
OTHER = "other"
PARTS = {  # the module that works, or the nearest of those that called it -> what it does
    "flyannot.files.digest": "hashing",
    "flyannot.files.hdf5.header": "hashing",
    "h5py": "HDF5",
    "flyannot.files.hdf5": "HDF5",
    "numba": "loading kernels",
    "llvmlite": "loading kernels",
    "flyannot.jobs.compiled": "loading kernels",
    "importlib": "start-up",
    "flyannot.images.sift": "SIFT",
    "flyannot.images.patches": "SIFT",
    "flyannot.images.extract": "SIFT",
    "flyannot.images": "decoding",
    "PIL": "decoding",
    "flyannot.sparse": "coding",
    "flyannot.encode": "pooling",
    "flyannot.terms": "classifier",
    "sklearn": "classifier",
}


@contextmanager
def processor_shares():
    """Yield a dict that has, at the end, the seconds of processor time of every part of the block.

    Empty where the system has no such signal (Windows).
    """
    seconds, last = {}, time.process_time()

    def look(_, frame):
        nonlocal last
        now, part = time.process_time(), _part_of(frame)
        seconds[part], last = seconds.get(part, 0.0) + now - last, now

    if not hasattr(signal, "setitimer"):
        yield seconds
        return
    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, _EVERY_S, _EVERY_S)
    try:
        yield seconds
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _part_of(frame):
    """Return the part of the innermost frame of a known module; a kernel counts for its caller."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name == "flyannot.jobs.compiled" and frame.f_code.co_name != "_start":
            name = ""
        while name:
            if name in PARTS:
                return PARTS[name]
            name = name.rpartition(".")[0]
        frame = frame.f_back
    return OTHER

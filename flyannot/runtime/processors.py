"""How many processors this process may use, and the variables that say how many threads libraries take."""

import os

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def usable_processors():
    """Those that the system lets this process run on."""
    return len(os.sched_getaffinity(0))

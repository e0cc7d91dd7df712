"""How many processors this process may use, and the variables that say how many threads libraries take."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def usable_processors():
    """Those that the system lets this process run on, and its control group pays for."""
    from joblib import cpu_count

    return cpu_count()

"""BLAS on one thread: its idle threads spin on beside ours, and bits may depend on how many there are."""

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from threadpoolctl import ThreadpoolController


def one_blas_thread():
    """A context in which BLAS runs on the calling thread alone, that of numpy and SciPy's own.

    SciPy's must be loaded before it can be held.
    """
    import scipy.linalg  # noqa: F401

    return _libraries(len(sys.modules)).limit(limits=1)


def threads_of_one_blas(n_threads):
    """A pool of threads in each of which BLAS runs on that thread alone.

    A BLAS by OpenMP has a number of threads for each calling thread: `one_blas_thread` holds its own only.
    """
    return ThreadPoolExecutor(n_threads, initializer=one_blas_thread)


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
